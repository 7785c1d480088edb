"""`gonode run init` and `run show`, and `local`, with presets and settings: what is shown is what is founded."""

import tomllib
from pathlib import Path

import pytest

from node.disk.home import Home
from node.founding.founding import load_founding
from node.founding.layers import Choices
from node.founding.manifest_file import default_table, load_manifest
from node.local import LocalNetwork, LocalOptions
from protocol.manifest import Manifest
from tests.node.cli.gonode import gonode

CHOICES = ("--preset", "7x7", "--preset", "tiny", "--set", "training.learning_rate=0.05", "--set", "name=mine")
SAME = Choices(("7x7", "tiny"), ("training.learning_rate=0.05", "name=mine"))


def founded(directory: Path) -> Manifest:
    return Manifest.open(load_founding(Home(directory))[1])


def test_the_default_run_is_shown() -> None:
    answer = gonode("run", "show")
    assert (answer.status, answer.err) == (0, "")
    assert tomllib.loads(answer.out) == default_table()


def test_what_is_shown_is_founded(tmp_path: Path) -> None:
    shown = gonode("run", "show", "runs/demo.toml", *CHOICES)
    assert (shown.status, shown.err) == (0, "")
    (tmp_path / "run.toml").write_text(shown.out, encoding="utf-8")
    manifest = load_manifest(Path("runs/demo.toml"), SAME)
    assert (manifest.name, manifest.network.shape, manifest.training.learning_rate_micro) == ("mine", "b3c32", 50_000)
    assert gonode("run", "init", tmp_path / "a", "--from", "runs/demo.toml", *CHOICES).status == 0
    assert gonode("run", "init", tmp_path / "b", "--from", tmp_path / "run.toml").status == 0
    assert founded(tmp_path / "a") == founded(tmp_path / "b") == manifest


def test_a_local_network_is_founded_with_choices(tmp_path: Path) -> None:
    options = LocalOptions(tmp_path, Path("runs/demo.toml"), 1, 1, 1.0, 0.0, None, None, SAME)
    LocalNetwork(options, lambda event, text: None)
    assert founded(tmp_path / "coordinator") == load_manifest(Path("runs/demo.toml"), SAME)


@pytest.mark.parametrize("command", [("run", "show"), ("run", "init", "DIR"), ("local", "--dir", "DIR")], ids=" ".join)
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--preset", "8x8"), "'8x8' is not a preset; there are 13x13, "),
        (("--set", "training.lr=1"), "There is no key training.lr here; training has minibatch, "),
        (("--set", "training.minibatch=0"), "default run, --set training.minibatch=0: "),
        (("--set", "window"), "KEY=VALUE"),
        (("--preset",), "requires an argument"),
    ],
)
def test_what_does_not_fit(command: tuple[str, ...], words: tuple[str, ...], why: str, tmp_path: Path) -> None:
    line = [str(tmp_path / "run") if word == "DIR" else word for word in command]
    assert why in gonode(*line, *words).refusal()
    assert not (tmp_path / "run" / "ticket").exists()
