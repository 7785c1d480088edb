"""`gonode export weights`: a file's, and a release's."""

import re
from pathlib import Path

from node.disk.home import Home
from node.exchange.float_weights import FloatWeights
from tests.node.cli.gonode import gonode, the_object
from tests.node.exchange.test_float_weights import EXAMPLE
from tests.node.homes import grown_world


def test_a_file(tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(bytes.fromhex(EXAMPLE))
    words = ("export", "weights", tmp_path / "weights.bin", "--out", tmp_path / "net.npz")
    expected = {"name": str(tmp_path / "weights.bin"), "network": "b2c16", "step": 1, "arrays": 1}
    assert the_object(gonode(*words, "--json")) == expected | {"file": str(tmp_path / "net.npz")}
    assert (tmp_path / "net.npz").read_bytes() == FloatWeights.parse(bytes.fromhex(EXAMPLE)).npz()
    assert re.fullmatch(r".*net\.npz: 1 array, the float weights of .*weights\.bin \(b2c16\)\.\n", gonode(*words).out)


def test_what_it_refuses(home: Home, tmp_path: Path) -> None:
    def refusal(name: object) -> str:
        return gonode("export", "weights", name, "--dir", home.directory, "--out", tmp_path / "net.npz").refusal()

    (tmp_path / "text").write_bytes(b"text")
    assert refusal(tmp_path / "text") == f"{tmp_path / 'text'}: The file holds no float weights of a network."
    assert refusal("latest") == f"{grown_world().state.release.name}: The file holds no float weights of a network."
    assert "it has no float weights" in refusal("0")
    assert "is not a release of this run" in refusal("none")
    assert not (tmp_path / "net.npz").exists()
