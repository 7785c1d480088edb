"""Checkpoints: the log's signed head, and the witnesses' timestamped cosignatures on it.

Spec: docs/spec/log.md ("Checkpoint"); C2SP signed-note, tlog-checkpoint, tlog-cosignature v1 (Ed25519). A note is its
text and signature lines; lines by unknown keys are carried along and mean nothing. Checkpoints here have no extension
lines. The log signs under its origin as the key's name.
"""

import binascii
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Self

from protocol import ed25519
from protocol.errors import BadSignature, ParseError, TooLarge, WrongSigner
from protocol.merkle import HASH_BYTES, MAX_SIZE

MAX_BYTES: Final = 32768
MAX_SIGNATURES: Final = 64
ED25519: Final = 1
COSIGNATURE_V1: Final = 4
_MAX_UNIX_S: Final = 2**63 - 1
_MAX_NAME: Final = 256
_NO_NAME: Final = re.compile(r"[\s\x00-\x1f+]")
_CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f]")
_SIZE: Final = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)


def key_id(name: str, key: bytes, algorithm: int) -> bytes:
    """The four bytes that tell signature lines apart: of SHA-256(name | "\\n" | algorithm | key)."""
    return sha256(name.encode() + b"\n" + bytes([algorithm]) + key).digest()[:4]


def verifier_key(name: str, key: bytes, algorithm: int) -> str:
    """The text form of a public key that other signed-note tools take (a "vkey")."""
    return f"{name}+{key_id(name, key, algorithm).hex()}+{b64encode(bytes([algorithm]) + key).decode()}"


@dataclass(frozen=True, slots=True)
class NoteSignature:
    """One signature line: the key's name and id (4 bytes), and the signature's bytes."""

    name: str
    key_id: bytes
    signature: bytes

    def __post_init__(self) -> None:
        _check_name(self.name)
        if len(self.key_id) != 4 or not self.signature:
            raise ParseError("A note's signature needs a key id of 4 bytes and a signature.")

    @classmethod
    def parse(cls, line: str) -> Self:
        """The signature in a line without its newline; raises ParseError."""
        dash, _, rest = line.partition(" ")
        name, _, text = rest.partition(" ")
        if dash != "\u2014":
            raise ParseError("A note's signature line starts with an em dash and a space.")
        data = _parse_base64(text)
        return cls(name, data[:4], data[4:])

    def encode(self) -> str:
        """The line without its newline."""
        return f"\u2014 {self.name} {b64encode(self.key_id + self.signature).decode()}"


@dataclass(frozen=True, slots=True)
class SignedNote:
    """A text that ends in a newline, and the signature lines below it."""

    text: str
    signatures: tuple[NoteSignature, ...]

    def __post_init__(self) -> None:
        if not self.text.endswith("\n") or _CONTROL.search(self.text):
            raise ParseError("A note's text ends in a newline and has no other control characters.")
        if len(self.signatures) > MAX_SIGNATURES:
            raise TooLarge(f"The note has {len(self.signatures)} signatures; the limit is {MAX_SIGNATURES}.")

    @classmethod
    def parse(cls, data: bytes, max_bytes: int = MAX_BYTES) -> Self:
        """The note in `data`, its signatures not yet verified; raises TooLarge or ParseError."""
        if len(data) > max_bytes:
            raise TooLarge(f"The note has {len(data)} bytes; the limit is {max_bytes}.")
        try:
            whole = data.decode()
        except UnicodeDecodeError as error:
            raise ParseError("The note is not UTF-8 text.") from error
        text, blank, lines = whole.rpartition("\n\n")
        if not blank or not lines.endswith("\n"):
            raise ParseError("The note has no signature lines after a blank line.")
        return cls(text + "\n", tuple(NoteSignature.parse(line) for line in lines[:-1].split("\n")))

    def encode(self) -> bytes:
        """The text, a blank line, and the signature lines."""
        return "".join([self.text, "\n", *(each.encode() + "\n" for each in self.signatures)]).encode()

    def with_signatures(self, signatures: Iterable[NoteSignature]) -> "SignedNote":
        """The same text with further signatures below those it has; ones already there are not repeated."""
        return SignedNote(self.text, tuple(dict.fromkeys((*self.signatures, *signatures))))

    def find(self, name: str, key: bytes, algorithm: int) -> NoteSignature:
        """The one line by this key; raises WrongSigner if there is none, BadSignature if there are several."""
        wanted = key_id(name, key, algorithm)
        found = [each for each in self.signatures if each.name == name and each.key_id == wanted]
        if not found:
            raise WrongSigner(f"The note is not signed by {name}.")
        if len(found) > 1:
            raise BadSignature(f"The note is signed by {name} more than once.")
        return found[0]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The head of a log: its origin, its number of entries and its root hash (32 bytes)."""

    origin: str
    size: int
    root_hash: bytes

    def __post_init__(self) -> None:
        _check_name(self.origin)
        if not 0 <= self.size <= MAX_SIZE:
            raise ParseError("A checkpoint's size is from 0 to 2^63 - 1.")
        if len(self.root_hash) != HASH_BYTES:
            raise ParseError("A checkpoint's root hash has 32 bytes.")

    @classmethod
    def parse(cls, body: str) -> Self:
        """The checkpoint in a note's text; raises ParseError."""
        lines = body.split("\n")
        if len(lines) != 4 or lines[3]:
            raise ParseError("A checkpoint has three lines: origin, size and root hash.")
        origin, size, root = lines[:3]
        if not _SIZE.fullmatch(size):
            raise ParseError("A checkpoint's size is a decimal number without leading zeros.")
        return cls(origin, int(size), _parse_base64(root))

    def body(self) -> str:
        """The note text that is signed, its final newline included."""
        return f"{self.origin}\n{self.size}\n{b64encode(self.root_hash).decode()}\n"

    def sign(self, secret_key: ed25519.SecretKey, name: str | None = None) -> SignedNote:
        """The checkpoint as a note signed by the log's key, whose name is the origin unless `name` is given."""
        name = self.origin if name is None else name
        signature = secret_key.sign(self.body().encode())
        return SignedNote(self.body(), (NoteSignature(name, key_id(name, secret_key.public, ED25519), signature),))


def verify(note: SignedNote, key: bytes, name: str) -> Checkpoint:
    """The checkpoint in `note`, signed by the log's `key` under `name`.

    Raises WrongSigner without a line by that key, BadSignature when it does not hold, ParseError for another text.
    """
    line = note.find(name, key, ED25519)
    ed25519.verify(key, note.text.encode(), line.signature)
    return Checkpoint.parse(note.text)


def cosign(body: str, secret_key: ed25519.SecretKey, name: str, unix_s: int) -> NoteSignature:
    """A witness's cosignature v1 of a checkpoint's text: it saw this head, consistent with all before, at `unix_s`."""
    if not 0 <= unix_s <= _MAX_UNIX_S:
        raise ParseError("A cosignature's time is from 0 to 2^63 - 1 seconds.")
    signature = unix_s.to_bytes(8, "big") + secret_key.sign(_cosigned(body, unix_s))
    return NoteSignature(name, key_id(name, secret_key.public, COSIGNATURE_V1), signature)


def verify_cosignature(note: SignedNote, key: bytes, name: str) -> int:
    """The time (Unix seconds) at which the witness with this key and name cosigned `note`.

    Raises WrongSigner without a line by that key, BadSignature when it does not hold.
    """
    line = note.find(name, key, COSIGNATURE_V1)
    unix_s = int.from_bytes(line.signature[:8], "big")
    if len(line.signature) != 8 + ed25519.SIGNATURE_BYTES or unix_s > _MAX_UNIX_S:
        raise BadSignature("A cosignature has 8 bytes of time and 64 bytes of signature.")
    ed25519.verify(key, _cosigned(note.text, unix_s), line.signature[8:])
    return unix_s


def _cosigned(body: str, unix_s: int) -> bytes:
    return f"cosignature/v1\ntime {unix_s}\n{body}".encode()


def _check_name(name: str) -> None:
    if not 1 <= len(name) <= _MAX_NAME or _NO_NAME.search(name):
        raise ParseError("A key's name or origin has 1 to 256 characters, no spaces and no plus sign.")


def _parse_base64(text: str) -> bytes:
    """The bytes of canonical standard base64."""
    try:
        data = b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ParseError("A note holds text that is not base64.") from error
    if b64encode(data).decode() != text:
        raise ParseError("A note holds base64 that is not canonical.")
    return data
