"""A run's changes that wait for signatures, in its coordinator's directory, which logs them at its start once complete.

```
DIR/root manifest              version 1 of both, signed once enough keys have
DIR/root.next manifest.next    the next version with the signatures that are here
DIR/to-sign/NAME               the same as a file that travels (`proposal`), which names what it is
```
Spec: docs/spec/proposal.md. Invariants: each file is replaced whole; a proposal that another one takes the place of stays in
`to-sign/` with its signatures; a signature that is here is never lost by adding others.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from node.disk.files import write_file
from node.disk.home import Home
from node.disk.keyring import load_key
from node.founding.errors import FoundingError, ProposalError
from node.founding.logged import Logged, load_envelope, read_logged
from node.founding.proposal import MAX_BYTES, Proposal
from node.founding.root_changes import settled
from protocol.ed25519 import SecretKey
from protocol.envelope import Envelope
from protocol.manifest import Manifest
from protocol.root import Role, Root

ChangeRoot = Callable[[Root, Logged], tuple[Root, Sequence[Role]]]
"""From the newest root version, logged or waiting: the root whose keys and threshold the next one has, and its roles."""


Agree = Callable[[Proposal], bool]
"""Shown what is proposed before it is signed; whether it may be."""


Instead = Callable[[Proposal], None]
"""Told of a complete version that waits and that another one of its number would take the place of; it raises or lets it."""


def _always(proposal: Proposal) -> bool:
    return True


def refuse_instead(complete: Proposal) -> None:
    """Raises ProposalError: two complete versions of one number leave nodes in doubt which of them counts."""
    raise ProposalError(
        f"{complete.name} has enough signatures already, and waits for the coordinator's next start. Make the change after "
        "that, as the version that follows; or make another one of this number all the same: --instead."
    )


def travelling(home: Home, proposal: Proposal) -> Path:
    """Where a proposal lies as a file that travels."""
    return home.to_sign / proposal.name


def propose_root(
    home: Home,
    change: ChangeRoot,
    secret: SecretKey | None = None,
    agree: Agree = _always,
    instead: Instead = refuse_instead,
) -> Proposal:
    """Keeps the next root version, signed by `secret` where it is given and `agree` says so.

    One that waits is changed further, since versions rise by one; `instead` is told of one that others completed. Raises
    FoundingError or ProtocolError.
    """
    run = home.load_ticket().run
    logged = read_logged(home)
    waiting = waiting_root(home)
    newest = logged.root
    if waiting is not None and Root.parse(waiting.payload).version == newest.version + 1:
        newest = Root.parse(waiting.payload)
    changed, roles = change(newest, logged)
    root = settled(changed, logged.root, run, roles, logged.size)
    proposal = Proposal(logged.roots, logged.proofs, (root.seal(),), logged.size)
    return _keep_signed(home, logged, proposal, secret, agree, instead)


def propose_manifest(
    home: Home,
    change: Callable[[Manifest], Manifest],
    secret: SecretKey | None = None,
    agree: Agree = _always,
    instead: Instead = refuse_instead,
) -> Proposal:
    """Keeps the next manifest version, likewise."""
    run = home.load_ticket().run
    logged = read_logged(home)
    newest = logged.manifest
    waiting = waiting_manifest(home)
    if waiting is not None and Manifest.parse(waiting.payload).version == newest.version + 1:
        newest = Manifest.parse(waiting.payload)
    manifest = replace(change(newest), run=run, version=logged.manifest.version + 1)
    if replace(manifest, run=newest.run, version=newest.version) == newest:
        raise ProposalError("The manifest would say what it says now.")
    proposal = Proposal(logged.roots, logged.proofs, (manifest.seal(),), logged.size)
    return _keep_signed(home, logged, proposal, secret, agree, instead)


def waiting_root(home: Home) -> Envelope | None:
    """The next root version, with the signatures that are here; it may be logged already."""
    return _load_next(home.next_root, Root)


def waiting_manifest(home: Home) -> Envelope | None:
    """The next manifest version, likewise."""
    return _load_next(home.next_manifest, Manifest)


def proposals(home: Home, logged: Logged | None = None) -> list[Proposal]:
    """What waits here and is not logged, complete or not: the new run alone until it is signed, else root, then manifest.

    `logged`: what the log says, when that was read already.
    """
    logged = logged or read_logged(home)
    if not logged.size:
        founding = Proposal((), (), (logged.roots[0], logged.manifests[0]))
        if not founding.is_complete:
            return [founding]
    found = []
    root, manifest = waiting_root(home), waiting_manifest(home)
    if root is not None and Root.parse(root.payload).version > logged.root.version:
        found.append(Proposal(logged.roots, logged.proofs, (root,), logged.size))
    if manifest is not None and Manifest.parse(manifest.payload).version > logged.manifest.version:
        found.append(Proposal(logged.roots, logged.proofs, (manifest,), logged.size))
    return found


def collect(home: Home, path: Path) -> Proposal:
    """Adds the signatures in a travelling file to those that are here; raises ProposalError for what does not wait here."""
    found = read_proposal(path)
    if found.run != home.load_ticket().run:
        raise ProposalError(f"{path}: this is for run {found.run.hex()[:16]}, which does not live in {home.directory}.")
    waiting = proposals(home)
    for proposal in waiting:
        if proposal.name == found.name:
            return keep(home, proposal.merged(found))
    names = ", ".join(each.name for each in waiting) or "nothing"
    raise ProposalError(f"{path}: {found.name} does not wait for signatures here, but {names}.")


def adopt(home: Home, path: Path) -> Proposal:
    """Keeps a complete root version beside another node's copy of the log, so that the node knows it before it is logged."""
    found = read_proposal(path)
    if found.run != home.load_ticket().run:
        raise ProposalError(f"{path}: this is for run {found.run.hex()[:16]}, which does not live in {home.directory}.")
    if found.root is None or found.is_founding or not found.is_complete:
        raise ProposalError(f"{path}: a node takes nothing but a root version that enough keys signed.")
    write_file(home.next_root, found.asked[0].encode())
    return found


def keep(home: Home, proposal: Proposal) -> Proposal:
    """Writes a proposal to the directory, as a file that travels first, then as what waits; with the signatures that were
    there already. Raises ProposalError when the file that is there is damaged."""
    path = travelling(home, proposal)
    if path.exists():
        proposal = proposal.merged(read_proposal(path))
    write_file(travelling(home, proposal), proposal.encode())
    if proposal.is_founding:
        files = [home.root, home.manifest]
    else:
        files = [home.next_root if proposal.root is not None else home.next_manifest]
    for file, envelope in zip(files, proposal.asked, strict=True):
        write_file(file, envelope.encode())
    return proposal


def signable(home: Home, secret: SecretKey) -> list[Proposal]:
    """What waits in the directory and asks for this key; raises ProposalError when there is nothing."""
    waiting = proposals(home)
    if not waiting:
        raise ProposalError(f"{home.directory}: nothing waits for signatures here.")
    found = [proposal for proposal in waiting if secret.public in proposal.keys]
    if not found:
        raise ProposalError(f"The key {secret.public.hex()} is none of the root's keys that are asked to sign.")
    return found


def read_proposal(path: Path) -> Proposal:
    """The proposal in a travelling file; raises ProposalError."""
    try:
        with path.open("rb") as file:
            return Proposal.parse(file.read(MAX_BYTES + 1))
    except OSError as error:
        raise ProposalError(f"{path}: it cannot be read ({error.strerror}).") from None
    except ProposalError as error:
        raise ProposalError(f"{path}: {error}") from None


def signing_key(home: Home, key: Path | None) -> SecretKey | None:
    """The root key to sign with: the one in the file `key`, else the one in the directory, else none."""
    if key is not None:
        return load_key(key)
    return load_key(home.key("root")) if home.key("root").exists() else None


def _keep_signed(
    home: Home, logged: Logged, proposal: Proposal, secret: SecretKey | None, agree: Agree, instead: Instead
) -> Proposal:
    if secret is not None and secret.public not in proposal.keys:
        raise FoundingError("The root's threshold needs other keys than the one in this directory.")
    for waiting in proposals(home, logged):
        own = (
            () if secret is None else (secret.public,)
        )  # what one key completes here did not have to leave the directory
        is_other = waiting.asked[0].type == proposal.asked[0].type and waiting.name != proposal.name
        if is_other and waiting.is_complete and waiting.signers != own:
            instead(waiting)
    if agree(proposal) and secret is not None:
        proposal = proposal.signed(secret)
    return keep(home, proposal)


def _load_next(path: Path, cls: type[Root] | type[Manifest]) -> Envelope | None:
    if not path.exists():
        return None
    envelope = load_envelope(path)
    if envelope.type != cls.payload_type():
        raise FoundingError(f"{path}: this file is damaged: it is not a {cls.NAME}.")
    return envelope
