"""Audit, part 1: the signed head, the entries below it, and the state that they make.

Spec: `docs/spec/audit.md` ("Head"). Everything else rests on this: signatures and cosignatures hold, the tiles are those of
the entries, every entry may stand where it stands, and no head seen before is contradicted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from protocol.checkpoint import Checkpoint, SignedNote
from protocol.envelope import Envelope
from protocol.errors import ProtocolError
from protocol.layout import CHECKPOINT
from protocol.merkle import Tree, leaf_hash
from protocol.seeds import run_id
from protocol.tiles import ENTRIES, Tile, parse_entries, tiles_between, verify_hashes
from protocol.words import counted
from verification.audit.folder import AuditFault, Folder
from verification.faults import LogFault
from verification.state import LogState
from verification.witness import verify_all_lines, verify_head, witness_name, witnesses


@dataclass(slots=True)
class Head:
    """What the first part finds: the log's entries, and the state if all of them apply."""

    entries: list[bytes] = field(default_factory=list)
    state: LogState | None = None


def audit_head(
    folder: Folder,
    head: Head,
    run: bytes | None,
    known_heads: Sequence[tuple[int, bytes]],
    judged: Head | None = None,
) -> str:
    """Fills `head` as far as it goes and says what holds; raises AuditFault.

    `judged`: what was found before in this process, whose state stands if the entries are the same.
    """
    note, checkpoint = _checkpoint(folder)
    head.entries, tree = _entries(folder, checkpoint)
    found = _run_of(head.entries, run)
    known = judged.state if judged is not None and judged.entries == head.entries else None
    state = known if known is not None else _state(folder, head.entries, found)
    head.state = state
    _hash_tiles(folder, checkpoint.size, tree)
    try:
        verify_head(note, state.run, state.roots)
        verify_all_lines(note, state.run, state.root)
    except ProtocolError as error:
        raise AuditFault(f"File {CHECKPOINT}: {error}") from error
    if note.encode() != folder.read(CHECKPOINT):
        raise AuditFault(f"File {CHECKPOINT} is not in its canonical encoding.")
    for size, root_hash in known_heads:
        if size > tree.size:
            raise AuditFault(
                f"A head of {counted(size, 'entry', 'entries')} was seen before, but this log has {tree.size}."
            )
        if tree.root(size) != root_hash:
            raise AuditFault(
                f"The head of {counted(size, 'entry', 'entries')} that was seen before is not of this log: it forked."
            )
    if state.faults:
        raise AuditFault(state.faults[0].reason)
    names = {witness_name(key) for key in witnesses(state.roots, checkpoint.size)}
    cosigned = sum(line.name in names for line in note.signatures)
    entries = counted(tree.size, "entry", "entries")
    return f"{entries} of run {state.run.hex()[:16]}, signed by the coordinator, cosigned by {cosigned}."


def _checkpoint(folder: Folder) -> tuple[SignedNote, Checkpoint]:
    data = folder.read(CHECKPOINT)
    try:
        note = SignedNote.parse(data)
        return note, Checkpoint.parse(note.text)
    except ProtocolError as error:
        raise AuditFault(f"File {CHECKPOINT}: {error}") from error


def _entries(folder: Folder, checkpoint: Checkpoint) -> tuple[list[bytes], Tree]:
    """The log's entries and tree; AuditFault unless they make the checkpoint's root hash."""
    entries: list[bytes] = []
    for tile in tiles_between(0, checkpoint.size):
        if tile.level == ENTRIES:
            data = folder.find(tile.path)
            if data is None:
                raise AuditFault(f"File {tile.path} is missing, but the {CHECKPOINT} is of {checkpoint.size} entries.")
            try:
                entries += parse_entries(data, tile.width)
            except ProtocolError as error:
                raise AuditFault(f"File {tile.path}: {error}") from error
    tree = Tree(entries)
    if len(entries) != checkpoint.size or tree.root() != checkpoint.root_hash:
        raise AuditFault(_odd_entry(folder, entries, checkpoint))
    return entries, tree


def _odd_entry(folder: Folder, entries: list[bytes], checkpoint: Checkpoint) -> str:
    """Says which entry is not the one that the hash tiles hold, where they tell."""
    for tile in tiles_between(0, checkpoint.size):
        if tile.level == 0:
            hashes = folder.find(tile.path)
            if hashes is None:
                break
            for place, entry in enumerate(entries[tile.start : tile.end]):
                if leaf_hash(entry) != hashes[32 * place : 32 * place + 32]:
                    index = tile.start + place
                    bundle = Tile(ENTRIES, tile.number, tile.width).path
                    return f"File {bundle}: entry {index} ({_type_of(entry)}) is not the one that the head commits to."
    return f"File {CHECKPOINT}: its root hash is not that of the {checkpoint.size} entries."


def _type_of(entry: bytes) -> str:
    try:
        name = Envelope.parse(entry).type
    except ProtocolError:
        return "not an envelope"
    return name.removeprefix("application/vnd.gonode.").partition(".")[0]


def _hash_tiles(folder: Folder, size: int, tree: Tree) -> None:
    for tile in tiles_between(0, size):
        if tile.level != ENTRIES:
            try:
                verify_hashes(tile, folder.read(tile.path), tree)
            except ProtocolError as error:
                raise AuditFault(f"File {tile.path}: {error}") from error


def _run_of(entries: list[bytes], run: bytes | None) -> bytes:
    """The run of the entries; AuditFault when it is not `run`."""
    try:
        found = run_id(*(Envelope.parse(entry).payload for entry in entries[:2]))
    except (ProtocolError, TypeError) as error:
        raise AuditFault("The log does not begin with a root and a manifest.") from error
    if run is not None and found != run:
        raise AuditFault(f"The folder is of run {found.hex()[:16]}, not of {run.hex()[:16]}.")
    return found


def _state(folder: Folder, entries: list[bytes], run: bytes) -> LogState:
    """The state of the entries; AuditFault for the first that may not stand where it stands."""
    state = LogState(run)
    for index, entry in enumerate(entries):
        folder.step("entries", index, len(entries))
        try:
            state.apply(entry)
        except LogFault as fault:
            raise AuditFault(f"Entry {index} ({_type_of(entry)}) may not be in the log: {fault.reason}") from fault
    return state
