"""Bytes from outside end in named errors: mutated games, mutated proofs, mutated entries."""

from dataclasses import fields, replace
from random import Random

import pytest

from protocol.batch import batch_root, encode_batch, parse_batch, unpack_batch
from protocol.blob import blob_digest
from protocol.compress import compress
from protocol.ed25519 import SecretKey
from protocol.entries import parse_entry
from protocol.errors import ProtocolError
from protocol.header import BatchHeader
from protocol.proof import PLY, FraudProof
from protocol.record import Record
from tests.verification import edits
from tests.verification.world import World
from verification.admission import check_games
from verification.faults import LogFault, Rejected
from verification.identities import BatchInfo
from verification.proof import check_proof
from verification.proof_builder import Evidence, build_proof
from verification.setup import selfplay_series
from verification.state import LogState


def resigned(header: BatchHeader, raw: bytes) -> tuple[BatchHeader, bytes]:
    """The header that a liar signs for this content, and its blob."""
    batch = parse_batch(raw)
    blob = compress(raw)
    made = replace(
        header,
        batch_root=batch_root(batch),
        blob_digest=blob_digest(blob),
        blob_len=len(blob),
        raw_len=len(raw),
        games=len(batch.games),
        plies=batch.plies,
    )
    return made, blob


def test_mutated_games_are_rejected_by_name(world: World) -> None:
    """Whatever the rules and counts can tell ends in Rejected; the rest is left to the replay."""
    ada = world.peers["ada"]
    honest = encode_batch(world.games(ada, 2))
    header = world.header(ada, world.games(ada, 2))
    series = selfplay_series(world.state, world.state.release, ada.public)
    rng = Random(3)
    labels: set[str] = set()
    told: list[str] = []
    for _ in range(600):
        raw = bytearray(honest)
        for _ in range(rng.choice([1, 1, 2, 5])):
            at = rng.randrange(16, len(raw)) if rng.random() < 0.6 else rng.randrange(16, 140)
            raw[at] = rng.randrange(256)
        try:
            made, blob = resigned(header, bytes(raw))
        except ProtocolError:
            continue
        try:
            check_games(made, blob, series)
        except Rejected as rejected:
            labels.add(rejected.label)
            told.append(str(rejected))
    assert {"illegal move", "visits sum", "visits on illegal move", "setup", "final score"} <= labels
    assert all(each.isascii() for each in told)  # a verdict's reason is plain text


@pytest.fixture(scope="module")
def case() -> tuple[World, BatchInfo, FraudProof]:
    world = World()
    batch = world.play(world.register("ada"), edit=edits.of_game(1, edits.value(6)))
    content = unpack_batch(world.blobs[batch.header.blob_digest], 2**23)
    evidence = Evidence(PLY, 1, content.games[1].plies[6])
    proof = build_proof(world.state, world.entry, world.note(), batch, content, evidence)
    return world, batch, FraudProof.parse(proof)


def mutated(value: object, rng: Random) -> object:
    """Another value of the same type."""
    match value:
        case bytes():
            if not value or rng.random() < 0.2:
                return rng.randbytes(rng.choice([0, 1, 32, 100]))
            at = rng.randrange(len(value))
            return value[:at] + rng.randbytes(1) + value[at + 1 :]
        case bool():
            return not value
        case int():
            return rng.choice([0, 1, value + 1, value - 1, 65535, 2**63, 2**64 - 1])
        case str():
            return rng.choice(["", "accept", "reject", "lost", "x" * 64])
        case Record():
            field = rng.choice(fields(value))
            return replace(value, **{field.name: mutated(getattr(value, field.name), rng)})
        case tuple():
            if not value or rng.random() < 0.3:
                return value[: rng.randrange(len(value) + 1)]
            at = rng.randrange(len(value))
            return (*value[:at], mutated(value[at], rng), *value[at + 1 :])
    return value


def test_mutated_proofs_convict_nobody_else(case: tuple[World, BatchInfo, FraudProof]) -> None:
    world, batch, proof = case
    rng = Random(9)
    refused = 0
    for _ in range(400):
        field = rng.choice(fields(proof))
        try:
            changed = replace(proof, **{field.name: mutated(getattr(proof, field.name), rng)}).encode()
        except ProtocolError:
            continue
        try:
            assert check_proof(changed, world.run, world.networks.get).subject == batch.header.peer
        except ProtocolError:
            refused += 1
    assert refused > 200


def test_mutated_entries_are_refused_by_name(grown: World) -> None:
    rng = Random(4)
    state = LogState(grown.run)
    for index, entry in enumerate(grown.entries):
        for _ in range(3):
            at = rng.randrange(len(entry))
            changed = entry[:at] + rng.randbytes(1) + entry[at + 1 :]
            if changed != entry:
                with pytest.raises(LogFault):
                    state.check(changed)
        state.apply(entry)
        assert state.size == index + 1


def test_what_a_hostile_member_signs_is_refused_by_name_or_leaves_a_state_that_answers(grown: World) -> None:
    """Entries of this log with fields changed, or at another place, signed by whom they need."""
    rng = Random(8)
    signers = [grown.root_key, grown.coordinator, *grown.verifiers, *grown.peers.values()]
    keys = {key.public: key for key in signers}
    entries = [parse_entry(entry) for entry in grown.entries]
    reasons: set[str] = set()
    state, taken = LogState(grown.run), 0
    for index, own in enumerate(entries):
        for _ in range(12):
            entry = own if rng.random() < 0.5 else rng.choice(entries)
            try:
                record = mutated(entry.record, rng)
                assert isinstance(record, Record)
                data = record.seal(*(keys[key] for key in entry.signers)).encode()
                state.check(data)
            except ProtocolError:
                continue
            except LogFault as fault:
                reasons.add(fault.reason)
                continue
            taken += 1
            if taken % 10 == 0:
                misled = LogState(grown.run)
                for before in grown.entries[:index]:
                    misled.apply(before)
                misled.apply(data)
                ask_everything(misled, keys)
        state.apply(grown.entries[index])
    assert len(reasons) > 60
    assert taken > 60


def ask_everything(state: LogState, keys: dict[bytes, SecretKey]) -> None:
    """What the roles ask of a state."""
    if state.size < 2:
        return
    assert state.released_rows == sum(batch.header.plies for batch in state.batches.released)
    state.due_window()
    state.due_gate_record()
    state.due_release("0.1.0")
    state.due_decisions()
    for key in keys:
        state.batches_awaiting_verdict(key)
        state.gate_results_awaiting_verdict(key)
        state.gate_assignments(key)
        state.next_gate_assignment(key)
