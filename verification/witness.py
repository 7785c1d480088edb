"""The log's head as others see it: who has to have signed a checkpoint before it is believed.

Spec: `docs/spec/log.md` ("Checkpoint", "Semantics"). A head is believed with the coordinator's signature and the
cosignatures of at least `witness_threshold` of the root's verifiers, which is more than half of them. All of these roles
have to be valid at the head's last entry.
"""

from protocol.checkpoint import Checkpoint, SignedNote, verify, verify_cosignature
from protocol.errors import BadSignature, WrongSigner
from protocol.root import COORDINATOR, Root
from protocol.seeds import log_origin
from protocol.words import counted

WITNESS_PREFIX = "gonode-witness/"


def witness_name(key: bytes) -> str:
    """The name under which a verifier cosigns."""
    return WITNESS_PREFIX + key.hex()


def verify_head(note: SignedNote, run: bytes, root: Root) -> Checkpoint:
    """The checkpoint in `note`, signed by a coordinator of the run and cosigned by enough verifiers of `root`.

    Raises WrongSigner without these signatures, BadSignature when one of them does not hold, ParseError for another text.
    """
    checkpoint = _verify_log(note, run, root)
    valid = witnesses(root, checkpoint.size)
    cosigners = [key for key in cosigners_of(note, root) if key in valid]
    if not 0 < root.witness_threshold <= len(cosigners):
        raise WrongSigner(
            f"The checkpoint is cosigned by {counted(len(cosigners), 'verifier')}; {root.witness_threshold} have to."
        )
    return checkpoint


def witnesses(root: Root, size: int) -> frozenset[bytes]:
    """The verifiers of `root` whose cosignatures count for a head of `size` entries."""
    return frozenset(role.key for role in root.verifiers if role.is_valid_at(max(0, size - 1)))


def cosigners_of(note: SignedNote, root: Root) -> tuple[bytes, ...]:
    """The verifiers of `root` whose cosignature on `note` holds; raises BadSignature for one that does not."""
    found = []
    for role in root.verifiers:
        try:
            verify_cosignature(note, role.key, witness_name(role.key))
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


def _verify_log(note: SignedNote, run: bytes, root: Root) -> Checkpoint:
    origin = log_origin(run)
    last: WrongSigner | BadSignature = WrongSigner("The run's root names no coordinator for this checkpoint.")
    size = Checkpoint.parse(note.text).size
    for role in root.roles:
        if role.role != COORDINATOR or not role.is_valid_at(max(0, size - 1)):
            continue
        try:
            checkpoint = verify(note, role.key, origin)
        except (WrongSigner, BadSignature) as error:
            last = error
            continue
        if checkpoint.origin != origin:
            raise WrongSigner("The checkpoint is of another log.")
        return checkpoint
    raise last
