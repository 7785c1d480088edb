"""The layers of a run: which wins, what merges, and which sentence names the layer that does not fit."""

import tomllib
from pathlib import Path

import pytest

from node.founding.layers import Choices, LayerError, overlay, setting
from node.founding.manifest_file import (
    ManifestFileError,
    default_table,
    load_manifest,
    load_run,
    parse_manifest,
    parse_part,
    table_of,
)
from node.founding.toml_text import encode_toml
from protocol.manifest import TrainingPolicy, WindowPolicy

TABLE = {"name": "x", "flag": True, "rate": 0.5, "list": [1], "part": {"count": 3, "word": "a", "deep": {"end": 1}}}


def run_file(folder: Path, text: str) -> Path:
    path = folder / "run.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(path: Path | None, presets: tuple[str, ...] = (), settings: tuple[str, ...] = ()) -> str:
    with pytest.raises(ManifestFileError) as caught:
        load_manifest(path, Choices(presets, settings))
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


def test_tables_merge_and_lists_are_replaced() -> None:
    own = {"list": [2, 3], "part": {"count": 4}}
    assert overlay(TABLE, own) == TABLE | own | {"part": TABLE["part"] | {"count": 4}}  # type: ignore[operator]
    assert TABLE["list"] == [1]


@pytest.mark.parametrize(
    ("text", "layer"),
    [
        ("name=two words", {"name": "two words"}),
        ("name='quoted'", {"name": "quoted"}),
        ("name=7", {"name": "7"}),
        ("name=", {"name": ""}),
        ("name=a=b", {"name": "a=b"}),
        ("rate=3e-05", {"rate": 3e-05}),
        ("rate = 2", {"rate": 2}),
        ("flag=false", {"flag": False}),
        ("list=[{ a = 1 }]", {"list": [{"a": 1}]}),
        ("part.count=9", {"part": {"count": 9}}),
        ("part.word=b", {"part": {"word": "b"}}),
        ("part.deep.end=2", {"part": {"deep": {"end": 2}}}),
        ("part={ count = 1 }", {"part": {"count": 1}}),
    ],
)
def test_a_setting(text: str, layer: dict[str, object]) -> None:
    assert setting(TABLE, text) == layer


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "KEY=VALUE"),
        ("name", "KEY=VALUE"),
        ("=1", "There is no key  here; the top has name, flag, rate, list, part."),
        ("colour=1", "There is no key colour here; the top has name, "),
        ("part.colour=1", "There is no key part.colour here; part has count, word, deep."),
        ("part.count.x=1", "part.count holds no keys"),
        ("list.0=1", "list holds no keys"),
        ("rate=fast", "'fast' is not a number"),
        ("rate=", "'' is not a number"),
        ("rate=1\nname='y'", "is not a number"),
        ("list=[1", "is not a number"),
        ("rate=" + "[" * 20_000, "is not a number"),
        ("name='x", "is not a number"),
    ],
)
def test_a_setting_that_does_not_fit(text: str, why: str) -> None:
    with pytest.raises(LayerError) as caught:
        setting(TABLE, text)
    assert why in str(caught.value)
    assert len(str(caught.value)) < 300


def test_the_order_of_layers(tmp_path: Path) -> None:
    """The default run, the file's presets, the file, the command's presets, its settings."""
    path = run_file(tmp_path, "presets = ['9x9', 'small']\n[network]\nchannels = 48\n[window]\nfirst_rows = 7000\n")
    own = load_manifest(path)
    assert own.stages == load_manifest(None, Choices(("9x9",))).stages
    assert own.network.shape == "b4c48"
    above = load_manifest(path, Choices(("fast",)))
    assert above.window.first_rows == 6000
    last = load_manifest(path, Choices(("fast", "large"), ("window.first_rows=8000", "network.blocks=2")))
    assert (last.window.first_rows, last.network.shape) == (8000, "b2c128")
    again = load_manifest(path, Choices((), ("window.first_rows=1", "window.first_rows=2")))
    assert again.window.first_rows == 2


def test_unknown_presets_are_named(tmp_path: Path) -> None:
    for name in ("8x8", "", "../7x7", "x" * 500):
        sentence = refusal(None, (name,))
        assert "is not a preset; there are 13x13, 19x19, 7x7, 9x9, " in sentence
        assert len(sentence) < 350
    assert refusal(run_file(tmp_path, "presets = ['8x8']")).startswith(
        f"{tmp_path / 'run.toml'}: '8x8' is not a preset"
    )
    assert "must be a list of names" in refusal(run_file(tmp_path, "presets = '7x7'"))
    assert "must be a list of names" in refusal(run_file(tmp_path, "presets = [7]"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("training.lr=0.02", "There is no key training.lr here; training has minibatch, "),
        ("training.learning_rate=5000", "training.learning_rate must be from 0 to 4294.97"),
        ("training.learning_rate='0.1'", "training.learning_rate must be a number"),
        ("training.minibatch=1.5", "minibatch must be an integer"),
        ("training=7", "training must be a table"),
        ("rules.ko=none", "ko must be one of"),
        ("rules.suicide=1", "suicide must be of type bool"),
        ("stages=[]", "stages must start at step 0"),
        ("stages=[{ from_step = 0, boards = 1 }]", "stages[0].boards must be a list"),
        ("openings.kind=all", "openings.kind must be"),
        ("network.channels=100", "multiple of 16"),
        ("presets=['7x7']", "There is no key presets here"),
    ],
)
def test_a_setting_that_gives_no_run(text: str, why: str) -> None:
    sentence = refusal(None, ("fast",), (text,))
    assert why in sentence
    assert f"--set {text}: " in sentence


def test_a_combination_that_gives_no_run_names_its_layers() -> None:
    sentence = refusal(None, ("9x9", "small"), ("network.channels=512",))
    assert sentence.startswith("default run, preset 9x9, preset small, --set network.channels=512: ")


@pytest.mark.parametrize("path", [None, Path("runs/demo.toml"), Path("runs/7x7.toml"), Path("tests/e2e/tiny.toml")])
@pytest.mark.parametrize("presets", [(), ("curriculum", "cooling")])
def test_what_is_shown_gives_the_same_run(path: Path | None, presets: tuple[str, ...], tmp_path: Path) -> None:
    table, manifest = load_run(path, Choices(presets))
    shown = run_file(tmp_path, encode_toml(table))
    assert load_run(shown) == (table, manifest)
    assert parse_manifest(table) == manifest


def test_a_part_of_a_run() -> None:
    """What presets say of other parts is left out; a preset about other parts alone is refused."""
    window = {"window": table_of(load_manifest(None).window)}
    assert Choices(("fast",), ("window.exponent=0.5",)).lay_over(window) == {
        "window": {"first_rows": 6000, "new_rows": 8000, "floor_rows": 15000, "exponent": 0.5}
    }
    for choices, why in (
        (Choices(("fast", "9x9")), "preset 9x9: it says nothing about window."),
        (Choices((), ("name=x",)), "--set name=x: There is no key name here; the top has window."),
    ):
        with pytest.raises(LayerError) as caught:
            choices.lay_over(window)
        assert str(caught.value) == why


def test_records_as_people_write_them() -> None:
    manifest = load_manifest(None, Choices(("cooling",)))
    table = load_run(None, Choices(("cooling",)))[0]
    assert table_of(manifest.training) == table["training"]
    assert table_of(manifest.selfplay) == table["selfplay"]
    assert table_of(manifest.stages[0]) == table["stages"][0] | {"visits_full": 0, "visits_fast": 0}
    assert parse_part(TrainingPolicy, table["training"], "training") == manifest.training
    assert parse_part(WindowPolicy, table_of(manifest.window), "window") == manifest.window
    with pytest.raises(ManifestFileError, match=r"window\.colour is not a key"):
        parse_part(WindowPolicy, table_of(manifest.window) | {"colour": 1}, "window")


def test_text_that_needs_care() -> None:
    table = default_table()
    odd = {"name": 'a "quoted" \\ line\n\x7f\x01 é', "bootstrap": ["x" * 80, "y" * 80], "openings": {}}
    assert tomllib.loads(encode_toml(table | odd)) == table | odd
