"""A contributor that is paused, drained, stopped and started again: its games go on at their ply, and are verified."""

import time
from pathlib import Path

from node.disk.home import Home
from node.disk.keyring import load_key
from protocol.admission import ACCEPTED
from tests.e2e.conftest import Handmade
from tests.e2e.process import gonode, is_alive, query, running, wait_for
from tests.e2e.test_roles import decisions, engine_of, played
from tests.native.begun import plies_of

LIVES = 2


def begun(home: Path) -> dict[str, int]:
    """The plies of each game that was put down, by its name."""
    rows = query(home, "SELECT name, value FROM kv WHERE name LIKE 'begun/%'")
    return {name: plies_of(value[32:]) for name, value in rows}


def test_a_pause_frees_the_machine_and_ends(network: Handmade) -> None:
    home = network.folder / "paused"
    with running(home, "join", *network.joining("paused", "--kernel", "scalar")) as contributor:
        contributor.event("game")
        engine = engine_of(contributor)
        paused = gonode("pause", "--dir", home, "--json").json
        assert paused["paused"]["waiting_for"] == "gonode resume (play is paused)"
        wait_for(lambda: not is_alive(engine), "the end of the engine")
        told = len(played(contributor))
        time.sleep(1)
        assert len(played(contributor)) == told
        shown = gonode("status", "--dir", home, "--json").json
        assert (shown["paused"], shown["peers"] > 0) == (paused["paused"], True)
        assert "\npaused    waiting for gonode resume (play is paused)\n" in gonode("status", "--dir", home).out
        assert gonode("resume", "--dir", home, "--json").json == {"ok": True, "paused": None}
        wait_for(lambda: len(played(contributor)) > told, "a game after the pause")
        assert gonode("status", "--dir", home, "--json").json["engine"]["restarts"] == 0
        assert "nothing to pause" in gonode("pause", "--dir", network.folder / "verifier").sentence


def test_who_comes_and_goes_loses_no_ply(network: Handmade) -> None:
    home = network.folder / "guest"
    joining = network.joining("guest", "--kernel", "scalar")
    kept: dict[str, int] = {}
    seen = life = 0
    while life < LIVES or not seen:
        assert life < 4 * LIVES, "no life began a game"
        with running(home.with_name(f"guest-{life}"), "join", *joining) as contributor:
            contributor.event("playing")
            time.sleep(0.3 * (1 + life))
            if life % 2:
                assert gonode("stop", "--dir", home).status == 0
            else:
                contributor.interrupt()
            assert contributor.ended().status == 0
        now = begun(home)
        finished = {f"{counter:016x}" for _, counter in played(contributor)}
        for name, plies in kept.items():
            assert now.get(name, 0) >= plies or name.split("/")[3] in finished, (name, plies, now)
        kept, seen, life = now, seen + len(now), life + 1
    with running(home.with_name("guest-last"), "join", *joining, "--games", len(kept) + 2) as contributor:
        assert contributor.ended().status == 0
        assert "spent" in contributor.out
        finished = {f"{counter:016x}" for _, counter in played(contributor)}
        assert {name.split("/")[3] for name in kept} <= finished
    key = load_key(Home(home).key("host")).public
    wait_for(lambda: decisions(network, key), "the decision on a batch")
    assert set(decisions(network, key)) == {ACCEPTED}
