"""Envelopes: a typed payload with the Ed25519 signatures that speak for it.

Spec: docs/spec/envelope.md. Signatures are over the pre-authentication encoding (PAE) of DSSE, so a payload of one type
never passes for another. An envelope's own signatures decide, never the connection that it came by. Signatures are
in the order of their keys; `parse` checks form only, `verify` the signatures and that no key has two, and the payload is
for its own parser.
"""

import re
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from threading import Lock
from typing import Final

from protocol import codec, ed25519
from protocol.errors import BadSignature, NotCanonical, ParseError, TooLarge, WrongSigner

MAX_BYTES: Final = codec.MAX_BYTES
MAX_SIGNATURES: Final = 64
_TYPE: Final = re.compile(r"application/[a-z0-9][a-z0-9.+-]{0,99}", re.ASCII)
_NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*", re.ASCII)


def payload_type(name: str, version: int = 1) -> str:
    """The payload type of the record `name`, such as `application/vnd.gonode.batch-header.v1+msgpack`."""
    if not _NAME.fullmatch(name):
        raise ParseError(f"{name!r} is not a record's name.")
    return f"application/vnd.gonode.{name}.v{version}+msgpack"


def pae(type: str, payload: bytes) -> bytes:
    """DSSE's pre-authentication encoding: the bytes that are signed for (type, payload)."""
    name = type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(name), name, len(payload), payload)


@dataclass(frozen=True, slots=True)
class Signature:
    """One Ed25519 signature (64 bytes) and its public key (32 bytes)."""

    key: bytes
    sig: bytes

    def __post_init__(self) -> None:
        if len(self.key) != ed25519.KEY_BYTES or len(self.sig) != ed25519.SIGNATURE_BYTES:
            raise ParseError("An envelope's signature needs a key of 32 bytes and 64 bytes of signature.")


@dataclass(frozen=True, slots=True)
class Envelope:
    """A payload, its type, and signatures in the order of their keys."""

    type: str
    payload: bytes
    signatures: tuple[Signature, ...]

    def __post_init__(self) -> None:
        if not _TYPE.fullmatch(self.type):
            raise ParseError("The envelope's type is not a payload type.")
        if len(self.signatures) > MAX_SIGNATURES:
            raise TooLarge(f"The envelope has {len(self.signatures)} signatures; the limit is {MAX_SIGNATURES}.")
        keys = self.signers
        if any(a > b for a, b in pairwise(keys)):
            raise NotCanonical("The envelope's signatures are not in key order.")

    @classmethod
    def parse(cls, data: bytes, max_bytes: int = MAX_BYTES) -> "Envelope":
        """The envelope in `data`, its signatures not yet verified.

        Raises TooLarge, ParseError or NotCanonical.
        """
        match codec.decode(data, max_bytes):
            case {"payload": bytes(payload), "signatures": list(signatures), "type": str(type), **rest} if not rest:
                if len(signatures) > MAX_SIGNATURES:
                    raise TooLarge(f"The envelope has {len(signatures)} signatures; the limit is {MAX_SIGNATURES}.")
                return cls(type, payload, tuple(_parse_signature(item) for item in signatures))
        raise ParseError("The bytes are not an envelope.")

    def encode(self) -> bytes:
        """The canonical bytes."""
        signatures = [{"key": each.key, "sig": each.sig} for each in self.signatures]
        return codec.encode({"payload": self.payload, "signatures": signatures, "type": self.type})

    @property
    def signers(self) -> tuple[bytes, ...]:
        """The keys that signed, in order; they speak for the payload only once `verify` has passed."""
        return tuple(each.key for each in self.signatures)

    @property
    def digest(self) -> bytes:
        """SHA-256 of the payload: the identity of what was signed."""
        return sha256(self.payload).digest()

    def verify(self) -> None:
        """Raises BadSignature unless there is a signature, no key signs twice, and every signature holds."""
        if not self.signatures:
            raise BadSignature("The envelope has no signature.")
        if len(set(self.signers)) != len(self.signatures):
            raise BadSignature("A key signs the envelope twice.")
        message = pae(self.type, self.payload)
        digest = sha256(message).digest()
        for each in self.signatures:
            claim = digest + each.key + each.sig
            if not _verified.has(claim):
                ed25519.verify(each.key, message, each.sig)
                _verified.add(claim)

    def verify_signer(self, key: bytes) -> None:
        """Raises BadSignature unless every signature holds, then WrongSigner unless `key` alone signed."""
        self.verify()
        if self.signers != (key,):
            raise WrongSigner(f"The envelope is not signed by key {key.hex()[:16]} alone.")


def seal(payload_type: str, payload: bytes, *secret_keys: ed25519.SecretKey) -> Envelope:
    """The envelope of `payload`, signed by each of `secret_keys`."""
    message = pae(payload_type, payload)
    signatures = (Signature(secret.public, secret.sign(message)) for secret in secret_keys)
    return Envelope(payload_type, payload, tuple(sorted(signatures, key=lambda each: each.key)))


def forget_verified() -> None:
    """Has signatures that were found valid verified anew, as in a process that begins; what measures verifying needs it."""
    _verified.clear()


def _parse_signature(item: codec.Value) -> Signature:
    match item:
        case {"key": bytes(key), "sig": bytes(sig), **rest} if not rest:
            return Signature(key, sig)
    raise ParseError("The bytes are not an envelope's signature.")


class _Verified:
    """The last claims (message digest, key, signature) found valid: entries are seen many times, failures not kept."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._claims: OrderedDict[bytes, None] = OrderedDict()
        self._lock = Lock()

    def has(self, claim: bytes) -> bool:
        with self._lock:
            found = claim in self._claims
            if found:
                self._claims.move_to_end(claim)
            return found

    def add(self, claim: bytes) -> None:
        with self._lock:
            self._claims[claim] = None
            if len(self._claims) > self._capacity:
                self._claims.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._claims.clear()


_verified: Final = _Verified(16384)
