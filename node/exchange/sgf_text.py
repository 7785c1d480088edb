"""What is known about bytes before they are parsed as SGF: their charset, and that they are within all limits.

The parser behind (sgfmill) keeps every token, and 10 MB of escapes cost it 700 MB; so each limit is checked here first, in
one pass that keeps nothing. The whole text is decoded before it is parsed, for GBK, Big5 and Shift JIS have characters whose
second byte is `]` or a backslash.
"""

import codecs
import re
from typing import Final

from node.exchange.errors import SgfError

MAX_BYTES: Final = 10_000_000
MAX_TOKENS: Final = 400_000
MAX_NODES: Final = 100_000
MAX_DEPTH: Final = 10_000
MAX_VALUE_BYTES: Final = 1_000_000

_START = re.compile(rb"\(\s*+;")
_TOKEN = re.compile(rb"\s*+(?:\[[^\\\]]*+(?:\\.[^\\\]]*+)*+\]|[A-Za-z]{1,64}+|[;()])", re.DOTALL)
_CHARSET = re.compile(rb"(?<![A-Za-z])[a-z]*+C[a-z]*+A[a-z]*+\s*+\[\s*+([A-Za-z0-9_.:+-]{0,40})\s*+\]")

_DECODERS: Final = {
    **{name: name for name in ("utf-8", "gbk", "gb18030", "big5", "big5hkscs", "cp932", "cp949", "euc_jp")},
    **{name: name for name in ("koi8-r", "koi8-u", *(f"cp{number}" for number in range(1250, 1259)))},
    **{f"iso8859-{part}": f"iso8859-{part}" for part in range(1, 17) if part != 12},
    "ascii": "utf-8",
    "gb2312": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "utf-8-sig": "utf-8",
}
"""Charsets that are read, by Python's name; those that programs name when they mean a larger one are read as that."""


def decode_sgf(data: bytes) -> str:
    """The text of a file; broken characters become U+FFFD.

    The first CA property counts for all games. Without one the text is UTF-8 if it is valid as that, else Latin-1 (the
    default of FF[4]). Raises SgfError for a charset that is not read, and for more than MAX_BYTES.
    """
    if len(data) > MAX_BYTES:
        raise SgfError(f"The SGF text has {len(data)} bytes; {MAX_BYTES} are the most that is read.")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise SgfError("The SGF text is in UTF-16; save it as UTF-8.")
    if data.startswith(codecs.BOM_UTF8):
        return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")
    found = _CHARSET.search(data)
    if found is not None and found[1]:
        return data.decode(_decoder(found[1].decode("ascii")), "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("iso8859-1")


def _decoder(name: str) -> str:
    try:
        return _DECODERS[codecs.lookup(name).name]
    except (LookupError, ValueError):
        raise SgfError(f"The charset {name!r} is not one in which SGF is read.") from None


def verify_limits(data: bytes) -> None:
    """Raises SgfError where a game does not close, or where tokens, nodes, depth or a value are over their limits."""
    tokens = nodes = 0
    start = _START.search(data)
    if start is None:
        raise SgfError("There is no game in this text: no '(' with a ';' after it.")
    while start is not None:
        at, depth = start.start(), 0
        while token := _TOKEN.match(data, at):
            at = token.end()
            tokens += 1
            last = data[at - 1 : at]
            if last == b"]" and at - data.index(b"[", token.start()) > MAX_VALUE_BYTES:
                raise SgfError(f"A value has more than {MAX_VALUE_BYTES} bytes.")
            nodes += last == b";"
            depth += (last == b"(") - (last == b")")
            if tokens > MAX_TOKENS or nodes > MAX_NODES or depth > MAX_DEPTH:
                raise SgfError(
                    f"The SGF text is too much: {MAX_NODES} nodes, {MAX_TOKENS} names, values and brackets, and variations "
                    f"{MAX_DEPTH} deep are the most that is read."
                )
            if last == b")" and depth == 0:
                break
        else:
            what = "ends" if not data[at:].strip() else f"cannot be read after byte {at},"
            raise SgfError(f"The SGF text {what} before its game is closed.")
        start = _START.search(data, at)
