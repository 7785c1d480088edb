"""One run whose processes are killed and interrupted again and again: it goes on, and nothing finished is lost.

`gonode local` is interrupted and killed; in between each role, engines and the trainer are killed with SIGKILL at moments of
their work. The tests look at what is left.
"""

from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from node.disk.home import Home
from node.disk.keyring import load_key
from protocol.batch import unpack_batch
from protocol.blob import verify_blob
from protocol.entries import Entry, parse_entry
from protocol.envelope import Envelope
from protocol.header import BatchHeader
from protocol.layout import blob_path
from protocol.merkle import Tree, leaf_hash, verify_inclusion
from protocol.receipt import Receipt
from tests.e2e.conftest import local
from tests.e2e.process import (
    Ended,
    Running,
    child_of,
    events,
    gonode,
    is_alive,
    kill,
    log_of,
    process_id,
    query,
    running,
    wait_for,
)

CONTRIBUTORS = ("contributor-1", "contributor-2")
MEMBERS = ("verifier", *CONTRIBUTORS)
RECEIPTS = "SELECT value FROM kv WHERE name LIKE 'receipt/%'"


@dataclass(slots=True)
class Story:
    """What was done to a run, and what its log was at each of those moments."""

    directory: Path
    interrupted: list[Ended] = field(default_factory=list)
    logs: list[list[bytes]] = field(default_factory=list)
    killed: list[str] = field(default_factory=list)
    ended: Ended | None = None

    def home(self, name: str) -> Path:
        """A node's directory."""
        return self.directory / name

    def note(self) -> None:
        """Remembers every node's log."""
        self.logs += [log_of(self.home(name)) for name in ("coordinator", *MEMBERS)]

    def wait(self, name: str, event: str, count: int = 1, **values: Any) -> None:
        """Returns once a node has told an event so often, counted over all its starts."""

        def came() -> bool:
            told = [each for each in events(self.home(name)) if each["event"] == event]
            return sum(all(each.get(key) == value for key, value in values.items()) for each in told) >= count

        wait_for(came, f"{event} of {name}")

    def kill(self, *names: str) -> None:
        """SIGKILL for nodes, and waits until they run again."""
        starts = {}
        for name in names:
            home = self.home(name)
            wait_for(lambda home=home: (home / "lock").exists() and is_alive(process_id(home)), f"a running {name}")  # type: ignore[misc]
            starts[name] = sum(each["event"] == "listening" for each in events(home))
            old = process_id(home)
            self.note()
            kill(old)
            self.killed.append(name)
        for name, count in starts.items():
            self.wait(name, "listening", count + 1)

    def kill_trainer(self) -> None:
        """SIGKILL for the training process."""
        trainer = wait_for(lambda: child_of(process_id(self.home("coordinator")), "trainer"), "a trainer")
        kill(trainer)
        self.killed.append("trainer")

    def kill_engine(self, name: str) -> None:
        """SIGKILL for a node's engine, and waits until the node has started another."""
        kill(wait_for(lambda: child_of(process_id(self.home(name)), "native.serve"), f"an engine of {name}"))
        self.wait(name, "engine")

    def kill_supervisor(self, command: Running) -> None:
        """SIGKILL for `gonode local`, and waits until its nodes have seen that and ended."""
        self.note()
        command.process.kill()
        command.process.wait()
        self.killed.append("local")
        for name in ("coordinator", *MEMBERS):
            wait_for(lambda name=name: not is_alive(process_id(self.home(name))), f"the end of {name}")  # type: ignore[misc]

    def interrupt(self, command: Running) -> None:
        """Ctrl-C for the whole network."""
        command.interrupt()
        self.interrupted.append(command.ended())
        self.note()


@pytest.fixture(scope="module", params=["told", pytest.param("random", marks=pytest.mark.soak)])
def story(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Story:
    folder = tmp_path_factory.mktemp("survival")
    story = Story(folder / "run")
    {"told": tell, "random": rage}[request.param](story, folder)
    with running(folder / "last", *local(story.directory)) as command:
        story.ended = command.ended()
    return story


def tell(told: Story, folder: Path) -> None:
    """Each process is killed at a moment of its work, and the network is interrupted twice."""
    with running(folder / "first", *local(told.directory)) as command:
        told.wait("coordinator", "listening")
        told.interrupt(command)
    with running(folder / "second", *local(told.directory)) as command:
        told.wait("contributor-1", "game")
        told.kill_engine("contributor-1")
        told.kill("contributor-1")
        told.wait("contributor-2", "logged", kind="batch")
        told.kill("coordinator")
        told.wait("verifier", "verdict")
        told.kill_engine("verifier")
        told.kill("verifier")
        told.wait("coordinator", "window")
        told.kill_trainer()
        told.kill_supervisor(command)
    with running(folder / "third", *local(told.directory)) as command:
        wait_for(lambda: child_of(process_id(told.home("coordinator")), "trainer"), "a trainer")
        told.kill("coordinator")
        told.wait("coordinator", "candidate")
        told.kill("verifier", "contributor-2")
        told.interrupt(command)


def rage(story: Story, folder: Path) -> None:
    """Forty kills and interrupts at random moments, counted in log entries."""
    rng = Random(11)
    victims = ("coordinator", *MEMBERS, "trainer", "local", "interrupt")
    rounds = iter(range(40))
    while (first := next(rounds, None)) is not None:
        with running(
            folder / str(first), *local(story.directory, "--at-least-minutes", 60, "--minutes", 70)
        ) as command:
            for _ in rounds:
                size = len(log_of(story.home("coordinator"))) + rng.randrange(1, 25)
                wait_for(lambda size=size: len(log_of(story.home("coordinator"))) >= size, f"{size} entries")  # type: ignore[misc]
                victim = rng.choice(victims)
                if victim == "local":
                    story.kill_supervisor(command)
                    break
                if victim == "interrupt":
                    story.interrupt(command)
                    break
                if victim == "trainer":
                    story.kill_trainer()
                else:
                    story.kill(victim)


def test_an_interrupted_network_says_so(story: Story) -> None:
    for ended in story.interrupted:
        assert ended.status == 130
        assert ended.out == ""
        assert "the next start goes on from here" in ended.err


def test_the_run_reaches_its_release(story: Story) -> None:
    assert story.ended is not None
    assert story.ended.status == 0, story.ended.err
    assert story.ended.json["audit_ok"] is True
    assert len(story.ended.json["releases"]) >= 1
    assert gonode("audit", "--dir", story.home("coordinator"), "--full", "--json").status == 0
    assert set(story.killed) == {"coordinator", "trainer", "local", *MEMBERS}


def test_no_log_entry_is_lost(story: Story) -> None:
    final = log_of(story.home("coordinator"))
    sizes = [len(log) for log in story.logs if log]
    assert sizes[0] < sizes[-1] <= len(final)
    for log in (*story.logs, *(log_of(story.home(name)) for name in MEMBERS)):
        assert log == final[: len(log)]


@pytest.mark.parametrize("name", CONTRIBUTORS)
def test_no_finished_game_is_lost(story: Story, name: str) -> None:
    """A game is finished once, and lies in a logged batch or on its contributor's disk."""
    home = story.home(name)
    kept = {bytes(release): set[int]() for (release,) in query(home, "SELECT DISTINCT release FROM series")}
    for release, counter in query(home, "SELECT release, counter FROM games"):
        kept.setdefault(bytes(release), set()).add(counter)
    assert query(home, "SELECT * FROM outbox") == []
    for entry in own_entries(story, name):
        header = entry.record
        assert isinstance(header, BatchHeader)
        batch = unpack_batch(content(story, header), header.raw_len)
        counters = {game.header.counter for game in batch.games}
        assert counters == set(range(header.first_counter, header.first_counter + header.games))
        assert not counters & kept[header.release]
        kept[header.release] |= counters
    finished = played(home)
    assert sum(map(len, finished)) > 4
    for told in finished:
        assert len(told) == len(set(told))
        assert any(set(told) <= there for there in kept.values())


@pytest.mark.parametrize("name", CONTRIBUTORS)
def test_every_receipt_is_kept_and_true(story: Story, name: str) -> None:
    log = log_of(story.home("coordinator"))
    roots = Tree(log)
    receipts = [Receipt.open(Envelope.parse(bytes(value))) for (value,) in query(story.home(name), RECEIPTS)]
    subjects = {receipt.subject for receipt in receipts}
    assert subjects >= {entry.envelope.digest for entry in own_entries(story, name)}
    for receipt in receipts:
        entry = log[receipt.index]
        assert parse_entry(entry).envelope.digest == receipt.subject
        verify_inclusion(leaf_hash(entry), receipt.index, receipt.size, receipt.path, roots.root(receipt.size))


def test_a_network_that_has_its_release_ends_in_order_at_once(story: Story) -> None:
    ended = gonode(*local(story.directory))
    assert ended.status == 0
    assert "drained" not in ended.err
    assert "does not answer" not in ended.err
    assert all(query(story.home(name), "SELECT * FROM outbox") == [] for name in MEMBERS)


def played(home: Path) -> list[list[int]]:
    """The counters of the games that a contributor said it finished, for each release that it played."""
    games: dict[str, list[int]] = {}
    release = ""
    for event in events(home):
        if event["event"] == "playing":
            release = event["release"]
        elif event["event"] == "game":
            games.setdefault(release, []).append(event["counter"])
    return list(games.values())


def own_entries(story: Story, name: str) -> list[Entry]:
    """The batch headers of one contributor in the log."""
    key = load_key(Home(story.home(name)).key("host")).public
    entries = (parse_entry(entry) for entry in log_of(story.home("coordinator")))
    return [each for each in entries if isinstance(each.record, BatchHeader) and each.record.peer == key]


def content(story: Story, header: BatchHeader) -> bytes:
    """A batch's blob as the coordinator keeps it."""
    data = (story.home("coordinator") / "public" / blob_path(header.blob_digest)).read_bytes()
    verify_blob(data, header.blob_digest)
    return data
