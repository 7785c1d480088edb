"""The log that a node's store holds, applied anew at a start: `replay_log`.

Spec: docs/spec/store.md, docs/adr/0057-hashes-of-entries-are-kept.md. Invariant: signatures of an entry are taken for
verified only where its own hash is among those that lead to the root hash of the newest head that this node keeps.
"""

from itertools import islice

from node.disk.store import Store, StoreError
from node.following.heads import LogRefused
from node.following.replica import Replica
from protocol.merkle import Tree, leaf_hash


def replay_log(replica: Replica, store: Store) -> None:
    """Applies the entries in the store that the replica does not have yet; raises LogRefused.

    Their signatures are verified, but of those that this node verified before it stored them.
    """
    known = verified_tree(store)
    for index, entry in enumerate(store.iterate_log(replica.size), replica.size):
        is_verified = index < known.size and known.node(0, index) == leaf_hash(entry)
        try:
            replica.apply(entry, is_verified=is_verified)
        except ValueError as error:
            raise LogRefused(
                f"The stored log holds an entry at {replica.size} that the rules refuse: {error}"
            ) from error


def verified_tree(store: Store) -> Tree:
    """The tree over the entries that this node verified before it stored them, as the newest head that it keeps says.

    It is made of the kept hashes, which are much shorter than the entries. Where these do not lead to the head's root hash
    they are made anew of the entries; where they still do not, no entry counts as verified.
    """
    head = store.newest_head(store.log_size)
    if head is not None:
        for _ in range(2):
            try:
                tree = Tree.from_hashes(islice(store.leaves(), head.size))
            except StoreError:
                tree = Tree()
            if tree.size == head.size and tree.root() == head.root:
                return tree
            store.hash_anew()
    return Tree()
