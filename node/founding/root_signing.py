"""Approving verifiers by the root's key in the coordinator's directory, and what its coordinator then logs at its start.

Spec: `docs/spec/root.md`. A root version holds by its signatures alone, so the signed file may come from anywhere.
"""

from collections.abc import Callable, Sequence

from node.disk.home import Home
from node.founding.ceremony import Instead, propose_root, refuse_instead, waiting_manifest, waiting_root
from node.founding.proposal import Proposal
from node.founding.root_changes import with_verifiers
from protocol.ed25519 import SecretKey
from protocol.envelope import Envelope
from protocol.manifest import Manifest
from protocol.root import Root
from protocol.words import counted
from verification.state import LogState

Tell = Callable[[str], None]


def approve(
    home: Home,
    verifiers: Sequence[bytes],
    expires: int | None,
    secret: SecretKey | None,
    instead: Instead = refuse_instead,
) -> Proposal:
    """Keeps the next root version, with these verifiers besides the old ones; signed by `secret` where it is given."""
    return propose_root(
        home, lambda root, _: (root, with_verifiers(root.roles, verifiers, expires)), secret, instead=instead
    )


def waiting_roots(home: Home, state: LogState, tell: Tell = lambda sentence: None) -> list[Envelope]:
    """The root version that waits to be logged; none while signatures are missing, which `tell` gets in a sentence."""
    envelope = waiting_root(home)
    if envelope is None or Root.parse(envelope.payload).version <= state.root.version:
        return []
    root = Root.parse(envelope.payload)
    missing = state.root.missing(envelope.signers) + root.missing(envelope.signers)
    if missing:
        tell(f"Root version {root.version} is not logged: {counted(missing, 'signature')} of root keys are missing.")
        return []
    return [envelope]


def waiting_manifests(home: Home, state: LogState, tell: Tell = lambda sentence: None) -> list[Envelope]:
    """The manifest version that waits to be logged, likewise."""
    envelope = waiting_manifest(home)
    if envelope is None or Manifest.parse(envelope.payload).version <= state.manifest.version:
        return []
    version = Manifest.parse(envelope.payload).version
    missing = state.root.missing(envelope.signers)
    if missing:
        tell(f"Manifest version {version} is not logged: {counted(missing, 'signature')} of root keys are missing.")
        return []
    return [envelope]
