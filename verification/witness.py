"""The log's head as others see it: who has to have signed a checkpoint before it is believed.

Spec: `docs/spec/log.md` ("Checkpoint", "Semantics"). This is the one place that says when enough witnesses cosigned a head:
when the coordinator signed it and at least `witness_threshold` of the verifiers cosigned it, which is more than half of
them, as the root version below the head says. All of these roles have to be valid at the head's last entry, by that version
and by the newest one that the log has: a key that was ended afterwards counts no more from its end on.
"""

from protocol.checkpoint import COSIGNATURE_V1, ED25519, Checkpoint, SignedNote, verify, verify_cosignature
from protocol.errors import BadSignature, ProtocolError, WrongSigner
from protocol.root import COORDINATOR, VERIFIER, Root
from protocol.seeds import log_origin
from protocol.words import counted
from verification.faults import LogFault
from verification.root_versions import RootVersions

WITNESS_PREFIX = "gonode-witness/"


def witness_name(key: bytes) -> str:
    """The name under which a verifier cosigns."""
    return WITNESS_PREFIX + key.hex()


def verify_head(note: SignedNote, run: bytes, roots: RootVersions, *, is_verified: bool = False) -> Checkpoint:
    """The checkpoint in `note`, signed by a coordinator of the run and cosigned by enough witnesses, as its log's root
    versions `roots` say.

    `is_verified`: the note's lines are known to hold, and are only counted. Raises WrongSigner without these signatures,
    BadSignature when one of them does not hold, ParseError for another text, LogFault when the log has no root.
    """
    checkpoint = Checkpoint.parse(note.text)
    if checkpoint.origin != log_origin(run):
        raise WrongSigner("The checkpoint is of another log.")
    below = roots.at(checkpoint.size)
    _require_coordinator(note, roots, checkpoint, is_verified)
    counting = witnesses(roots, checkpoint.size)
    cosigned = sum(key in counting for key in cosigners_of(note, below, is_verified=is_verified))
    if not 0 < below.witness_threshold <= cosigned:
        raise WrongSigner(
            f"The checkpoint is cosigned by {counted(cosigned, 'verifier')}; {below.witness_threshold} have to."
        )
    return checkpoint


def is_cosigned(note: SignedNote, run: bytes, roots: RootVersions, *, is_verified: bool = False) -> bool:
    """Whether `verify_head` takes the note."""
    try:
        verify_head(note, run, roots, is_verified=is_verified)
    except (LogFault, ProtocolError):
        return False
    return True


def witnesses(roots: RootVersions, size: int) -> frozenset[bytes]:
    """The verifiers whose cosignatures count for a head of `size` entries."""
    return frozenset(_counting(roots, size, VERIFIER))


def cosigners_of(note: SignedNote, root: Root, *, is_verified: bool = False) -> tuple[bytes, ...]:
    """The verifiers of `root` whose cosignature on `note` holds; raises BadSignature for one that does not."""
    signed = {line.name for line in note.signatures}
    found = []
    for role in root.verifiers:
        name = witness_name(role.key)
        if name not in signed:
            continue
        try:
            if is_verified:
                note.find(name, role.key, COSIGNATURE_V1)
            else:
                verify_cosignature(note, role.key, name)
        except WrongSigner:
            continue
        found.append(role.key)
    return tuple(found)


def verify_all_lines(note: SignedNote, run: bytes, root: Root) -> None:
    """Raises BadSignature for a line that is neither the coordinator's nor a verifier's: nothing unknown is carried."""
    names = {log_origin(run)} | {witness_name(role.key) for role in root.verifiers}
    for line in note.signatures:
        if line.name not in names:
            raise BadSignature("The checkpoint carries a signature by an unknown key.")
    if len(note.signatures) != len(cosigners_of(note, root)) + 1:
        raise BadSignature("The checkpoint carries a signature line that does not hold.")


def _require_coordinator(note: SignedNote, roots: RootVersions, checkpoint: Checkpoint, is_verified: bool) -> None:
    last: WrongSigner | BadSignature = WrongSigner("The run's root names no coordinator for this checkpoint.")
    for key in _counting(roots, checkpoint.size, COORDINATOR):
        try:
            if is_verified:
                note.find(checkpoint.origin, key, ED25519)
            else:
                verify(note, key, checkpoint.origin)
        except (WrongSigner, BadSignature) as error:
            last = error
        else:
            return
    raise last


def _counting(roots: RootVersions, size: int, role: str) -> list[bytes]:
    """The keys with a role that the version below a head of `size` entries and the newest one let act at its last entry."""
    last = max(0, size - 1)
    below, newest = (
        [each.key for each in root.roles if each.role == role and each.is_valid_at(last)]
        for root in (roots.at(size), roots.newest)
    )
    return [key for key in below if key in newest]
