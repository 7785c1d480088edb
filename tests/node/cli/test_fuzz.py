"""Mutated files and texts: a command ends with status 0 and its output, or with 2 and one line. Seeded, so repeatable."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

import pytest

import verification.power
from node.disk.home import Home
from node.disk.keyring import create_key
from tests.node.cli.gonode import Answer, gonode
from tests.node.homes import TICKET, grown_world, make_home
from tests.node.keys import secret

DEMO = Path("runs/demo.toml").read_text(encoding="utf-8")
VALUES = (
    *("0", "-1", "1", "2", "7", "19", "99", "0.5", "1e300", "-1e300", "nan", "inf", "true", "false", '""', '"x"', "[]"),
    *(
        "{}",
        "[[]]",
        "[{}]",
        "[1]",
        '["x"]',
        "1979-05-27",
        "07:32:00",
        "9" * 30,
        "9" * 5000,
        "0x" + "f" * 40,
        "[[" * 400,
    ),
    *("{ a = 1 }", "'''\n'''", '"\\u0000"', '"gumbel"', '"elo-threshold"', '"uniform"', "2147483648", "4294967296"),
)
LINES = (
    "[selfplay]",
    "[[stages]]",
    "[openings]",
    'kind = "empty"',
    "run = 1",
    "version = 2",
    "[x]",
    "boards = 1",
    "= 1",
)
LETTERS = '[]{}"=,.#\n 019eE-+_\t\\x\u00e9\x00'


def mutated_line(text: str, rng: Random) -> str:
    """The text with one line changed: gone, doubled, elsewhere, with another value, or another line before it."""
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    match rng.randrange(6):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, lines[at])
        case 2:
            lines.insert(rng.randrange(len(lines)), lines.pop(at))
        case 3:
            lines.insert(at, rng.choice(LINES))
        case _:
            at = rng.choice([number for number, line in enumerate(lines) if "=" in line])
            key, _, value = lines[at].rpartition("= ")
            tail = value[len(value.rstrip(" ,}]")) :] if "{" in key else ""
            lines[at] = f"{key}= {rng.choice(VALUES)}{tail}"
    return "\n".join(lines)


def mutated_letter(text: str, rng: Random) -> str:
    """The text with a letter changed, gone or added."""
    at = rng.randrange(len(text))
    return text[:at] + rng.choice(("", rng.choice(LETTERS))) + text[at + rng.randrange(2) :]


@pytest.fixture(autouse=True)
def remembered_power(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulation of a gate's power takes half a second; nearly all files have the same gate."""
    monkeypatch.setattr(verification.power, "describe_power", cache(verification.power.describe_power))


def test_run_files(tmp_path: Path) -> None:
    accepted = 0
    sentences = set()
    for seed in range(300):
        rng = Random(seed)
        text = DEMO
        for _ in range(rng.choice((1, 1, 1, 2, 5))):
            text = rng.choice((mutated_line, mutated_line, mutated_letter))(text, rng)
        data = text.encode("utf-8", "surrogatepass")
        if seed % 20 == 0:
            data = data[: rng.randrange(len(data))] + bytes([rng.randrange(128, 256)]) + data[-40:]
        path = tmp_path / "run.toml"
        path.write_bytes(data)
        directory = tmp_path / f"run-{seed}"
        answer = gonode("run", "init", directory, "--from", path)
        if answer.status == 0:
            accepted += 1
            assert gonode("run", "init", directory, "--from", path).status == 2
        else:
            sentences.add(answer.refusal())
            assert not directory.exists()
    assert 20 < accepted < 250
    assert len(sentences) > 80


def accepts(answer: Answer, *statuses: int) -> bool:
    """Whether a command accepted its input, with one of these statuses; if not, it gave its one sentence."""
    if answer.status in statuses:
        assert "Traceback" not in answer.err
        return True
    answer.refusal()
    return False


def test_ticket_texts(tmp_path: Path) -> None:
    for seed in range(300):
        rng = Random(seed)
        text = TICKET
        for _ in range(rng.choice((1, 1, 2, 8))):
            text = mutated_letter(text, rng)
        is_same = text.strip() == TICKET
        command = ("verify", text, "--request", "--dir", tmp_path / "node")
        assert accepts(gonode(*command), 0) == is_same or "/" in text


def mutated_bytes(data: bytes, rng: Random) -> bytes:
    """The bytes with some changed, gone or doubled."""
    at = rng.randrange(len(data))
    length = rng.choice((1, 1, 4, 100))
    match rng.randrange(4):
        case 0:
            return data[:at] + data[at + length :]
        case 1:
            return data[:at] + data[at : at + length] + data[at:]
        case _:
            return data[:at] + rng.randbytes(min(length, len(data) - at)) + data[at + length :]


def test_key_files(tmp_path: Path) -> None:
    path = Home(tmp_path).key("verifier")
    create_key(path, secret(3))
    data = path.read_bytes()
    for seed in range(200):
        changed = mutated_bytes(data, Random(seed))
        path.write_bytes(changed)
        answer = gonode("verify", TICKET, "--request", "--dir", tmp_path)
        assert accepts(answer, 0) == (changed == data)


def with_page(path: Path, data: bytes) -> None:
    for journal in ("node.db-wal", "node.db-shm"):
        path.with_name(journal).unlink(missing_ok=True)
    path.write_bytes(data)


@pytest.mark.parametrize(
    "change", [mutated_bytes, lambda data, rng: data[: rng.randrange(len(data))]], ids=["bytes", "cut"]
)
def test_stores(change: Callable[[bytes, Random], bytes], tmp_path: Path) -> None:
    home = make_home(grown_world(), tmp_path / "coordinator")
    data = home.database.read_bytes()
    refused = 0
    for seed in range(30):
        with_page(home.database, change(data, Random(seed)))
        match = ("match", "random", "random", "--games", 2, "--size", 7, "--komi", 0.5, "--dir", home.directory)
        refused += not accepts(gonode(*match), 0)
        accepts(gonode("audit", "--dir", home.directory, "--sample", 0), 0, 1)
        key = secret(seed).public.hex()
        if accepts(gonode("root", "sign", home.directory, "--verifier", key), 0):
            (home.directory / "root.next").unlink()
    assert refused > 5
