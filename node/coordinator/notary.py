"""The coordinator's notary: signs the documents of each release and logs the statement that carries the signatures.

Spec: `docs/spec/statement.md`. Which releases wait for a statement is read from the log, so a coordinator that was killed in
between states it at its next start. One whose weights are not here, so that they cannot be hashed, goes without.
"""

from hashlib import sha256

from node.coordinator.log_writer import LogWriter
from node.member import Member
from protocol.ed25519 import SecretKey
from protocol.statement.documents import Documents


class Notary:
    """States what was released."""

    def __init__(self, member: Member, secret: SecretKey, log: LogWriter) -> None:
        self._member = member
        self._secret = secret
        self._log = log
        self._passed_over: set[int] = set()

    def step(self) -> None:
        """States every release that waits for it."""
        for about in self._member.state.statements.missing:
            if about.index in self._passed_over:
                continue
            release = about.release
            weights = self._member.blob_store.get(release.weights_blob)
            if weights is None:
                self._passed_over.add(about.index)
                self._member.events("note", f"Release {release.name} gets no statement: its weights are not here.")
                continue
            documents = Documents(about, sha256(weights).digest(), self._secret.public)
            self._log.append(documents.sign(self._secret).seal(self._secret))
            self._member.wake()
