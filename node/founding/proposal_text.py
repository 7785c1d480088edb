"""A proposal in words: what whoever signs it agrees to, and who has signed.

Spec: docs/spec/proposal.md ("Security"). Invariant: nothing that is asked is hidden by what a proposal says was before it:
besides the difference to that, which is the proposer's claim, everything is said that the run id does not fix.
"""

from typing import Any

from node.founding.manifest_file import openings_kind, table_of
from node.founding.proposal import Proposal
from node.founding.toml_text import inline
from protocol.manifest import Manifest
from protocol.root import COORDINATOR, VERIFIER, Role, Root
from protocol.types import UNSET
from protocol.words import counted


def describe_proposal(proposal: Proposal) -> list[str]:
    """The lines to read before signing."""
    manifest = proposal.manifest or proposal.manifest_before
    assert manifest is not None
    lines = [f"Run {manifest.name}, id {proposal.run.hex()}.", f"Asked: {proposal.name}."]
    if proposal.is_founding:
        assert proposal.root is not None
        lines += ["A new run, with root version 1:", *indented(describe_root(proposal.root))]
        lines += [f"and manifest version 1, SHA-256 {manifest.digest().hex()}:", *indented(_summary(manifest))]
    elif proposal.root is not None:
        lines += _root_asked(proposal, proposal.root)
    else:
        lines += _manifest_asked(proposal, manifest)
    return [*lines, *describe_signatures(proposal)]


def _root_asked(proposal: Proposal, root: Root) -> list[str]:
    before = proposal.before
    assert before is not None
    lines = [f"{name_version(root)}, after version {before.version}:"]
    lines += indented(root_changes(before, root, proposal.log_size))
    lines.append(f"The log had {counted(proposal.log_size, 'entry', 'entries')} then, as the proposer says.")
    if before.version > 1:
        lines += [_claim(before), f"All that root version {root.version} says:", *indented(describe_root(root))]
    return lines


def _manifest_asked(proposal: Proposal, manifest: Manifest) -> list[str]:
    before = proposal.manifest_before
    assert before is not None
    lines = [
        f"{name_version(manifest)}, after version {before.version}:",
        *indented(manifest_changes(before, manifest)),
    ]
    if before.version > 1:
        first = Manifest.parse(proposal.manifests[0].payload)
        lines += [_claim(before), "All that it says otherwise than manifest version 1, which the run id fixes:"]
        lines += indented(manifest_changes(first, manifest))
    return lines


def _claim(before: Root | Manifest) -> str:
    return (
        f"{name_version(before)}, is the proposer's claim: root keys signed it, but nothing here shows that it was logged. "
        "Compare with gonode root show DIR in the directory of a node that follows the run."
    )


def name_version(record: Root | Manifest) -> str:
    """A version with its SHA-256, at a sentence's beginning."""
    return f"{record.NAME.capitalize()} version {record.version}, SHA-256 {record.digest().hex()}"


def describe_signatures(proposal: Proposal) -> list[str]:
    """Who has signed, and what is missing."""
    lines = [f"{'signed' if key in proposal.signers else 'not yet'}  {key.hex()}" for key in proposal.keys]
    state = (
        f"Missing: {proposal.missing}." if proposal.missing else "Complete: the coordinator logs it at its next start."
    )
    return ["Root keys that may sign:", *indented(lines), state]


def describe_root(root: Root) -> list[str]:
    """A root version: its keys and roles."""
    return [
        f"Root keys, of whom {root.threshold} of {len(root.keys)} have to sign each later root and manifest:",
        *indented([key.hex() for key in root.keys]),
        *map(describe_role, root.roles),
        f"How many verifiers have to cosign: {root.witness_threshold}.",
    ]


def describe_role(role: Role) -> str:
    """One role in a line."""
    ends = [] if role.expires == UNSET else [f"expires at entry {role.expires}"]
    ends += [] if role.invalid_from == UNSET else [f"revoked from entry {role.invalid_from} on"]
    return f"{role.role} {role.key.hex()} ({role.name}){''.join(', ' + end for end in ends)}"


def root_changes(before: Root, after: Root, log_size: int) -> list[str]:
    """What one root version says that the one before it did not, and what that brings about."""
    lines = [f"new root key {key.hex()}" for key in after.keys if key not in before.keys]
    lines += [f"root key {key.hex()} can sign nothing any more" for key in before.keys if key not in after.keys]
    if (before.threshold, len(before.keys)) != (after.threshold, len(after.keys)):
        lines.append(
            f"{after.threshold} of {len(after.keys)} root keys have to sign (were {before.threshold} of {len(before.keys)})"
        )
    for role in after.roles:
        known = before.find(role.key)
        if known is None:
            lines.append(f"new {describe_role(role)}")
        elif known != role:
            lines.append(f"changed: {describe_role(role)}{_void(known, role, log_size)}")
    lines += [f"gone: {describe_role(role)}" for role in before.roles if after.find(role.key) is None]
    if before.witness_threshold != after.witness_threshold:
        lines.append(f"{after.witness_threshold} of the verifiers have to cosign (were {before.witness_threshold})")
    if not any(role.role == COORDINATOR and role.is_valid_at(log_size) for role in after.roles):
        lines.append("NO COORDINATOR IS LEFT: the run stands still until another root version names one")
    if before.verifiers and not any(role.invalid_from == UNSET for role in after.verifiers):
        lines.append("NO VERIFIER IS LEFT: nothing is witnessed until another root version names one")
    return [*lines, *_losses(before, after)] or ["nothing changes but the version"]


def manifest_changes(before: Manifest, after: Manifest) -> list[str]:
    """What one manifest version says that the one before it did not, key by key as in a run's file."""
    old, new = _flat(before), _flat(after)
    lines = [f"{key}: {_said(old.get(key))} -> {_said(new.get(key))}" for key in new if old.get(key) != new.get(key)]
    if before.openings != after.openings:
        lines.append(f"openings: {_openings(before)} -> {_openings(after)}")
    return lines or ["nothing changes but the version"]


def indented(lines: list[str]) -> list[str]:
    """The lines two blanks to the right."""
    return [f"  {line}" for line in lines]


def _losses(before: Root, after: Root) -> list[str]:
    """What is lost when keys that this version brings are lost."""
    lines, number = [], after.threshold
    if (before.keys, before.threshold) != (after.keys, number):
        lines.append(
            f"when fewer than {number} of these {counted(len(after.keys), 'root key')} are left, the run can never be "
            f"changed again; whoever has {number} of them has the run"
        )
    if not set(before.keys) <= set(after.keys):
        lines.append(
            "root keys that go are to be destroyed with all copies once this is logged: whoever has "
            f"{before.threshold} of the keys of version {before.version} can still lead new nodes into another history"
        )
    new = [role.role for role in after.roles if before.find(role.key) is None]
    if COORDINATOR in new:
        lines.append("when the new coordinator's key is lost, nothing is logged until another root version names one")
    if VERIFIER in new:
        lines.append(f"when fewer than {after.witness_threshold} verifiers have their keys, nothing is witnessed")
    return lines


def _void(before: Role, after: Role, log_size: int) -> str:
    if after.invalid_from == before.invalid_from or after.invalid_from > log_size:
        return ""
    if after.role == COORDINATOR:
        return "; what it logged stays, since a log only grows: look at its entries from there on"
    return "; what it judged from there on is judged anew by others, its later cosignatures do not count"


def _summary(manifest: Manifest) -> list[str]:
    boards = sorted({board.size for stage in manifest.stages for board in stage.boards})
    return [
        f"boards {', '.join(f'{size}x{size}' for size in boards)}, network {manifest.network.shape}",
        f"{manifest.selfplay.visits_full} visits, gate {manifest.gate.kind} of {counted(manifest.gate.games, 'game')}",
        f"registration by {manifest.admission.registration}, hold-back {manifest.admission.hold_back_batches} batches",
        "all of it: gonode root show FILE --manifest",
    ]


def _flat(manifest: Manifest) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def add(table: dict[str, Any], prefix: str) -> None:
        for key, value in table.items():
            if isinstance(value, dict):
                add(value, f"{prefix}{key}.")
            else:
                found[prefix + key] = value

    table = table_of(manifest)
    for key in ("run", "version", "openings"):
        table.pop(key)
    add(table, "")
    return found


def _said(value: Any) -> str:
    return "nothing" if value is None else inline(value)


def _openings(manifest: Manifest) -> str:
    kind = openings_kind(manifest) or "neither empty nor two-moves"
    return f"{kind} ({len(manifest.openings)}, SHA-256 {manifest.openings_digest().hex()})"
