"""Feeds mutated bytes to every parser of `protocol/`: `python -m tests.fuzz.fuzz_protocol SECONDS [SEED]`.

Starts from valid encodings, changes, cuts, repeats and splices them, and lets nothing but ProtocolError escape. Records
are also changed by value, so that the checks behind the codec are reached. What a parser accepts must be canonical:
encoding it again gives the input. A failure prints the parser, the seed and the input.
"""

import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from protocol import (
    batch,
    blob,
    checkpoint,
    codec,
    compress,
    ed25519,
    envelope,
    game_block,
    keyfile,
    merkle,
    ticket,
    tiles,
)
from protocol.entries import ENTRY_TYPES, parse_entry
from protocol.errors import ProtocolError
from protocol.statement import p256
from tests.fuzz.command import run_command
from tests.fuzz.mutation import MAX_BYTES, mutate, mutate_record
from tests.vectors.record_examples import Example, examples
from tests.vectors.scenarios_bytes import ALICE, BOB
from tests.vectors.scenarios_games import example_block


@dataclass(frozen=True, slots=True)
class Target:
    """A parser, which returns the canonical bytes of what it read (or None where there is no one encoding)."""

    name: str
    parse: Callable[[bytes], bytes | None]
    seeds: tuple[bytes, ...]
    is_record: bool = False


def targets() -> list[Target]:
    """Every parser with its valid seeds."""
    value: codec.Value = {"a": [1, -1, 2**64 - 1, None, True, b"bytes", "text"], "b": {"c": {}, "d": []}}
    sealed = envelope.seal(envelope.payload_type("example"), codec.encode(value), ALICE, BOB)
    head = checkpoint.Checkpoint("gonode/example", 8, bytes(range(32)))
    note = head.sign(ALICE).with_signatures([checkpoint.cosign(head.body(), BOB, "witness", 7)])
    raw = batch.encode_batch(example_block(counter, size=3) for counter in range(3))
    games = batch.parse_batch(raw)
    pass_through = ticket.Ticket(bytes(32), bytes(32), ("/ip4/192.0.2.1/tcp/1",)).encode().encode()
    chunks = blob.chunk_list(bytes(3))
    model_key = p256.ModelKey(ALICE)
    made = examples()
    signed = [each.record.seal(each.signer) for each in made.values() if each.signer is not None]
    entries = tuple(each.encode() for each in signed if each.type in ENTRY_TYPES)
    return [
        Target("codec", lambda data: codec.encode(codec.decode(data)), (codec.encode(value),)),
        Target("envelope", _envelope, (sealed.encode(),)),
        Target("entry", lambda data: parse_entry(data).envelope.encode(), entries),
        Target("ed25519", _signature, (ALICE.public + ALICE.sign(b"message"),)),
        Target("p256", _model_signature, (model_key.public + model_key.sign(b"message"),)),
        Target("keyfile", _keyfile, (keyfile.encode_key(ALICE, None),)),
        Target("compress", _compressed, (compress.compress(raw), compress.compress(b"word " * 1000))),
        Target("note", lambda data: checkpoint.SignedNote.parse(data).encode(), (note.encode(),)),
        Target("checkpoint", _checkpoint, (head.body().encode(),)),
        Target("note-line", _note_line, (note.signatures[1].encode().encode(),)),
        Target("tile-path", _tile_path, (b"tile/0/x001/067.p/12", b"tile/entries/000")),
        Target("entry-bundle", _bundle, (tiles.encode_entries([b"one", b"", b"three"]),)),
        Target("batch", lambda data: batch.parse_batch(data).encode(), (raw, batch.encode_batch([]))),
        Target("game-leaf", _game_leaf, games.leaves),
        Target("ply-record", _ply_record, games.games[0].records()),
        Target("ticket", _ticket, (pass_through,)),
        Target("chunk-list", lambda data: blob.ChunkList.parse(data, chunks.digest).encode(), (chunks.encode(),)),
        Target("proof", _proof, (b"".join(merkle.Tree([b"a", b"b", b"c"]).inclusion_proof(1)),)),
        *(_record(name, example) for name, example in made.items()),
    ]


def _record(name: str, example: Example) -> Target:
    cls = type(example.record)
    return Target(name, lambda data: cls.parse(data).encode(), (example.record.encode(),), is_record=True)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _envelope(data: bytes) -> bytes:
    found = envelope.Envelope.parse(data)
    found.verify()
    return found.encode()


def _signature(data: bytes) -> None:
    ed25519.verify(data[:32], b"message", data[32:])


def _model_signature(data: bytes) -> None:
    p256.verify_p256(data[:33], b"message", data[33:])


def _keyfile(data: bytes) -> bytes | None:
    return None if keyfile.is_encrypted(data) else keyfile.encode_key(keyfile.parse_key(data, None), None)


def _compressed(data: bytes) -> None:
    assert len(compress.decompress(data, MAX_BYTES)) <= MAX_BYTES


def _checkpoint(data: bytes) -> bytes | None:
    text = _text(data)
    assert checkpoint.Checkpoint.parse(text).body() == text
    return None


def _note_line(data: bytes) -> None:
    text = _text(data)
    assert checkpoint.NoteSignature.parse(text).encode() == text


def _tile_path(data: bytes) -> None:
    text = _text(data)
    assert tiles.Tile.parse(text).path == text


def _bundle(data: bytes) -> bytes:
    return tiles.encode_entries(tiles.parse_entries(data, 3))


def _game_leaf(data: bytes) -> None:
    leaf = batch.parse_game_leaf(data)
    assert leaf.header.encode() == data[:24]


def _ply_record(data: bytes) -> None:
    game_block.PlyRecord.parse(data, 3)


def _ticket(data: bytes) -> None:
    text = _text(data)
    assert ticket.Ticket.parse(text).encode() == text.strip()


def _proof(data: bytes) -> None:
    steps = [data[at : at + 32] for at in range(0, len(data), 32)]
    size = 1 + len(data) % 9
    merkle.verify_inclusion(merkle.leaf_hash(b"b"), len(data) % size, size, steps, bytes(32))


def fuzz(seconds: float, seed: int) -> dict[str, int]:
    """Runs for `seconds`; returns the number of inputs a parser was given. Raises what should not have escaped."""
    rng = random.Random(seed)
    all_targets = targets()
    runs = dict.fromkeys((target.name for target in all_targets), 0)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for target in all_targets:
            change = mutate_record if target.is_record and rng.random() < 0.7 else mutate
            data = change(rng, rng.choice(target.seeds), rng.choice(rng.choice(all_targets).seeds))
            runs[target.name] += 1
            try:
                canonical = target.parse(data)
                if canonical is not None and canonical != data:
                    raise AssertionError("accepted another encoding")
            except ProtocolError as error:
                if not str(error):
                    raise AssertionError("an error without a sentence") from error
            except BaseException:
                print(f"{target.name} failed; seed {seed}; input {data.hex()}", file=sys.stderr)
                raise
    return runs


if __name__ == "__main__":
    run_command("fuzz_protocol", fuzz)
