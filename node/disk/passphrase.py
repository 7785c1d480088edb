"""Passphrases: from the environment, or asked for where somebody sits at a terminal.

Invariant: a passphrase is neither shown nor kept; without a terminal nobody is asked.
"""

import getpass
import os
import sys
from pathlib import Path

PASSPHRASE_VARIABLE = "GONODE_PASSPHRASE"
NEW_PASSPHRASE_VARIABLE = "GONODE_NEW_PASSPHRASE"
"""The passphrase that a key gets, where a command opens the key with one and keeps it under another."""


class PassphraseError(ValueError):
    """One sentence about a passphrase that cannot be used."""


def is_terminal() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def known_passphrase(path: Path) -> str | None:
    """What opens the key file at `path`: the environment's passphrase, else asked for; None where nobody can be asked."""
    found = os.environ.get(PASSPHRASE_VARIABLE)
    if found:
        return found
    return _ask(f"Passphrase of {path}: ") if is_terminal() else None


def new_passphrase(path: Path, variable: str = PASSPHRASE_VARIABLE) -> str | None:
    """The passphrase for a key that is to be written to `path`: the environment's, else asked for twice; None for none.

    Raises PassphraseError when the two are not the same.
    """
    found = os.environ.get(variable)
    if found is not None or not is_terminal():
        return found or None
    first = _ask(f"New passphrase of {path} (empty: none): ")
    if first and first != _ask("The same again: "):
        raise PassphraseError("The two passphrases are not the same.")
    return first or None


def _ask(prompt: str) -> str:
    try:
        return getpass.getpass(prompt, stream=sys.stderr)
    except (EOFError, UnicodeError):
        return ""
