"""What a node shows while it runs, as rows: made of its status and of what its events told lately.

Spec: `docs/commands.md` ("What a node prints", "gonode status"). Pure. `gonode status`, which heard no events, shows these
and `node.screen.details`.
"""

from collections.abc import Callable

from node.role_status import Contributing, Coordinating, Mirroring, Played, Relaying, Verifying
from node.screen.amounts import duration, rate, size
from node.screen.lately import Lately
from node.screen.row import Row, Tone
from node.status import Fetching, Queue, Status
from node.training.words import training_words

REGISTRATION, GAMES, APPROVAL, JUDGING, BATCH = "registration", "games", "approval", "judging", "batch"
"""Queues that are told in a row of their own."""


def rows_now(status: Callable[[], Status], lately: Lately) -> tuple[Row, ...]:
    """All rows as things are now; a status that cannot be told is a row, and no end of the node."""
    try:
        return rows_of(status(), lately)
    except Exception as error:
        told = f"cannot be told: {error or type(error).__name__}"
        return Row("gonode", (f"up {duration(lately.up_s)}",)), Row("status", (told,), Tone.BAD)


def rows_of(status: Status, lately: Lately) -> tuple[Row, ...]:
    """All rows of the panel, the most important first."""
    waits = [Row("waits", (_waits(queue),), Tone.WAIT) for queue in _waiting(status)]
    return (*main_rows(status, lately), *waits)


def main_rows(status: Status, lately: Lately | None) -> tuple[Row, ...]:
    """All but what waits; without `lately` no more than the status says."""
    rows = [_head(status, lately), _doing(status, lately), *_more(status, lately), _peers(status)]
    return (*rows, *(Row("weights", tuple(_fetching(each)), Tone.WAIT) for each in status.fetching))


def _head(status: Status, lately: Lately | None) -> Row:
    name, key = status.role, status.key.hex()[:8]
    if isinstance(status.work, Contributing) and status.work.name:
        name = status.work.name
    parts = [f"{status.version} {name} ({key})", f"run {status.run_name or status.run.hex()[:16]}"]
    if status.release is not None and status.release_id is not None:
        parts.append(f"release {status.release} ({status.release_id.hex()[:8]})")
    if lately is not None:
        parts.append(f"up {duration(lately.up_s)}")
    return Row("gonode", tuple(parts))


# ---- what a role does


def _doing(status: Status, lately: Lately | None) -> Row:
    """The row that says what is being done, or why nothing is."""
    if lately is not None and lately.is_draining:
        return Row("draining", _work(status, lately), Tone.WAIT)
    registration = status.queue(REGISTRATION)
    if registration is not None:
        return Row("joining", (f"waiting for {registration.waiting_for}",), Tone.WAIT)
    work = status.work
    if status.release is None and not isinstance(work, Coordinating):
        return Row("connecting", ("looking for a peer of the run",), Tone.WAIT)
    match work:
        case Contributing() if waiting_for := _rests(status):
            return Row("paused", (f"waiting for {waiting_for}",), Tone.WAIT)
        case Verifying() if waiting_for := _waits_of(status, APPROVAL):
            return Row("waiting", (f"for {waiting_for}",), Tone.WAIT)
    return Row(_DOES[type(work)], _work(status, lately), Tone.GOOD)


_DOES = {
    Contributing: "playing",
    Verifying: "verifying",
    Coordinating: "leading",
    Relaying: "relaying",
    Mirroring: "copying",
}


def _rests(status: Status) -> str | None:
    """What play waits for."""
    return _waits_of(status, GAMES) if status.paused is None else status.paused.waiting_for


def _work(status: Status, lately: Lately | None) -> tuple[str, ...]:
    match status.work:
        case Contributing():
            return _play(status, status.work, lately)
        case Verifying(verdicts, plies):
            judging = status.queue(JUDGING)
            waiting = () if judging is None else (f"{judging.length:,} to judge",)
            return (*waiting, _counted(verdicts, "verdict"), f"{plies:,} plies replayed")
        case Relaying(networks, places, circuits):
            return _counted(networks, "network"), f"for {_counted(places, 'peer')}", f"circuits {circuits}"
        case Mirroring(copied, shown, missing):
            return _counted(copied, "blob"), f"shows log {shown:,}", f"{missing:,} missing"
        case Coordinating() as work:
            return doing_words(work), _counted(len(work.releases), "release")


def doing_words(work: Coordinating) -> str:
    """What a coordinator does, and how far that is."""
    if work.doing == "training" and work.training is not None:
        return f"training {training_words(work.training)}"
    if work.doing == "gating" and work.gate is not None:
        played = f" of {work.gate_played:,} played" if (work.gate_played or 0) > work.gate else ""
        return f"gating, {_counted(work.gate, 'pair')} counted{played}"
    return work.doing


def _play(status: Status, work: Contributing, lately: Lately | None) -> tuple[str, ...]:
    parts = []
    if status.engine is not None:
        parts.append(_counted(status.engine.under_way, "game"))
    if lately is not None and lately.plies_per_s is not None:
        parts.append(f"{rate(lately.plies_per_s)} plies/s")
    if lately is not None and lately.visits_per_s:
        parts.append(f"{rate(lately.visits_per_s)} visits/s")
    if work.hottest_c is not None:
        parts.append(f"{work.hottest_c:.0f} °C")
    if lately is not None and lately.next_game_in_s is not None:
        parts.append(f"next game ~{duration(lately.next_game_in_s)}")
    return tuple(parts or ("the first game is under way",))


# ---- the other rows


def _more(status: Status, lately: Lately | None) -> list[Row]:
    """A contributor's own: today, what the log says of its key, the last game."""
    if not isinstance(status.work, Contributing):
        return []
    rows = [Row("today", _played(status.work.today))]
    verified = f"{status.verified:,} games verified ({status.credit_plies:,} plies)"
    tone = Tone.BAD if status.rejected else Tone.PLAIN
    rows.append(Row("credit", (verified, f"{status.pending:,} pending", f"{status.rejected:,} rejected"), tone))
    if lately is not None and (last := _last(lately)):
        rows.append(Row("last", (last,)))
    return rows


def _played(played: Played) -> tuple[str, str]:
    return _counted(played.games, "game"), f"{played.plies:,} plies"


def _last(lately: Lately) -> str:
    game, receipt = lately.last_game, lately.last_receipt
    parts = []
    if game is not None:
        parts.append(f"game {game.counter:,}, {game.plies} plies {game.result}".rstrip())
    if receipt is not None:
        after = "" if receipt.after_s is None else f" in {receipt.after_s:.1f} s"
        parts.append(f"{'batch ' if not parts else ''}-> receipt #{receipt.index:,}{after}")
    return " ".join(parts)


def _peers(status: Status) -> Row:
    parts = [f"{status.peers}", f"log {status.log_size:,}{_sync(status)}"]
    if status.relays:
        parts.append(f"reached through {_counted(len(status.relays), 'relay')}")
    batches = status.queue(BATCH)
    if batches is not None:
        parts.append(f"batches waiting {batches.length:,}")
    if status.next_try_in_s:
        parts.append(f"next try in {duration(status.next_try_in_s)}")
    return Row("peers", tuple(parts), Tone.PLAIN if status.peers else Tone.WAIT)


def _sync(status: Status) -> str:
    if status.newest_size is None:
        return ""
    behind = status.newest_size - status.log_size
    return " (in sync)" if behind <= 0 else f" ({behind:,} behind)"


def _fetching(blob: Fetching) -> list[str]:
    share = 100 * blob.held_bytes // max(1, blob.total_bytes)
    return [blob.blob.hex()[:16], f"{share} % of {size(blob.total_bytes)}"]


def _waits_of(status: Status, name: str) -> str | None:
    """What the queue of that name waits for."""
    queue = status.queue(name)
    return None if queue is None else queue.waiting_for


def _waiting(status: Status) -> list[Queue]:
    """The queues that wait for something and have no row of their own."""
    told = (REGISTRATION, GAMES, APPROVAL)
    return [queue for queue in status.queues if queue.waiting_for and queue.name not in told]


def _waits(queue: Queue) -> str:
    return f"{queue.length:,} {queue.name}: {queue.waiting_for}"


def _counted(number: int, noun: str) -> str:
    """`1 game`, `1,204 games`."""
    return f"{number:,} {noun if number == 1 else noun + 's'}"
