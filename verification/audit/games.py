"""Audit, parts 3 to 5: the gate recounted, the window's batches checked one by one, games of both played again.

Spec: `docs/spec/audit.md` ("Gate", "Window", "Games"). The log state recomputed window and gate record when it applied them;
here the games behind them are held against what was signed.
"""

from dataclasses import replace
from random import Random

from native.errors import EngineError
from native.network import Kernel, Network
from native.pool import Done, Job, Pool
from native.search import Player
from protocol.batch import Batch
from protocol.game_block import GameBlock
from protocol.words import counted
from verification.admission import check_batch, check_gate_result
from verification.audit.folder import AuditFault, Folder
from verification.audit.release import network_file
from verification.faults import LogFault, Rejected
from verification.gate import decide
from verification.gate_state import GateResultInfo, GateState
from verification.identities import BatchInfo
from verification.releases import ReleaseInfo
from verification.replay import Mismatch, name_mismatch
from verification.setup import gate_jobs, selfplay_job
from verification.state import LogState
from verification.subjects import Subject
from verification.traces import is_backed

Game = tuple[str, Job, GameBlock, int]
"""A game to replay: what to call it, its job and block, and its number in its batch."""


def audit_gate(
    folder: Folder, state: LogState, release: ReleaseInfo, sample: int | None, kernel: Kernel, threads: int, rng: Random
) -> str:
    """Recounts the release's gate and replays `sample` pairs (None: all); raises AuditFault."""
    if release.number == 0:
        return "Release 0 needs no gate."
    gate = state.gates.by_candidate(release.train_record)
    if gate is None or gate.record is None:
        raise AuditFault(f"Release {release.name} has no gate record.")
    found = decide(gate.scores, gate.manifest.gate)
    limit, pairs = gate.record.pairs, []
    for slot in gate.slots:
        if slot.result is not None and slot.assignment.first_pair < limit:
            batch = _gate_batch(folder, state, slot.result)
            jobs = gate_jobs(state, slot.assignment, *_gate_players(folder, state, gate))
            name = f"gate result at entry {slot.result.index}"
            numbers = range(0, len(batch.games), 2)
            pairs += [[(name, jobs[n + k], batch.games[n + k], n + k) for k in (0, 1)] for n in numbers]
    chosen = pairs if sample is None else rng.sample(pairs, min(sample, len(pairs)))
    _replay([game for pair in chosen for game in pair], kernel, threads)
    llr = f", llr {found.llr_micro / 1e6:.2f}" if gate.manifest.gate.kind == "sprt" else ""
    score = sum(k * n for k, n in enumerate(found.counts)) / max(1, 4 * found.pairs)
    return f"{counted(found.pairs, 'pair')} recounted, score {score:.3f}{llr}; {len(chosen)} replayed."


def audit_window(folder: Folder, state: LogState, release: ReleaseInfo) -> str:
    """Checks every batch of the window that the release was trained on; raises AuditFault."""
    if release.number == 0:
        return "Release 0 is not trained."
    batches = window_of_release(state, release)
    for batch in batches:
        _check_admission(state, batch)
        _check_work(folder, batch, _content(folder, state, batch))
    rows = sum(batch.header.plies for batch in batches)
    total = f"{counted(len(batches), 'batch', 'batches')} with {counted(rows, 'ply', 'plies')}"
    return f"{total}, as the log gives, each admitted and checked by the rules.{_given_up_before(state, release)}"


def replay_sample(
    folder: Folder, state: LogState, release: ReleaseInfo, sample: int | None, kernel: Kernel, threads: int, rng: Random
) -> str:
    """Replays `sample` games of the window (None: all); raises AuditFault.

    Batches that a ban or pardon has purged since they were trained on are told of, not replayed: its proof is checked.
    """
    if release.number == 0:
        return "Release 0 is not trained on games."
    window = window_of_release(state, release)
    batches = [batch for batch in window if not _is_purged(state, batch)]
    places = [(batch, number) for batch in batches for number in range(batch.header.games)]
    chosen = places if sample is None else rng.sample(places, min(sample, len(places)))
    contents: dict[int, Batch] = {}
    players: dict[bytes, Player] = {}
    games: list[Game] = []
    for batch, number in chosen:
        if batch.index not in contents:
            contents[batch.index] = _content(folder, state, batch)
        played = _release_of(state, batch)
        if played.id not in players:
            players[played.id] = _player(network_file(folder, state, played), played.id)
        block = contents[batch.index].games[number]
        job = selfplay_job(state, played, batch.header.owner, block.header.counter, players[played.id])
        games.append((f"batch at entry {batch.index}", job, block, number))
    _replay(games, kernel, threads)
    text = f"{len(games)} of {len(places)} games replayed, bit for bit."
    purged = len(window) - len(batches)
    return text if not purged else f"{text} Purged since: {counted(purged, 'batch', 'batches')} of the window."


def _is_purged(state: LogState, batch: BatchInfo) -> bool:
    """Whether no later window takes a batch, since it or its contributor was shown to be wrong."""
    return state.convictions.is_shown(batch.index) or state.is_banned(batch.header.peer)


def _given_up_before(state: LogState, release: ReleaseInfo) -> str:
    """The cycles since the parent release that the coordinator gave up, which is its word alone."""
    parent = state.release_by_id(release.parent)
    start = 0 if parent is None else parent.index
    given_up = [each.record for each in state.given_up if start < each.index < release.index]
    named = ", ".join(f"{record.cycle} ({record.reason})" for record in given_up)
    return f" Given up before it: {counted(len(given_up), 'cycle')}, {named}." if given_up else ""


def window_of_release(state: LogState, release: ReleaseInfo) -> tuple[BatchInfo, ...]:
    """The batches that a release's training used; raises AuditFault if the log does not say."""
    training = state.cycles.training_at(release.train_record)
    window = None if training is None else state.cycles.window_at(training.record.window)
    if window is None:
        raise AuditFault(f"Release {release.name} names no training window.")
    return window.window.batches


def _check_admission(state: LogState, batch: BatchInfo) -> None:
    """A batch of a window was accepted, is released, and its peer registered."""
    if not batch.is_accepted_batch or batch.released_at is None:
        raise AuditFault(f"The batch at entry {batch.index} is in the window, but was not accepted and released.")
    if state.registration(batch.header.peer) is None:
        raise AuditFault(f"The batch at entry {batch.index} is by a peer that never registered.")


def _check_work(folder: Folder, subject: Subject, content: Batch) -> None:
    verdict, opening = subject.verdict, subject.opening
    if verdict is None:
        raise AuditFault(f"Entry {subject.index} has no verdict.")
    data = b"" if opening is None else folder.blob(opening.blob_digest, f"the traces of entry {subject.index}")
    if not is_backed(verdict, data, content):
        raise AuditFault(f"The traces opened for entry {subject.index} do not back its verdict.")


def _content(folder: Folder, state: LogState, batch: BatchInfo) -> Batch:
    blob = folder.blob(batch.header.blob_digest, f"the batch of entry {batch.index}")
    try:
        return check_batch(state, batch, blob)
    except (Rejected, LogFault) as error:
        raise AuditFault(f"The batch at entry {batch.index} is wrong: {error}") from error


def _gate_batch(folder: Folder, state: LogState, info: GateResultInfo) -> Batch:
    blob = folder.blob(info.result.blob_digest, f"the gate games of entry {info.index}")
    try:
        batch = check_gate_result(state, info, blob)
    except (Rejected, LogFault) as error:
        raise AuditFault(f"The gate result at entry {info.index} is wrong: {error}") from error
    _check_work(folder, info, batch)
    return batch


def _gate_players(folder: Folder, state: LogState, gate: GateState) -> tuple[Player, Player]:
    candidate = folder.blob(gate.train.network_blob, f"the network of the candidate at entry {gate.index}")
    return _player(candidate, gate.digest), _player(network_file(folder, state, gate.base), gate.base.id)


def _release_of(state: LogState, batch: BatchInfo) -> ReleaseInfo:
    release = state.release_by_id(batch.header.release)
    if release is None:
        raise AuditFault(f"The batch at entry {batch.index} is played with an unknown release.")
    return release


def _player(file: bytes | None, release: bytes) -> Player:
    try:
        return Player(None if file is None else Network.load(file), release)
    except EngineError as error:
        raise AuditFault(f"A network cannot be loaded: {error}") from error


def _replay(games: list[Game], kernel: Kernel, threads: int) -> None:
    """Replays games at once; raises AuditFault for the first that differs."""
    if not games:
        return
    with Pool(threads, kernel) as pool:
        done: dict[int, Done] = {}
        for number, (_, job, block, _) in enumerate(games):
            pool.replay(replace(job, id=number), block.raw)
        while len(done) < len(games):
            finished = pool.wait(60.0)
            if finished is not None:
                done[finished.id] = finished
    for number, (name, job, block, place) in enumerate(games):
        result = done[number]
        if result.is_mismatch:
            ply = result.bad_ply if result.bad_ply >= 0 else None
            raise AuditFault(f"The {name} is wrong: {name_mismatch(job, block, Mismatch(place, ply), kernel)}")
        if not result.is_ok:
            raise AuditFault(f"A game of the {name} could not be replayed: {result.sentence}")
