"""KataGo's trainer as a peer, as far as it goes without KataGo: its rows, its network's settings, the turns."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks._katago import Peer, Setting, changes
from benchmarks._katago_rows import rows_of, write_rows
from benchmarks._targets import Tables, smallest, trainers
from native.netfile import Architecture

CONFIGS = """
config_of_name = {"b4c32": {"trunk_num_channels": 32}, "b4c32-bng": {"trunk_num_channels": 32, "norm": "b"}}
get_num_bin_input_features = lambda config: 22
get_num_global_input_features = lambda config: 19
"""
MODEL = """
import torch
class Model(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config, self.conv = config, torch.nn.Conv2d(22, config["trunk_num_channels"], 1)
    def initialize(self): pass
    def forward(self, planes, others): return self.conv(planes)
"""
TRAIN = """
import argparse, sys
from katago.train.metrics_logging import accumulate_metrics
from katago.train.model_pytorch import Model
from katago.train.modelconfigs import config_of_name
print("this goes to the log")
words = sys.argv[1:]
model = Model(config_of_name[words[words.index("-model-kind") + 1]])
model.initialize()
for step in range(1000):
    if "-fail" in words or (step == 3 and model.config.get("norm") is None):
        raise ValueError("no more")
    accumulate_metrics({}, {})
"""


def test_rows_are_in_the_layout_that_the_loader_reads() -> None:
    rows = rows_of(9, 32, 1)
    assert {name: (array.shape, array.dtype.name) for name, array in rows.items()} == {
        "binaryInputNCHWPacked": ((32, 22, 11), "uint8"),
        "globalInputNC": ((32, 19), "float32"),
        "policyTargetsNCMove": ((32, 2, 82), "int16"),
        "globalTargetsNC": ((32, 80), "float32"),
        "scoreDistrN": ((32, 2 * (81 + 60)), "int8"),
        "valueTargetsNCHW": ((32, 5, 9, 9), "int8"),
    }
    planes = np.unpackbits(rows["binaryInputNCHWPacked"], axis=2)[:, :, :81]
    assert planes[:, 0].all()
    assert not (planes[:, 1] & planes[:, 2]).any()
    assert (planes[:, 9:14].sum(2) == 1).all()
    assert (rows["policyTargetsNCMove"].sum(2) > 0).all()
    assert (rows["globalTargetsNC"][:, :3].sum(1) == 1).all()
    assert (rows["scoreDistrN"].sum(1) == 100).all()
    assert set(np.unique(rows["valueTargetsNCHW"][:, 4])) <= {-120, 0, 120}


def test_a_folder_of_rows_is_one_file_by_many_names(tmp_path: Path) -> None:
    write_rows(tmp_path / "data", 7, 16, 3)
    index = json.loads((tmp_path / "data" / "train" / "index.json").read_text())
    assert [entry["num_rows"] for entry in index["files"]] == [16, 16, 16]
    for entry in index["files"]:
        with np.load(tmp_path / "data" / "train" / entry["name"]) as file:
            assert len(file["globalInputNC"]) == 16
    assert json.loads((tmp_path / "data" / "train.json").read_text())["range"] == [0, 48]


def test_the_nearest_network_has_our_widths() -> None:
    found = changes(Architecture(4, 64))
    assert found["trunk_num_channels"] == found["mid_num_channels"] == 64
    assert (found["p1_num_channels"], found["v2_size"]) == (32, 64)
    with pytest.raises(ValueError, match="4 blocks"):
        changes(Architecture(6, 96))


@pytest.fixture
def katago(tmp_path: Path) -> Path:
    """A trainer with KataGo's file names that does nothing."""
    package = tmp_path / "KataGo" / "python" / "katago" / "train"
    package.mkdir(parents=True)
    (package / "modelconfigs.py").write_text(CONFIGS)
    (package / "model_pytorch.py").write_text(MODEL)
    (package / "metrics_logging.py").write_text("accumulate_metrics = lambda sums, weights: None\n")
    (tmp_path / "KataGo" / "python" / "train.py").write_text(TRAIN)
    return tmp_path / "KataGo"


def test_a_peer_trains_in_turns(katago: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    with Peer(katago, tmp_path / "work", Setting("batch norm"), Architecture(4, 64), 9, 4, 2) as peer:
        peer.begin()
        assert peer.parameters == 64 * 22 + 64
        assert peer.macs == 64 * 22 * 81
        assert all(peer.turn() > 0 for _ in range(3))
    assert "this goes to the log" in (tmp_path / "work" / "log").read_text()


def test_a_peer_that_ends_says_why(katago: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    with Peer(katago, tmp_path / "work", Setting("fixup"), Architecture(4, 64), 9, 4, 2) as peer:
        peer.begin()
        with pytest.raises(SystemExit, match="no more"):
            peer.turn()


def test_the_target_is_a_ratio_to_the_fastest() -> None:
    ours = {"trainer": "gonode", "norm": "n", "layout": "l", "samples/cpu s": 600.0, "gonode/this": "-"}
    peers = [ours | {"trainer": "KataGo", "samples/cpu s": 600 / ratio, "gonode/this": ratio} for ratio in (1.5, 1.2)]
    tables: Tables = {"rows": [ours, *peers]}
    assert smallest("rows", "gonode/this")(tables) == 1.2
    assert smallest("rows", "gonode/this")({"rows": [ours]}) is None
    assert trainers(tables) == "gonode (n, l) 600, KataGo (n, l) 400, KataGo (n, l) 500"
