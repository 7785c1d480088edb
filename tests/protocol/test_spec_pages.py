"""The examples in the pages of the core formats are those of the vectors."""

import json
from pathlib import Path
from typing import Any

import pytest

from protocol import errors

HOME = Path(__file__).parents[2]


def strings(value: Any) -> list[str]:
    """All long texts in a vector's input and output."""
    if isinstance(value, str):
        return [value] if len(value) > 12 else []
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in strings(part)]


@pytest.mark.parametrize(
    ("page", "vector", "field"),
    [
        ("canonical", "canonical/every-kind", ("input", "data")),
        ("envelope", "envelope/one-signature", ("input", "data")),
        ("compression", "compression/raw-block", ("input", "data")),
        ("blob", "blob/short", ("output",)),
        ("keyfile", "keyfile/plain", ("input", "text")),
        ("keyfile", "keyfile/passphrase", ("input", "text")),
        ("ticket", "ticket/two-addresses", ("input", "text")),
        ("seeds", "seeds/game-seed-0", ("input",)),
        ("seeds", "seeds/game-seed-0", ("output",)),
        ("registration", "stamp/found", ("output",)),
        ("log", "checkpoint/cosigned", ("input", "note")),
        ("log", "tiles/bundle", ("input", "bundle")),
    ],
)
def test_a_page_shows_its_vector(page: str, vector: str, field: tuple[str, ...]) -> None:
    text = "".join((HOME / "docs" / "spec" / f"{page}.md").read_text(encoding="utf-8").split())
    value = json.loads((HOME / "tests" / "vectors" / f"{vector}.json").read_text(encoding="utf-8"))
    for name in field:
        value = value[name]
    shown = strings(value)
    assert shown
    for part in shown:
        assert "".join(part.split()) in text


def test_the_page_of_errors_names_all_labels() -> None:
    page = (HOME / "docs" / "spec" / "canonical.md").read_text(encoding="utf-8")
    classes = [each for each in vars(errors).values() if isinstance(each, type)]
    labels = {each.label for each in classes if issubclass(each, errors.ProtocolError)} - {errors.ProtocolError.label}
    assert len(labels) >= 10
    assert [label for label in sorted(labels) if f"`{label}`" not in page] == []
