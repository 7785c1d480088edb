"""Texts from elsewhere, made fit for a terminal, where control characters command and wide ones break columns."""

from typing import Final

_SHOWN: Final = "·°…"


def clean(text: str) -> str:
    """Printable ASCII and our own signs, each a column wide; a blank for control characters, else a question mark."""
    return "".join(
        letter if " " <= letter <= "~" or letter in _SHOWN else "?" if letter.isprintable() else " " for letter in text
    )
