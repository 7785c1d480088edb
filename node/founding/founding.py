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
from node.founding.ceremony import keep, travelling
from node.founding.errors import FoundingError
from node.founding.layers import NO_CHOICES, Choices
from node.founding.listening import check_address, settle_port
from node.founding.logged import load_envelope
from node.founding.manifest_file import load_manifest
from node.founding.proposal import Proposal
from node.founding.root_changes import check_threshold
from protocol.ed25519 import check_key
from protocol.envelope import Envelope
from protocol.manifest import GatePolicy, Manifest
from protocol.root import COORDINATOR, VERIFIER, Role, Root
from protocol.seeds import run_id
from protocol.ticket import Ticket
from protocol.types import UNSET, ZERO

MOST_SIMULATED = 10_000
"""The longest gate, in games, whose power is simulated while somebody waits."""


@dataclass(frozen=True, slots=True)
class FoundedRun:
    """A run as made: what its log begins with, and its ticket."""

    run: bytes
    root: Root
    manifest: Manifest
    envelopes: tuple[Envelope, Envelope]
    ticket: Ticket


def found_run(
    directory: Path,
    source: Path | None,
    verifiers: Sequence[bytes],
    address: str,
    choices: Choices = NO_CHOICES,
    root_keys: Sequence[bytes] = (),
    threshold: int | None = None,
    expires: int = UNSET,
) -> FoundedRun:
    """Makes the run of a file and choices in `directory`, whose root names these verifiers, up to the log index `expires`.

    Without `root_keys` one is made in the directory and signs; else their holders do (`ceremony`), `threshold` of them, by
    default more than half. A run that is there already is never replaced. Raises FoundingError or another refusal.
    """
    home = Home(directory)
    if home.ticket.exists():
        raise FoundingError(f"{directory}: a run is there already.")
    manifest = load_manifest(source, choices)
    check_gate(manifest.gate)
    check_address(address)
    for key in (*verifiers, *root_keys):
        check_key(key)
    if len(set(verifiers)) != len(verifiers):
        raise FoundingError("A verifier's key is given twice.")
    if threshold is not None and not root_keys:
        raise FoundingError("A threshold needs the root's keys: --root-key KEY for each.")
    needed = threshold or len(root_keys) // 2 + 1
    if root_keys:
        check_threshold(root_keys, needed)
    try:
        signers = () if root_keys else (load_or_create_key(home.key("root")),)
        coordinator, host = (load_or_create_key(home.key(name)) for name in ("coordinator", "host"))
    except KeyringError as error:
        raise FoundingError(str(error)) from None
    roles = [Role(COORDINATOR, coordinator.public, "coordinator")]
    roles += [Role(VERIFIER, key, f"verifier-{key.hex()[:8]}", expires) for key in verifiers]
    keys = tuple(root_keys) or tuple(key.public for key in signers)
    root = Root(ZERO, 1, needed, keys, tuple(roles), len(verifiers) // 2 + 1 if verifiers else 1)
    run = run_id(root.encode(), manifest.encode())
    envelopes = (root.seal(*signers), manifest.seal(*signers))
    if root_keys:
        keep(home, Proposal((), (), envelopes))
    else:
        store_founding(home, envelopes)
    ticket = Ticket(run, root.digest(), (settle_port(address, host.public),))
    home.store_ticket(ticket)
    return FoundedRun(run, root, manifest, envelopes, ticket)


def check_gate(gate: GatePolicy) -> None:
    """Raises FoundingError for a gate that nothing can pass."""
    from verification.power import can_pass

    if not can_pass(gate):
        raise FoundingError(
            f"The run's gate can never pass: it refuses even a candidate that wins all {gate.games} games; it needs more "
            "games or bounds that lie further apart."
        )


def store_founding(home: Home, envelopes: tuple[Envelope, Envelope]) -> None:
    """Keeps root and manifest for the coordinator's first start."""
    for file, envelope in zip((home.root, home.manifest), envelopes, strict=True):
        write_file(file, envelope.encode())


def load_founding(home: Home) -> tuple[Envelope, Envelope]:
    """Root and manifest as founded, signed by enough of the root's keys; raises FoundingError."""
    envelopes = load_envelope(home.root), load_envelope(home.manifest)
    proposal = Proposal((), (), envelopes)
    if not proposal.is_complete:
        raise FoundingError(
            f"{home.directory}: the run is not signed yet: {proposal.missing} have to sign "
            f"{travelling(home, proposal)} (gonode root sign), and what they signed is brought back (gonode root collect)."
        )
    return envelopes


def describe(run: FoundedRun, directory: Path) -> str:
    """What the founder of the run in `directory` should know: its id, its keys, what comes next, the power of its gate."""
    from verification.power import describe_power

    gate, root = run.manifest.gate, run.root
    power = f"The power of a gate of more than {MOST_SIMULATED} games is not simulated here."
    secret = Home(directory).key("root")
    keeping = f"The root's key can replace every other key: move {secret} to offline storage and keep a copy."
    if not run.envelopes[0].signatures:
        keeping = (
            f"Root keys: {len(root.keys)}, of whom {root.threshold} have to sign before the coordinator starts, and every "
            f"later change. When fewer than {root.threshold} are left, the run goes on but can never be changed again; "
            f"whoever steals {root.threshold} has the run."
        )
    return "\n".join(
        (
            f"Run {run.manifest.name}, id {run.run.hex()}.",
            _witnesses(root, directory),
            keeping,
            describe_power(gate) if gate.games <= MOST_SIMULATED else power,
        )
    )


def _witnesses(root: Root, directory: Path) -> str:
    if root.verifiers:
        return f"Verifiers: {len(root.verifiers)}, of whom {root.witness_threshold} must cosign."
    return (
        f"Verifiers: none. Nothing counts until one is approved: gonode root sign {directory} --verifier KEY, with the KEY "
        "that it prints by gonode verify TICKET --request."
    )
