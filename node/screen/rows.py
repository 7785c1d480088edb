"""What a node shows, as rows: made of its status and of what its events told lately.

Spec: `docs/commands.md` ("What a node prints", "gonode status"). Pure. What a status does not hold is not shown.
"""

from collections.abc import Callable, Mapping
from typing import Any

from node.screen.amounts import duration, rate, size
from node.screen.lately import Lately
from node.screen.row import Row, Tone

Status = Mapping[str, Any]


def rows_now(status: Callable[[], Status], lately: Lately) -> tuple[Row, ...]:
    """All rows as things are now; a status that cannot be told is a row, and no end of the node."""
    try:
        return rows_of(status(), lately)
    except Exception as error:
        told = f"cannot be told: {error or type(error).__name__}"
        return Row("gonode", (f"up {duration(lately.up_s)}",)), Row("status", (told,), Tone.BAD)


def rows_of(status: Status, lately: Lately) -> tuple[Row, ...]:
    """All rows, the most important first."""
    rows = [_head(status, lately), _doing(status, lately), *_more(status, lately), _peers(status)]
    rows += [Row("weights", tuple(_fetching(each)), Tone.WAIT) for each in status.get("fetching", ())]
    rows += [Row("waits", (_waits(queue),), Tone.WAIT) for queue in _waiting(status)]
    return tuple(rows)


def _head(status: Status, lately: Lately) -> Row:
    key = str(status.get("key", ""))[:8]
    who = f"{status['name']} ({key})" if status.get("name") else f"{status['role']} ({key})" if key else status["role"]
    parts = [f"{status.get('version', '')} {who}".strip(), f"run {status.get('run_name') or status['run'][:16]}"]
    if status.get("release"):
        parts.append(f"release {status['release']} ({str(status.get('release_id', ''))[:8]})")
    return Row("gonode", (*parts, f"up {duration(lately.up_s)}"))


# ---- what a role does


def _doing(status: Status, lately: Lately) -> Row:
    """The row that says what is being done, or why nothing is."""
    if lately.is_draining:
        return Row("draining", _work(status, lately), Tone.WAIT)
    registration = _queue(status, "registration")
    if registration is not None:
        return Row("joining", (f"waiting for {registration['waiting_for']}",), Tone.WAIT)
    if status["release"] is None and status["role"] != "coordinator":
        return Row("connecting", ("looking for a peer of the run",), Tone.WAIT)
    match status["role"]:
        case "contributor" if paused := status.get("paused") or _queue_that_waits(status, "games"):
            return Row("paused", (f"waiting for {paused['waiting_for']}",), Tone.WAIT)
        case "contributor":
            return Row("playing", _work(status, lately), Tone.GOOD)
        case "verifier" if approval := _queue_that_waits(status, "approval"):
            return Row("waiting", (f"for {approval['waiting_for']}",), Tone.WAIT)
        case "verifier":
            return Row("verifying", _work(status, lately), Tone.GOOD)
        case "relay":
            return Row("relaying", _work(status, lately), Tone.GOOD)
        case "mirror":
            return Row("copying", _work(status, lately), Tone.GOOD)
    return Row("leading", _work(status, lately), Tone.GOOD)


def _work(status: Status, lately: Lately) -> tuple[str, ...]:
    match status["role"]:
        case "contributor":
            return _play(status, lately)
        case "verifier":
            judging = _queue(status, "judging")
            waiting = () if judging is None else (f"{judging['length']:,} to judge",)
            plies = f"{status.get('replayed_plies', 0):,} plies replayed"
            return (*waiting, _counted(status.get("verdicts", 0), "verdict"), plies)
        case "relay":
            networks = _counted(status.get("networks", 0), "network")
            return networks, f"for {_counted(status.get('places', 0), 'peer')}", f"circuits {status.get('circuits', 0)}"
        case "mirror":
            missing = f"{status.get('missing', 0):,} missing"
            return _counted(status.get("copied", 0), "blob"), f"shows log {status.get('shown', 0):,}", missing
    doing = (str(status["doing"]),) if status.get("doing") else ()
    releases = _counted(len(status.get("releases", ())), "release")
    return (*doing, releases)


def _play(status: Status, lately: Lately) -> tuple[str, ...]:
    parts = []
    engine = status.get("engine", {})
    if "under_way" in engine:
        parts.append(_counted(engine["under_way"], "game"))
    if lately.plies_per_s is not None:
        parts.append(f"{rate(lately.plies_per_s)} plies/s")
    if lately.visits_per_s:
        parts.append(f"{rate(lately.visits_per_s)} visits/s")
    if status.get("hottest_c") is not None:
        parts.append(f"{status['hottest_c']:.0f} °C")
    if lately.next_game_in_s is not None:
        parts.append(f"next game ~{duration(lately.next_game_in_s)}")
    return tuple(parts or ("the first game is under way",))


# ---- the other rows


def _more(status: Status, lately: Lately) -> list[Row]:
    """A contributor's own: today, what the log says of its key, the last game."""
    if status["role"] != "contributor":
        return []
    rows = []
    today = status.get("today")
    if today is not None:
        rows.append(Row("today", (_counted(today["games"], "game"), f"{today['plies']:,} plies")))
    verified = f"{status['verified']:,} games verified"
    if "credit_plies" in status:
        verified += f" ({status['credit_plies']:,} plies)"
    tone = Tone.BAD if status["rejected"] else Tone.PLAIN
    rows.append(Row("credit", (verified, f"{status['pending']:,} pending", f"{status['rejected']:,} rejected"), tone))
    if last := _last(lately):
        rows.append(Row("last", (last,)))
    return rows


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
    parts = [f"{status['peers']}", f"log {status['log_size']:,}{_sync(status)}"]
    batches = _queue(status, "batch")
    if batches is not None:
        parts.append(f"batches waiting {batches['length']:,}")
    if status.get("next_try_in_s"):
        parts.append(f"next try in {duration(status['next_try_in_s'])}")
    return Row("peers", tuple(parts), Tone.PLAIN if status["peers"] else Tone.WAIT)


def _sync(status: Status) -> str:
    newest = status.get("newest_size")
    if newest is None:
        return ""
    behind = newest - status["log_size"]
    return " (in sync)" if behind <= 0 else f" ({behind:,} behind)"


def _fetching(blob: Mapping[str, Any]) -> list[str]:
    share = 100 * blob["held_bytes"] // max(1, blob["total_bytes"])
    return [f"{blob['blob'][:16]}", f"{share} % of {size(blob['total_bytes'])}"]


def _queue(status: Status, name: str) -> Mapping[str, Any] | None:
    return next((queue for queue in status["queues"] if queue["name"] == name), None)


def _queue_that_waits(status: Status, name: str) -> Mapping[str, Any] | None:
    queue = _queue(status, name)
    return queue if queue and queue["waiting_for"] else None


def _waiting(status: Status) -> list[Mapping[str, Any]]:
    """The queues that wait for something and have no row of their own."""
    return [
        queue
        for queue in status["queues"]
        if queue["waiting_for"] and queue["name"] not in ("registration", "games", "approval")
    ]


def _waits(queue: Mapping[str, Any]) -> str:
    return f"{queue['length']:,} {queue['name']}: {queue['waiting_for']}"


def _counted(number: int, noun: str) -> str:
    """`1 game`, `1,204 games`."""
    return f"{number:,} {noun if number == 1 else noun + 's'}"
