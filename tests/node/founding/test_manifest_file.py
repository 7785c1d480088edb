"""Runs' files: people's numbers become the manifest's, and whatever does not fit is named by its key."""

from pathlib import Path

import pytest

from node.disk.home import Home
from node.founding.founding import found_run, load_founding
from node.founding.layers import MAX_BYTES
from node.founding.manifest_file import ManifestFileError, load_manifest
from protocol.manifest import Manifest, RatePoint
from protocol.types import ZERO
from verification.state import LogState


def load(tmp_path: Path, text: str | bytes) -> Manifest:
    path = tmp_path / "run.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_manifest(path)


def refusal(tmp_path: Path, text: str | bytes) -> str:
    with pytest.raises(ManifestFileError) as caught:
        load(tmp_path, text)
    sentence = str(caught.value)
    assert sentence.startswith(f"{tmp_path / 'run.toml'}: ")
    return sentence.removeprefix(f"{tmp_path / 'run.toml'}: ")


def test_the_default_run() -> None:
    manifest = load_manifest(None)
    assert (manifest.run, manifest.version, manifest.name) == (ZERO, 1, "run")
    assert manifest.selfplay.cpuct_micro == 1_100_000
    assert manifest.selfplay.full_share_ppm == 250_000
    assert manifest.training.weight_decay_micro == 30
    assert manifest.training.samples_per_row_milli == 4000
    assert [komi.komi_half for komi in manifest.stages[0].boards[0].komi] == [14]
    assert {opening.size for opening in manifest.openings} == {9}
    assert Manifest.parse(manifest.encode()) == manifest


def test_an_empty_file_is_the_default_run(tmp_path: Path) -> None:
    assert load(tmp_path, "") == load_manifest(None)


def test_a_file_says_only_what_differs(tmp_path: Path) -> None:
    manifest = load(tmp_path, "name = 'mine'\n[gate]\nelo1 = 60\n[selfplay]\ncpuct = 0.7\n")
    default = load_manifest(None)
    assert (manifest.name, manifest.gate.elo1, manifest.selfplay.cpuct_micro) == ("mine", 60, 700_000)
    assert manifest.gate.games == default.gate.games
    assert manifest.training == default.training


def test_a_stage_may_say_its_visits(tmp_path: Path) -> None:
    boards = "boards = [{ size = 7, weight = 1, komi = [{ komi = 9, weight = 1 }] }]"
    manifest = load(
        tmp_path, f"[[stages]]\nfrom_step = 0\n{boards}\n[[stages]]\nfrom_step = 9\nvisits_full = 300\n{boards}"
    )
    assert [(stage.visits_full, stage.visits_fast) for stage in manifest.stages] == [(0, 0), (300, 0)]


def test_a_schedule_is_a_list_of_points(tmp_path: Path) -> None:
    manifest = load(tmp_path, "[training]\nschedule = [{ step = 100, factor = 1.5 }, { step = 900, factor = 0.1 }]")
    assert manifest.training.schedule == (RatePoint(100, 1_500_000), RatePoint(900, 100_000))
    assert load_manifest(None).training.schedule == ()


def test_lists_are_replaced_as_a_whole(tmp_path: Path) -> None:
    manifest = load(
        tmp_path,
        """
[[stages]]
from_step = 0
boards = [{ size = 7, weight = 3, komi = [{ komi = -0.5, weight = 1 }, { komi = 9, weight = 2 }] }]
[[stages]]
from_step = 500
boards = [{ size = 9, weight = 1, komi = [{ komi = 7, weight = 1 }] }]
[openings]
kind = "empty"
""",
    )
    assert [stage.from_step for stage in manifest.stages] == [0, 500]
    assert [komi.komi_half for komi in manifest.stages[0].boards[0].komi] == [-1, 18]
    assert manifest.openings == ()


@pytest.mark.parametrize("path", sorted(Path("runs").glob("*.toml")), ids=lambda path: path.name)
def test_the_runs_of_this_repository(path: Path) -> None:
    load_manifest(path)


BAD_VALUES = {
    "name = 1": "name must be text",
    "name = ''": "name must match",
    "name = 'a b'": "name must match",
    f"name = '{'x' * 65}'": "name must have at most 64 characters",
    "name = ['x']": "name must be text",
    "name = 2020-01-01": "name must be text",
    "bootstrap = '/ip4/1.2.3.4/tcp/1'": "bootstrap must be a list",
    "bootstrap = [1]": "bootstrap [0] must be text",
    "bootstrap = ['x']": "bootstrap [0] must match",
    "colour = 1": "colour is not a key of a run's file",
    "run = 1": "run is not a key",
    "version = 2": "version is not a key",
    "rules = 1": "rules must be a table",
    "selfplay = []": "selfplay must be a table",
    "[[selfplay]]": "selfplay must be a table",
    "openings = 'empty'": "openings must be a table",
    "[openings]\nkind = 'all'": "openings.kind must be",
    "[openings]\nkind = ['empty']": "openings.kind must be",
    "[rules]\nko = 'none'": "rules: RulesSpec: ko must be one of simple, positional, situational",
    "[rules]\nko = []": "ko must be one of",
    "[rules]\nsuicide = 1": "suicide must be of type bool",
    "[rules]\nmove_cap_factor = 11": "move_cap_factor must be from 1 to 10",
    "[rules.ko]\nx = 1": "ko must be one of",
    "[selfplay]\ncolour = 1": "selfplay.colour is not a key",
    "[selfplay]\ncpuct = -0.1": "selfplay.cpuct must be from 0 to 2147.48",
    "[selfplay]\ncpuct = 1e300": "selfplay.cpuct must be from 0 to 2147.48",
    f"[selfplay]\ncpuct = {'9' * 400}": "selfplay.cpuct must be from 0 to 2147.48",
    f"[selfplay]\ncpuct = {'9' * 5000}": "not a TOML file",
    "[selfplay]\ncpuct = nan": "selfplay.cpuct must be a number",
    "[selfplay]\ncpuct = inf": "selfplay.cpuct must be a number",
    "[selfplay]\ncpuct = -inf": "selfplay.cpuct must be a number",
    "[selfplay]\ncpuct = '1'": "selfplay.cpuct must be a number",
    "[selfplay]\ncpuct = true": "selfplay.cpuct must be a number",
    "[selfplay]\ncpuct = [1]": "selfplay.cpuct must be a number",
    "[selfplay]\nfull_share = 1.01": "selfplay.full_share must be from 0 to 1",
    "[selfplay]\nvisits_full = 0": "visits_full must be from 2 to 60000",
    "[selfplay]\nvisits_full = 70000": "visits_full must be from 2 to 60000",
    "[selfplay]\nvisits_full = 64.0": "visits_full must be an integer",
    "[selfplay]\nvisits_full = true": "visits_full must be an integer",
    "[selfplay]\nvisits_full = nan": "visits_full must be an integer",
    "[selfplay]\nroot = 'alphabeta'": "root must be one of puct, gumbel",
    "[selfplay]\nsemantics = 'Search'": "semantics must match",
    "[selfplay]\nsemantics = 'gonode/search/2'": "self-play and gating must have the same semantics",
    "[network]\nchannels = 100": "channels must be a multiple of 16",
    "[network]\nchannels = 512": "cannot be played",
    "[network]\nblocks = 0": "blocks must be from 1 to 40",
    "[network]\nfirst = 'strong'": "first must be one of random, uniform",
    "[admission]\ngames_per_batch = 0": "games_per_batch must be from 1 to 1024",
    "[admission]\nq_min = 0": "admission.q_min must be from 0.05 to 1",
    "[admission]\ntick_s = -1": "tick_s must be from 1 to 3600",
    "[gate]\ngames = 401": "games must be even and elo1 above elo0",
    "[gate]\nelo1 = 0": "games must be even and elo1 above elo0",
    "[gate]\nelo1 = 100000": "gate's bounds must lie from -200 to 200",
    "[gate]\nkind = 'coin'": "kind must be one of",
    "[window]\nexponent = 2": "window.exponent must be from 0 to 1",
    "[window]\nfirst_rows = 0": "first_rows must be from 1",
    "[training]\nlearning_rate = 5000": "training.learning_rate must be from 0 to 4294.97",
    "[training]\nminibatch = 0": "minibatch must be from 1 to 65536",
    "[training]\nthreads = 1000": "threads must be from 1 to 256",
    "[training]\nprocesses = 65": "processes must be from 1 to 64",
    "[training]\nprecision = 'float8'": "precision must be one of float32, bfloat16",
    "[training]\nleast_same_move = 1.5": "training.least_same_move must be from 0 to 1",
    "[training]\nschedule = 1": "schedule must be a list",
    "[training]\nschedule = [{ step = 1 }]": "training.schedule[0].factor is missing",
    "[training]\nschedule = [{ step = 1, factor = 11 }]": "training.schedule[0].factor must be from 0 to 10",
    "[training]\nschedule = [{ step = 5, factor = 1 }, { step = 5, factor = 2 }]": "at most 64 points, and their steps rise",
    "[limits]\nblob_bytes = 999999999999": "blob_bytes must be from 1024",
    "stages = 1": "stages must be a list",
    "stages = [1]": "stages[0] must be a table",
    "stages = [[]]": "stages[0] must be a table",
    "stages = []": "stages must start at step 0 and rise",
    "stages = [{}]": "stages[0].from_step is missing",
    "stages = [{ from_step = 0, boards = 1 }]": "stages[0].boards must be a list",
    "stages = [{ from_step = 0, boards = [] }]": "a stage needs a board",
    "stages = [{ from_step = 0, boards = [1] }]": "stages[0].boards[0] must be a table",
    "stages = [{ from_step = 0, boards = [{}] }]": "stages[0].boards[0].size is missing",
    "stages = [{ from_step = 0, boards = [{ size = '7', weight = 1, komi = [{ komi = 7, weight = 1 }] }] }]": "size must be",
    "stages = [{ from_step = 0, boards = [{ size = 99, weight = 1, komi = [{ komi = 7, weight = 1 }] }] }]": (
        "stages[0].boards[0]: BoardWeight: size must be from 7 to 19"
    ),
    "stages = [{ from_step = 0, boards = [{ size = 7, weight = 1, komi = 7 }] }]": "boards[0].komi must be a list",
    "stages = [{ from_step = 0, boards = [{ size = 7, weight = 1, komi = [] }] }]": "a board needs a komi",
    "stages = [{ from_step = 0, boards = [{ size = 7, weight = 1, komi = [7] }] }]": "komi[0] must be a table",
    "stages = [{ from_step = 0, boards = [{ size = 7, weight = 1, komi = [{ komi = 7.3, weight = 1 }] }] }]": (
        "stages[0].boards[0].komi[0].komi must be a whole or half number"
    ),
    "stages = [{ from_step = 0, boards = [{ size = 7, weight = 1, komi = [{ komi = 1e9, weight = 1 }] }] }]": (
        "komi[0].komi must be from -16384 to 16383.5"
    ),
    "stages = [{ from_step = 0, boards = [{ size = 7, weight = -1, komi = [{ komi = 7, weight = 1 }] }] }]": "weight must",
    "stages = [{ from_step = 5, boards = [{ size = 7, weight = 1, komi = [{ komi = 7, weight = 1 }] }] }]": (
        "stages must start at step 0"
    ),
    "stages = [{ from_step = 0, visits_full = 1, boards = [] }]": "stages[0]: Stage: visits must be 0 or from 2 on",
    "a = 1\na = 2": "not a TOML file",
    "= 1": "not a TOML file",
    "name = ": "not a TOML file",
}


@pytest.mark.parametrize("text", BAD_VALUES, ids=lambda text: text.replace("\n", " ")[:60])
def test_what_does_not_fit_is_named(text: str, tmp_path: Path) -> None:
    assert BAD_VALUES[text] in refusal(tmp_path, text)


def test_what_is_no_text(tmp_path: Path) -> None:
    assert "not a TOML file" in refusal(tmp_path, b"name = '\xff'")
    assert "not a TOML file" in refusal(tmp_path, b"name = 'x\x00'")
    assert "nested too deeply" in refusal(tmp_path, "name = " + "[" * 20_000)
    assert "at most" in refusal(tmp_path, b"#" * (MAX_BYTES + 1))


def test_a_manifest_too_large_for_the_log(tmp_path: Path) -> None:
    boards = ", ".join(f"{{ size = {size}, weight = 1, komi = [{{ komi = 7, weight = 1 }}] }}" for size in range(7, 20))
    assert "the limit is 65536" in refusal(tmp_path, f"stages = [{{ from_step = 0, boards = [{boards}] }}]")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ManifestFileError, match="No such file"):
        load_manifest(tmp_path / "none.toml")
    with pytest.raises(ManifestFileError, match="Is a directory"):
        load_manifest(tmp_path)


def test_what_is_accepted_is_accepted_by_the_log(tmp_path: Path) -> None:
    """A file that passes makes a run whose log begins; nothing is found only when the coordinator starts."""
    path = tmp_path / "run.toml"
    path.write_text("[network]\nblocks = 40\nchannels = 224\n[gate]\nkind = 'always'\n", encoding="utf-8")
    run = found_run(tmp_path / "run", path, [], "/ip4/127.0.0.1/tcp/4001")
    state = LogState(run.run)
    for envelope in load_founding(Home(tmp_path / "run")):
        state.apply(envelope.encode())
    assert state.manifest == run.manifest
