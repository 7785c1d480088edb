"""A coordinator's log writer at work, the run's verifiers beside it: for tests of the log and of what kills leave of it."""

from pathlib import Path

from node.coordinator.log_writer import LogWriter
from node.disk.store import Store
from node.following.stored_log import replay_log
from protocol import checkpoint as notes
from protocol.checkpoint import Checkpoint, SignedNote
from protocol.ed25519 import SecretKey
from protocol.envelope import Envelope
from protocol.epoch import ShareSet
from protocol.layout import CHECKPOINT
from protocol.receipt import Tick
from protocol.seeds import log_origin
from protocol.tiles import tiles_between
from tests.verification.memory_reader import MemoryReader
from tests.verification.world import World
from verification.audit.audit import AuditOptions, audit
from verification.state import LogState
from verification.witness import verify_head, witness_name


class Desk:
    """A log writer over a world's log in `path`, which begins or goes on; the world gives keys and takes the state."""

    def __init__(self, path: Path, world: World) -> None:
        self.world = world
        self.public = path / "public"
        self.store = Store(path / "node.db")
        self.clock_s = 0.0
        if not self.store.log_size:
            self.store.append(world.entries)
        self.restart()

    def restart(self) -> None:
        """What a start makes of what is on disk."""
        self.world.state = LogState(self.world.run)
        replay_log(self.world.state, self.store)
        self.writer = LogWriter(self.world.state, self.store, self.world.coordinator, self.public, lambda: self.clock_s)

    def tick(self) -> int:
        """Appends an entry; gives its index."""
        state = self.world.state
        return self.writer.append(Tick(state.run, state.size, 0).seal(self.world.coordinator))

    def sign(self) -> int:
        """A new head with one more entry; its size."""
        self.tick()
        assert self.writer.sign_head()
        return Checkpoint.parse(SignedNote.parse(self.writer.newest_note).text).size

    def line(self, verifier: SecretKey, size: int, unix_s: int = 1_700_000_000) -> str:
        """A verifier's cosignature of the head of `size`."""
        body = Checkpoint(log_origin(self.world.run), size, self.world.state.tree.root(size)).body()
        return notes.cosign(body, verifier, witness_name(verifier.public), unix_s).encode()

    def cosign(self, verifier: SecretKey, size: int, unix_s: int = 1_700_000_000) -> None:
        """Hands in a verifier's cosignature and share."""
        share = self.world.share(verifier, size)
        self.writer.add_cosignature(verifier.public, size, self.line(verifier, size, unix_s), share)

    def published(self) -> int:
        """The size of the published head, which witnesses vouch for; 0 when nothing is published."""
        path = self.public / CHECKPOINT
        if not path.exists():
            return 0
        note = SignedNote.parse(path.read_bytes())
        verify_head(note, self.world.run, self.world.state.roots)
        return Checkpoint.parse(note.text).size

    def audit(self) -> None:
        """The published folder passes the checks of head and files, and holds exactly its head's tiles."""
        answers = audit_folder(self.public, self.world.run)
        assert answers["head"][0], answers["head"]
        assert answers["files"][0], answers["files"]
        tiles = {
            file.relative_to(self.public).as_posix() for file in (self.public / "tile").rglob("*") if file.is_file()
        }
        wanted = {tile.path for tile in tiles_between(0, self.published())}
        assert wanted <= tiles
        assert {name for name in tiles - wanted if ".p/" in name} == set()

    def share_sets(self) -> list[ShareSet]:
        """The share sets of the log."""
        envelopes = (Envelope.parse(entry) for entry in self.store.iterate_log())
        return [ShareSet.parse(each.payload) for each in envelopes if each.type == ShareSet.payload_type()]


def audit_folder(public: Path, run: bytes) -> dict[str, tuple[bool | None, str]]:
    """What an audit without replays says of a public folder, by check."""
    files = {file.relative_to(public).as_posix(): file.read_bytes() for file in public.rglob("*") if file.is_file()}
    report = audit(MemoryReader(files), AuditOptions(run=run, sample=0))
    return {check.name: (check.ok, check.detail) for check in report.checks}
