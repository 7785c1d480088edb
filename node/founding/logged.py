"""What a run's log says about its root and manifest, read from the coordinator's directory, whether it runs or not."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from node.disk.home import Home
from node.disk.store import Store
from node.founding.errors import FoundingError
from protocol.envelope import Envelope
from protocol.errors import ProtocolError
from protocol.manifest import Manifest
from protocol.root import Root


@dataclass(frozen=True, slots=True)
class Logged:
    """All root and manifest versions, oldest first, and the number of entries; as founded before the log begins."""

    roots: tuple[Envelope, ...]
    manifests: tuple[Envelope, ...]
    size: int

    @property
    def root(self) -> Root:
        """The newest root version."""
        return Root.parse(self.roots[-1].payload)

    @property
    def manifest(self) -> Manifest:
        """The newest manifest version."""
        return Manifest.parse(self.manifests[-1].payload)

    @property
    def proofs(self) -> tuple[Envelope, ...]:
        """Manifest version 1 and, when it is another, the newest one."""
        return tuple(dict.fromkeys((self.manifests[0], self.manifests[-1])))


def read_logged(home: Home) -> Logged:
    """The versions in the coordinator's log, or those founded, before its first start; raises FoundingError."""
    found: dict[str, list[Envelope]] = {Root.payload_type(): [], Manifest.payload_type(): []}
    size = 0
    for entry in iterate_log(home):
        size += 1
        envelope = _version(entry)
        if envelope is not None:
            found[envelope.type].append(envelope)
    if size < 2:
        roots, manifests = ([load_envelope(file)] for file in (home.root, home.manifest))
    else:
        roots, manifests = found.values()
    return Logged(tuple(roots), tuple(manifests), size)


def iterate_log(home: Home) -> Iterator[bytes]:
    """The entries of the log in a node's directory; none before there is a store."""
    if home.database.exists():
        with Store(home.database) as store:
            yield from store.iterate_log()


def load_envelope(path: Path) -> Envelope:
    """The envelope in a file of the run's directory; raises FoundingError."""
    try:
        return Envelope.parse(path.read_bytes())
    except OSError as error:
        raise FoundingError(f"{path}: no run is here ({error.strerror}); make one: gonode run init") from None
    except ProtocolError as error:
        raise FoundingError(f"{path}: this file is damaged: {error}") from None


_TYPES = tuple(record.payload_type().encode() for record in (Root, Manifest))


def _version(entry: bytes) -> Envelope | None:
    """The envelope of a root or manifest version; None for any other entry."""
    if not any(name in entry for name in _TYPES):
        return None
    envelope = Envelope.parse(entry)
    return envelope if envelope.type.encode() in _TYPES else None
