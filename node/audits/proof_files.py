"""Fraud proofs as files: read, and checked with nothing but the release's network.

Spec: `docs/spec/proof.md`. A file holds a proof alone, or the entry of a ban or pardon with the proof inside.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from native.network import Kernel
from protocol.envelope import Envelope
from protocol.errors import BadProof, ProtocolError
from protocol.proof import Ban, FraudProof, Pardon
from verification.proof import Finding, NetworkOf, check_proof

MAX_BYTES = 2 * 65536


class ProofFileError(ValueError):
    """One sentence about a file that holds no fraud proof."""


@dataclass(frozen=True, slots=True)
class ProofAnswer:
    """What a check found, in one sentence; `finding` is None where the proof does not hold."""

    finding: Finding | None
    sentence: str

    @property
    def holds(self) -> bool:
        """Whether the proof holds."""
        return self.finding is not None

    def to_json(self) -> dict[str, Any]:
        """What `gonode proof check --json` prints."""
        found = None if self.finding is None else asdict(self.finding) | {"subject": self.finding.subject.hex()}
        if found is not None:
            del found["searched"]
        return {"holds": self.holds, "sentence": self.sentence, "finding": found}


def read_proof(path: Path) -> bytes:
    """The bytes of the proof in a file, which can be parsed; raises ProofFileError or OSError."""
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    try:
        proof = _inside(data)
        FraudProof.parse(proof)
    except ProtocolError as error:
        raise ProofFileError(f"{path}: this is not a fraud proof: {error}") from None
    return proof


def check_proof_file(path: Path, run: bytes | None, network_of: NetworkOf, kernel: Kernel) -> ProofAnswer:
    """Whether the proof in a file holds (for this run, if one is given), and what it shows or why it does not.

    Raises ProofFileError, OSError, and NetworkMissing where `network_of` does not have what the proof needs.
    """
    data = read_proof(path)
    try:
        finding = check_proof(data, run, network_of, kernel)
    except ProtocolError as error:
        return ProofAnswer(None, str(error) if isinstance(error, BadProof) else f"The proof does not hold: {error}")
    return ProofAnswer(finding, f"The proof holds. {finding.sentence}")


def _inside(data: bytes) -> bytes:
    """The proof in a logged ban or pardon; other bytes as they are."""
    try:
        envelope = Envelope.parse(data, MAX_BYTES)
    except ProtocolError:
        return data
    for cls in (Ban, Pardon):
        if envelope.type == cls.payload_type():
            return cls.open(envelope).proof
    return data
