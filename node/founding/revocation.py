"""What a revocation makes void, counted in the coordinator's copy of the log."""

from collections import Counter

from node.disk.home import Home
from node.founding.logged import iterate_log
from protocol.envelope import Envelope
from protocol.root import COORDINATOR, Role
from protocol.words import counted


def signed_since(home: Home, key: bytes, index: int) -> Counter[str]:
    """How many entries of each kind `key` signed from log entry `index` on."""
    found: Counter[str] = Counter()
    for number, entry in enumerate(iterate_log(home)):
        if number >= index and key in entry:
            envelope = Envelope.parse(entry)
            if key in envelope.signers:
                found[envelope.type.removeprefix("application/vnd.gonode.").partition(".")[0]] += 1
    return found


def describe_void(home: Home, role: Role) -> list[str]:
    """What ends with a role that is valid no more from `role.invalid_from` on, in words."""
    since, entries = role.invalid_from, signed_since(home, role.key, role.invalid_from)
    kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(entries.items()))
    found = f"It signed {counted(entries.total(), 'entry', 'entries')} from entry {since} on{f': {kinds}' if kinds else ''}."
    if role.role == COORDINATOR:
        return [
            found,
            "They stay in the log, which only grows; audits see them. Heads with more entries than that count no more once "
            "a node knows this root version, nor do invites by this key.",
        ]
    return [
        found,
        f"{counted(entries['verdict'], 'verdict')} of these are judged anew by other verifiers once this is logged, and "
        "what it has not finished is theirs. Its cosignatures of heads with more entries than that count no more.",
    ]
