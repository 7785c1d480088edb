"""Key files: an Ed25519 secret key as short ASCII text, plain or under a passphrase.

Spec: docs/spec/keyfile.md. With a passphrase the seed is encrypted by ChaCha20-Poly1305 under a key that scrypt
(N = 2^17, r = 8, p = 1: 128 MiB and about half a second) derives. A checksum tells a damaged file from a wrong
passphrase. This module makes and reads the bytes; where they lie and who may read them is for the caller.
"""

import os
import re
import unicodedata
from hashlib import sha256
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from protocol.ed25519 import SecretKey
from protocol.errors import BadKeyFile

MAX_BYTES: Final = 1024
_LOG2_N: Final = 17
_SALT_BYTES: Final = 16
_NONCE_BYTES: Final = 12
_FILE: Final = re.compile(
    rb"(?P<body>(?P<head>gonode secret key v1\npublic (?P<public>[0-9a-f]{64})\n)"
    rb"(?:plain (?P<seed>[0-9a-f]{64})"
    rb"|scrypt-17-8-1 (?P<salt>[0-9a-f]{32}) (?P<nonce>[0-9a-f]{24}) (?P<sealed>[0-9a-f]{96}))\n)"
    rb"check (?P<check>[0-9a-f]{16})\n"
)


def encode_key(secret: SecretKey, passphrase: str | None) -> bytes:
    """The bytes of a key file of `secret`; `passphrase` None leaves it readable for whoever can read the file.

    Salt and nonce come from the system's random numbers. Raises BadKeyFile for an empty passphrase.
    """
    head = f"gonode secret key v1\npublic {secret.public.hex()}\n".encode()
    if passphrase is None:
        line = f"plain {secret.seed.hex()}\n"
    else:
        salt, nonce = os.urandom(_SALT_BYTES), os.urandom(_NONCE_BYTES)
        sealed = ChaCha20Poly1305(_stretch(passphrase, salt)).encrypt(nonce, secret.seed, head)
        line = f"scrypt-{_LOG2_N}-8-1 {salt.hex()} {nonce.hex()} {sealed.hex()}\n"
    body = head + line.encode()
    return body + f"check {_checksum(body)}\n".encode()


def parse_key(data: bytes, passphrase: str | None) -> SecretKey:
    """The secret key in a key file; `passphrase` is not looked at when the file is plain.

    Raises BadKeyFile when the file is damaged, needs a passphrase, or does not open with this one.
    """
    match = _FILE.fullmatch(data) if len(data) <= MAX_BYTES else None
    if match is None:
        raise BadKeyFile("This is not a gonode key file, or it is damaged.")
    if match["check"].decode() != _checksum(match["body"]):
        raise BadKeyFile("The key file is damaged: its checksum does not fit.")
    if match["seed"] is not None:
        seed = bytes.fromhex(match["seed"].decode())
    elif passphrase is None:
        raise BadKeyFile("The key file needs a passphrase.")
    else:
        salt, nonce, sealed = (bytes.fromhex(match[name].decode()) for name in ("salt", "nonce", "sealed"))
        try:
            seed = ChaCha20Poly1305(_stretch(passphrase, salt)).decrypt(nonce, sealed, match["head"])
        except InvalidTag as error:
            raise BadKeyFile("The passphrase does not open the key file.") from error
    secret = SecretKey(seed)
    if secret.public.hex() != match["public"].decode():
        raise BadKeyFile("The key file is damaged: its public key is not that of its secret key.")
    return secret


def parse_public(data: bytes) -> bytes:
    """The public key that a key file names, for which no passphrase is needed; raises BadKeyFile."""
    match = _FILE.fullmatch(data) if len(data) <= MAX_BYTES else None
    if match is None or match["check"].decode() != _checksum(match["body"]):
        raise BadKeyFile("This is not a gonode key file, or it is damaged.")
    return bytes.fromhex(match["public"].decode())


def is_encrypted(data: bytes) -> bool:
    """Whether `data` is a key file that needs a passphrase."""
    match = _FILE.fullmatch(data) if len(data) <= MAX_BYTES else None
    return match is not None and match["seed"] is None


def _stretch(passphrase: str, salt: bytes) -> bytes:
    try:
        text = unicodedata.normalize("NFC", passphrase).encode()
    except UnicodeEncodeError as error:
        raise BadKeyFile("The passphrase is not valid Unicode.") from error
    if not text:
        raise BadKeyFile("The passphrase is empty.")
    return Scrypt(salt=salt, length=32, n=1 << _LOG2_N, r=8, p=1).derive(text)


def _checksum(body: bytes) -> str:
    return sha256(body).hexdigest()[:16]
