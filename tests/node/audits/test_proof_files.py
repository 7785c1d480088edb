"""Fraud proofs as files: shown, checked in under a second, and never believed when a byte of them changed."""

import json
import re
from pathlib import Path
from random import Random
from time import perf_counter

import pytest

from native.game import Game
from native.network import Kernel
from native.rules import Rules
from node.audits.proof_files import ProofFileError, check_proof_file, read_proof
from node.audits.proof_text import describe_proof
from node.exchange.values import vertex
from protocol.batch import parse_game_leaf, unpack_batch
from protocol.game_block import GameBlock, PlyRecord
from protocol.proof import PLY, RULES, Ban, FraudProof, Pardon
from protocol.receipt import Tick
from tests.node.cli.gonode import gonode
from tests.node.homes import make_home
from tests.verification import edits
from tests.verification.test_framing import lie, searched
from tests.verification.world import World
from verification.identities import BatchInfo
from verification.proof_builder import Evidence, build_proof


def proof_of(world: World, batch: BatchInfo) -> bytes:
    """A proof about the second searched ply of the batch's first game."""
    content = unpack_batch(world.blobs[batch.header.blob_digest], 2**23)
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
    checked = check_proof_file(file, world.run, {}.get, Kernel.SCALAR)
    assert checked == check_proof_file(file, None, {}.get, Kernel.BEST)
    assert checked.finding is not None
    shown = json.loads(gonode("proof", "check", file, "--json").out)
    assert shown == checked.to_json()
    assert shown["finding"]["subject"] == world.peers["ada"].public.hex()
    other = check_proof_file(file, bytes(32), {}.get, Kernel.SCALAR)
    assert (other.holds, other.sentence) == (False, "The proof is of another run.")


def told(text: str) -> dict[str, str]:
    """The lines with a name, by name."""
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line[:10].rstrip().isalpha() and line[9] == " "]
    return {line[0]: line[1] for line in lines if len(line) == 2}


def test_a_proof_is_shown_and_not_believed(file: Path, world: World) -> None:
    answer = gonode("proof", "show", file)
    assert (answer.status, answer.err) == (0, "")
    lines = told(answer.out)
    assert lines["run"] == world.run.hex()
    assert lines["accused"] == "the contributor"
    assert lines["signer"] == world.peers["ada"].public.hex()
    assert "Nothing of this is checked yet" in answer.out
    assert describe_proof(read_proof(file)) == answer.out.rstrip("\n")


def test_the_position_before_the_move_is_shown(file: Path, world: World) -> None:
    """Stones of the diagram are those of the game; the record is the signed one."""
    proof = FraudProof.parse(read_proof(file))
    leaf, record = parse_game_leaf(proof.game), PlyRecord.parse(proof.ply, 7)
    out = gonode("proof", "show", file).out
    rows = re.findall(r"^ {3}([1-7]) ([.XO ]+)$", out, re.MULTILINE)
    assert [row[0] for row in rows] == list("7654321")
    game = Game(Rules(7, 7, leaf.header.komi_half))
    for move in leaf.moves[: record.ply]:
        game.play(move)
    marks = "".join(row[1].replace(" ", "") for row in rows)
    assert marks == "".join(".XO"[stone] for stone in game.stones())
    assert f"After {record.ply} moves, {'black' if record.ply % 2 == 0 else 'white'} to move:" in out
    assert f"{vertex(record.move, 7, 7)} played" in out
    assert f"{sum(record.visits)} in all" in out


def test_an_illegal_move_is_shown_where_it_is(world: World, tmp_path: Path) -> None:
    batch = world.play(world.register("illegal"), edit=edits.of_game(1, edits.move(3)))
    content = unpack_batch(world.blobs[batch.header.blob_digest], 2**23)
    path = tmp_path / "rules.proof"
    path.write_bytes(build_proof(world.state, world.entry, world.note(), batch, content, Evidence(RULES, 1)))
    out = gonode("proof", "show", path).out
    assert "is illegal here" in out
    assert gonode("proof", "check", path).status == 0


def test_proofs_against_verifiers(tmp_path: Path) -> None:
    world = World()
    batch = world.play(world.register("ada"))
    path = tmp_path / "framed.proof"
    path.write_bytes(lie(world, batch, PLY, 1, searched(world, batch, 1)))
    lines = told(gonode("proof", "show", path).out)
    assert lines["accused"] == "the verifier"
    assert lines["signer"] == world.verifiers[0].public.hex()
    assert lines["claim"].startswith("the verdict rejects game 1 for the search of ply")
    answer = gonode("proof", "check", path, "--json")
    found = json.loads(answer.out)["finding"]
    assert (answer.status, found["accused"], found["framed"]) == (0, "verifier", True)
    path.write_bytes(lie_beyond(tmp_path))
    assert gonode("proof", "show", path).status == 0
    assert gonode("proof", "check", path).status == 0


def lie_beyond(folder: Path) -> bytes:
    """A proof about a ply that the game does not have."""
    world = World(word="e")
    return lie(world, world.play(world.register("ada")), PLY, 0, 60000)


def test_the_entry_of_a_ban_or_pardon_holds_its_proof(wrong: bytes, world: World, tmp_path: Path) -> None:
    path = tmp_path / "entry"
    for record in (Ban(world.run, bytes(32), wrong), Pardon(world.run, bytes(32), wrong)):
        path.write_bytes(record.seal(world.coordinator).encode())
        assert read_proof(path) == wrong
        assert gonode("proof", "check", path).status == 0
    path.write_bytes(Tick(world.run, 3, 0).seal(world.coordinator).encode())
    with pytest.raises(ProofFileError, match="not a fraud proof"):
        read_proof(path)


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
    assert gonode("proof", "check", path, "--network", wrong_file, "--network", right_file).status == 0
    home = make_home(world, tmp_path / "home")
    assert gonode("proof", "check", path, "--dir", home.directory).status == 0
    assert gonode("proof", "check", path, "--dir", home.directory, "--kernel", "scalar").status == 0
