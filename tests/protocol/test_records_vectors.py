"""The vectors of all records: each case ends as it says, and the generator writes these very files."""

import json
from pathlib import Path
from typing import Any

import pytest

from protocol import layout
from protocol.entries import parse_entry
from protocol.envelope import Envelope
from protocol.errors import ProtocolError
from protocol.gate import GateRecord
from protocol.manifest import Manifest
from protocol.record import Record
from protocol.release import Release
from protocol.statement.documents import Documents
from protocol.statement.record import ReleaseStatement
from protocol.statement.stated import Stated
from protocol.window import TrainRecord, WindowCommitment
from tests.vectors.generate_records import VECTORS, pages, vectors
from tests.vectors.record_examples import Example, examples
from tests.vectors.record_format import RECORDS, parts, readable


@pytest.fixture(scope="module")
def made() -> dict[str, Example]:
    return examples()


def files() -> list[Path]:
    names = (*RECORDS, "layout", "log-entry", "statement")
    return sorted(path for name in names for path in (VECTORS / name).glob("*.json"))


def outcome(judge: Any, *args: Any) -> tuple[str, Any]:
    """What `judge` says of its arguments: `ok` and the result, or the label of its error and None."""
    try:
        return "ok", judge(*args)
    except ProtocolError as error:
        return (error.label if str(error).endswith(".") else "not a sentence"), None


def judge(path: Path, given: dict[str, Any]) -> Any:
    """What a vector's output should be; raises ProtocolError."""
    name = path.parent.name
    if name == "layout":
        return path_of(given)
    if name == "statement":
        return statement_files(given)
    if name == "log-entry":
        return parse_entry(bytes.fromhex(given["entry"]))
    cls: type[Record] = RECORDS[name]
    if "envelope" in given:
        return cls.open(Envelope.parse(bytes.fromhex(given["envelope"])), bytes.fromhex(given["signer"]))
    if "part" in given:
        cls = next(part for part in parts(cls) if part.__name__ == given["part"])
    record = cls.parse(bytes.fromhex(given["payload"]))
    assert record.encode().hex() == given["payload"]
    return {"value": readable(record.to_value()), "digest": record.digest().hex()}


def path_of(given: dict[str, Any]) -> str:
    if "blob" in given:
        return layout.blob_path(bytes.fromhex(given["blob"]))
    return layout.statement_path(**given) if "document" in given else layout.release_path(**given)


def statement_files(given: dict[str, Any]) -> dict[str, str]:
    """The documents of a statement that signs them; raises ProtocolError."""
    index = given["index"]
    release, train, window, gate, manifest, statement, key = (
        bytes.fromhex(given[name]) for name in ("release", "train", "window", "gate", "manifest", "statement", "key")
    )
    about = Stated(
        index,
        Release.parse(release),
        TrainRecord.parse(train),
        WindowCommitment.parse(window),
        GateRecord.parse(gate),
        Manifest.parse(manifest),
    )
    record = ReleaseStatement.parse(statement)
    documents = Documents(about, record.weights_sha256, key)
    documents.verify(record)
    return {name: data.decode() for name, data in documents.files(record).items()}


@pytest.mark.parametrize("path", files(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_each_case_ends_as_it_says(path: Path) -> None:
    cases = json.loads(path.read_text())["cases"]
    assert cases
    for case in cases:
        got, output = outcome(judge, path, case["input"])
        assert got == case["expect"], case["description"]
        if "output" in case:
            assert output == case["output"], case["description"]


def test_every_record_has_vectors() -> None:
    for name in RECORDS:
        assert {"valid", "encoding", "fields"} <= {path.stem for path in (VECTORS / name).glob("*.json")}, name


def test_generator_writes_the_files_as_they_are(made: dict[str, Example]) -> None:
    written = vectors(made)
    assert set(written) == set(files())
    for path, text in {**written, **pages(made)}.items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run python -m tests.vectors.generate_records"
