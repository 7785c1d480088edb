"""A folder as a stranger has it after a download: the documents of the example's release, and its two files."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from protocol.statement.documents import Documents
from protocol.statement.record import ReleaseStatement
from tests.vectors.record_examples import COORDINATOR, release_documents

NETWORK = b"the network's integers"
WEIGHTS = b"the weights"


def described() -> Documents:
    """The example's documents, about these two files."""
    documents = release_documents()
    release = replace(documents.about.release, network=sha256(NETWORK).digest(), samples=2**64 - 1)
    return replace(documents, about=replace(documents.about, release=release), weights_sha256=sha256(WEIGHTS).digest())


def signed() -> tuple[Documents, ReleaseStatement]:
    """The documents and the coordinator's statement about them."""
    documents = described()
    return documents, documents.sign(COORDINATOR)


def downloaded(folder: Path) -> Path:
    """Writes documents and files into a folder."""
    documents, record = signed()
    about = documents.about
    for name, data in {
        **documents.files(record),
        about.network_name: NETWORK,
        about.weights_name: WEIGHTS,
    }.items():
        (folder / name).write_bytes(data)
    return folder
