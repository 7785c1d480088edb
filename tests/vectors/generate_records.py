"""Writes the vectors of all records and the examples in their pages: `python -m tests.vectors.generate_records`.

A rerun changes nothing. A file `<record>/<scenario>.json` has a description and `cases`; each case is what a single vector
of `generate.py` is: `description`, `expect` (`ok` or the label of an error in `protocol/errors.py`), `input` (bytes in
hexadecimal and what they are judged by) and, where it is told, `output`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import msgpack  # type: ignore[import-untyped]

from protocol import layout
from protocol.codec import Value, encode
from protocol.ed25519 import SecretKey
from protocol.entries import ENTRY_TYPES
from protocol.envelope import Envelope, Signature
from protocol.manifest import Manifest
from protocol.record import Record
from protocol.root import Root
from protocol.statement.documents import Documents
from protocol.statement.record import ReleaseStatement
from protocol.types import UNSET
from tests.vectors.record_examples import STRANGER, Example, digest_of, examples, release_documents
from tests.vectors.record_format import RECORDS, hints, misfits, readable

VECTORS = Path(__file__).parent
PAGES = VECTORS.parents[1] / "docs" / "spec"

MOST_SHOWN_BYTES = 1000

Case = dict[str, Any]


def main() -> None:
    """Writes every vector and every page's example."""
    made = examples()
    missing = RECORDS.keys() - made.keys()
    assert not missing, f"records without an example: {missing}"
    for path, text in {**vectors(made), **pages(made)}.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def vectors(made: Mapping[str, Example]) -> dict[Path, str]:
    """The files of all scenarios."""
    files: dict[Path, str] = {}

    def add(name: str, scenario: str, about: str, cases: Iterator[Case]) -> None:
        content = {"description": about, "cases": list(cases)}
        if content["cases"]:
            files[VECTORS / name / f"{scenario}.json"] = json.dumps(content, indent=1) + "\n"

    for name, example in made.items():
        record, signer = example.record, example.signer
        add(name, "valid", "Payloads that are accepted.", valid(record))
        add(name, "encoding", "Other encodings of the example, and bytes that are none.", encodings(record))
        add(name, "fields", "Fields missing, unknown, of another type, or out of bounds.", field_faults(record))
        add(
            name,
            "parts",
            "The maps inside, each alone (`part`): right, then with one fault a case.",
            part_faults(record),
        )
        if signer is not None:
            about = "Envelopes of the example, which `signer` has to have signed alone."
            add(name, "signatures", about, signatures(record, signer))
    manifest = made["manifest"].record
    assert isinstance(manifest, Manifest)
    add("manifest", "rules", "Fields of the rules that do not go together.", unfit_rules(manifest))
    root = made["root"].record
    assert isinstance(root, Root)
    add("root", "quorum", "How many of the verifiers that are not revoked have to cosign.", quorums(root))
    add("log-entry", "types", "Envelopes that a log may hold, and some that it may not.", entries(made))
    add("layout", "paths", "Names of files in a run's public folder.", paths())
    signed = made["release-statement"].record
    assert isinstance(signed, ReleaseStatement)
    add("statement", "documents", "A release's documents, and statements that do not sign them.", statements(signed))
    return files


def pages(made: Mapping[str, Example]) -> dict[Path, str]:
    """The pages of `docs/spec/` with their examples written anew."""
    return {page: with_examples(page.read_text(encoding="utf-8"), made) for page in sorted(PAGES.glob("*.md"))}


def case(description: str, data: bytes, expect: str, output: Any = None, **more: Any) -> Case:
    """One case about a payload; `more` goes into its input."""
    return _case(description, expect, {"payload": data.hex(), **more}, output)


def _case(description: str, expect: str, given: Mapping[str, Any], output: Any = None) -> Case:
    made: Case = {"description": description, "expect": expect, "input": given}
    return made if output is None else {**made, "output": output}


# ---- scenarios


def valid(record: Record) -> Iterator[Case]:
    """The example and variants of it at the edges of what is admitted."""
    for name, variant in (("the example", record), *_variants(record)):
        output = {"value": readable(variant.to_value()), "digest": variant.digest().hex()}
        yield case(name, variant.encode(), "ok", output)


def _variants(record: Record) -> Iterator[tuple[str, Record]]:
    """Variants by field name: optional bytes absent or present, the largest and smallest integers."""
    for name, hint in hints(type(record)).items():
        if "lengths=(0, 32)" in str(hint):
            value = b"" if getattr(record, name) else digest_of(name)
            yield f"{name} {'present' if value else 'absent'}", replace(record, **{name: value})  # type: ignore[type-var]
        elif str(hint).endswith(f"high={2**64 - 1})]") and name != "pairs":
            yield f"{name} at its largest", replace(record, **{name: 2**64 - 1})  # type: ignore[type-var]


def encodings(record: Record) -> Iterator[Case]:
    """Wrong encodings of a right value."""
    record = _trimmed(record)
    data = record.encode()
    value = _map(record)
    names = sorted(value)
    yield case("empty", b"", "parse error")
    yield case("cut short", data[:-1], "parse error")
    yield case("a byte too many", data + b"\0", "parse error")
    yield case("not a map", encode([value[name] for name in names]), "parse error")
    yield case("keys in another order", _pack([(name, value[name]) for name in reversed(names)]), "not canonical")
    yield case(
        "a key twice", _pack([(names[0], value[names[0]]), *((name, value[name]) for name in names)]), "not canonical"
    )
    long_head = b"\xde" + len(names).to_bytes(2, "big") if len(names) < 16 else b"\xdf" + len(names).to_bytes(4, "big")
    yield case("a map header of a longer form", long_head + data[1 if len(names) < 16 else 3 :], "not canonical")
    yield case("a float", _pack([(name, 1.5 if name == names[-1] else value[name]) for name in names]), "parse error")
    extension = msgpack.ExtType(1, b"\0")
    yield case(
        "an extension type",
        _pack([(name, extension if name == names[-1] else value[name]) for name in names]),
        "parse error",
    )
    yield case("nested too deep", b"\x91" * 9 + b"\x90", "too large")


def field_faults(record: Record) -> Iterator[Case]:
    """One fault a case; the other fields are the example's, long bytes cut short."""
    value = _map(_trimmed(record))
    names = sorted(value)
    for name in (names[0], names[-1]):
        yield case(f"{name} missing", encode({key: item for key, item in value.items() if key != name}), "parse error")
    yield case("an unknown field", encode({**value, "zz": 0}), "parse error")
    yield case("null in a field", encode({**value, names[0]: None}), "parse error")
    for name, hint in hints(type(record)).items():
        for what, misfit in misfits(hint):
            yield case(f"{name}: {what}", encode({**value, name: misfit}), "parse error")


def part_faults(record: Record) -> Iterator[Case]:
    """For the first record of each class inside: itself, and its field faults."""
    seen: set[type[Record]] = set()
    for part in _inside(record):
        if type(part) not in seen and type(part).__name__ not in ("SearchConfig",):
            seen.add(type(part))
            name = type(part).__name__
            yield case(name, _trimmed(part).encode(), "ok", part=name)
            for fault in field_faults(part):
                given = {**fault["input"], "part": name}
                yield _case(f"{name}: {fault['description']}", fault["expect"], given)


def unfit_rules(manifest: Manifest) -> Iterator[Case]:
    """The four ways to end a game by settled boards and pass-alive chains, of which one is refused."""
    for settled, alive in product((False, True), repeat=2):
        rules = {**_map(manifest.rules), "settled_end": settled, "pass_alive": alive}
        data = encode({**_map(manifest), "rules": rules})
        about = f"settled_end {settled}, pass_alive {alive}".lower()
        if settled and not alive:
            yield case(about, data, "parse error")
        else:
            found = Manifest.parse(data)
            yield case(about, data, "ok", {"value": readable(found.to_value()), "digest": found.digest().hex()})


def quorums(root: Root) -> Iterator[Case]:
    """Three verifiers, of whom the first ones are revoked, and every witness threshold."""
    for revoked, threshold in product(range(4), range(5)):
        ends = [100 + number if number < revoked else UNSET for number in range(3)]
        roles = [
            {**_map(root.roles[1]), "invalid_from": end, "key": digest_of(f"verifier {number}")}
            for number, end in enumerate(ends)
        ]
        data = encode({**_map(root), "roles": [_map(root.roles[0]), *roles], "witness_threshold": threshold})
        about = f"{threshold} of 3 verifiers, {revoked} of them revoked"
        if revoked == 3 or 3 - revoked < 2 * threshold <= 2 * (3 - revoked):
            found = Root.parse(data)
            output = {"value": readable(found.to_value()), "digest": found.digest().hex()}
            yield case(about, data, "ok", output)
        else:
            yield case(about, data, "parse error")


def signatures(record: Record, signer: SecretKey) -> Iterator[Case]:
    """Envelopes, right and wrong; `signer` is the one key that has to have signed."""
    record = _trimmed(record)
    sealed = record.seal(signer)
    own, other = sealed.signatures[0], record.seal(STRANGER).signatures[0]
    both = tuple(sorted((own, other), key=lambda each: each.key))
    flipped = Signature(own.key, own.sig[:-1] + bytes([own.sig[-1] ^ 1]))
    low_order = Signature(b"\1" + bytes(31), b"\1" + bytes(63))
    payload = sealed.payload
    wrong_type = f"application/vnd.gonode.{'tick' if record.NAME != 'tick' else 'root'}.v1+msgpack"
    for name, envelope, expect in (
        ("signed", sealed, "ok"),
        ("signed by another key", replace(sealed, signatures=(other,)), "wrong signer"),
        ("signed by another key as well", replace(sealed, signatures=both), "wrong signer"),
        ("not signed", replace(sealed, signatures=()), "bad signature"),
        ("signed twice by the key", replace(sealed, signatures=(own, own)), "bad signature"),
        ("a bit of the signature changed", replace(sealed, signatures=(flipped,)), "bad signature"),
        (
            "a bit of the payload changed",
            replace(sealed, payload=payload[:-1] + bytes([payload[-1] ^ 1])),
            "bad signature",
        ),
        ("a key of low order", replace(sealed, signatures=(low_order,)), "bad signature"),
        ("signatures not in key order", _unordered(sealed, both), "not canonical"),
        ("of another type", Envelope(wrong_type, payload, sealed.signatures), "parse error"),
        (
            "of a later version",
            Envelope(sealed.type.replace(".v1+", ".v2+"), payload, sealed.signatures),
            "parse error",
        ),
    ):
        data = envelope if isinstance(envelope, bytes) else envelope.encode()
        yield _case(name, expect, {"envelope": data.hex(), "signer": signer.public.hex()})


def entries(made: Mapping[str, Example]) -> Iterator[Case]:
    """One envelope of each record that is signed, and some that no log holds."""

    def entry(description: str, envelope: Envelope, expect: str) -> Case:
        return _case(description, expect, {"entry": envelope.encode().hex()})

    for name, example in made.items():
        if example.signer is not None:
            known = example.record.payload_type() in ENTRY_TYPES
            yield entry(name, _trimmed(example.record).seal(example.signer), "ok" if known else "parse error")
    tick = made["tick"].record.seal(STRANGER)
    yield entry("unknown", replace(tick, type="application/vnd.gonode.unknown.v1+msgpack"), "parse error")
    other = replace(made["root"].record.seal(STRANGER), type=tick.type)
    yield entry("a payload signed under another type", other, "bad signature")
    yield entry("not signed", replace(tick, signatures=()), "bad signature")
    yield entry("more than an entry bundle holds", replace(tick, payload=bytes(65536)), "too large")


def paths() -> Iterator[Case]:
    """Paths by what they are made from."""
    digest, number, name = digest_of("batch blob"), 1, "example-b3c32-s192000-d1"
    yield _case("blob", "ok", {"blob": digest.hex()}, layout.blob_path(digest))
    yield _case("release", "ok", {"number": number, "name": name}, layout.release_path(number, name))
    statement = {"number": number, "name": name, "document": "SHA256SUMS"}
    yield _case("statement", "ok", statement, layout.statement_path(**statement))  # type: ignore[arg-type]


def statements(record: ReleaseStatement) -> Iterator[Case]:
    """The documents that a statement signs, from the payloads that they are made of, and statements that sign others."""
    documents = release_documents()
    about = documents.about
    parts = {"release": about.release, "train": about.train, "window": about.window, "gate": about.gate}
    given = {
        "index": about.index,
        "key": documents.key.hex(),
        **{name: part.encode().hex() for name, part in {**parts, "manifest": about.manifest}.items()},
    }

    def told(description: str, expect: str, output: Any = None, **changes: bytes) -> Case:
        changed = replace(record, **changes)  # type: ignore[arg-type]
        return _case(description, expect, {**given, "statement": changed.encode().hex()}, output)

    texts = {name: data.decode() for name, data in sorted(documents.files(record).items())}
    yield told("the example", "ok", texts)
    for name in ("provenance_signature", "sums_signature", "model_signature"):
        sig = getattr(record, name)
        yield told(f"a bit of {name} changed", "bad signature", **{name: sig[:-1] + bytes([sig[-1] ^ 1])})
    yield told("about other weights", "bad signature", weights_sha256=digest_of("weights 2"))
    other = Documents(about, documents.weights_sha256, STRANGER.public).sign(STRANGER)
    yield told("another's model key", "bad signature", model_key=other.model_key)
    yield told("a model key that is no point", "bad key", model_key=b"\5" + bytes(32))
    yield told("a model signature of zeros", "bad signature", model_signature=bytes(64))


# ---- examples in the pages


def with_examples(text: str, made: Mapping[str, Example]) -> str:
    """The page with what stands between `<!-- example NAME -->` and `<!-- end -->` written anew."""
    done: list[str] = []
    rest = text
    while "<!-- example " in rest:
        before, _, after = rest.partition("<!-- example ")
        name, _, after = after.partition(" -->\n")
        _, mark, rest = after.partition("<!-- end -->")
        assert mark, f"the example {name} has no end"
        example = _example(made[name]) if name in made else after.partition("<!-- end -->")[0]
        done.append(f"{before}<!-- example {name} -->\n{example}<!-- end -->")
    return "".join(done) + rest


def _example(example: Example) -> str:
    record = example.record
    value = json.dumps(_shown(readable(record.to_value())), indent=2)
    data = record.encode()
    shown = f"""\
Bytes are shown as hexadecimal text:
```json
{value}
```
"""
    if len(data) <= MOST_SHOWN_BYTES:
        lines = "\n".join(data[at : at + 48].hex() for at in range(0, len(data), 48))
        shown += f"Payload, {len(data)} bytes:\n```\n{lines}\n```\n"
    else:
        shown += f"The payload of {len(data):,} bytes is the first in `tests/vectors/{record.NAME}/valid.json`.\n"
    return shown + f"SHA-256 of the payload: `{record.digest().hex()}`\n"


def _shown(value: Any) -> Any:
    """The readable value with long bytes shortened, as a page shows it."""
    if isinstance(value, list):
        return [_shown(item) for item in value]
    if isinstance(value, dict):
        return {key: _shown(item) for key, item in value.items()}
    return f"{value[:32]}... ({len(value) // 2} bytes)" if isinstance(value, str) and len(value) > 200 else value


# ---- helpers


def _inside(record: Record) -> Iterator[Record]:
    """The records in fields, outer ones first."""
    for name in hints(type(record)):
        value = getattr(record, name)
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Record):
                yield item
                yield from _inside(item)


def _trimmed(item: Any) -> Any:
    """The record with bytes of more than 64 cut to 8, so that vectors of form stay small."""
    if isinstance(item, Record):
        return replace(item, **{name: _trimmed(getattr(item, name)) for name in hints(type(item))})  # type: ignore[type-var]
    if isinstance(item, tuple):
        return tuple(_trimmed(each) for each in item)
    return item[:8] if isinstance(item, bytes) and len(item) > 64 else item


def _map(record: Record) -> dict[str, Value]:
    value = record.to_value()
    assert isinstance(value, dict)
    return dict(value)


def _pack(items: Sequence[tuple[str, Any]]) -> bytes:
    """A msgpack map of the items as they come, whatever their order, repeated keys and values."""
    packer = msgpack.Packer(use_bin_type=True)
    head: bytes = packer.pack_map_header(len(items))
    return head + b"".join(packer.pack(key) + packer.pack(item) for key, item in items)


def _unordered(sealed: Envelope, both: Sequence[Signature]) -> bytes:
    found = [{"key": each.key, "sig": each.sig} for each in reversed(both)]
    return encode({"payload": sealed.payload, "signatures": found, "type": sealed.type})


if __name__ == "__main__":
    main()
