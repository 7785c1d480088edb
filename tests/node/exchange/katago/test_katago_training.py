"""KataGo's own shuffler and trainer on rows that we write, where the environment's KATAGO names a checkout of it."""

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from protocol.manifest import BoardWeight, KomiWeight, Opening, Stage
from tests.node.cli.gonode import gonode, the_object
from tests.node.homes import make_home
from tests.verification.manifests import small_manifest
from tests.verification.world import World

SIDE, BATCHES = 9, 14
FALLING = ("loss", "p0loss", "p1loss", "vloss", "tdvloss1", "oloss", "sloss", "fploss", "sbcdfloss")
"""Of the whole, both policies, the result, the values to come, owners, area, boards to come, the score."""

UNLEARNT = ("leadloss", "qwlloss", "qscloss")
"""What our games do not record; their weights are 0."""


def rows_of_two_networks(folder: Path) -> Path:
    """What `gonode export npz` writes of a run on 9x9 whose first release was trained once."""
    komi = (KomiWeight(13, 1), KomiWeight(14, 1))
    manifest = small_manifest(
        stages=(Stage(0, (BoardWeight(SIDE, 1, komi),)),),
        openings=(Opening(SIDE, (), 1, 1), Opening(SIDE, (40,), 1, 1)),
    )
    world = World(replace(manifest, admission=replace(manifest.admission, games_per_batch=8)))
    ada = world.register("ada")
    for _ in range(BATCHES):
        world.batch(ada)
    assert world.cycle()
    for _ in range(3):
        world.batch(ada)
    home = make_home(world, folder / "run")
    words = ("export", "npz", "--dir", home.directory, "--pos-len", SIDE, "--out", folder / "rows", "--json")
    found = the_object(gonode(*words))
    assert found["rows"] > 3000
    return folder / "rows"


def require_sound(rows: Path) -> None:
    """What KataGo's writer asserts of its rows, and its trainer relies on."""
    for path in rows.rglob("*.npz"):
        with np.load(path, allow_pickle=False) as npz:
            planes = np.unpackbits(npz["binaryInputNCHWPacked"], axis=2)[:, :, : SIDE * SIDE]
            policy, targets = npz["policyTargetsNCMove"].astype(int), npz["globalTargetsNC"]
            scores, by_point = npz["scoreDistrN"].astype(int), npz["valueTargetsNCHW"].astype(int)
        by_point = by_point.reshape(len(by_point), 5, -1)
        on_board = planes[:, :1]
        assert not (planes & ~on_board & 1).any()
        assert not (by_point * (1 - on_board)).any()
        assert not (planes[:, 1] & planes[:, 2]).any()
        assert (policy >= 0).all()
        assert (policy.sum(2) > 0).all()
        assert not (policy[:, 0, :-1] * (planes[:, 1] | planes[:, 2])).any()
        assert np.isfinite(targets).all()
        for start in range(0, 20, 4):
            assert targets[:, start : start + 3].sum(1) == pytest.approx(1, abs=1e-5)
            assert (targets[:, start : start + 3] >= 0).all()
        assert set(np.unique(targets[:, [25, 26, 27, 28, 33, 34]]).tolist()) <= {0, 1}
        assert (scores.sum(1) == 100).all()
        assert (scores >= 0).all()
        assert (abs(by_point[:, :4]) <= 1).all()
        assert (abs(by_point[:, 4]) <= 120).all()


def run(katago: Path, script: str, *words: object) -> str:
    """What a script of KataGo's printed, which must end well."""
    command = [sys.executable, script, *map(str, words)]
    ended = subprocess.run(
        command, cwd=katago / "python", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout[-4000:]
    return ended.stdout


@pytest.mark.soak
@pytest.mark.timeout(3000)
def test_its_trainer_learns_from_our_rows(tmp_path: Path) -> None:
    """What the untrained network played is trained on, what the next one played is held out: all losses are finite, and
    those that our rows have targets for fall in training."""
    name = os.environ.get("KATAGO")
    if not name:
        pytest.skip("no KATAGO names a checkout of KataGo, whose trainer this test runs")
    katago = Path(name).resolve()
    rows = rows_of_two_networks(tmp_path)
    require_sound(rows)
    trained = next(path for path in rows.iterdir() if path.name != "random")
    data = tmp_path / "shuffled"
    data.mkdir()
    for source, kind in ((rows / "random", "train"), (trained, "val")):
        words = ("-min-rows", 100, "-keep-target-rows", "all", "-approx-rows-per-out-file", 4000, "-num-processes", 1)
        said = run(katago, "shuffle.py", source, *words, "-out-dir", data / kind, "-out-tmp-dir", tmp_path / "tmp")
        assert "Excluded count: 0" in said
        assert "WARNING" not in said
        assert rows_in(data / kind) == rows_in(source) > 100
    words = (
        "-pos-len",
        SIDE,
        "-batch-size",
        32,
        "-model-kind",
        "b1c6nbt",
        "-no-lr-warmup",
        "-lr-scale",
        4,
        "-no-compile",
    )
    limits = ("-samples-per-epoch", 3200, "-max-epochs-this-instance", 4, "-max-val-samples", 256)
    said = run(katago, "train.py", "-traindir", tmp_path / "train", "-datadir", data, "-no-export", *words, *limits)
    assert "NONFINITE" not in said
    for measured in ("train", "val"):
        lines = [
            json.loads(line) for line in (tmp_path / "train" / f"metrics_{measured}.json").read_text().splitlines()
        ]
        assert len(lines) >= 3
        for line in lines:
            assert all(math.isfinite(number) for number in line.values()), line
            assert [line[name] for name in UNLEARNT] == [0] * len(UNLEARNT)
        for falling in FALLING if measured == "train" else ():
            assert lines[-1][falling] < lines[0][falling], falling


def rows_in(folder: Path) -> int:
    """How many rows the files of a folder have."""
    found = 0
    for path in folder.rglob("*.npz"):
        with np.load(path, allow_pickle=False) as npz:
            found += len(npz["globalInputNC"])
    return found
