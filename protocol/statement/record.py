"""The log entry that carries what only the coordinator can add to a release's documents: its signatures.

Spec: `docs/spec/statement.md`. Everything else in the documents follows from the log.
"""

from dataclasses import dataclass

from protocol.record import Record
from protocol.types import U64, Digest, P256Key, SignatureBytes


@dataclass(frozen=True, slots=True)
class ReleaseStatement(Record):
    """Signatures under the documents of the release logged at `release`, and the plain SHA-256 of its weights file.

    `model_key` is a point of P-256, compressed; `model_signature` is r | s, big-endian.
    """

    NAME = "release-statement"

    run: Digest
    release: U64
    weights_sha256: Digest
    provenance_signature: SignatureBytes
    sums_signature: SignatureBytes
    model_key: P256Key
    model_signature: SignatureBytes
