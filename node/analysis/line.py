"""Lines of the protocol: `parse_line` from bytes to one object of JSON, `encode_line` back.

Invariants: what `parse_line` gives is bounded in bytes and depth and has finite numbers only, so that it can be written
again.
"""

import json
import math
from typing import Any, Final

from node.analysis.errors import LineError

MOST_BYTES: Final = 1 << 20
MOST_DEPTH: Final = 16
MOST_SHOWN: Final = 200

Table = dict[str, Any]
"""One object of JSON."""


def parse_line(line: bytes) -> Table | None:
    """The query of a line, None for a blank one; raises LineError."""
    if len(line) > MOST_BYTES:
        raise LineError(f"The request line is longer than {MOST_BYTES} bytes, ignoring it")
    try:
        text = line.decode().strip()
        if not text:
            return None
        found = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise LineError(f"The request line is nested deeper than {MOST_DEPTH} levels, ignoring it") from None
    except ValueError as error:
        raise LineError(f"{error} - could not parse input line as json request: {_shown(line)}") from None
    if not isinstance(found, dict):
        raise LineError(f"Request line was valid json but was not an object, ignoring: {_shown(line)}")
    if not _is_shallow(found):
        raise LineError(f"The request line is nested deeper than {MOST_DEPTH} levels, ignoring it")
    return found


def encode_line(table: Table) -> str:
    """One line of ASCII, its keys in order, as KataGo writes them."""
    return json.dumps(table, sort_keys=True, separators=(",", ":"), allow_nan=False) + "\n"


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"The number {text[:MOST_SHOWN]} is out of range")
    return number


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is no number of json")


def _is_shallow(value: Any) -> bool:
    """Whether nothing in it lies deeper than MOST_DEPTH; without recursion."""
    level = [value]
    for _ in range(MOST_DEPTH):
        inner: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                inner.extend(each.values())
            elif isinstance(each, list):
                inner.extend(each)
        level = inner
        if not level:
            return True
    return False


def _shown(line: bytes) -> str:
    text = line.decode("utf-8", "replace").strip()
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "..."
