"""Invites: the coordinator's signed word that one key may register, as a short text to hand over."""

import base64
import os
from pathlib import Path

from node.disk.home import Home
from node.disk.keyring import load_key
from protocol.envelope import Envelope
from protocol.errors import ProtocolError
from protocol.registration import Invite
from protocol.types import UNSET

PREFIX = "gonode-invite1"
MAX_CHARACTERS = 4096


class InviteError(ValueError):
    """One sentence about an invite that cannot be used."""


def make_invite(home: Home, last_index: int = UNSET) -> str:
    """A new invite by the coordinator whose directory is `home`."""
    secret = load_key(home.key("coordinator"))
    invite = Invite(home.load_ticket().run, os.urandom(16), last_index)
    return PREFIX + base64.b32encode(invite.seal(secret).encode()).decode("ascii").rstrip("=").lower()


def read_invite(path: Path, run: bytes) -> bytes:
    """The envelope bytes of the invite for `run` in a file; raises InviteError."""
    try:
        with path.open(encoding="ascii") as file:
            text = file.read(MAX_CHARACTERS).strip()
    except (OSError, UnicodeDecodeError):
        raise InviteError(f"{path}: the invite cannot be read.") from None
    body = text.removeprefix(PREFIX).upper()
    try:
        if not text.startswith(PREFIX):
            raise ValueError
        data = base64.b32decode(body + "=" * (-len(body) % 8))
        envelope = Envelope.parse(data)
        invite = Invite.open(envelope)
    except (ValueError, ProtocolError):
        raise InviteError(f"{path}: this is not an invite ({PREFIX}...), or it is damaged.") from None
    if invite.run != run:
        raise InviteError(f"{path}: this invite is for run {invite.run.hex()[:16]}, not for {run.hex()[:16]}.")
    return data
