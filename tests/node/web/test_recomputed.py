"""A proof is checked once here, one at a time, in whatever threads; a network that is missing is looked for again."""

import threading
from pathlib import Path

import pytest

from node.web import recomputed
from node.web.recomputed import BUSY, HOLDS, NO_NETWORK, Recomputed, Recomputer
from verification.proof import NetworkOf

RUN = bytes(32)


def test_what_was_found_is_kept(tmp_path: Path) -> None:
    checks: list[bytes] = []

    def check(data: bytes, run: bytes, network_of: NetworkOf) -> Recomputed:
        checks.append(data)
        return Recomputed(HOLDS, "It holds.", b"record")

    recomputer = Recomputer(tmp_path, RUN, check)
    assert [recomputer.get(b"1", b"one") for _ in range(3)] == [Recomputed(HOLDS, "It holds.", b"record")] * 3
    recomputer.get(b"2", b"two")
    assert checks == [b"one", b"two"]


def test_nobody_waits_for_another_check(tmp_path: Path) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def check(data: bytes, run: bytes, network_of: NetworkOf) -> Recomputed:
        begun.set()
        assert may_end.wait(20)
        return Recomputed(HOLDS, "It holds.")

    recomputer = Recomputer(tmp_path, RUN, check)
    first = threading.Thread(target=recomputer.get, args=(b"1", b"one"))
    first.start()
    assert begun.wait(20)
    assert [recomputer.get(name, name).state for name in (b"1", b"2")] == [BUSY, BUSY]
    may_end.set()
    first.join()
    assert [recomputer.get(name, name).state for name in (b"1", b"2")] == [HOLDS, HOLDS]


def test_a_missing_network_is_looked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(recomputed.time, "monotonic", lambda: now)
    states = iter([NO_NETWORK, NO_NETWORK, HOLDS])

    def check(data: bytes, run: bytes, network_of: NetworkOf) -> Recomputed:
        assert network_of(bytes(32)) is None
        return Recomputed(next(states), "")

    recomputer = Recomputer(tmp_path, RUN, check)
    found = []
    for _ in range(5):
        found.append(recomputer.get(b"1", b"no proof").state)
        now += 0.75 * recomputed.AGAIN_S
    assert found == [NO_NETWORK] * 4 + [HOLDS]


def test_a_failed_check_lets_the_next_one_begin(tmp_path: Path) -> None:
    def check(data: bytes, run: bytes, network_of: NetworkOf) -> Recomputed:
        if data == b"bad":
            raise MemoryError
        return Recomputed(HOLDS, "")

    recomputer = Recomputer(tmp_path, RUN, check)
    with pytest.raises(MemoryError):
        recomputer.get(b"1", b"bad")
    assert recomputer.get(b"2", b"good").state == HOLDS
