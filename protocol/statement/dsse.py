"""DSSE envelopes as JSON, around in-toto statements.

Spec: `docs/spec/statement.md` ("Envelopes"); DSSE 1.0, in-toto attestation 1.0. The signed bytes are the pre-authentication
encoding that `protocol.envelope` signs too, under a type of its own.
"""

from base64 import b64encode
from hashlib import sha256
from typing import Final

from protocol.envelope import pae
from protocol.statement.text import Json, encode_json

IN_TOTO: Final = "application/vnd.in-toto+json"


def dsse_message(statement: bytes) -> bytes:
    """The bytes that are signed for an in-toto statement."""
    return pae(IN_TOTO, statement)


def dsse_envelope(statement: bytes, key_id: str, signature: bytes) -> dict[str, Json]:
    """The envelope's JSON object."""
    return {
        "payload": b64encode(statement).decode(),
        "payloadType": IN_TOTO,
        "signatures": [{"keyid": key_id, "sig": b64encode(signature).decode()}],
    }


def key_id(key: bytes) -> str:
    """What names an Ed25519 key to securesystemslib: SHA-256 of its canonical JSON description, in hexadecimal digits."""
    description: Json = {"keytype": "ed25519", "keyval": {"public": key.hex()}, "scheme": "ed25519"}
    return sha256(encode_json(description)).hexdigest()
