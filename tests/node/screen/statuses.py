"""Statuses of nodes as `gonode status --json` prints them, for tests of what is shown."""

from typing import Any

KEY = "9c41e07b" + "00" * 28


def queue(name: str, length: int = 0, waiting_for: str | None = None) -> dict[str, Any]:
    """One queue of a status."""
    return {"name": name, "length": length, "waiting_for": waiting_for, "since_unix_s": 3 if waiting_for else None}


def status(role: str, *queues: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A status of a node that is well."""
    return {
        "role": role,
        "version": "0.4.1",
        "key": KEY,
        "run": "ab" * 32,
        "run_name": "alpha",
        "release": "r0123",
        "release_id": "8f3e21aa" + "00" * 28,
        "log_size": 812_051,
        "newest_size": 812_051,
        "peers": 9,
        "fetching": [],
        "next_try_in_s": None,
        "queues": list(queues),
        "verified": 1102,
        "pending": 102,
        "rejected": 0,
        "credit_plies": 24_310,
        **more,
    }


def contributor(*queues: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A contributor's status."""
    engine = {
        "device": "cpu",
        "kernel": "avx2",
        "threads": 4,
        "games": 4,
        "restarts": 0,
        "canaries": 9,
        "under_way": 16,
    }
    given = {"name": "mira", "engine": engine, "today": {"games": 41, "plies": 1204}, **more}
    return status("contributor", *(queues or (queue("batch"), queue("games", 2))), **given)
