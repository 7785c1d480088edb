"""`gonode bench`: its JSON keys, what it remembers, its refusals. Real short measurements; nothing timed is asserted."""

import json
from pathlib import Path

import pytest

from native.network import Kernel, Network
from node.cli.bench import _search_cost
from node.machine import load_machine
from node.machine.bench import Report
from node.machine.processor import usable_cores
from tests.node.cli.gonode import gonode

KEYS = [
    *("kernel", "net", "size", "threads", "games", "evals_per_s", "gmac_per_s", "peak_gmac_per_s"),
    *(
        "selfplay_positions_per_cpu_s",
        "visits_per_cpu_s",
        "evals_per_visit",
        "search_us_per_visit",
        "replay_ms_per_ply",
    ),
]
SHORT = ("--net", "b1c16", "--size", "7", "--visits", "8", "--seconds", "1")


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the record lies in these tests."""
    found = tmp_path / "machine.json"
    monkeypatch.setenv("GONODE_MACHINE", str(found))
    return found


def test_json_is_one_object_with_the_keys(path: Path) -> None:
    answer = gonode("bench", *SHORT, "--json")
    assert answer.status == 0
    assert answer.out.count("\n") == 1
    found = json.loads(answer.out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert list(found) == KEYS
    assert (found["kernel"], found["net"], found["size"]) == (Kernel.best().encode(), "b1c16", 7)
    rounding = 0.05 / 8 + 0.005  # visits are given in tenths, positions in hundredths
    assert found["selfplay_positions_per_cpu_s"] == pytest.approx(found["visits_per_cpu_s"] / 8, abs=rounding + 1e-6)
    assert 0 < found["evals_per_visit"] <= 1
    machine = load_machine()
    assert machine is not None
    assert (machine.threads, machine.games) == (found["threads"], found["games"])
    assert (machine.net, machine.size, machine.kernel) == ("b1c16", 7, found["kernel"])
    assert str(path) in answer.err


@pytest.mark.parametrize("option", [("--threads", "2"), ("--kernel", "scalar")], ids=" ".join)
def test_what_was_given_is_not_remembered(option: tuple[str, str], path: Path) -> None:
    answer = gonode("bench", *SHORT, *option, "--json")
    found = json.loads(answer.out)
    assert found[option[0].removeprefix("--")] == (2 if option[1] == "2" else "scalar")
    assert not path.exists()
    assert "Not remembered" in answer.err


def test_the_table_says_what_it_chose_and_of_what_network(tmp_path: Path) -> None:
    file = tmp_path / "a.net"
    file.write_bytes(Network.first(bytes(32), 1, 16))
    answer = gonode("bench", "--net", file, *SHORT[2:])
    assert answer.status == 0
    assert "b1c16 (from its file) on 7x7, 8 visits a move" in answer.out
    assert "chosen" in answer.out
    assert "near 1" not in answer.out
    assert "near 1" in gonode("bench", *SHORT).out


def test_a_record_that_cannot_be_written_costs_no_numbers(path: Path) -> None:
    path.mkdir()
    answer = gonode("bench", *SHORT, "--json")
    assert answer.status == 0
    assert list(json.loads(answer.out)) == KEYS
    assert answer.err == f"Not remembered in {path}: Is a directory.\n"
    assert load_machine() is None


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_what_is_remembered_outlives_a_busy_machine(
    form: tuple[str, ...], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Report, "core_share", 0.55)
    first = gonode("bench", *SHORT, *form)
    assert "but the threads had a core only 55 % of the time: measure again later." in first.err
    assert load_machine() is not None
    path.write_bytes(path.read_bytes() + b" ")
    kept = path.read_bytes()
    second = gonode("bench", *SHORT, *form)
    assert second.status == 0
    assert second.err == (f"Not remembered: the threads had a core only 55 % of the time. What {path} holds stays.\n")
    assert path.read_bytes() == kept
    monkeypatch.setattr(Report, "core_share", 0.8)
    assert "Remembered in" in gonode("bench", *SHORT, *form).err
    assert path.read_bytes() != kept


def test_a_search_too_cheap_to_measure_has_no_negative_cost() -> None:
    assert "too small to see here" in _search_cost(-0.3)
    assert _search_cost(1.26) == "1.3 us a visit outside the network"


@pytest.mark.parametrize(("net", "reason"), [("nope", "written like b4c32"), ("b6c97", "not 97")])
def test_no_network_is_one_sentence(net: str, reason: str) -> None:
    sentence = gonode("bench", "--net", net).refusal()
    assert f"'{net}' is neither a network's file nor an architecture" in sentence
    assert reason in sentence
    assert sentence.count(".") == 1


BAD = {
    "no file and no architecture": ("--net", "/nowhere/a.net"),
    "too many channels": ("--net", "b6c960"),
    "odd channels": ("--net", "b6c97"),
    "a directory": ("--net", "."),
    "empty": ("--net", ""),
    "a small board": ("--size", "6"),
    "a large board": ("--size", "20"),
    "one visit": ("--visits", "1"),
    "no threads": ("--threads", "0"),
    "too many threads": ("--threads", "1025"),
    "too many threads for this machine": ("--threads", str(4 * usable_cores() + 1)),
    "an unknown kernel": ("--kernel", "gpu"),
    "no time": ("--seconds", "0"),
    "no number": ("--seconds", "nan"),
    "for ever": ("--seconds", "inf"),
    "an argument": ("b6c96",),
}


@pytest.mark.parametrize("options", BAD.values(), ids=BAD)
def test_bad_input(options: tuple[str, ...], path: Path) -> None:
    gonode("bench", *options).refusal()
    assert not path.exists()


@pytest.mark.parametrize("damage", [b"", b"GONODENN", b"x" * 5000, None], ids=["empty", "cut", "other", "flipped"])
def test_a_bad_network_file(tmp_path: Path, damage: bytes | None) -> None:
    file = tmp_path / "bad.net"
    whole = bytearray(Network.first(bytes(32), 1, 16))
    whole[1000] ^= 1
    file.write_bytes(bytes(whole) if damage is None else damage)
    assert str(file) in gonode("bench", "--net", file).refusal()
