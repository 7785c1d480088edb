"""The signature file of OpenSSF model-signing over a release's two files.

Spec: `docs/spec/statement.md` ("model.sig"); model-signing 1.0, Sigstore bundle 0.3. It is an in-toto statement that names
each file of a folder; the other documents, which lie in the same folder, are left out by name.
"""

from collections.abc import Collection, Mapping
from hashlib import sha256
from typing import Final

from protocol.statement.dsse import dsse_envelope
from protocol.statement.p256 import public_pem, signature_der
from protocol.statement.provenance import STATEMENT_TYPE
from protocol.statement.text import Json, encode_json

PREDICATE_TYPE: Final = "https://model_signing/signature/v1.0"
BUNDLE_TYPE: Final = "application/vnd.dev.sigstore.bundle.v0.3+json"


def model_statement(model: str, digests: Mapping[str, bytes], others: Collection[str]) -> bytes:
    """The statement's JSON; `digests` are the SHA-256 of files by name, `others` the names that are left out."""
    names = sorted(digests)
    whole = sha256(b"".join(digests[name] for name in names)).hexdigest()
    return encode_json(
        {
            "_type": STATEMENT_TYPE,
            "subject": [{"name": model, "digest": {"sha256": whole}}],
            "predicateType": PREDICATE_TYPE,
            "predicate": {
                "serialization": {
                    "method": "files",
                    "hash_type": "sha256",
                    "allow_symlinks": False,
                    "ignore_paths": sorted(others),
                },
                "resources": [{"name": name, "algorithm": "sha256", "digest": digests[name].hex()} for name in names],
            },
        }
    )


def model_bundle(statement: bytes, key: bytes, signature: bytes) -> bytes:
    """The file `model.sig`; the hint is what model-signing compares with the key that it is given. Raises BadKey."""
    bundle: Json = {
        "mediaType": BUNDLE_TYPE,
        "verificationMaterial": {"publicKey": {"hint": sha256(public_pem(key)).hexdigest()}, "tlogEntries": []},
        "dsseEnvelope": dsse_envelope(statement, "", signature_der(signature)),
    }
    return encode_json(bundle) + b"\n"
