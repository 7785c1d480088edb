"""Each role typed by hand: a run is founded, honest games are verified by another kernel, a cheat is caught and proved."""

import os
import signal
import time
from pathlib import Path
from random import Random

from native.network import Kernel
from node.audits.proof_files import check_proof_file
from node.disk.home import Home
from node.disk.keyring import load_key
from protocol.admission import ACCEPTED, Admission
from protocol.entries import parse_entry
from protocol.header import BatchHeader
from protocol.proof import Ban
from protocol.verdict import ACCEPT, REJECT, Verdict
from tests.e2e.conftest import Handmade
from tests.e2e.process import (
    FAST,
    Running,
    child_of,
    gonode,
    is_alive,
    kill,
    log_of,
    parse_events,
    query,
    running,
    wait_for,
)


def test_a_cheat_is_banned_and_the_proof_holds(network: Handmade, tmp_path: Path) -> None:
    with running(network.folder / "cheat", *network.joining("cheat"), module="tests.e2e.cheat") as cheat:
        cheat.event("logged")
        ban = network.coordinator.event("ban")
        told = network.verifier.event("proof")
    (entry,) = network.logged(Ban).values()
    assert entry.subject.hex()[:8] in ban["text"]
    assert [each.outcome for each in network.logged(Verdict).values()].count(REJECT) >= 1
    file = Path(told["path"])
    assert file.read_bytes() == entry.proof

    shown = gonode("proof", "show", file)
    assert shown.status == 0
    assert f"signer    {entry.subject.hex()}" in shown.out
    checked = gonode("proof", "check", file)
    assert checked.status == 0, checked.out
    assert checked.out.startswith(f"The proof holds. Contributor {entry.subject.hex()[:16]} signed")
    start = time.process_time()
    assert check_proof_file(file, None, lambda digest: None, Kernel.SCALAR).holds
    assert time.process_time() - start < 1

    rng = Random(1)
    damaged = tmp_path / "damaged"
    for _ in range(3):
        data = bytearray(entry.proof)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        damaged.write_bytes(data)
        ended = gonode("proof", "check", damaged)
        assert ended.status in (1, 2)
        assert len((ended.out + ended.err).splitlines()) == 1
    assert network.coordinator.process.poll() is None
    assert not list(Home(network.folder / "coordinator").proofs.glob("*"))


def test_games_of_the_fast_kernel_are_verified_by_the_scalar_one(network: Handmade) -> None:
    with running(network.folder / "join", "join", *network.joining("honest", "--kernel", FAST)) as contributor:
        contributor.event("logged")
        key = load_key(Home(network.folder / "honest").key("host")).public
        contributor.interrupt()  # at once, or the verifier has work for many seconds
        assert contributor.ended().status == 0
    wait_for(lambda: decisions(network, key), "the decision on an honest batch")
    assert set(decisions(network, key)) == {ACCEPTED}
    headers = {digest: header for digest, header in network.logged(BatchHeader).items() if header.peer == key}
    assert {header.kernel for header in headers.values()} == {FAST}
    verdicts = [verdict for verdict in network.logged(Verdict).values() if verdict.subject in headers]
    assert {verdict.outcome for verdict in verdicts} == {ACCEPT}
    assert any(verdict.drawn for verdict in verdicts)


def engine_of(command: Running) -> int:
    """The process of a node's engine, waited for."""
    return wait_for(lambda: child_of(command.process.pid, "native.serve"), "an engine")


def played(command: Running) -> list[tuple[str, int]]:
    """Release and counter of each game that a contributor said it finished."""
    games, release = [], ""
    for event in parse_events(command.out):
        release = event.get("release", release)
        if event["event"] == "game":
            games.append((release, event["counter"]))
    return games


def test_a_killed_engine_costs_no_game(network: Handmade) -> None:
    home = network.folder / "patient"
    with running(home, "join", *network.joining("patient", "--kernel", "scalar")) as contributor:
        for _ in range(2):
            told = len(played(contributor))
            wait_for(lambda told=told: len(played(contributor)) > told, "a game of this engine")  # type: ignore[misc]
            kill(engine_of(contributor))
        key = load_key(Home(home).key("host")).public
        wait_for(lambda: decisions(network, key), "the decision on a batch")
        shown = gonode("status", "--dir", home, "--json").json["engine"]
        assert (shown["device"], shown["kernel"], shown["threads"], shown["restarts"]) == ("cpu", "scalar", 1, 2)
        assert shown["canaries"] >= 4
        assert "engine    cpu (scalar), threads 1, games 1, restarts 2" in gonode("status", "--dir", home).out
        engine = engine_of(contributor)
        os.killpg(contributor.process.pid, signal.SIGINT)
        assert contributor.ended().status == 0
        assert not is_alive(engine)
    assert len(played(contributor)) == len(set(played(contributor)))
    assert [each["restarts"] for each in parse_events(contributor.out) if each["event"] == "engine"] == [1, 2]
    assert set(decisions(network, key)) == {ACCEPTED}


def test_an_engine_ends_with_its_killed_node(network: Handmade) -> None:
    with running(network.folder / "short", "join", *network.joining("short")) as contributor:
        contributor.event("game")
        engine = engine_of(contributor)
        kill(contributor.process.pid)
        wait_for(lambda: not is_alive(engine), "the end of the engine")


def test_a_machine_that_computes_wrongly_submits_nothing(network: Handmade) -> None:
    joining = network.joining("unwell")
    home = Home(network.folder / "unwell")
    with running(network.folder / "unwell", "1", *joining, module="tests.e2e.wrong_machine") as contributor:
        ended = contributor.ended()
    assert ended.status == 1
    assert ended.err.startswith("gonode: This machine computes wrongly: ")
    assert ended.err.count("\n") == 1
    names = [each["event"] for each in parse_events(ended.out)]
    assert "game" in names
    assert "logged" not in names
    assert query(home.directory, "SELECT * FROM outbox") == []
    status = gonode("status", "--dir", home.directory)
    assert (status.status, "The last one ended: This machine computes wrongly: " in status.sentence) == (3, True)

    doubtful = dict(query(home.directory, "SELECT counter, block FROM games"))
    assert doubtful
    with running(network.folder / "well", "join", *joining) as contributor:
        contributor.event("game")
        assert not home.fault.exists()
        contributor.event("logged")
        assert set(doubtful) <= {counter for _, counter in played(contributor)}


def decisions(network: Handmade, key: bytes) -> list[str]:
    """The outcomes of what was decided on a contributor's batches."""
    entries = [parse_entry(entry).record for entry in log_of(network.folder / "coordinator")]
    decided = [each for record in entries if isinstance(record, Admission) for each in record.decisions]
    headers = ((each, entries[each.index]) for each in decided)
    return [each.outcome for each, header in headers if isinstance(header, BatchHeader) and header.peer == key]
