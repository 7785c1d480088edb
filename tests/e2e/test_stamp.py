"""A run that takes stamps, by real processes: no invite is handed out, one is killed while it stamps, and both get in."""

import signal
from pathlib import Path

from node.contributor.stamping import KEY
from node.disk.home import Home
from node.disk.store import Store
from protocol.entries import parse_entry
from protocol.registration import Registration
from protocol.slots import SlotList
from protocol.stamp import is_stamp
from tests.e2e.conftest import UNTRAINED, request_of
from tests.e2e.process import LOOPBACK, TINY, gonode, log_of, running

DIFFICULTY = 21


def test_two_keys_get_in_without_invites(tmp_path: Path) -> None:
    file = tmp_path / "stamps.toml"
    policy = f'registration = "stamp"\nstamp_difficulty = {DIFFICULTY}\nprobation_slots = 1'
    file.write_text(TINY.read_text().replace('registration = "invite"', policy))
    founded = gonode(
        "run", "init", tmp_path / "coordinator", "--from", file, "--verifier", request_of(tmp_path), *UNTRAINED
    )
    assert founded.status == 0
    ticket = founded.out.strip()
    verifying = ("verify", ticket, "--dir", tmp_path / "verifier", "--listen", LOOPBACK, "--json", "--threads", 1)

    def joining(name: str) -> tuple[object, ...]:
        options = ("--dir", tmp_path / name, "--listen", LOOPBACK, "--threads", 1, "--in-flight", 1, "--name", name)
        return "join", ticket, *options, "--json"

    with (
        running(tmp_path / "coordinate", "coordinate", tmp_path / "coordinator", "--json") as coordinator,
        running(tmp_path / "verify", *verifying),
    ):
        coordinator.event("listening")
        with running(tmp_path / "ada-1", *joining("ada")) as first:
            first.event("stamping")
            told = gonode("status", "--dir", tmp_path / "ada", "--json").json
            waiting_for = told["queues"][-1]["waiting_for"]
            assert waiting_for.startswith(("the stamp of its registration: ", "a probation slot: "))
            first.process.send_signal(signal.SIGKILL)
            first.process.wait()
        with Store(Home(tmp_path / "ada").database) as store:
            kept = Registration.parse(store.get(KEY) or b"")
        assert kept.stamp > 0
        with (
            running(tmp_path / "ada-2", *joining("ada")) as second,
            running(tmp_path / "bob-1", *joining("bob")) as bob,
        ):
            for each in (second, bob):
                each.event("registered")
    records = [parse_entry(entry).record for entry in log_of(tmp_path / "coordinator")]
    registrations = [record for record in records if isinstance(record, Registration)]
    assert {record.name for record in registrations} == {"ada", "bob"}
    assert all(is_stamp(record, DIFFICULTY) and not record.invite for record in registrations)
    assert next(record for record in registrations if record.name == "ada").stamp >= kept.stamp
    assert sum(isinstance(record, SlotList) for record in records) >= 2
