"""Tickets: the one string that a contributor needs to find a run and know it for the right one.

Spec: docs/spec/ticket.md. `gonode1`, then lower-case base32 of a canonical record and four bytes of checksum. It names
the run and its first root by digest, so what peers send is checked against the ticket, not believed.
"""

import binascii
import re
from base64 import b32decode, b32encode
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Self

from protocol import codec
from protocol.errors import BadTicket, ProtocolError

PREFIX: Final = "gonode1"
MAX_CHARACTERS: Final = 4096
MAX_ADDRESSES: Final = 16
_ADDRESS: Final = re.compile(r"(?:/[\x21-\x2e\x30-\x7e]+){1,32}", re.ASCII)
_MAX_ADDRESS: Final = 256
_CHECKSUM_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class Ticket:
    """A run id, the digest of its root version 1 (32 bytes each), and up to 16 multiaddresses to start from."""

    run: bytes
    root_digest: bytes
    addresses: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.run) != 32 or len(self.root_digest) != 32:
            raise BadTicket("A ticket's run id and root digest have 32 bytes each.")
        if len(self.addresses) > MAX_ADDRESSES:
            raise BadTicket(f"A ticket holds at most {MAX_ADDRESSES} addresses.")
        for address in self.addresses:
            if len(address) > _MAX_ADDRESS or not _ADDRESS.fullmatch(address):
                raise BadTicket("A ticket's address is not a multiaddress such as /ip4/192.0.2.1/tcp/4001.")

    @classmethod
    def parse(cls, text: str) -> Self:
        """The ticket in `text`, white space around it aside; raises BadTicket with what is wrong."""
        text = text.strip()
        if not text:
            raise BadTicket("The ticket is empty.")
        if not text.startswith(PREFIX):
            raise BadTicket(f"A ticket starts with {PREFIX}.")
        if len(text) > MAX_CHARACTERS:
            raise BadTicket(f"A ticket has at most {MAX_CHARACTERS} characters.")
        data = _decode(text[len(PREFIX) :])
        payload, check = data[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
        if _checksum(payload) != check:
            raise BadTicket("The ticket has a typing error or is cut short: its checksum does not fit.")
        try:
            value = codec.decode(payload)
        except ProtocolError as error:
            raise BadTicket("The ticket's content is not canonical.") from error
        match value:
            case {"addresses": list(addresses), "root": bytes(root), "run": bytes(run), **rest} if not rest:
                if all(isinstance(address, str) for address in addresses):
                    return cls(run, root, tuple(str(address) for address in addresses))
        raise BadTicket("The ticket has other fields than run, root and addresses.")

    def encode(self) -> str:
        """The string, in lower case, without white space."""
        payload = codec.encode({"addresses": self.addresses, "root": self.root_digest, "run": self.run})
        text = b32encode(payload + _checksum(payload)).decode().rstrip("=").lower()
        if len(PREFIX) + len(text) > MAX_CHARACTERS:
            raise BadTicket(f"The addresses make the ticket longer than {MAX_CHARACTERS} characters.")
        return PREFIX + text


def _decode(text: str) -> bytes:
    """The bytes of lower-case base32 without padding, in its one encoding."""
    try:
        data = b32decode(text.upper() + "=" * (-len(text) % 8))
    except (binascii.Error, ValueError) as error:
        raise BadTicket(
            "The ticket has a character that is not in its alphabet (a to z, 2 to 7), or lacks one."
        ) from error
    if b32encode(data).decode().rstrip("=").lower() != text:
        raise BadTicket("The ticket has a typing error: it is not written the one way it can be.")
    return data


def _checksum(payload: bytes) -> bytes:
    return sha256(b"gonode/ticket/v1\0" + payload).digest()[:_CHECKSUM_BYTES]
