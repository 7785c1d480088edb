"""The format tables in `docs/spec/` say of every field what the code's annotations say."""

import re

import pytest

from protocol.record import Record
from tests.vectors.generate_records import PAGES
from tests.vectors.record_format import RECORDS, describe, hints, parts

CLASSES: dict[str, type[Record]] = {
    **RECORDS,
    **{part.__name__: part for cls in RECORDS.values() for part in parts(cls)},
}
CLASSES.pop("SearchConfig")  # it has a name of its own
ROW = re.compile(r"^\| `(\w+)` \| (.*?) \| (.*?) \| (.*) \|$", re.MULTILINE)


def tables() -> list[list[tuple[str, ...]]]:
    """All tables of fields: rows of (field, type, bounds, meaning)."""
    found = []
    for page in sorted(PAGES.glob("*.md")):
        for block in page.read_text(encoding="utf-8").split("| Field | Type | Bounds | Meaning |")[1:]:
            block = block.lstrip("\n").partition("\n\n")[0]
            found.append([match.groups() for match in ROW.finditer(block)])
    return found


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_a_page_lists_every_field(name: str) -> None:
    cls = CLASSES[name]
    fields = [(field, *describe(hint)) for field, hint in hints(cls).items()]
    shown = [
        [(field, kind, bounds.strip().replace("\\|", "|")) for field, kind, bounds, _ in table] for table in tables()
    ]
    assert fields in shown
    assert all(meaning for table in tables() for *_, meaning in table)
