"""Audit, parts 3 to 5: the gate recounted, the window's batches checked one by one, games of both played again.

Spec: `docs/spec/audit.md` ("Gate", "Window", "Games"). The log state recomputed window and gate record when it applied them;
here the games behind them are held against what was signed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from native.errors import EngineError
from native.network import Kernel, Network
from native.search import Player
from protocol.batch import Batch
from protocol.words import counted
from verification.admission import check_batch, check_gate_result
from verification.audit.folder import AuditFault, Folder
from verification.audit.release import network_file
from verification.audit.replays import Memory, Task, replay, replay_key
from verification.audit.sampling import confidence, draw
from verification.faults import LogFault, Rejected
from verification.gate import decide
from verification.gate_state import GateResultInfo, GateState
from verification.identities import BatchInfo
from verification.releases import ReleaseInfo
from verification.setup import gate_jobs, selfplay_job
from verification.state import LogState
from verification.subjects import Subject
from verification.traces import is_backed


@dataclass(frozen=True, slots=True)
class Replaying:
    """How many gate pairs and games to replay (None: all), with what, drawn by which random numbers, and what was done."""

    count: int | None
    kernel: Kernel
    threads: int
    rng: Random
    memory: Memory


def audit_gate(folder: Folder, state: LogState, release: ReleaseInfo, how: Replaying) -> str:
    """Recounts the release's gate and replays pairs of it; raises AuditFault."""
    if release.number == 0:
        return "Release 0 needs no gate."
    gate = state.gates.by_candidate(release.train_record)
    if gate is None or gate.record is None:
        raise AuditFault(f"Release {release.name} has no gate record.")
    found = decide(gate.scores, gate.manifest.gate)
    pairs: list[tuple[Task, Task]] = []
    players = _gate_players(folder, state, gate)
    for slot in gate.slots:
        if slot.result is not None and slot.assignment.first_pair < gate.record.pairs:
            batch = _gate_batch(folder, state, slot.result)
            index = slot.result.index
            tasks = [
                Task(replay_key(state, index, n, how.kernel), f"gate result at entry {index}", n, job, batch.games[n])
                for n, job in enumerate(gate_jobs(state, slot.assignment, *players))
            ]
            pairs += zip(tasks[::2], tasks[1::2], strict=True)
    chosen, before = draw(pairs, lambda pair: all(how.memory.knows(task.key) for task in pair), how.count, how.rng)
    games = [task for pair in chosen for task in pair]
    replay(games, how.kernel, how.threads, how.memory, lambda done: folder.step("games", done, len(games)))
    llr = f", llr {found.llr_micro / 1e6:.2f}" if gate.manifest.gate.kind == "sprt" else ""
    score = sum(k * n for k, n in enumerate(found.counts)) / max(1, 4 * found.pairs)
    again = f"{len(chosen)} replayed{_earlier(before)}."
    return f"{counted(found.pairs, 'pair')} recounted, score {score:.3f}{llr}; {again}"


def audit_window(folder: Folder, state: LogState, release: ReleaseInfo) -> str:
    """Checks every batch of the window that the release was trained on; raises AuditFault."""
    if release.number == 0:
        return "Release 0 is not trained."
    batches = window_of_release(state, release)
    for number, batch in enumerate(batches):
        folder.step("batches", number, len(batches))
        _check_admission(state, batch)
        _check_work(folder, batch, _content(folder, state, batch))
    rows = sum(batch.header.plies for batch in batches)
    total = f"{counted(len(batches), 'batch', 'batches')} with {counted(rows, 'ply', 'plies')}"
    return f"{total}, as the log gives, each admitted and checked by the rules.{_given_up_before(state, release)}"


def replay_sample(folder: Folder, state: LogState, release: ReleaseInfo, how: Replaying) -> str:
    """Replays games of the window; raises AuditFault.

    Batches that a ban or pardon has purged since they were trained on are told of, not replayed: its proof is checked.
    """
    if release.number == 0:
        return "Release 0 is not trained on games."
    window = window_of_release(state, release)
    batches = [batch for batch in window if not _is_purged(state, batch)]
    places = [(batch, number) for batch in batches for number in range(batch.header.games)]

    def is_known(place: tuple[BatchInfo, int]) -> bool:
        return how.memory.knows(replay_key(state, place[0].index, place[1], how.kernel))

    chosen, before = draw(places, is_known, how.count, how.rng)
    tasks = _window_tasks(folder, state, chosen, how.kernel)
    replay(tasks, how.kernel, how.threads, how.memory, lambda done: folder.step("games", done, len(chosen)))
    text = f"{len(chosen)} of {len(places)} games replayed{_earlier(before)}, bit for bit."
    text += confidence(len(places), len(chosen) + before)
    purged = len(window) - len(batches)
    return text if not purged else f"{text} Purged since: {counted(purged, 'batch', 'batches')} of the window."


def _window_tasks(
    folder: Folder, state: LogState, places: list[tuple[BatchInfo, int]], kernel: Kernel
) -> Iterator[Task]:
    """The games at these places, batch by batch, so that few are in memory at once."""
    players: dict[bytes, Player] = {}
    opened, content = -1, None
    for batch, number in sorted(places, key=lambda place: (place[0].index, place[1])):
        if content is None or opened != batch.index:
            opened, content = batch.index, _content(folder, state, batch)
        played = _release_of(state, batch)
        if played.id not in players:
            players[played.id] = _player(network_file(folder, state, played), played.id)
        block = content.games[number]
        job = selfplay_job(state, played, batch.header.owner, block.header.counter, players[played.id])
        key = replay_key(state, batch.index, number, kernel)
        yield Task(key, f"batch at entry {batch.index}", number, job, block)


def _earlier(before: int) -> str:
    """How many an earlier audit replayed, in a sentence about those of now."""
    return f" and {before} before" if before else ""


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
