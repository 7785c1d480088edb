"""Writes the frames of the pipe: `python -m tests.vectors.pipe_generate`. A rerun changes nothing.

`pipe/orders.json` and `pipe/answers.json` hold a list `cases`: `input` gives a frame's bytes behind its length, `output` the
frame's items, bytes as hex. Cases that are refused have the label `parse error`.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from native.pipe import Answer, AskCanary, Frame, Order, Stop
from tests.native.frames import ANSWERS, ORDERS

FOLDER = Path(__file__).parent / "pipe"

REFUSED = (
    ("No bytes.", b""),
    ("A kind that nobody says.", bytes.fromhex("91a468616c74")),
    ("A byte too many.", Stop().encode() + b"\0"),
    ("An item too many.", bytes.fromhex("92a473746f7000")),
    ("The kind as bytes.", bytes.fromhex("91c40473746f70")),
    ("A number in two bytes that has room in one.", bytes.fromhex("92a663616e617279cc07")),
    ("A number below 0.", bytes.fromhex("92a663616e617279ff")),
    ("An array in the long form.", b"\xdc\x00\x02" + AskCanary(7).encode()[1:]),
    ("A map.", bytes.fromhex("81a473746f7000")),
)


def plain(value: Any) -> Any:
    """A frame's items with bytes as hex."""
    if isinstance(value, bytes):
        return value.hex()
    return [plain(each) for each in value] if isinstance(value, list) else value


def cases(frames: tuple[Order, ...] | tuple[Answer, ...]) -> Iterator[dict[str, Any]]:
    """A case a frame, and what is refused."""
    for frame in frames:
        assert isinstance(frame, Frame)
        output = {"kind": frame.KIND, "items": plain(frame.items())}
        description = (type(frame).__doc__ or "").partition("\n")[0]
        yield {"description": description, "expect": "ok", "input": {"data": frame.encode().hex()}, "output": output}
    for description, data in REFUSED:
        yield {"description": description, "expect": "parse error", "input": {"data": data.hex()}}


def files() -> Iterator[tuple[str, str]]:
    """Names and texts of the files."""
    for name, frames in (("orders", ORDERS), ("answers", ANSWERS)):
        text = json.dumps({"description": f"The {name} of the pipe.", "cases": list(cases(frames))}, indent=1)
        yield f"{name}.json", text + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in files():
        (FOLDER / name).write_text(text, encoding="utf-8")
