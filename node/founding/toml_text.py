"""Writes a run's table as TOML that reads back as the same table.

Values at the top come first, then a section for each table and each element of a list of tables; what lies deeper is inline.
"""

import json
from typing import Any

WIDTH = 120

Table = dict[str, Any]


def encode_toml(table: Table) -> str:
    """The text of a table of text, numbers, booleans, lists and tables."""
    lines = _pairs({key: value for key, value in table.items() if not _is_section(value)})
    for key, value in table.items():
        if isinstance(value, dict):
            lines += ["", f"[{_key(key)}]", *_pairs(value)]
        elif _is_section(value):
            for item in value:
                lines += ["", f"[[{_key(key)}]]", *_pairs(item)]
    return "\n".join(lines).lstrip("\n") + "\n"


def _is_section(value: Any) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)
    )


def _pairs(table: Table) -> list[str]:
    lines = []
    for key, value in table.items():
        line = f"{_key(key)} = {inline(value)}"
        if isinstance(value, list) and len(line) > WIDTH:
            line = "\n".join((f"{_key(key)} = [", *(f"  {inline(item)}," for item in value), "]"))
        lines.append(line)
    return lines


def inline(value: Any) -> str:
    """A value as it stands on one line of TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return f"[{', '.join(map(inline, value))}]"
    assert isinstance(value, dict)
    return "{ " + ", ".join(f"{_key(key)} = {inline(item)}" for key, item in value.items()) + " }" if value else "{}"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(key: str) -> str:
    is_bare = key.isascii() and key.replace("-", "").replace("_", "").isalnum()
    return key if is_bare else _text(key)
