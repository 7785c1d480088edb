"""The JavaScript peer agrees with the vectors of the formats that it reads and of the calls that it makes and answers."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.interop.javascript import install, program
from tests.vectors.scenario import unhex

VECTORS = Path(__file__).parents[1] / "vectors"
WIRE = ("log-requests", "log-answers", "blob-requests", "blob-answers")


def read(name: str) -> Any:
    """A file of vectors."""
    return json.loads((VECTORS / name).read_text(encoding="utf-8"))


def written_out(value: Any) -> Any:
    """A case with all its repeated bytes."""
    match value:
        case {"repeat": str(), "times": int(), **rest} if not rest:
            return unhex(value).hex()
        case dict():
            return {name: written_out(each) for name, each in value.items()}
        case list():
            return [written_out(each) for each in value]
    return value


def cases() -> list[tuple[str, Any]]:
    """All cases by what runs them."""
    found = []
    for folder in ("canonical", "checkpoint", "ticket", "merkle"):
        for path in sorted((VECTORS / folder).iterdir()):
            format = path.name.partition("-")[0] if folder == "merkle" else folder
            if format != "inclusion":
                found.append((format, read(f"{folder}/{path.name}")))
    for format in WIRE:
        found += [(format, case) for case in read(f"wire/{format}.json")["cases"] if case["expect"] != "reset"]
    return found


CASES = cases()


@pytest.fixture(scope="module")
def outputs() -> list[Any]:
    """What the JavaScript peer makes of each case; None is an error."""
    install()
    canned = {
        case["input"]["request"]: written_out(case["output"]["answer"])
        for format, case in CASES
        if format.endswith("-requests") and case["expect"] == "ok"
    }
    asked = [{"format": format, "input": written_out(case["input"])} for format, case in CASES]
    given = {"served": written_out(read("wire/served.json")), "canned": canned, "cases": asked}
    done = program("vectors.js", stdin=json.dumps(given))
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout)
    assert len(found) == len(CASES)
    return found


@pytest.mark.parametrize(
    "number", [pytest.param(n, id=f"{format}: {case['description']}") for n, (format, case) in enumerate(CASES)]
)
def test_case(number: int, outputs: list[Any]) -> None:
    (format, case), output = CASES[number], outputs[number]
    if format == "log-answers":
        assert output == case["output"]
    elif case["expect"] != "ok":
        assert output is None
    elif format == "blob-answers":
        assert output["blob"]
    elif format == "canonical":
        assert output == {"value": spelled(case["output"]["value"]), "again": case["input"]["data"]}
    else:
        wanted = written_out(case["output"])
        assert output is not None
        assert {name: wanted[name] for name in output} == output


def spelled(value: Any) -> Any:
    """A canonical value as the program writes it: integers of 33 bits and more as text."""
    match value:
        case dict():
            return {name: spelled(each) for name, each in value.items()}
        case list():
            return [spelled(each) for each in value]
        case int() if not isinstance(value, bool) and not -(2**31) <= value < 2**32:
            return {"int": str(value)}
    return value
