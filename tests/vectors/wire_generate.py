"""Writes what travels between nodes: `python -m tests.vectors.wire_generate`. A rerun changes nothing.

`wire/served.json` is what the answering peer has: the first entries of the example's run, two signed heads, two blobs. The
other files hold a list `cases`, one group of messages a file; what their fields and outcomes mean is in `docs/spec/wire.md`
("Vectors"), whose exchanges are written from them.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from node.blobs.have_lists import HaveList
from node.peering.post import HELD, Cosigning, Post, Posted
from node.peering.transport import MAX_FRAME, peer_id
from protocol import seeds
from protocol.blob import CHUNK_BYTES, blob_digest, chunk_list
from protocol.checkpoint import Checkpoint, cosign
from protocol.codec import Value, encode
from protocol.envelope import Envelope, seal
from protocol.merkle import Tree
from protocol.receipt import Receipt
from tests.vectors.record_examples import (
    CONTRIBUTOR,
    COORDINATOR,
    STRANGER,
    VERIFIER,
    Example,
    digest_of,
    examples,
    log_entries,
)

FOLDER: Final = Path(__file__).parent / "wire"
PAGE: Final = Path(__file__).parents[2] / "docs" / "spec" / "wire.md"
SIZE: Final = 8
"""The entries that are served."""

COSIGNED: Final = 6
"""The size of the newest head with a cosignature."""

SHORT: Final = b"gonode"
LONG_BYTES: Final = CHUNK_BYTES + 3
LONG: Final = b"g" * LONG_BYTES

MADE: Final[Mapping[str, Example]] = examples()
ENTRIES: Final = log_entries()[:SIZE]
TREE: Final = Tree(ENTRIES)
RUN: Final = seeds.run_id(Envelope.parse(ENTRIES[0]).payload, Envelope.parse(ENTRIES[1]).payload)
TOPIC: Final = f"gonode/{RUN.hex()[:16]}"
ASKER: Final = f"/ip4/192.0.2.1/tcp/4001/p2p/{peer_id(CONTRIBUTOR.public)}"

LOG_REFUSAL: Final = "This is not a request for a log's head, entries, prefix or roots."
BLOB_REFUSAL: Final = "This is not a request for a blob's list, for what is here of it, or for a chunk."
PEERS_REFUSAL: Final = "The message is not a list of addresses."

Case = dict[str, Any]


def head(size: int, cosigned: bool = False) -> bytes:
    """The note of the head of `size` entries."""
    note = Checkpoint(seeds.log_origin(RUN), size, TREE.root(size)).sign(COORDINATOR)
    if cosigned:
        note = note.with_signatures([_line(note.text)])
    return note.encode()


def _line(text: str) -> Any:
    return cosign(text, VERIFIER, f"gonode-witness/{VERIFIER.public.hex()}", 1_760_000_000)


def case(description: str, expect: str, given: Mapping[str, Any], output: Any = None) -> Case:
    """One case; bytes in `given` and `output` are written as hexadecimal text."""
    made: Case = {"description": description, "expect": expect, "input": plain(given)}
    return made if output is None else {**made, "output": plain(output)}


def plain(value: Any) -> Any:
    """`value` with bytes as hexadecimal text, long ones of one byte as a repetition."""
    if isinstance(value, bytes):
        same = len(value) > 1000 and value == value[:1] * len(value)
        return {"repeat": value[:1].hex(), "times": len(value)} if same else value.hex()
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


def asked(description: str, request: Value, answer: Value) -> Case:
    """A request and the answer to it; an answer that is no bytes is a canonical map."""
    data = answer if isinstance(answer, bytes) else encode(answer)
    fields = {} if isinstance(answer, bytes) else {"fields": answer}
    return case(description, "ok", {"request": encode(request), "fields": request}, {"answer": data, **fields})


def refused(description: str, request: Value, sentence: str) -> Case:
    """A request that is answered with a refusal."""
    data = request if isinstance(request, bytes) else encode(request)
    return case(description, "refused", {"request": data}, {"refusal": sentence})


def reset(description: str, request: bytes) -> Case:
    """A request that ends the stream."""
    return case(description, "reset", {"request": request})


# ---- the log


def _entries(start: int, limit: int, size: int) -> dict[str, Value]:
    return {"limit": limit, "op": "entries", "size": size, "start": start}


def _entries_answer(start: int, end: int, size: int) -> dict[str, Value]:
    return {"entries": ENTRIES[start:end], "proof": TREE.consistency_proof(end, size)}


def _heads(note: bytes) -> dict[str, Value]:
    return {"checkpoint": note, "cosigned": head(COSIGNED, True), "size": SIZE}


def log_requests() -> Iterator[Case]:
    """What a peer that has the log answers."""
    yield asked(
        "The newest head, and the newest one that enough witnesses cosigned.", {"op": "head"}, _heads(head(SIZE))
    )
    yield asked("Root and manifest.", _entries(0, 2, SIZE), _entries_answer(0, 2, SIZE))
    yield asked("The rest, which needs no proof.", _entries(2, 4096, SIZE), _entries_answer(2, SIZE, SIZE))
    yield asked("Three entries and the proof from 5 to 8.", _entries(2, 3, SIZE), _entries_answer(2, 5, SIZE))
    yield asked("Under a smaller head.", _entries(2, 4096, COSIGNED), _entries_answer(2, COSIGNED, COSIGNED))
    yield asked("Nothing new.", _entries(SIZE, 10, SIZE), _entries_answer(SIZE, SIZE, SIZE))
    yield asked("A limit of 0.", _entries(3, 0, SIZE), _entries_answer(3, 3, SIZE))
    for old, new in ((COSIGNED, SIZE), (0, SIZE), (SIZE, SIZE)):
        answer: dict[str, Value] = {"proof": TREE.consistency_proof(old, new), "root": TREE.root(old)}
        yield asked(f"What tree {new} had at size {old}.", {"new": new, "old": old, "op": "prefix"}, answer)
    beyond = f"The log here has {SIZE} entries, not {{}} to {{}}."
    yield refused("A size that is not here.", _entries(0, 10, 9), beyond.format(0, 9))
    yield refused("A start behind the size.", _entries(7, 10, 6), beyond.format(7, 6))
    yield refused("A start below 0.", _entries(-1, 10, 6), beyond.format(-1, 6))
    yield refused("An old size over the new one.", {"new": 5, "old": 6, "op": "prefix"}, beyond.format(6, 5))
    yield asked("All root versions.", {"op": "roots", "version": 0}, {"roots": ENTRIES[:1]})
    yield asked("Root versions after the newest.", {"op": "roots", "version": 1}, {"roots": []})
    yield refused("A boolean for a version.", {"op": "roots", "version": False}, LOG_REFUSAL)
    yield refused("A boolean for a number.", {**_entries(0, 2, SIZE), "start": True}, LOG_REFUSAL)
    yield refused("A number as text.", {**_entries(0, 2, SIZE), "limit": "2"}, LOG_REFUSAL)
    yield refused("A field too many.", {"more": 1, "op": "head"}, LOG_REFUSAL)
    yield refused("A field missing.", {"limit": 2, "op": "entries", "start": 0}, LOG_REFUSAL)
    yield refused("An operation that nobody knows.", {"op": "tail"}, LOG_REFUSAL)
    yield refused("No map.", ["head"], LOG_REFUSAL)
    yield refused("No bytes.", b"", "The bytes are not a msgpack record.")
    yield refused("A byte too many.", encode({"op": "head"}) + b"\0", "Bytes follow the end of the record.")
    yield refused(
        "Keys out of order.",
        bytes.fromhex("82a26f70a6707265666978a36e657708"),
        "The record is not in its canonical encoding.",
    )
    yield reset("Over 256 bytes.", encode({"op": "head", "pad": bytes(300)}))


def log_answers() -> Iterator[Case]:
    """What a follower that begins, asking one peer, believes: `output.entries` is how many it then has."""
    first, rest = encode(_entries(0, 2, SIZE)), encode(_entries(2, 4096, SIZE))
    newest, honest = encode({"op": "head"}), _entries_answer(2, SIZE, SIZE)
    note = head(SIZE)

    def judged(description: str, request: bytes, answer: Value, entries: int) -> Case:
        expect = "ok" if entries == SIZE else "not believed"
        return case(description, expect, {"request": request, "answer": encode(answer)}, {"entries": entries})

    swapped = [*ENTRIES[2:4], *ENTRIES[5:3:-1], *ENTRIES[6:]]
    yield judged("The honest answer.", rest, honest, SIZE)
    yield judged("An entry changed.", rest, {**honest, "entries": [*ENTRIES[2:-1], ENTRIES[2]]}, 2)
    yield judged("Two entries in another order.", rest, {**honest, "entries": swapped}, 2)
    yield judged("An entry kept back, without a proof.", rest, {**honest, "entries": ENTRIES[2:-1]}, 2)
    yield judged("No entries.", rest, {"entries": [], "proof": []}, 2)
    yield judged("A step too many.", rest, {**honest, "proof": [bytes(32)]}, 2)
    yield judged("Text for an entry.", rest, {**honest, "entries": ["text"]}, 2)
    yield judged("A field too many.", rest, {**honest, "more": 1}, 2)
    yield judged("Another root record.", first, {"entries": [ENTRIES[2], ENTRIES[1]], "proof": []}, 0)
    yield judged("One entry for two.", first, {"entries": ENTRIES[:1], "proof": []}, 0)
    begun = _entries_answer(0, 2, SIZE)
    yield judged("A signature of the root changed.", first, {**begun, "entries": [_other_signature(), ENTRIES[1]]}, 0)
    yield judged("The beginning without a proof.", first, {**begun, "proof": []}, 0)
    yield judged("A head by another key.", newest, _heads(_other_signer()), 0)
    yield judged("A head of another log.", newest, _heads(_other_origin()), 0)
    yield judged("A head that was changed.", newest, _heads(note.replace(b"\n8\n", b"\n7\n")), 0)
    yield judged("A head without its fields.", newest, {"checkpoint": note}, 0)
    yield judged("No cosigned head.", newest, {**_heads(note), "cosigned": b""}, SIZE)


def _other_signature() -> bytes:
    root = Envelope.parse(ENTRIES[0])
    (signature,) = root.signatures
    return replace(root, signatures=(replace(signature, sig=bytes(64)),)).encode()


def _other_signer() -> bytes:
    return Checkpoint(seeds.log_origin(RUN), SIZE, TREE.root()).sign(STRANGER).encode()


def _other_origin() -> bytes:
    return Checkpoint(seeds.log_origin(digest_of("other run")), SIZE, TREE.root()).sign(COORDINATOR).encode()


# ---- blobs


def _list(digest: bytes) -> dict[str, Value]:
    return {"digest": digest, "op": "list"}


def _chunk(digest: bytes, index: int) -> dict[str, Value]:
    return {"digest": digest, "index": index, "op": "chunk"}


def _have(digest: bytes, known: int = 0) -> dict[str, Value]:
    return {"digest": digest, "known": known, "op": "have"}


def _any(digest: bytes, wants: bytes) -> dict[str, Value]:
    return {"digest": digest, "op": "any", "wants": wants}


def blob_requests() -> Iterator[Case]:
    """What a peer that has the two blobs answers."""
    short, long, absent = blob_digest(SHORT), blob_digest(LONG), digest_of("no blob")
    yield asked("The chunk list of six bytes.", _list(short), chunk_list(SHORT).encode())
    yield asked("Their one chunk.", _chunk(short, 0), SHORT)
    yield asked("The chunk list of two chunks.", _list(long), chunk_list(LONG).encode())
    yield asked("The first chunk.", _chunk(long, 0), LONG[:CHUNK_BYTES])
    yield asked("The last chunk.", _chunk(long, 1), LONG[CHUNK_BYTES:])
    yield refused("A blob that is not here.", _list(absent), f"Blob {absent.hex()[:8]} is not here.")
    for index in (2, -1):
        sentence = f"There is no chunk {index} of blob {long.hex()[:8]} here."
        yield refused(f"Chunk {index} of two.", _chunk(long, index), sentence)
    yield asked("What is here of a blob of one chunk.", _have(short), b"\x01")
    yield asked("What is here of a blob of two chunks.", _have(long), b"\x03")
    yield asked("What is here of a blob of two chunks, one more than the asker knows of.", _have(long, 1), b"\x03")
    yield asked("What is here of a blob that is whole, at once.", _have(long, 2), b"\x03")
    yield refused("What is here of a blob that is not.", _have(absent), f"Blob {absent.hex()[:8]} is not here.")
    yield asked("Any of one chunk.", _any(long, b"\x02"), b"\1\0\0\0" + LONG[CHUNK_BYTES:])
    yield asked("Any of the only chunk.", _any(short, b"\x01"), b"\0\0\0\0" + SHORT)
    yield refused(
        "Any of no chunk.",
        _any(long, b"\x00"),
        f"Others were just given these chunks of blob {long.hex()[:8]}; ask them first.",
    )
    yield refused("A bitmap that is too long.", _any(long, b"\x01\x00"), "A bitmap of 2 chunks does not have 2 bytes.")
    yield refused("A bit behind the last chunk.", _any(long, b"\x05"), "A bitmap of 2 chunks has a bit behind them.")
    yield refused("A boolean for a number known.", {**_have(long), "known": False}, BLOB_REFUSAL)
    yield refused("No number known.", {"digest": long, "op": "have"}, BLOB_REFUSAL)
    yield refused("A digest of 31 bytes.", _list(short[:-1]), BLOB_REFUSAL)
    yield refused("A boolean for a number.", {**_chunk(long, 1), "index": True}, BLOB_REFUSAL)
    yield refused("No index.", {"digest": long, "op": "chunk"}, BLOB_REFUSAL)
    yield refused("A field too many.", {**_list(short), "index": 0}, BLOB_REFUSAL)
    yield reset("Over 1,024 bytes.", encode({**_list(short), "pad": bytes(1024)}))


def swarm_answers() -> Iterator[Case]:
    """What a fetcher makes of one peer's answer to what only fetchers from many peers ask."""
    short, long = blob_digest(SHORT), blob_digest(LONG)
    first = b"\0\0\0\0"
    for description, expect, request, answer in (
        ("An honest bitmap.", "ok", _have(short), b"\x01"),
        ("A bitmap with a bit behind the last chunk.", "not believed", _have(long), b"\x07"),
        ("A bitmap that is too long.", "not believed", _have(short), b"\x01\x00"),
        ("No bitmap.", "not believed", _have(short), b""),
        ("The honest chunk that was chosen.", "ok", _any(short, b"\x01"), first + SHORT),
        ("Other bytes.", "not believed", _any(short, b"\x01"), first + b"gonods"),
        ("A chunk that was not wanted.", "not believed", _any(short, b"\x01"), b"\1\0\0\0" + SHORT),
        ("A number that is cut short.", "not believed", _any(short, b"\x01"), first[:-1]),
    ):
        yield case(description, expect, {"request": encode(request), "answer": answer})


def blob_answers() -> Iterator[Case]:
    """What a fetcher makes of one peer's answer; after wrong bytes it asks that peer nothing more."""
    short, long = blob_digest(SHORT), blob_digest(LONG)
    listed = chunk_list(SHORT).encode()
    for description, expect, request, answer in (
        ("The honest chunk.", "ok", _chunk(short, 0), SHORT),
        ("The list of another blob.", "not believed", _list(short), chunk_list(LONG).encode()),
        ("A list that is cut short.", "not believed", _list(short), listed[:-1]),
        ("A list with another length.", "not believed", _list(short), b"\x07" + listed[1:]),
        ("An empty list.", "not believed", _list(short), b""),
        ("Other bytes of the right length.", "not believed", _chunk(short, 0), b"gonods"),
        ("A chunk that is cut short.", "not believed", _chunk(short, 0), SHORT[:-1]),
        ("A chunk with a byte more.", "not believed", _chunk(short, 0), SHORT + b"\0"),
        ("The first chunk for the last one.", "not believed", _chunk(long, 1), LONG[:CHUNK_BYTES]),
    ):
        yield case(description, expect, {"request": encode(request), "answer": answer})


# ---- peers


def peers_requests() -> Iterator[Case]:
    """What a peer answers that knows nobody; the asker's id is that of the contributor's key."""
    other = f"/ip4/192.0.2.2/tcp/4001/p2p/{peer_id(STRANGER.public)}"
    yield asked("An asker that listens nowhere.", {"addresses": []}, {"addresses": []})
    yield asked(
        "The asker's own address, of which others are told from now on.", {"addresses": [ASKER]}, {"addresses": []}
    )
    yield asked("Somebody else's address is passed over.", {"addresses": [other]}, {"addresses": []})
    yield refused("Nine addresses.", {"addresses": [ASKER] * 9}, PEERS_REFUSAL)
    yield refused("An address of 257 characters.", {"addresses": ["/" * 257]}, PEERS_REFUSAL)
    yield refused("Bytes for an address.", {"addresses": [ASKER.encode()]}, PEERS_REFUSAL)
    yield refused("A field too many.", {"addresses": [], "more": 1}, PEERS_REFUSAL)
    yield refused("No map.", [], PEERS_REFUSAL)
    yield reset("Over 16 KiB.", bytes((16 << 10) + 1))


# ---- posts


def post_exchange() -> Iterator[Case]:
    """The example's batch header is posted and logged."""
    answer = Posted(6, _sealed("receipt"))
    yield asked("A batch header and its receipt.", Post(_sealed("batch-header"), b"").to_value(), answer.to_value())


def _record(description: str, expect: str, name: str, data: bytes, fields: Any = None) -> Case:
    return case(description, expect, {"message": name, "data": data}, fields)


def posts() -> Iterator[Case]:
    """Messages of `/gonode/post/1` and `/gonode/cosign/1`: requests `post` and `cosigning`, the answer `posted`."""
    header = _sealed("batch-header")
    post = Post(header, b"")
    yield _record("A batch header.", "ok", "post", post.encode(), post.to_value())
    other = Post(_sealed("verdict"), MADE["fraud-proof"].record.encode())
    yield _record("A rejecting verdict with its fraud proof.", "ok", "post", other.encode(), other.to_value())
    value = post.to_value()
    assert isinstance(value, dict)
    yield _record("No proof field.", "parse error", "post", encode({"envelope": header}))
    yield _record("A field too many.", "parse error", "post", encode({**value, "more": 1}))
    yield _record("Text for the envelope.", "parse error", "post", encode({**value, "envelope": "text"}))
    yield _record("Over 196,608 bytes.", "too large", "post", bytes(3 * 65536 + 1))
    answer = Posted(6, _sealed("receipt"))
    yield _record("Logged at 6, with the receipt.", "ok", "posted", answer.encode(), answer.to_value())
    bare = Posted(7, b"")
    yield _record("Logged at 7; a verdict has no receipt.", "ok", "posted", bare.encode(), bare.to_value())
    yield _record("Kept by a verifier.", "ok", "posted", HELD.encode(), HELD.to_value())
    waits = Posted(0, b"", place=12, waiting=40)
    yield _record("A registration that waits for a slot.", "ok", "posted", waits.encode(), waits.to_value())
    wrong: dict[str, Value] = {"held": False, "index": 7, "place": 0, "receipt": b"", "waiting": 0}
    yield _record("An index below 0.", "parse error", "posted", encode({**wrong, "index": -1}))
    yield _record("A boolean for the index.", "parse error", "posted", encode({**wrong, "index": True}))
    yield _record("An integer for held.", "parse error", "posted", encode({**wrong, "held": 0}))
    yield _record("Kept, and an index.", "parse error", "posted", encode({**wrong, "held": True}))
    yield _record(
        "No held field.", "parse error", "posted", encode({"index": 7, "receipt": b"", "place": 0, "waiting": 0})
    )
    yield _record("A place, and an index.", "parse error", "posted", encode({**wrong, "place": 1, "waiting": 1}))
    for what, more in (("no such", {"place": 41}), ("no", {"place": 0})):
        fields = {**wrong, "index": 0, "waiting": 40, **more}
        yield _record(f"40 wait, and {what} place.", "parse error", "posted", encode(fields))
    held = {**wrong, "index": 0, "held": True, "place": 1, "waiting": 1}
    yield _record("Kept, and a place.", "parse error", "posted", encode(held))
    note = Checkpoint(seeds.log_origin(RUN), COSIGNED, TREE.root(COSIGNED)).sign(COORDINATOR)
    cosigning = Cosigning(VERIFIER.public, COSIGNED, _line(note.text).encode(), _sealed("share"))
    yield _record("A cosignature with its share.", "ok", "cosigning", cosigning.encode(), cosigning.to_value())
    whole = cosigning.to_value()
    assert isinstance(whole, dict)
    bad_line = encode({**whole, "line": cosigning.line.replace("—", "-")})
    yield _record("A hyphen in place of the em dash.", "parse error", "cosigning", bad_line)
    yield _record("A key of 31 bytes.", "parse error", "cosigning", encode({**whole, "witness": bytes(31)}))


def _sealed(name: str) -> bytes:
    example = MADE[name]
    assert example.signer is not None
    return example.record.seal(example.signer).encode()


def receipt_fits() -> bool:
    """Whether the example's receipt is for the header at index 6 of the entries that are served."""
    receipt = MADE["receipt"].record
    assert isinstance(receipt, Receipt)
    return ENTRIES[receipt.index] == _sealed("batch-header") and receipt.size <= SIZE


# ---- gossip


def gossip() -> Iterator[Case]:
    """Publications by the contributor, whom the run knows, or by a stranger, whom it does not; neither is connected."""

    def told(description: str, expect: str, topic: str, data: bytes, by: bytes = CONTRIBUTOR.public) -> Case:
        return case(description, expect, {"topic": f"{TOPIC}/{topic}", "publisher": by, "data": data})

    digests = (blob_digest(SHORT), blob_digest(LONG))
    have = HaveList(RUN, 1_760_000_000_000, digests)
    yield told("A head; it is looked at by asking.", "ok", "heads", head(SIZE))
    yield told("A head by anybody: a hint needs no key.", "ok", "heads", head(SIZE), STRANGER.public)
    yield told("Over 8 KiB.", "ignored", "heads", bytes(8193))
    yield told("No note.", "ignored", "heads", b"head")
    yield told("A have-list.", "ok", "have", have.seal(CONTRIBUTOR).encode())
    yield told("A have-list of a stranger.", "ignored", "have", have.seal(STRANGER).encode(), STRANGER.public)
    yield told("Signed by another key than the publisher's.", "ignored", "have", have.seal(STRANGER).encode())
    yield told(
        "For another run.", "ignored", "have", HaveList(digest_of("other run"), 1, digests).seal(CONTRIBUTOR).encode()
    )
    many = encode({"digests": [bytes(32)] * 257, "number": 1, "run": RUN})
    yield told("257 digests.", "ignored", "have", _sealed_bytes(many))
    yield told("No envelope.", "ignored", "have", b"have")


def _sealed_bytes(payload: bytes) -> bytes:
    return seal(HaveList.payload_type(), payload, CONTRIBUTOR).encode()


# ---- frames and ids


def frames() -> Iterator[Case]:
    """Bytes of a stream and the frame that a reader with a limit of 2 MiB takes from them."""
    for description, frame in (("No bytes.", b""), ("Six bytes.", SHORT), ("The largest.", bytes(MAX_FRAME))):
        data = len(frame).to_bytes(4, "big") + frame
        given = {"length": data[:4], "rest": frame}
        yield case(description, "ok", given, {"frame": frame})
    over = (MAX_FRAME + 1).to_bytes(4, "big")
    yield case("A length over 2 MiB resets the stream before more is read.", "reset", {"length": over, "rest": b""})
    yield case("The stream ends inside the frame.", "ended", {"length": b"\0\0\0\x06", "rest": b"gono"})
    yield case("The stream ends inside the length.", "ended", {"length": b"\0\0\0", "rest": b""})


def ids() -> Iterator[Case]:
    """Peer ids and their keys."""
    for name, key in (("The contributor's.", CONTRIBUTOR.public), ("A key of zeros.", bytes(32))):
        yield case(name, "ok", {"id": peer_id(key)}, {"key": key})
    good = peer_id(CONTRIBUTOR.public)
    for description, text in (
        ("A hash of an RSA key.", "QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N"),
        ("A letter outside base58.", good[:-1] + "0"),
        ("Cut short.", good[:-1]),
        ("A 1 before it.", "1" + good),
        ("Nothing.", ""),
    ):
        yield case(description, "refused", {"id": text})


def directory() -> Iterator[Case]:
    """Messages of the directory as they are read: kinds 2 to 5 with a target, and what they name of peers."""
    key, id_bytes = CONTRIBUTOR.public, bytes.fromhex("002408011220")
    place = bytes.fromhex("04c000020106") + (4001).to_bytes(2, "big")  # /ip4/192.0.2.1/tcp/4001
    target = b"\x12\x20" + bytes(32)
    lan = "192.0.2.7"
    more = [place[:-2] + port.to_bytes(2, "big") for port in (4002, 4003, 4004, 4005)]
    four = {"key": key, "addresses": [ASKER.replace("4001", str(port)) for port in (4001, 4002, 4003, 4004)]}

    def field(number: int, data: bytes) -> bytes:
        return bytes([number << 3 | 2, len(data)]) + data

    def peer(number: int, key: bytes, *places: bytes, prefix: bytes = id_bytes) -> bytes:
        return field(number, field(1, prefix + key) + b"".join(field(2, each) for each in places) + b"\x18\x02")

    def read(
        description: str, kind: int, *peers: bytes, teller: str = lan, target: bytes = target, **told: Any
    ) -> Case:
        message = bytes([8, kind]) + field(2, target) * bool(target) + b"".join(peers)
        output = {
            "kind": kind,
            "target": target,
            "closer": told.get("closer", []),
            "providers": told.get("providers", []),
        }
        return case(description, "ok", {"message": message, "teller": teller}, output)

    contributor = {"key": key, "addresses": [ASKER]}
    yield read("A provider.", 2, peer(9, key, place), providers=[contributor])
    yield read("A question for providers.", 3)
    both = {"closer": [contributor], "providers": [contributor]}
    yield read("An answer to it.", 3, peer(8, key, place), peer(9, key, place), **both)
    yield read("A question for a peer.", 4, target=id_bytes + key)
    yield read("A ping.", 5, target=b"")
    nowhere = {"key": key, "addresses": []}
    yield read(
        "An address of a LAN, told from the Internet.", 4, peer(8, key, place), teller="9.9.9.9", closer=[nowhere]
    )
    loopback = bytes.fromhex("047f000001060016")
    yield read("An address of this machine, told from a LAN.", 4, peer(8, key, loopback), closer=[nowhere])
    yield read("Five addresses, of which four count.", 4, peer(8, key, place, *more), closer=[four])
    yield read("A peer with a key of another kind.", 4, peer(8, key, place, prefix=b"\x12\x20"))
    for description, message in (
        ("PUT_VALUE.", b"\x08\x00" + field(2, target)),
        ("GET_VALUE.", b"\x08\x01" + field(2, target)),
        ("A kind that is none.", b"\x08\x06" + field(2, target)),
        ("No target.", b"\x08\x04"),
        ("A target of 65 bytes.", b"\x08\x04" + field(2, bytes(65))),
        ("A field that ends too late.", b"\x08\x04\x12\x22\x00"),
        ("No protobuf.", b"\xff\xff"),
    ):
        yield case(description, "refused", {"message": message, "teller": lan})


GROUPS: Final[Sequence[tuple[str, str, Any]]] = (
    ("log-requests", "Requests of /gonode/log/1 and what the peer of served.json answers.", log_requests),
    ("log-answers", "Answers of /gonode/log/1 and what a follower believes; all others are honest.", log_answers),
    ("blob-requests", "Requests of /gonode/blob/1 and what the peer of served.json answers.", blob_requests),
    ("blob-answers", "Answers of /gonode/blob/1 and what a fetcher believes; all others are honest.", blob_answers),
    ("swarm-answers", "Answers of /gonode/blob/1 to `have` and `any`, likewise.", swarm_answers),
    ("peers-requests", "Requests of /gonode/peers/1, each to a peer that knows nobody.", peers_requests),
    (
        "post-requests",
        "A request of /gonode/post/1, as the coordinator of the example's run answers it.",
        post_exchange,
    ),
    ("posts", "Messages of /gonode/post/1 and /gonode/cosign/1.", posts),
    ("gossip", "Publications.", gossip),
    ("frames", "Bytes of a stream and their first frame.", frames),
    ("directory", "Messages of the directory and how they are read.", directory),
    ("ids", "Peer ids.", ids),
)


def served() -> Case:
    """What the answering peer has."""
    return {
        "description": "What the peer has that answers: the first entries of the example's run, heads, blobs.",
        "run": RUN.hex(),
        "asker": CONTRIBUTOR.public.hex(),
        "entries": plain(ENTRIES),
        "heads": plain([head(COSIGNED, True), head(SIZE)]),
        "blobs": plain([SHORT, LONG]),
    }


def files() -> Iterator[tuple[str, str]]:
    """Names and texts of the files."""
    assert receipt_fits()
    yield "served.json", json.dumps(served(), indent=1) + "\n"
    for name, description, cases in GROUPS:
        yield f"{name}.json", json.dumps({"description": description, "cases": list(cases())}, indent=1) + "\n"


_EXCHANGE: Final = re.compile(r"(<!-- exchange (.+?): (.+?) -->\n)(?:.*?\n)??(<!-- end exchange -->)", re.S)


def with_exchanges(page: str) -> str:
    """The page with the frames of the cases that it names written anew."""
    return _EXCHANGE.sub(lambda found: found[1] + _exchange(found[2], found[3]) + found[4], page)


def _exchange(group: str, description: str) -> str:
    cases = next(list(make()) for name, _, make in GROUPS if name == group)
    found = next(each for each in cases if each["description"] == description)
    request = bytes.fromhex(found["input"]["request"])
    if found["expect"] == "ok":
        reply = b"\0" + bytes.fromhex(found["output"]["answer"])
    else:
        reply = b"\1" + found["output"]["refusal"].encode()
    return f"```\n{_lines('>', request)}{_lines('<', reply)}```\n"


def _lines(side: str, frame: bytes) -> str:
    """A frame as lines of hexadecimal text, behind who sends it."""
    text = (len(frame).to_bytes(4, "big") + frame).hex()
    return "".join(f"{side} {text[at : at + 96]}\n" for at in range(0, len(text), 96))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in files():
        (FOLDER / name).write_text(text, encoding="utf-8")
    PAGE.write_text(with_exchanges(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
