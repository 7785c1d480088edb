"""The audit page's modules agree with the vectors of every format that they read, and with the node about records."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from protocol.codec import decode, encode
from protocol.entries import ENTRY_TYPES
from protocol.merkle import Tree
from protocol.record import Record
from protocol.release import FirstRelease
from protocol.tiles import ENTRIES, tiles_between
from protocol.types import Choice, Length, Range, Text
from tests.browser.programs import answer
from tests.interop.test_vectors import read, unhex, written_out

VECTORS = Path(__file__).parents[1] / "vectors"
PASSING = {"low_order_component_A", "low_order_component_R"}


def spelled(value: Any) -> Any:
    """A canonical value as the program writes it: what a double does not hold exactly is text."""
    match value:
        case dict():
            return {name: spelled(each) for name, each in value.items()}
        case list():
            return [spelled(each) for each in value]
        case int() if not isinstance(value, bool) and not -(2**53) < value < 2**53:
            return {"int": str(value)}
    return value


def cases() -> list[tuple[str, Any]]:
    """Vectors by what runs them."""
    found = []
    for folder in ("canonical", "ed25519", "envelope", "checkpoint", "ticket", "merkle", "tiles"):
        for path in sorted((VECTORS / folder).glob("*.json")):
            format = path.name.partition("-")[0].removesuffix(".json") if folder in ("merkle", "tiles") else folder
            if format not in ("consistency", "growth", "path"):
                found.append((format, read(f"{folder}/{path.name}")))
    return found


CASES = cases()


@pytest.fixture(scope="module")
def outputs() -> list[Any]:
    """What the modules make of each case."""
    found = answer("vectors.js", [{"format": format, "input": written_out(case["input"])} for format, case in CASES])
    assert isinstance(found, list)
    assert len(found) == len(CASES)
    return found


@pytest.mark.parametrize(
    "number", [pytest.param(n, id=f"{format}: {case['description']}") for n, (format, case) in enumerate(CASES)]
)
def test_case(number: int, outputs: list[Any]) -> None:
    (format, case), found = CASES[number], outputs[number]
    if case["expect"] != "ok":
        assert found == {"label": case["expect"]}
    elif format == "canonical":
        assert found["output"] == {"value": spelled(case["output"]["value"]), "again": case["input"]["data"]}
    else:
        assert found["output"] == written_out(case["output"])


@pytest.mark.parametrize("verifier", ["ed25519", "ed25519 in JavaScript"])
def test_foreign_signatures_have_one_answer(verifier: str) -> None:
    vectors = json.loads((VECTORS / "ed25519" / "cctv" / "ed25519vectors.json").read_text(encoding="utf-8"))
    sound = [
        each
        for each in vectors
        if not set(each["flags"] or ()) & {"low_order_A", "low_order_R", "non_canonical_A", "non_canonical_R"}
    ]
    some = vectors if verifier == "ed25519" else sound  # what both refuse before is not for this verifier to judge
    given = [{"key": each["key"], "message": each["msg"].encode().hex(), "signature": each["sig"]} for each in some]
    found = answer("vectors.js", [{"format": verifier, "input": each} for each in given])
    assert len(found) > 100
    for vector, each in zip(some, found, strict=True):
        is_valid = set(vector["flags"] or ()) <= PASSING
        assert each == ({"output": {}} if is_valid else {"label": "bad signature"}), vector


def kind_of(hint: Any) -> dict[str, Any]:
    """What the page has to ask of a field with this annotation."""
    if isinstance(hint, type) and issubclass(hint, Record):
        return {"kind": "map", "fields": fields_of(hint)}
    if get_origin(hint) is tuple:
        return {"kind": "list", "of": kind_of(get_args(hint)[0])}
    if hint is bool:
        return {"kind": "flag"}
    match get_args(hint)[1]:
        case Range(low, high):
            return {"kind": "whole", "low": str(low), "high": str(high)}
        case Length(most=int() as most):
            return {"kind": "at most", "bytes": most}
        case Length(lengths):
            return {"kind": "bytes", "lengths": list(lengths)}
        case Choice(words):
            return {"kind": "one of", "words": list(words)}
        case Text(pattern, most):
            return {"kind": "text", "pattern": f"^{pattern}$", "most": most}
    raise AssertionError(hint)


def fields_of(record: type[Record]) -> dict[str, Any]:
    """What the page has to ask of a record, nested records too."""
    hints = get_type_hints(record, include_extras=True)
    return {field.name: kind_of(hints[field.name]) for field in fields(record)}  # type: ignore[arg-type]


def test_records_have_the_fields_and_bounds_of_the_nodes() -> None:
    (found,) = answer("vectors.js", [{"format": "records", "input": {}}])
    told = json.loads(json.dumps(found["output"]).replace("\\\\/", "/"))  # JavaScript escapes a slash in a pattern
    assert {name: form["fields"] for name, form in told.items()} == {
        record.NAME: fields_of(record) for record in ENTRY_TYPES.values()
    }


def test_what_no_node_takes_for_a_record_is_refused() -> None:
    """All vectors of the records that a log holds: nested fields that are missing, unknown, or beyond their bounds."""
    cases = []
    for record in ENTRY_TYPES.values():
        for path in sorted((VECTORS / record.NAME).glob("*.json")):
            given = [each for each in read(f"{record.NAME}/{path.name}")["cases"] if "payload" in each["input"]]
            cases += [(record.NAME, each) for each in given if "part" not in each["input"]]
    given = [{"format": "record", "input": {"name": name, **written_out(each["input"])}} for name, each in cases]
    found = answer("vectors.js", given)
    assert len(found) > 500
    for (name, case), each in zip(cases, found, strict=True):
        is_same = "output" in each if case["expect"] == "ok" else each == {"label": case["expect"]}
        assert is_same, (name, case["description"], each)


def test_nested_fields_are_judged_too() -> None:
    """A root's role or a manifest's rules with a field too many, one too few, or another word than there is."""
    given, honest = [], []
    for name, place in (("root", ("roles", 0)), ("manifest", ("rules",)), ("admission", ("decisions", 0))):
        payload = unhex(read(f"{name}/valid.json")["cases"][0]["input"]["payload"])
        honest.append({"format": "record", "input": {"name": name, "payload": payload.hex()}})
        word = {"root": "role", "manifest": "ko", "admission": "outcome"}[name]
        for change in ({"extra": 1}, {word: "king"}, {word: None}):
            value: Any = decode(payload)
            inner = value
            for step in place:
                inner = inner[step]
            inner.update(change)
            if change == {word: None}:
                del inner[word]
            given.append({"format": "record", "input": {"name": name, "payload": encode(value).hex()}})
    assert answer("vectors.js", honest) == [{"output": {}}] * 3
    assert answer("vectors.js", given) == [{"label": "parse error"}] * 9


def test_first_networks_are_those_of_the_engine() -> None:
    vectors = read("network/first.json")["first_networks"]
    given = []
    for each in vectors:
        blocks, channels = each["network"][1:].split("c")
        given.append({"digest": each["manifest_digest"], "blocks": int(blocks), "channels": int(channels)})
    found = answer("vectors.js", [{"format": "first network", "input": each} for each in given])
    assert [each["output"]["sha256"] for each in found] == [each["file_sha256"] for each in vectors]


def test_release_zero_is_that_of_the_node() -> None:
    run, manifest = b"\1" * 32, b"\2" * 32
    record = FirstRelease(run, manifest, 0, b"")
    given = {"run": run.hex(), "manifest": manifest.hex(), "network": {"first": "uniform", "blocks": 1, "channels": 16}}
    (found,) = answer("vectors.js", [{"format": "first release", "input": given}])
    assert found["output"] == {"id": record.digest().hex(), "payload": record.encode().hex()}


def test_trees_of_all_small_sizes() -> None:
    sizes = [1, 2, 3, 7, 8, 9, 33, 100]
    found = answer("vectors.js", [{"format": "proofs of all leaves", "input": {"size": size}} for size in sizes])
    for size, each in zip(sizes, found, strict=True):
        tree = Tree([bytes([at]) for at in range(size)])
        assert each["output"]["roots"] == [tree.root(at).hex() for at in range(size + 1)]


@pytest.mark.parametrize("format", ["tiles", "entry tiles"])
def test_tiles_are_those_of_the_node(format: str) -> None:
    sizes = [0, 1, 255, 256, 257, 70_000, 256**2, 300_000]
    found = answer("vectors.js", [{"format": format, "input": {"size": size}} for size in sizes])
    for size, each in zip(sizes, found, strict=True):
        tiles = [tile for tile in tiles_between(0, size) if format == "tiles" or tile.level == ENTRIES]
        assert each["output"]["paths"] == [tile.path for tile in tiles]
