"""Fraud proofs as files: shown without believing them, checked with nothing but the release's network.

Spec: `docs/spec/proof.md`.
"""

import hashlib
from pathlib import Path

from native.network import Kernel
from node.disk.blob_store import BlobStore
from node.disk.home import Home
from protocol.envelope import Envelope
from protocol.errors import BadProof, ProtocolError
from protocol.header import BatchHeader
from protocol.proof import FraudProof
from verification.proof import check_proof

MAX_BYTES = 65536


class ProofFileError(ValueError):
    """One sentence about a file that holds no fraud proof."""


def read_proof(path: Path) -> bytes:
    """The bytes of a proof's file, which can be parsed; raises ProofFileError or OSError."""
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    try:
        FraudProof.parse(data)
    except ProtocolError as error:
        raise ProofFileError(f"{path}: this is not a fraud proof: {error}") from None
    return data


def describe_proof(data: bytes) -> str:
    """What a proof claims; raises ProtocolError for bytes that are none."""
    proof = FraudProof.parse(data)
    header = BatchHeader.open(Envelope.parse(proof.header.entry))
    lines = [
        f"run       {proof.run.hex()}",
        f"accused   the {proof.accused}",
        f"kind      {proof.kind}",
        f"signer    {header.peer.hex()}",
        f"release   {header.release.hex()}",
        f"header    log entry {proof.header.index}",
        f"game      {proof.game_index} of the batch, counter {header.first_counter + proof.game_index}",
    ]
    if proof.ply:
        lines.append(f"ply       {proof.ply_index} after the opening")
    return "\n".join([*lines, "Nothing of this is checked yet: gonode proof check FILE"])


def check_proof_file(path: Path, directory: Path | None, network: Path | None, kernel: Kernel) -> tuple[bool, str]:
    """Whether the proof holds, and the sentence that says what it shows or why it does not. Raises ProofFileError,
    OSError, and NetworkMissing where neither `network` nor `directory` has what the proof needs.

    Release 0's network is recomputed; another release's comes from `network` or from the blobs in `directory`.
    """
    given = None if network is None else network.read_bytes()

    def network_of(digest: bytes) -> bytes | None:
        if given is not None and hashlib.sha256(given).digest() == digest:
            return given
        if directory is None:
            return None
        store = BlobStore(Home(directory).public)
        blobs = (store.get(blob) for blob in store.digests())
        return next((data for data in blobs if data is not None and hashlib.sha256(data).digest() == digest), None)

    data = read_proof(path)
    try:
        finding = check_proof(data, None, network_of, kernel)
    except ProtocolError as error:
        return False, str(error) if isinstance(error, BadProof) else f"The proof does not hold: {error}"
    return True, f"The proof holds. {finding.sentence}"
