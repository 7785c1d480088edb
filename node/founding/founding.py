"""Founding a run: keys, root version 1, manifest version 1, and the ticket that certifies both.

The run id is a hash over both payloads, so whoever holds the ticket needs to believe nobody. The log's first two entries
are these envelopes; the coordinator writes them when it first starts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from node.disk.files import write_file
from node.disk.home import Home
from node.disk.keyring import KeyringError, load_or_create_key
from node.founding.layers import NO_CHOICES, Choices
from node.founding.listening import check_address, settle_port
from node.founding.manifest_file import load_manifest
from protocol.ed25519 import check_key
from protocol.envelope import Envelope
from protocol.errors import ProtocolError
from protocol.manifest import GatePolicy, Manifest
from protocol.root import COORDINATOR, VERIFIER, Role, Root
from protocol.seeds import run_id
from protocol.ticket import Ticket
from protocol.types import ZERO

MOST_SIMULATED = 10_000
"""The longest gate, in games, whose power is simulated while somebody waits."""


class FoundingError(ValueError):
    """One sentence about why a run cannot be made."""


@dataclass(frozen=True, slots=True)
class FoundedRun:
    """A run as made: what its log begins with, and its ticket."""

    run: bytes
    root: Root
    manifest: Manifest
    envelopes: tuple[Envelope, Envelope]
    ticket: Ticket


def found_run(
    directory: Path, source: Path | None, verifiers: Sequence[bytes], address: str, choices: Choices = NO_CHOICES
) -> FoundedRun:
    """Makes the run of a file and choices in `directory`, whose root names these verifiers; a run that is there already is
    never replaced."""
    home = Home(directory)
    if home.ticket.exists():
        raise FoundingError(f"{directory}: a run is there already.")
    manifest = load_manifest(source, choices)
    _check_gate(manifest.gate)
    check_address(address)
    for key in verifiers:
        check_key(key)
    if len(set(verifiers)) != len(verifiers):
        raise FoundingError("A verifier's key is given twice.")
    try:
        root_key, coordinator, host = (load_or_create_key(home.key(name)) for name in ("root", "coordinator", "host"))
    except KeyringError as error:
        raise FoundingError(str(error)) from None
    roles = [Role(COORDINATOR, coordinator.public, "coordinator")]
    roles += [Role(VERIFIER, key, f"verifier-{key.hex()[:8]}") for key in verifiers]
    root = Root(ZERO, 1, 1, (root_key.public,), tuple(roles), len(verifiers) // 2 + 1 if verifiers else 1)
    run = run_id(root.encode(), manifest.encode())
    envelopes = (root.seal(root_key), manifest.seal(root_key))
    store_founding(home, envelopes)
    ticket = Ticket(run, root.digest(), (settle_port(address, host.public),))
    home.store_ticket(ticket)
    return FoundedRun(run, root, manifest, envelopes, ticket)


def _check_gate(gate: GatePolicy) -> None:
    from verification.power import can_pass

    if not can_pass(gate):
        raise FoundingError(
            f"The run's gate can never pass: it refuses even a candidate that wins all {gate.games} games; it needs more "
            "games or bounds that lie further apart."
        )


def store_founding(home: Home, envelopes: tuple[Envelope, Envelope]) -> None:
    """Keeps root and manifest for the coordinator's first start."""
    for name, envelope in zip(("root", "manifest"), envelopes, strict=True):
        write_file(home.directory / name, envelope.encode())


def load_founding(home: Home) -> tuple[Envelope, Envelope]:
    """Root and manifest as founded; raises FoundingError."""
    return load_envelope(home.directory / "root"), load_envelope(home.directory / "manifest")


def load_envelope(path: Path) -> Envelope:
    """The envelope in a file of the run's directory; raises FoundingError."""
    try:
        return Envelope.parse(path.read_bytes())
    except OSError as error:
        raise FoundingError(f"{path}: no run is here ({error.strerror}); make one: gonode run init") from None
    except ProtocolError as error:
        raise FoundingError(f"{path}: this file is damaged: {error}") from None


def describe(run: FoundedRun) -> str:
    """What a founder should know: the run's id, its keys, and the power of its gate."""
    from verification.power import describe_power

    gate = run.manifest.gate
    power = f"The power of a gate of more than {MOST_SIMULATED} games is not simulated here."
    return "\n".join(
        (
            f"Run {run.manifest.name}, id {run.run.hex()}.",
            f"Verifiers: {len(run.root.verifiers)}, of whom {run.root.witness_threshold} must cosign.",
            "The root's key can replace every other key: move DIR/keys/root to offline storage and keep a copy.",
            describe_power(gate) if gate.games <= MOST_SIMULATED else power,
        )
    )
