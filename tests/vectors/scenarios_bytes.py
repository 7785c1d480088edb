"""Scenarios of the formats of single pieces: canonical bytes, signatures, envelopes, key files, compression, tickets,
blobs."""

import os
from base64 import b32encode
from collections.abc import Mapping
from unittest import mock

from protocol import blob, codec, compress, ed25519, envelope, keyfile, ticket
from tests.vectors.scenario import Json, Runner, Scenario, unhex

ALICE = ed25519.SecretKey(bytes(range(32)))
BOB = ed25519.SecretKey(bytes(range(32, 64)))


def _tagged(value: codec.Value) -> Json:
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, list):
        return [_tagged(item) for item in value]
    if isinstance(value, dict):
        return {"map": {key: _tagged(item) for key, item in value.items()}}
    return value


def run_canonical(given: Mapping[str, Json]) -> Json:
    """Decodes `data`."""
    return {"value": _tagged(codec.decode(unhex(given["data"])))}


def run_ed25519(given: Mapping[str, Json]) -> Json:
    """Verifies `signature` by `key` over `message`."""
    ed25519.verify(unhex(given["key"]), unhex(given["message"]), unhex(given["signature"]))
    return {}


def run_envelope(given: Mapping[str, Json]) -> Json:
    """Parses `data` and verifies its signatures; `signer`, if there, has to be the only one."""
    found = envelope.Envelope.parse(unhex(given["data"]))
    found.verify()
    if "signer" in given:
        found.verify_signer(unhex(given["signer"]))
    return {
        "type": found.type,
        "payload": found.payload.hex(),
        "signers": [key.hex() for key in found.signers],
        "digest": found.digest.hex(),
    }


def run_keyfile(given: Mapping[str, Json]) -> Json:
    """Opens the key file `text` with `passphrase` (null: none)."""
    secret = keyfile.parse_key(given["text"].encode(), given["passphrase"])
    return {"seed": secret.seed.hex(), "public": secret.public.hex()}


def run_compression(given: Mapping[str, Json]) -> Json:
    """Decompresses `data` under the cap `max_bytes`."""
    raw = compress.decompress(unhex(given["data"]), given["max_bytes"])
    return {"length": len(raw), "blob_digest": blob.blob_digest(raw).hex()}


def run_ticket(given: Mapping[str, Json]) -> Json:
    """Parses the ticket `text`."""
    found = ticket.Ticket.parse(given["text"])
    return {"run": found.run.hex(), "root": found.root_digest.hex(), "addresses": list(found.addresses)}


def run_blob(given: Mapping[str, Json]) -> Json:
    """Checks a chunk list against `digest` and, if given, `chunk` number `index` against the list; or hashes `data`."""
    if "data" in given:
        whole = blob.chunk_list(unhex(given["data"]))
        return {"digest": whole.digest.hex(), "chunk_list": whole.encode().hex()}
    chunks = blob.ChunkList.parse(unhex(given["chunk_list"]), unhex(given["digest"]))
    if "chunk" in given:
        chunks.verify_chunk(given["index"], unhex(given["chunk"]))
    return {"length": chunks.length, "chunks": len(chunks.hashes)}


RUNNERS: dict[str, Runner] = {
    "canonical": run_canonical,
    "ed25519": run_ed25519,
    "envelope": run_envelope,
    "keyfile": run_keyfile,
    "compression": run_compression,
    "ticket": run_ticket,
    "blob": run_blob,
}


def _canonical() -> list[Scenario]:
    def case(name: str, expect: str, data: Json, description: str) -> Scenario:
        return Scenario("canonical", name, description, expect, {"data": data})

    value: codec.Value = {
        "bool": True,
        "bytes": b"\x00\xff",
        "int": [0, 127, 128, 2**64 - 1, -1, -(2**63)],
        "map": {},
        "none": None,
        "text": "Go \u56f2\u7881",
        "\u00e9": "after all ASCII keys",
    }
    return [
        case("every-kind", "ok", codec.encode(value).hex(), "One value of each kind."),
        case("empty-map", "ok", "80", "The empty map."),
        case("depth-8", "ok", "91" * 7 + "90", "Eight nested arrays: the deepest value."),
        case("depth-9", "too large", "91" * 8 + "90", "Nine nested arrays."),
        case("depth-bomb", "too large", {"repeat": "91", "times": 60000}, "Nesting that would end a recursive parser."),
        case("over-64-kib", "too large", {"repeat": "c0", "times": 65537}, "One byte over the limit."),
        case("huge-array", "parse error", "ddffffffff", "An array that claims 2^32 - 1 items."),
        case("huge-bytes", "parse error", "c6ffffffff00", "Bytes that claim a length of 2^32 - 1."),
        case("nothing", "parse error", "", "No bytes at all."),
        case("cut-short", "parse error", "82a161", "A map that ends after its first key."),
        case("trailing-byte", "parse error", "8000", "A byte after the end."),
        case("reserved-byte", "parse error", "c1", "The byte that msgpack never uses."),
        case("float32", "parse error", "ca3f800000", "A float of 32 bits."),
        case("float64", "parse error", "cb3ff0000000000000", "A float of 64 bits."),
        case("extension", "parse error", "d60100000000", "An extension type."),
        case("timestamp", "parse error", "d6ff00000000", "A timestamp, which msgpack libraries read by themselves."),
        case("bad-utf8", "parse error", "a1ff", "A string that is not UTF-8."),
        case("surrogate", "parse error", "a3eda080", "A string with a lone surrogate."),
        case("integer-key", "parse error", "810101", "A map with a key that is no string."),
        case("bytes-key", "parse error", "81c4016101", "A map with a key of bytes."),
        case("long-integer", "not canonical", "cc01", "1 in two bytes."),
        case("signed-integer", "not canonical", "d001", "1 as a signed number."),
        case("long-string", "not canonical", "d90161", "A short string with a long header."),
        case("long-array", "not canonical", "dc0000", "An empty array with a long header."),
        case("unsorted-keys", "not canonical", "82a16201a16102", "Keys out of order."),
        case("repeated-key", "not canonical", "82a16101a16102", "One key twice."),
    ]


def _ed25519() -> list[Scenario]:
    message = b"Tengen"
    signature = ALICE.sign(message)
    order = 2**252 + 27742317777372353535851937790883648493
    s = int.from_bytes(signature[32:], "little")
    one, minus_zero = "01" + "00" * 31, "01" + "00" * 30 + "80"

    def case(name: str, expect: str, description: str, key: str, sig: str, data: bytes = message) -> Scenario:
        return Scenario("ed25519", name, description, expect, {"key": key, "message": data.hex(), "signature": sig})

    alice = ALICE.public.hex()
    return [
        case(
            "rfc8032-test-2",
            "ok",
            "The second test of RFC 8032, section 7.1.",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
            b"\x72",
        ),
        case("good", "ok", "A signature.", alice, signature.hex()),
        case("other-message", "bad signature", "A signature of another message.", alice, signature.hex(), b"Hoshi"),
        case("other-key", "bad signature", "A signature by another key.", BOB.public.hex(), signature.hex()),
        case("short", "bad signature", "63 bytes of signature.", alice, signature[:63].hex()),
        case("short-key", "bad signature", "31 bytes of key.", alice[:62], signature.hex()),
        case(
            "s-plus-order",
            "bad signature",
            "S is raised by the group's order: the same signature in another encoding.",
            alice,
            (signature[:32] + (s + order).to_bytes(32, "little")).hex(),
        ),
        case("identity-key", "bad signature", "Fits every message, by a key of order 1.", one, one + "00" * 32),
        case("identity-minus-zero", "bad signature", "The same key with x = -0.", minus_zero, one + "00" * 32),
        case(
            "key-over-p",
            "bad signature",
            "The same key with y = p + 1.",
            "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            one + "00" * 32,
        ),
    ]


def _envelope() -> list[Scenario]:
    name = envelope.payload_type("example")
    payload = codec.encode({"say": "hello"})
    good = envelope.seal(name, payload, ALICE)
    both = envelope.seal(name, payload, ALICE, BOB)
    unsorted: list[codec.Value] = ["type", name, "payload", payload, "signatures", []]
    other_type = envelope.seal(envelope.payload_type("other"), payload, ALICE)

    def raw(type: str, data: bytes, signatures: tuple[envelope.Signature, ...]) -> str:
        pairs = [{"key": each.key, "sig": each.sig} for each in signatures]
        return codec.encode({"payload": data, "signatures": pairs, "type": type}).hex()

    def case(name: str, expect: str, description: str, data: str, /, **more: str) -> Scenario:
        return Scenario("envelope", name, description, expect, {"data": data, **more})

    return [
        case("one-signature", "ok", "An envelope with one signature.", good.encode().hex(), signer=ALICE.public.hex()),
        case("two-signatures", "ok", "An envelope with two signatures, in key order.", both.encode().hex()),
        case(
            "not-the-signer",
            "wrong signer",
            "The signature holds, but another key has to sign.",
            good.encode().hex(),
            signer=BOB.public.hex(),
        ),
        case(
            "one-too-many",
            "wrong signer",
            "Another key signs beside the one that has to.",
            both.encode().hex(),
            signer=ALICE.public.hex(),
        ),
        case("no-signature", "bad signature", "No signature at all.", raw(name, payload, ())),
        case("key-twice", "bad signature", "One key signs twice.", raw(name, payload, good.signatures * 2)),
        case("other-payload", "bad signature", "The payload was changed.", raw(name, payload + b"!", good.signatures)),
        case("other-type", "bad signature", "The type was changed.", raw(name, payload, other_type.signatures)),
        case(
            "second-is-false",
            "bad signature",
            "The second of two signatures does not hold.",
            raw(name, payload, (both.signatures[0], envelope.Signature(both.signatures[1].key, bytes(64)))),
        ),
        case("unsorted", "not canonical", "Signatures not in key order.", raw(name, payload, both.signatures[::-1])),
        case(
            "short-key",
            "parse error",
            "A key of 31 bytes.",
            codec.encode(
                {"payload": payload, "signatures": [{"key": bytes(31), "sig": bytes(64)}], "type": name}
            ).hex(),
        ),
        case(
            "extra-field",
            "parse error",
            "A field that envelopes do not have.",
            codec.encode({"payload": payload, "signatures": [], "type": name, "zone": 1}).hex(),
        ),
        case("odd-type", "parse error", "A type that is no payload type.", raw("text/plain", payload, good.signatures)),
        case(
            "payload-is-text",
            "parse error",
            "A payload that is text.",
            codec.encode({"payload": "hello", "signatures": [], "type": name}).hex(),
        ),
        case(
            "unsorted-keys",
            "not canonical",
            "Keys of the map out of order.",
            "83" + "".join(codec.encode(part).hex() for part in unsorted),
        ),
    ]


def _keyfile() -> list[Scenario]:
    plain = keyfile.encode_key(ALICE, None).decode()
    with mock.patch.object(os, "urandom", lambda count: bytes(range(100, 100 + count))):
        sealed = keyfile.encode_key(ALICE, "correct horse").decode()

    def checked(text: str) -> str:
        body = text[: text.index("check ")]
        return body + f"check {keyfile._checksum(body.encode())}\n"

    def case(name: str, expect: str, description: str, text: str, passphrase: str | None = None) -> Scenario:
        return Scenario("keyfile", name, description, expect, {"text": text, "passphrase": passphrase})

    digit = sealed.index("check ") - 2
    return [
        case("plain", "ok", "A key file without a passphrase.", plain),
        case("passphrase", "ok", "A key file under a passphrase.", sealed, "correct horse"),
        case("wrong-passphrase", "bad key file", "Another passphrase.", sealed, "battery staple"),
        case("passphrase-missing", "bad key file", "A passphrase is needed and none given.", sealed),
        case("empty-passphrase", "bad key file", "The passphrase is empty.", sealed, ""),
        case("checksum", "bad key file", "One digit is changed.", plain.replace("plain 00", "plain 01")),
        case(
            "other-seed",
            "bad key file",
            "The seed is not that of the public key, though the checksum fits.",
            checked(plain.replace("plain 00", "plain 01")),
        ),
        case(
            "damaged-seal",
            "bad key file",
            "The sealed seed is changed and the checksum fits: told as a wrong passphrase.",
            checked(sealed[:digit] + ("0" if sealed[digit] != "0" else "1") + sealed[digit + 1 :]),
            "correct horse",
        ),
        case("empty", "bad key file", "An empty file.", ""),
        case("trailing-line", "bad key file", "A line after the checksum.", plain + "\n"),
        case("upper-case", "bad key file", "Hex in upper case.", plain.upper()),
    ]


def frame_of_runs(size: int, blocks: int, end: bool, block_bytes: int = 128 * 1024) -> bytes:
    """A zstd frame that declares `size` and holds `blocks` runs of `block_bytes` times the letter A."""
    head = b"\x28\xb5\x2f\xfd" + bytes([2 << 6, 13 << 3]) + size.to_bytes(4, "little")
    runs = [block_bytes << 3 | 1 << 1] * blocks
    if end:
        runs[-1] |= 1
    return head + b"".join(run.to_bytes(3, "little") + b"A" for run in runs)


def _compression() -> list[Scenario]:
    magic = "28b52ffd"

    def case(name: str, expect: str, description: str, data: bytes | str, max_bytes: int = 1 << 20) -> Scenario:
        text = data if isinstance(data, str) else data.hex()
        return Scenario("compression", name, description, expect, {"data": text, "max_bytes": max_bytes})

    return [
        case("raw-block", "ok", "Three bytes in a raw block.", magic + "2003190000616263"),
        case("run", "ok", "Two runs of 128 KiB.", frame_of_runs(2 << 17, 2, True)),
        case("empty", "ok", "A frame of nothing.", magic + "2000010000"),
        case("at-the-cap", "ok", "Exactly as long as the cap.", magic + "2003190000616263", 3),
        case("over-the-cap", "too large", "Declares one byte over the cap.", magic + "2003190000616263", 2),
        case("declares-4-gib", "too large", "Declares 2^32 - 1 bytes.", frame_of_runs(2**32 - 1, 1, True)),
        case("wide-window", "too large", "A window of 16 MiB.", magic + "8070" + "03000000" + "190000616263"),
        case("no-size", "parse error", "Declares no content size.", magic + "0058190000616263"),
        case("dictionary", "parse error", "Needs a dictionary.", magic + "210103190000616263"),
        case("lies-small", "parse error", "Holds more than it declares.", frame_of_runs(10, 100, True)),
        case(
            "bomb-without-end",
            "parse error",
            "Declares 1 MiB, holds 512 MiB and never ends: a streaming reader makes it all before it looks.",
            frame_of_runs(1 << 20, 4096, False),
        ),
        case("lies-large", "parse error", "Holds less than it declares.", frame_of_runs(1 << 19, 1, True)),
        case("cut-short", "parse error", "The last byte is missing.", magic + "20031900006162"),
        case("second-frame", "parse error", "Another frame follows.", (magic + "2003190000616263") * 2),
        case("trailing-byte", "parse error", "A byte follows the frame.", magic + "200319000061626300"),
        case("skippable", "parse error", "A skippable frame.", "502a4d180400000061626364"),
        case("nothing", "parse error", "No bytes at all.", ""),
        case("not-zstd", "parse error", "Another format's bytes.", "1f8b08000000000000ff"),
    ]


def _ticket() -> list[Scenario]:
    addresses = ("/ip4/192.0.2.1/tcp/4001/p2p/12D3KooWExample", "/dns4/example.org/tcp/4001")
    good = ticket.Ticket(bytes(range(32)), bytes(range(32, 64)), addresses).encode()
    bare = ticket.Ticket(bytes(range(32)), bytes(range(32, 64)), ()).encode()

    def case(name: str, expect: str, description: str, text: str) -> Scenario:
        return Scenario("ticket", name, description, expect, {"text": text})

    def wrapped(value: codec.Value) -> str:
        payload = codec.encode(value)
        data = payload + ticket._checksum(payload)
        return "gonode1" + b32encode(data).decode().rstrip("=").lower()

    fields = {"addresses": [], "root": bytes(32), "run": bytes(32)}
    return [
        case("two-addresses", "ok", "A ticket with two addresses.", good),
        case("no-address", "ok", "A ticket without addresses.", bare),
        case("white-space", "ok", "White space around a ticket.", f"  {bare}\n"),
        case("empty", "bad ticket", "Nothing.", " "),
        case("other-prefix", "bad ticket", "Another prefix.", "gonode2" + bare[7:]),
        case(
            "typing-error",
            "bad ticket",
            "One letter is wrong.",
            bare[:20] + ("a" if bare[20] != "a" else "b") + bare[21:],
        ),
        case("cut-short", "bad ticket", "The last letters are missing.", bare[:-8]),
        case("upper-case", "bad ticket", "The content in upper case.", "gonode1" + bare[7:].upper()),
        case("odd-character", "bad ticket", "A digit outside the alphabet.", bare[:-1] + "1"),
        case("space-inside", "bad ticket", "A space inside.", bare[:30] + " " + bare[30:]),
        case("only-prefix", "bad ticket", "The prefix alone.", "gonode1"),
        case("too-long", "bad ticket", "More than 4,096 characters.", "gonode1" + "a" * 4096),
        case("short-run", "bad ticket", "A run id of 31 bytes.", wrapped({**fields, "run": bytes(31)})),
        case("extra-field", "bad ticket", "A field that tickets do not have.", wrapped({**fields, "zone": 1})),
        case(
            "odd-address", "bad ticket", "An address that is no multiaddress.", wrapped({**fields, "addresses": ["x"]})
        ),
        case("many-addresses", "bad ticket", "17 addresses.", wrapped({**fields, "addresses": ["/a/b"] * 17})),
    ]


def _blob() -> list[Scenario]:
    mib = 1 << 20
    long = {"repeat": "00", "times": mib + 1}
    chunks = blob.chunk_list(bytes(mib + 1))

    def case(name: str, expect: str, description: str, /, **given: Json) -> Scenario:
        return Scenario("blob", name, description, expect, given)

    named = {"chunk_list": chunks.encode().hex(), "digest": chunks.digest.hex()}
    short = chunks.encode()[:-32]
    return [
        case("empty", "ok", "The blob without bytes.", data=""),
        case("short", "ok", "A blob shorter than a chunk.", data=b"gonode".hex()),
        case("one-chunk", "ok", "Exactly one chunk.", data={"repeat": "00", "times": mib}),
        case("two-chunks", "ok", "One byte more than a chunk.", data=long),
        case("chunk-list", "ok", "A chunk list that fits its digest.", **named),
        case("first-chunk", "ok", "The first chunk.", **named, index=0, chunk={"repeat": "00", "times": mib}),
        case("last-chunk", "ok", "The last chunk, of one byte.", **named, index=1, chunk="00"),
        case("false-chunk", "bad digest", "Other bytes.", **named, index=1, chunk="01"),
        case("long-chunk", "bad digest", "A chunk that is too long.", **named, index=1, chunk="0000"),
        case("no-such-chunk", "bad digest", "A chunk past the end.", **named, index=2, chunk="00"),
        case("other-digest", "bad digest", "The list of another blob.", **{**named, "digest": "00" * 32}),
        case("hash-missing", "parse error", "A hash too few.", **{**named, "chunk_list": short.hex()}),
        case("ragged", "parse error", "Half a hash.", **{**named, "chunk_list": chunks.encode()[:-1].hex()}),
        case("huge", "too large", "A length over 4 GiB.", chunk_list="ffffffffffffffff", digest="00" * 32),
    ]


SCENARIOS: list[Scenario] = [
    *_canonical(),
    *_ed25519(),
    *_envelope(),
    *_keyfile(),
    *_compression(),
    *_ticket(),
    *_blob(),
]
