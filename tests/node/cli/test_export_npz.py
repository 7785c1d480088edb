"""`gonode export npz`: files of a run's rows, what is left out, and refusals."""

from pathlib import Path

import numpy as np

from node.disk.home import Home
from protocol.batch import unpack_batch
from protocol.game_block import KIND_FULL
from tests.node.cli.gonode import gonode, the_object
from tests.node.homes import grown_world


def full_searches() -> list[int]:
    """How many each released game has."""
    world = grown_world()
    return [
        block.kinds.count(KIND_FULL)
        for batch in world.state.batches.released
        for block in unpack_batch(world.blobs[batch.header.blob_digest], batch.header.raw_len).games
    ]


def test_a_run(home: Home, tmp_path: Path) -> None:
    out = tmp_path / "rows"
    found = the_object(gonode("export", "npz", "--dir", home.directory, "--pos-len", 7, "--out", out, "--json"))
    counts = full_searches()
    assert (found["games"], found["rows"]) == (sum(count > 0 for count in counts), sum(counts))
    assert (found["games_left_out"], found["missing_batches"]) == (counts.count(0), 0)
    assert found["files"] == [str(out / "rows0.npz")]
    with np.load(out / "rows0.npz", allow_pickle=False) as npz:
        assert npz["binaryInputNCHWPacked"].shape == (sum(counts), 22, 7)
        assert npz["policyTargetsNCMove"].shape == (sum(counts), 2, 50)
    answer = gonode("export", "npz", "--dir", home.directory, "--newest", 1, "--out", tmp_path / "one")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith(f"1 game, {counts[-1]} rows: {tmp_path / 'one'}.")


def test_what_it_refuses(home: Home, tmp_path: Path) -> None:
    def refusal(*words: object) -> str:
        return gonode("export", "npz", "--dir", home.directory, "--out", tmp_path / "out", *words).refusal()

    assert refusal("--pos-len", 5).endswith("The board is 7x7, and these rows have 5x5 points.")
    assert "is not a release of this run" in refusal("--release", "r9999")
    (tmp_path / "out" / "file").parent.mkdir(exist_ok=True)
    (tmp_path / "out" / "file").touch()
    assert "something is in this folder" in refusal()
