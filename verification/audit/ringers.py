"""Audit, a part of the head: every revealed ringer is wrong where its reveal says.

Spec: `docs/spec/audit.md` ("Head"). The log state sees that a ringer was committed to before its header; that its game is
wrong shows here, by one search, with the batch and the network from the folder.
"""

from native.errors import EngineError
from native.network import Kernel, Network
from native.search import Player
from verification.admission import check_batch
from verification.audit.folder import AuditFault, Folder
from verification.audit.release import network_file
from verification.faults import LogFault, Rejected
from verification.replay import repeat_ply
from verification.ringers import RingerInfo
from verification.setup import selfplay_job
from verification.state import LogState


def audit_ringers(folder: Folder, state: LogState, kernel: Kernel) -> str:
    """Searches the ply of every revealed ringer; says how many there are, nothing without any, or raises AuditFault."""
    for ringer in state.ringers.all:
        where = f"The ringer revealed at entry {ringer.revealed_at}"
        try:
            if _is_right(folder, state, ringer, kernel):
                raise AuditFault(f"{where} is not wrong where its reveal says.")
        except (Rejected, LogFault, EngineError) as error:
            raise AuditFault(f"{where} cannot be replayed: {error}") from error
    revealed, committed = len(state.ringers.all), state.ringers.committed
    return f" Ringers revealed: {revealed} of {committed} committed to." if committed else ""


def _is_right(folder: Folder, state: LogState, ringer: RingerInfo, kernel: Kernel) -> bool:
    """Whether the ply that a reveal names is what its search gives."""
    header = ringer.batch.header
    blob = folder.blob(header.blob_digest, f"the batch of entry {ringer.batch.index}")
    block = check_batch(state, ringer.batch, blob).games[ringer.game]
    release = state.release_by_id(header.release)
    if release is None or ringer.ply not in block.plies:
        raise LogFault(f"Game {ringer.game} has no searched ply {ringer.ply}.")
    file = network_file(folder, state, release)
    player = Player(None if file is None else Network.load(file), release.id)
    job = selfplay_job(state, release, header.owner, block.header.counter, player)
    return repeat_ply(job, block.moves, ringer.ply, kernel).record() == block.record(ringer.ply)
