"""Release statements in the log: one a release, by the coordinator, with signatures that fit the documents.

Spec: `docs/spec/statement.md`. What the documents say follows from the log, so the only thing to judge is who signed what.
"""

from dataclasses import dataclass

from protocol.entries import Entry
from protocol.errors import ProtocolError
from protocol.layout import statement_path
from protocol.release import Release
from protocol.statement.documents import Documents
from protocol.statement.record import ReleaseStatement
from protocol.statement.stated import Stated
from verification.cycles import Cycles
from verification.faults import LogFault
from verification.gates import Gates
from verification.roles import Change, Roles


@dataclass(frozen=True, slots=True)
class StatementInfo:
    """A statement as logged at `index`, and the documents that it signs."""

    index: int
    record: ReleaseStatement
    documents: Documents

    def files(self) -> dict[str, bytes]:
        """The documents' bytes by their paths in the public folder."""
        release = self.documents.about.release
        made = self.documents.files(self.record)
        return {statement_path(release.number, release.name, name): data for name, data in made.items()}


class Statements:
    """All statements of the log, and the releases that have none yet."""

    def __init__(self, roles: Roles, cycles: Cycles, gates: Gates) -> None:
        self._roles = roles
        self._cycles = cycles
        self._gates = gates
        self._waiting: dict[int, Stated] = {}
        self._by_release: dict[int, StatementInfo] = {}

    @property
    def all(self) -> tuple[StatementInfo, ...]:
        """Every statement, as logged."""
        return tuple(self._by_release.values())

    @property
    def missing(self) -> tuple[Stated, ...]:
        """The logged releases that have no statement yet, oldest first."""
        return tuple(self._waiting.values())

    def find(self, release: int) -> StatementInfo | None:
        """The statement about the release logged at an index."""
        return self._by_release.get(release)

    def released(self, release: Release, index: int) -> None:
        """A release is logged at `index`: a statement about it may follow."""
        training = self._cycles.training_at(release.train_record)
        window = None if training is None else self._cycles.window_at(training.record.window)
        gate = self._gates.by_candidate(release.train_record)
        assert training is not None  # a release that is due has all three
        assert window is not None
        assert gate is not None
        assert gate.record is not None
        self._waiting[index] = Stated(index, release, training.record, window.record, gate.record, window.manifest)

    def change_statement(self, entry: Entry, record: ReleaseStatement, index: int) -> Change:
        """Checks a statement; raises LogFault."""
        self._roles.require_coordinator(entry, index)
        about = self._waiting.get(record.release)
        if about is None:
            raise LogFault(f"The statement is about entry {record.release}, which is no release that waits for one.")
        documents = Documents(about, record.weights_sha256, entry.signers[0])
        try:
            documents.verify(record)
        except ProtocolError as error:
            raise LogFault(f"The statement does not sign the documents of {about.release.name}: {error}") from error

        def change() -> None:
            del self._waiting[record.release]
            self._by_release[record.release] = StatementInfo(index, record, documents)

        return change
