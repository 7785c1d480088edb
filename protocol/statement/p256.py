"""ECDSA on P-256 with SHA-256: the only signatures that OpenSSF model-signing takes from a plain key.

Spec: `docs/spec/statement.md` ("model.sig"). The secret follows from the coordinator's Ed25519 seed, so there is no further
key to keep or to lose; signatures are deterministic (RFC 6979).
"""

from hashlib import sha512
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from protocol.ed25519 import SecretKey
from protocol.errors import BadKey, BadSignature

KEY_BYTES: Final = 33
SIGNATURE_BYTES: Final = 64
_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_DOMAIN: Final = b"gonode/model-key/v1\0"


class ModelKey:
    """The P-256 key that goes with an Ed25519 key; `public` is its point, compressed (33 bytes)."""

    def __init__(self, secret: SecretKey) -> None:
        number = int.from_bytes(sha512(_DOMAIN + secret.seed).digest(), "big") % (_ORDER - 1) + 1
        self._key = ec.derive_private_key(number, ec.SECP256R1())
        self.public = self._key.public_key().public_bytes(Encoding.X962, PublicFormat.CompressedPoint)

    def sign(self, message: bytes) -> bytes:
        """The 64-byte signature r | s of `message`."""
        r, s = decode_dss_signature(self._key.sign(message, ec.ECDSA(SHA256(), deterministic_signing=True)))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def verify_p256(key: bytes, message: bytes, signature: bytes) -> None:
    """Raises BadKey, or BadSignature unless `signature` (64 bytes) is the key's of `message`."""
    if len(signature) != SIGNATURE_BYTES:
        raise BadSignature(f"A signature has {SIGNATURE_BYTES} bytes, not {len(signature)}.")
    try:
        _point(key).verify(signature_der(signature), message, ec.ECDSA(SHA256()))
    except InvalidSignature as error:
        raise BadSignature(f"The signature by the P-256 key {key.hex()[:16]} does not fit the message.") from error


def signature_der(signature: bytes) -> bytes:
    """The DER form of r | s."""
    return encode_dss_signature(int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big"))


def public_pem(key: bytes) -> bytes:
    """The PEM file of a compressed point; raises BadKey."""
    return _point(key).public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _point(key: bytes) -> ec.EllipticCurvePublicKey:
    if len(key) != KEY_BYTES:
        raise BadKey(f"A model key has {KEY_BYTES} bytes, not {len(key)}.")
    try:
        return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), key)
    except ValueError as error:
        raise BadKey("The model key is not a point of P-256.") from error
