"""Audit, parts 2 and 7: the release itself, and its ancestors down to the network that the manifest draws.

Spec: `docs/spec/audit.md` ("Release", "Chain"). That a release's entry is signed by the coordinator, whose role is valid
there, and follows from a passed gate is the log state's doing; here the files are held against it.
"""

from hashlib import sha256

from native.errors import EngineError
from native.network import Network
from protocol.release import FirstRelease
from verification.audit.folder import AuditFault, Folder
from verification.audit.statement import audit_statement
from verification.releases import ReleaseInfo, first_network
from verification.state import LogState


def find_release(state: LogState, name: str | None) -> ReleaseInfo:
    """The newest release, or the one with this name; raises AuditFault."""
    if name is None:
        return state.release
    for release in reversed(state.releases.all):
        if release.name == name:
            return release
    raise AuditFault(f"The log has no release named {name}.")


def audit_release(folder: Folder, state: LogState, release: ReleaseInfo) -> str:
    """Checks a release's files; says what it is, or raises AuditFault."""
    file = network_file(folder, state, release)
    if release.number == 0:
        return "Release 0 is what the manifest draws."
    try:
        architecture = Network.load(file or b"").architecture
    except EngineError as error:
        raise AuditFault(f"The network of release {release.name} cannot be loaded: {error}") from error
    if architecture.encode() != release.shape:
        raise AuditFault(f"The network of release {release.name} is {architecture.encode()}, not {release.shape}.")
    weights = folder.blob(release.weights_blob, f"the weights of release {release.name}")
    statement = audit_statement(folder, state, release, weights)
    logged = f"Release {release.number}, {release.name}, logged at entry {release.index}"
    return f"{logged}; its files are as signed. {statement}"


def audit_chain(folder: Folder, state: LogState, release: ReleaseInfo) -> str:
    """Checks the release's ancestors back to release 0; says how many, or raises AuditFault."""
    chain = [release]
    while chain[-1].number > 0:
        parent = state.release_by_id(chain[-1].parent)
        if parent is None or parent.number != chain[-1].number - 1:
            raise AuditFault(f"Release {chain[-1].name} does not have the release before it as parent.")
        if not any(gate.index == chain[-1].train_record and gate.base.id == parent.id for gate in state.gates.all):
            raise AuditFault(f"Release {chain[-1].name} was not gated against its parent.")
        chain.append(parent)
    for each in chain:
        network_file(folder, state, each)
    first = chain[-1]
    if FirstRelease(state.run, first.manifest, 0, first.network).digest() != first.id:
        raise AuditFault("Release 0 is not what the manifest draws.")
    drawn = "uniform evaluation" if not first.network else f"network {first.network.hex()[:16]} drawn from the manifest"
    return f"{len(chain)} releases, back to release 0: {drawn}."


def network_file(folder: Folder, state: LogState, release: ReleaseInfo) -> bytes | None:
    """A release's network file, None for uniform evaluation; raises AuditFault unless it is the one that was signed."""
    if release.number == 0:
        return first_network(state.release_manifest(release), release.manifest)
    file = folder.blob(release.network_blob, f"the network of release {release.name}")
    if len(file) != release.network_len or sha256(file).digest() != release.network:
        raise AuditFault(f"The network file of release {release.name} is not the one that the release names.")
    return file
