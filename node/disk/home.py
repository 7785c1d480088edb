"""A node's directory: which file lies where, for every role.

```
DIR/keys/host coordinator verifier root    secret keys (only those the role needs)
DIR/node.db                                log, queues, counters, peers (node.disk.store)
DIR/public/                                what everybody may read (protocol.layout)
DIR/training/                              the coordinator's train states and jobs
DIR/proofs/                                fraud proofs that this node made
DIR/root manifest *.next to-sign/          what root keys signed and are asked to sign (node.founding.ceremony)
DIR/ticket control.sock lock               the run's ticket, the running node's socket, the lock
```
"""

from dataclasses import dataclass
from pathlib import Path

from node.disk.files import write_file
from node.peering.transport import Unreachable, address_key
from protocol.errors import ProtocolError
from protocol.layout import PUBLIC
from protocol.ticket import MAX_CHARACTERS, Ticket

HOMES = Path("~/.gonode")
"""Where contributors and verifiers live unless told otherwise, a directory a run."""


class HomeError(ValueError):
    """One sentence about a directory that does not hold what a command needs."""


@dataclass(frozen=True, slots=True)
class Home:
    """Paths below one node's directory."""

    directory: Path

    def key(self, role: str) -> Path:
        """Where the secret key of `role` (host, coordinator, verifier, root) lies."""
        return self.directory / "keys" / role

    @property
    def database(self) -> Path:
        """The SQLite file."""
        return self.directory / "node.db"

    @property
    def public(self) -> Path:
        """The public folder."""
        return self.directory / PUBLIC

    @property
    def training(self) -> Path:
        """Where the coordinator trains."""
        return self.directory / "training"

    @property
    def proofs(self) -> Path:
        """Fraud proofs that this node made."""
        return self.directory / "proofs"

    @property
    def fault(self) -> Path:
        """The sentence of a canary that failed, until this node has dropped what is doubtful."""
        return self.directory / "fault"

    @property
    def control(self) -> Path:
        """The running node's socket."""
        return self.directory / "control.sock"

    @property
    def root(self) -> Path:
        """Root version 1, in a coordinator's directory."""
        return self.directory / "root"

    @property
    def manifest(self) -> Path:
        """Manifest version 1, likewise."""
        return self.directory / "manifest"

    @property
    def next_root(self) -> Path:
        """The root version that waits to be logged."""
        return self.directory / "root.next"

    @property
    def next_manifest(self) -> Path:
        """The manifest version that waits to be logged."""
        return self.directory / "manifest.next"

    @property
    def to_sign(self) -> Path:
        """Proposals as files that travel to the holders of root keys."""
        return self.directory / "to-sign"

    @property
    def ticket(self) -> Path:
        """The run's ticket, as text."""
        return self.directory / "ticket"

    def load_ticket(self) -> Ticket:
        """The ticket stored here; raises HomeError."""
        if not self.ticket.is_file():
            raise HomeError(f"{self.directory}: no run is here (there is no ticket).")
        return read_ticket(str(self.ticket))

    def store_ticket(self, ticket: Ticket) -> None:
        """Writes the ticket, replacing an older one of the same run (its addresses may have changed).

        Raises HomeError where another run lives.
        """
        try:
            other = self.load_ticket().run
        except HomeError:
            other = ticket.run
        if other != ticket.run:
            raise HomeError(
                f"{self.directory}: run {other.hex()[:16]} lives here, not {ticket.run.hex()[:16]}; use another --dir."
            )
        write_file(self.ticket, f"{ticket.encode()}\n".encode("ascii"))


def read_ticket(text: str) -> Ticket:
    """A ticket given as itself or as the name of a file that holds it; raises HomeError."""
    if not text.strip().startswith("gonode1"):
        try:
            with Path(text).open(encoding="ascii") as file:
                text = file.read(MAX_CHARACTERS + 2)
        except (OSError, UnicodeDecodeError, ValueError):
            raise HomeError(f"{text[:80]!r} is neither a ticket (gonode1...) nor a file that holds one.") from None
    try:
        ticket = Ticket.parse(text)
        for address in ticket.addresses:
            address_key(address)
        return ticket
    except (ProtocolError, Unreachable) as error:
        raise HomeError(f"The ticket cannot be used: {error}") from None
