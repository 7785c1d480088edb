"""Changes of a root: each function gives the next version's content from the one before; nothing is signed here.

Spec: docs/spec/root.md. Invariants: a role is never taken off the list, it ends by an index; more than half of the verifiers
that are not revoked have to cosign. `settled` makes the version whole.
"""

from collections.abc import Sequence
from dataclasses import replace

from node.founding.errors import ProposalError
from protocol.ed25519 import check_key
from protocol.root import COORDINATOR, VERIFIER, Role, Root
from protocol.types import UNSET


def settled(root: Root, before: Root, run: bytes, roles: Sequence[Role], log_size: int) -> Root:
    """The version after `before` with the keys of `root` and these roles.

    Roles that ended by their expiry before `log_size` count as revoked from there on, for they cannot cosign any more.
    """
    ended = [
        replace(role, invalid_from=role.expires) if role.expires <= log_size and role.invalid_from == UNSET else role
        for role in roles
    ]
    standing = sum(role.role == VERIFIER and role.invalid_from == UNSET for role in ended)
    return Root(run, before.version + 1, root.threshold, root.keys, tuple(ended), standing // 2 + 1)


def with_verifiers(roles: Sequence[Role], keys: Sequence[bytes], expires: int | None = None) -> list[Role]:
    """The roles with these verifiers too; one that stands gets another expiry, when one is given. Raises ProposalError."""
    found = list(roles)
    for key in keys:
        check_key(key)
        place = next((number for number, role in enumerate(roles) if role.key == key), None)
        if place is None:
            found.append(Role(VERIFIER, key, f"verifier-{key.hex()[:8]}", UNSET if expires is None else expires))
        elif expires is None or roles[place].role != VERIFIER or roles[place].invalid_from != UNSET:
            raise ProposalError(f"{key.hex()[:16]} has a role already.")
        else:
            found[place] = replace(roles[place], expires=expires)
    return found


def with_end(roles: Sequence[Role], key: bytes, index: int) -> list[Role]:
    """The roles, of which that of `key` ends before `index`; raises ProposalError. An end never moves to later."""
    role = next((each for each in roles if each.key == key), None)
    if role is None:
        raise ProposalError(f"{key.hex()} has no role in this run.")
    if role.invalid_from <= index:
        raise ProposalError(f"{key.hex()[:16]} is revoked from entry {role.invalid_from} on already.")
    return [replace(each, invalid_from=index) if each is role else each for each in roles]


def with_coordinator(roles: Sequence[Role], key: bytes, until: int) -> list[Role]:
    """The roles with `key` as coordinator, and all coordinators so far ended before `until`; raises ProposalError."""
    check_key(key)
    if any(role.key == key for role in roles):
        raise ProposalError(f"{key.hex()[:16]} has a role already.")
    ended = [
        replace(role, invalid_from=until) if role.role == COORDINATOR and role.invalid_from > until else role
        for role in roles
    ]
    name = f"coordinator-{key.hex()[:8]}"
    return [*ended, Role(COORDINATOR, key, name)]


def with_keys(root: Root, added: Sequence[bytes], dropped: Sequence[bytes], threshold: int | None) -> Root:
    """The root with other root keys or another threshold; raises ProposalError."""
    for key in added:
        check_key(key)
        if key in root.keys or root.find(key) is not None:
            raise ProposalError(f"{key.hex()[:16]} is a key of this run already.")
    for key in dropped:
        if key not in root.keys:
            raise ProposalError(f"{key.hex()[:16]} is not one of the root's keys.")
    keys = (*(key for key in root.keys if key not in dropped), *added)
    wanted = root.threshold if threshold is None else threshold
    check_threshold(keys, wanted)
    return replace(root, keys=keys, threshold=wanted)


def check_threshold(keys: Sequence[bytes], threshold: int) -> None:
    """Raises ProposalError unless `threshold` of these distinct keys can sign."""
    if len(set(keys)) != len(keys):
        raise ProposalError("A root key is given twice.")
    if not 1 <= threshold <= len(keys):
        raise ProposalError(
            f"The threshold is from 1 to the number of root keys, {len(keys)}; it cannot be {threshold}."
        )
