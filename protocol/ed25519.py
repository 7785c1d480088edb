"""Strict Ed25519: signatures whose validity every implementation agrees on.

Spec: docs/spec/envelope.md ("Signatures"), RFC 8032. Verification is the cofactorless one of OpenSSL and, beyond it,
refuses low-order points and encodings with y >= p for the key A and for the signature's R: a low-order key has one
signature that fits every message. With this all vectors of C2SP/CCTV have one answer, that of dalek's `verify_strict`.
"""

import hmac
from dataclasses import dataclass, field
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from protocol.errors import BadKey, BadSignature

KEY_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64
_P: Final = 2**255 - 19
_SIGN: Final = 1 << 255
# y coordinates of the eight points of low order; with either sign bit, canonical or not, these are 14 encodings.
_LOW_ORDER_Y: Final = frozenset(
    int.from_bytes(bytes.fromhex(y), "little")
    for y in (
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    )
)


@dataclass(frozen=True, slots=True, eq=False)
class SecretKey:
    """An Ed25519 secret key made from its 32-byte seed; printing it shows the public key only."""

    seed: bytes = field(repr=False)
    public: bytes = field(init=False)
    _key: Ed25519PrivateKey = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.seed) != KEY_BYTES:
            raise BadKey(f"A secret key's seed has {KEY_BYTES} bytes, not {len(self.seed)}.")
        key = Ed25519PrivateKey.from_private_bytes(self.seed)
        object.__setattr__(self, "_key", key)
        object.__setattr__(self, "public", key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))

    @classmethod
    def generate(cls) -> "SecretKey":
        """A new key from the system's random numbers."""
        return cls(Ed25519PrivateKey.generate().private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption()))

    def sign(self, message: bytes) -> bytes:
        """The 64-byte signature of `message` (RFC 8032, deterministic)."""
        return self._key.sign(message)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SecretKey) and hmac.compare_digest(self.seed, other.seed)

    def __hash__(self) -> int:
        return hash(self.public)


def check_key(key: bytes) -> None:
    """Raises BadKey unless `key` is 32 bytes, canonical (y < p), and not of low order."""
    if len(key) != KEY_BYTES:
        raise BadKey(f"A public key has {KEY_BYTES} bytes, not {len(key)}.")
    flaw = _flaw(key)
    if flaw:
        raise BadKey(f"The public key is {flaw}.")


def verify(key: bytes, message: bytes, signature: bytes) -> None:
    """Raises BadSignature unless `signature` (64 bytes) is `key`'s strict Ed25519 signature of `message`."""
    try:
        check_key(key)
    except BadKey as error:
        raise BadSignature(str(error)) from error
    if len(signature) != SIGNATURE_BYTES:
        raise BadSignature(f"A signature has {SIGNATURE_BYTES} bytes, not {len(signature)}.")
    flaw = _flaw(signature[:KEY_BYTES])
    if flaw:
        raise BadSignature(f"The signature's first half is {flaw}.")
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError) as error:
        raise BadSignature(f"The signature by key {key.hex()[:16]} does not fit the message.") from error


def _flaw(point: bytes) -> str:
    """Why an encoded point is refused, or an empty string; that it lies on the curve is left to the library."""
    y = int.from_bytes(point, "little") & ~_SIGN
    if y % _P in _LOW_ORDER_Y:
        return "a point of low order"
    return "not canonically encoded" if y >= _P else ""
