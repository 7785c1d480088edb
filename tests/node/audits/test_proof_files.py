"""Fraud proofs as files: shown, checked in under a second, and never believed when a byte of them changed."""

from pathlib import Path
from random import Random
from time import perf_counter

import pytest

from native.network import Kernel
from node.audits.proof_files import ProofFileError, check_proof_file, describe_proof, read_proof
from protocol.batch import GameBlock, parse_batch
from protocol.compress import decompress
from protocol.proof import PLY
from tests.node.cli.gonode import gonode
from tests.node.homes import make_home
from tests.verification import edits
from tests.verification.world import World
from verification.identities import BatchInfo
from verification.proof_builder import Evidence, build_proof


def proof_of(world: World, batch: BatchInfo) -> bytes:
    """A proof about the second searched ply of the batch's first game."""
    content = parse_batch(decompress(world.blobs[batch.header.blob_digest], 2**23))
    evidence = Evidence(PLY, 0, GameBlock.parse(content.games[0].raw).plies[1])
    return build_proof(world.state, world.entry, world.note(), batch, content, evidence)


@pytest.fixture(scope="module")
def world() -> World:
    world = World()
    world.register("ada")
    return world


@pytest.fixture(scope="module")
def wrong(world: World) -> bytes:
    """A proof that holds: a game of release 0 with an edited value."""
    return proof_of(world, world.play(world.peers["ada"], edit=edits.of_game(0, edits.value(1))))


@pytest.fixture
def file(wrong: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "entry.proof"
    path.write_bytes(wrong)
    return path


def test_a_proof_that_holds(file: Path, world: World) -> None:
    start = perf_counter()
    answer = gonode("proof", "check", file)
    assert perf_counter() - start < 1
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith("The proof holds. Contributor ")
    assert world.peers["ada"].public.hex()[:16] in answer.out
    assert "value" in answer.out
    assert check_proof_file(file, None, None, Kernel.SCALAR) == check_proof_file(file, None, None, Kernel.BEST)


def test_a_proof_is_shown_and_not_believed(file: Path, world: World) -> None:
    answer = gonode("proof", "show", file)
    assert answer.status == 0
    lines = dict(line.split(maxsplit=1) for line in answer.out.splitlines()[:-1])
    assert lines["run"] == world.run.hex()
    assert lines["accused"] == "the contributor"
    assert lines["signer"] == world.peers["ada"].public.hex()
    assert "Nothing of this is checked yet" in answer.out
    assert describe_proof(read_proof(file)) == answer.out.rstrip("\n")


def test_a_proof_against_an_honest_player(world: World, tmp_path: Path) -> None:
    batch = world.play(world.register("bob"))
    path = tmp_path / "framed.proof"
    path.write_bytes(proof_of(world, batch))
    answer = gonode("proof", "check", path)
    assert answer.status == 1
    assert "is what its search gives" in answer.out


def test_no_changed_byte_is_believed(file: Path, wrong: bytes) -> None:
    statuses = set()
    for seed in range(120):
        rng = Random(seed)
        at = rng.randrange(len(wrong))
        file.write_bytes(wrong[:at] + bytes([wrong[at] ^ 1 << rng.randrange(8)]) + wrong[at + 1 :])
        answer = gonode("proof", "check", file)
        statuses.add(answer.status)
        if answer.status == 2:
            answer.refusal()
        else:
            assert (answer.status, answer.err) == (1, ""), answer
            assert answer.out.count("\n") == 1
        assert gonode("proof", "show", file).status in (0, 2)
    assert statuses == {1, 2}


def test_what_is_no_proof(file: Path, wrong: bytes) -> None:
    for data in (wrong[:-1], wrong + b"!", wrong[: len(wrong) // 2]):
        file.write_bytes(data)
        with pytest.raises(ProofFileError, match="not a fraud proof"):
            read_proof(file)


def test_a_gated_release_needs_its_network(tmp_path: Path) -> None:
    world = World()
    ada = world.register("ada")
    world.cycle()
    path = tmp_path / "entry.proof"
    path.write_bytes(proof_of(world, world.play(ada, edit=edits.of_game(0, edits.value(1)))))
    network = world.networks[world.state.release.network]
    assert "not at hand" in gonode("proof", "check", path).refusal()
    wrong_file, right_file = tmp_path / "wrong", tmp_path / "right"
    wrong_file.write_bytes(world.networks[world.state.releases.all[0].network])
    right_file.write_bytes(network)
    assert "not at hand" in gonode("proof", "check", path, "--network", wrong_file).refusal()
    assert "/none: No such file" in gonode("proof", "check", path, "--network", tmp_path / "none").refusal()
    assert gonode("proof", "check", path, "--network", right_file).status == 0
    home = make_home(world, tmp_path / "home")
    assert gonode("proof", "check", path, "--dir", home.directory).status == 0
    assert gonode("proof", "check", path, "--dir", home.directory, "--kernel", "scalar").status == 0
