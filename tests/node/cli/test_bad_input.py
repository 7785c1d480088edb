"""Whatever is wrong with a file, a ticket, a directory or an option ends in one sentence and exit status 2."""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from node.disk.home import Home
from node.disk.keyring import create_key
from node.disk.store import Head, Store
from node.founding.invites import make_invite
from protocol.checkpoint import Checkpoint
from protocol.seeds import log_origin
from protocol.ticket import Ticket
from tests.node.cli.gonode import gonode
from tests.node.homes import TICKET, grown_world, make_home, ticket_of
from tests.node.keys import secret
from tests.verification.world import World


@pytest.fixture(scope="module")
def run_home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A coordinator's directory; look only."""
    return make_home(grown_world(), tmp_path_factory.mktemp("run") / "coordinator")


@pytest.fixture
def home(run_home: Home, tmp_path: Path) -> Home:
    """A copy of it, to be broken."""
    return Home(Path(shutil.copytree(run_home.directory, tmp_path / "coordinator")))


# ---- tickets

BAD_TICKETS = {
    "empty": "",
    "blank": "   ",
    "other text": "hello",
    "prefix": "gonode1",
    "cut short": TICKET[:-5],
    "cut to a letter": TICKET[:9],
    "wrong checksum": TICKET[:-3] + ("a" if TICKET[-3] != "a" else "b") + TICKET[-2:],
    "upper case": "gonode1" + TICKET[7:].upper(),
    "padded": TICKET + "=",
    "letters outside": TICKET[:20] + "\u00e9" + TICKET[21:],
    "two": f"{TICKET} {TICKET}",
    "too long": "gonode1" + "a" * 10_000,
    "control letters": "gonode1\x1b[31m\n" + TICKET[7:],
    "an address without a peer": Ticket(bytes(32), bytes(32), ("/ip4/127.0.0.1/tcp/9",)).encode(),
    "an address of nobody": Ticket(bytes(32), bytes(32), ("/ip4/127.0.0.1/tcp/9/p2p/nobody",)).encode(),
    "a missing file": "/nowhere/ticket",
    "a directory": "/tmp",
}


@pytest.mark.parametrize("text", BAD_TICKETS.values(), ids=BAD_TICKETS)
@pytest.mark.parametrize(
    "command", [["join"], ["verify"], ["verify", "--request"], ["audit", "--ticket"]], ids=" ".join
)
def test_tickets(command: list[str], text: str) -> None:
    assert "ticket" in gonode(*command, text).refusal()


@pytest.mark.parametrize("data", [b"", b"\n\n", b"gonode1", b"\xff\xfe\x00", b"text\n" * 5000, TICKET.encode()[:-4]])
@pytest.mark.parametrize("command", [["join"], ["audit", "--ticket"]], ids=" ".join)
def test_ticket_files(command: list[str], data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "ticket"
    path.write_bytes(data)
    assert "ticket" in gonode(*command, path).refusal()


def test_a_ticket_may_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "ticket"
    path.write_text(f"  {TICKET}\n")
    first = gonode("verify", path, "--request", "--dir", tmp_path)
    assert first.status == 0
    assert first == gonode("verify", TICKET, "--request", "--dir", tmp_path)


# ---- options

NONSENSE = [
    ["join", TICKET, "--threads", "-1"],
    ["join", TICKET, "--threads", "0"],
    ["join", TICKET, "--threads", "1e3"],
    ["join", TICKET, "--nice", "-5"],
    ["join", TICKET, "--kernel", "abacus"],
    ["join", TICKET, "--kernel", ""],
    ["join", TICKET, "--name", "a name"],
    ["join", TICKET, "--name", "x" * 100],
    ["join", TICKET, "--name", "\x1b[31m"],
    ["join", TICKET, "--listen", "here"],
    ["join", TICKET, "--listen", "/ip4/1.2.3/tcp/0"],
    ["join", TICKET, "--listen", "/ip4/127.0.0.1/tcp/65536"],
    ["join", TICKET, "--listen", "/ip4/127.0.0.1/tcp/-1"],
    ["join", TICKET, "--listen", "/ip4/300.0.0.1/tcp/1"],
    ["join", TICKET, "--invite", "/nowhere/invite"],
    ["join", TICKET, "--invite", "/tmp"],
    ["join", TICKET, "more"],
    ["join", TICKET, "--device"],
    ["verify", TICKET, "--threads", "nan"],
    ["verify", TICKET, "--kernel", "SCALAR"],
    ["coordinate", "/tmp/none", "--threads", "9999"],
    ["coordinate", "/tmp/none", "--listen", "/dns4/x/tcp/1"],
    ["coordinate", "/tmp/none", "--grow", "large"],
    ["coordinate", "/tmp/none", "--grow", "b2c17"],
    ["coordinate", "/tmp/none", "--grow", "b2c1024"],
    ["coordinate", "/tmp/none", "--grow", "b99c16"],
    ["coordinate", "/tmp/none", "--train-device", "abacus"],
    ["local", "--contributors", "0"],
    ["local", "--contributors", "-3"],
    ["local", "--releases", "0"],
    ["local", "--minutes", "nan"],
    ["local", "--minutes", "-1"],
    ["local", "--minutes", "inf"],
    ["local", "--kernel", "abacus"],
    ["local", "--verifier-kernel", "abacus"],
    ["local", "--dir", "/dev/null"],
    ["audit"],
    ["audit", "--url", "nowhere"],
    ["audit", "--url", "https://"],
    ["audit", "--dir", "/dev/null", "--ticket", TICKET],
    ["mirror"],
    ["mirror", TICKET],
    ["mirror", TICKET, "/dev/null"],
    ["mirror", TICKET, "/dev/null/x", "--once"],
    ["mirror", "nothing", "/nowhere"],
    ["mirror", TICKET, "/nowhere", "--listen", "here"],
    ["mirror", TICKET, "/nowhere", "--down", "fast"],
    ["audit", "--dir", "/nowhere"],
    ["audit", "--dir", "/dev/null"],
    ["audit", "--dir", "/tmp", "--sample", "-1"],
    ["audit", "--dir", "/tmp", "--kernel", "abacus"],
    ["audit", "--dir", "/tmp", "--threads", "0"],
    ["match"],
    ["match", "first"],
    ["match", "first", "random", "--dir", "/nowhere"],
    ["match", "first", "random", "--dir", "/dev/null"],
    ["status", "extra"],
    ["run", "init"],
    ["run", "init", "/dev/null"],
    ["run", "init", "/dev/null/x"],
    ["run", "init", "new-run", "--from", "/nowhere.toml"],
    ["run", "init", "new-run", "--from", "/tmp"],
    ["run", "init", "new-run", "--verifier", "abc"],
    ["run", "init", "new-run", "--verifier", "00" * 32],
    ["run", "init", "new-run", "--verifier", "\u0661" * 64],
    ["run", "nothing"],
    ["root", "sign", "/nowhere", "--verifier", secret(1).public.hex()],
    ["root", "sign", "/nowhere"],
    ["invite"],
    ["invite", "/nowhere"],
    ["proof", "show"],
    ["proof", "show", "/nowhere"],
    ["proof", "check", "/tmp"],
    ["--nothing"],
    ["nothing"],
]


@pytest.mark.parametrize("arguments", NONSENSE, ids=lambda arguments: " ".join(arguments).replace(TICKET, "T")[:60])
def test_options(arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    gonode(*arguments).refusal()
    assert not Path("new-run").exists()


@pytest.mark.parametrize(
    "options",
    [
        ["--games", "0"],
        ["--games", "-2"],
        ["--games", "3"],
        ["--games", "1000000000000"],
        ["--visits", "1"],
        ["--visits", "1000000"],
        ["--size", "99"],
        ["--size", "6"],
        ["--komi", "1e300"],
        ["--komi", "nan"],
        ["--komi", "-inf"],
        ["--komi", "7.3"],
        ["--komi", "seven"],
        ["--time", "nan"],
        ["--deadline", "nan"],
        ["--sprt", "1"],
        ["--sprt", "a,b"],
        ["--sprt", "30,0"],
        ["--sprt", "0,999999999"],
        ["--sprt", "1,2,3"],
        ["--threads", "0"],
        ["--kernel", "abacus"],
        ["--sgf", "/dev/null"],
        ["--sgf", "/dev/null/x"],
    ],
    ids=" ".join,
)
def test_options_of_a_match(options: list[str], run_home: Home) -> None:
    gonode("match", "random", "random", "--dir", run_home.directory, "--games", 2, *options).refusal()


@pytest.mark.parametrize("name", ["", "nobody", "3", "-1", "latest ", "/nowhere/net", "/tmp", "x" * 3000, "\x1b[31m"])
def test_players_that_are_not_there(name: str, run_home: Home) -> None:
    gonode("match", "--dir", run_home.directory, "--", "random", name).refusal()


# ---- key files


def break_key(path: Path, how: str) -> None:
    data = path.read_bytes()
    match how:
        case "empty":
            path.write_bytes(b"")
        case "damaged":
            path.write_bytes(data.replace(b"plain ", b"plain 0", 1))
        case "other text":
            path.write_bytes(b"-----BEGIN PRIVATE KEY-----\n")
        case "cut short":
            path.write_bytes(data[:-30])
        case "huge":
            path.write_bytes(data * 5000)
        case "flipped":
            path.write_bytes(data[:-60] + bytes([data[-60] ^ 1]) + data[-59:])
        case "open to others":
            path.chmod(0o644)
        case "a directory":
            path.unlink()
            path.mkdir()
        case "a dangling link":
            path.unlink()
            path.symlink_to(path.parent / "nowhere")


HOWS = ["empty", "damaged", "other text", "cut short", "huge", "flipped", "open to others", "a directory"]


@pytest.mark.parametrize("how", [*HOWS, "a dangling link"])
def test_key_files(how: str, tmp_path: Path) -> None:
    path = Home(tmp_path).key("verifier")
    create_key(path)
    break_key(path, how)
    assert str(path) in gonode("verify", TICKET, "--request", "--dir", tmp_path).refusal()


@pytest.mark.parametrize("how", HOWS)
def test_key_files_of_a_run(how: str, home: Home) -> None:
    break_key(home.key("coordinator"), how)
    assert str(home.key("coordinator")) in gonode("invite", home.directory).refusal()
    break_key(home.key("root"), how)
    key = secret(1).public.hex()
    assert str(home.key("root")) in gonode("root", "sign", home.directory, "--verifier", key).refusal()
    break_key(home.key("host"), how)
    assert str(home.key("host")) in gonode("coordinate", home.directory).refusal()


def test_passphrases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def request() -> str:
        return gonode("verify", TICKET, "--request", "--dir", tmp_path).refusal()

    monkeypatch.setenv("GONODE_PASSPHRASE", "right")
    made = gonode("verify", TICKET, "--request", "--dir", tmp_path)
    assert made.status == 0
    monkeypatch.setenv("GONODE_PASSPHRASE", "wrong")
    assert "passphrase does not open" in request()
    monkeypatch.setenv("GONODE_PASSPHRASE", "\udcff")
    assert "not valid Unicode" in request()
    monkeypatch.delenv("GONODE_PASSPHRASE")
    assert "needs a passphrase" in request()


# ---- invites, proofs, networks, runs' files

BAD_FILES = {
    "empty": b"",
    "text": b"hello\n",
    "bytes": bytes(range(256)),
    "deep": b"\x91" * 3000,
    "long": b"gonode-invite1" + b"a" * 100_000,
    "prefix": b"gonode-invite1",
    "not ASCII": "gonode-invite1\u00e9".encode(),
    "a map": b"\x83\xa7payload\xc0\xaasignatures\x90\xa4type\xa0",
}


@pytest.mark.parametrize("data", BAD_FILES.values(), ids=BAD_FILES)
def test_files_that_are_none(data: bytes, home: Home, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    assert str(path) in gonode("join", TICKET, "--invite", path, "--dir", tmp_path / "node").refusal()
    for action in ("show", "check"):
        assert f"{path}: this is not a fraud proof" in gonode("proof", action, path).refusal()
    gonode("match", "random", path, "--dir", home.directory).refusal()
    for name, command in (
        ("root.next", ["coordinate"]),
        ("root", ["coordinate"]),
        ("manifest", ["coordinate"]),
        ("root.next", ["root", "sign", "--verifier", secret(1).public.hex()]),
    ):
        file = home.directory / name
        kept = file.read_bytes() if file.exists() else None
        file.write_bytes(data)
        assert str(file) in gonode(*command, home.directory).refusal(), name
        if kept is None:
            file.unlink()
        else:
            file.write_bytes(kept)


def test_an_invite_is_for_one_run(run_home: Home, tmp_path: Path) -> None:
    path = tmp_path / "invite"
    path.write_text(make_invite(run_home))
    assert "for run" in gonode("join", TICKET, "--invite", path, "--dir", tmp_path / "node").refusal()
    damaged = path.read_text()
    path.write_text(damaged[:60] + ("a" if damaged[60] != "a" else "b") + damaged[61:])
    ticket = ticket_of(grown_world()).encode()
    assert "damaged" in gonode("join", ticket, "--invite", path, "--dir", tmp_path / "node").refusal()


# ---- directories


def test_a_run_is_never_replaced(home: Home) -> None:
    before = home.ticket.read_bytes()
    assert "already" in gonode("run", "init", home.directory).refusal()
    assert home.ticket.read_bytes() == before


def test_files_in_the_place_of_directories(home: Home, tmp_path: Path) -> None:
    (tmp_path / "node").mkdir()
    (tmp_path / "node" / "keys").write_text("a file")
    gonode("verify", TICKET, "--request", "--dir", tmp_path / "node").refusal()
    shutil.rmtree(home.public)
    home.public.write_text("a file")
    gonode("audit", "--dir", home.directory).refusal()
    gonode("match", "latest", "random", "--dir", home.directory).refusal()


def test_a_network_that_training_has_already_is_none_to_grow_to(home: Home) -> None:
    assert "Training has a network b1c16 already" in gonode("coordinate", home.directory, "--grow", "b1c16").refusal()
    with Store(home.database) as store:
        assert store.get("grow") is None


def test_directories_in_the_place_of_files(home: Home) -> None:
    for name in ("ticket", "node.db"):
        (home.directory / name).unlink()
        (home.directory / name).mkdir()
        gonode("match", "first", "random", "--dir", home.directory).refusal()
        gonode("audit", "--dir", home.directory).refusal()
        gonode("coordinate", home.directory).refusal()
        (home.directory / name).rmdir()


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that anybody can reach, unlike pytest's own."""
    path = Path(tempfile.mkdtemp(prefix="gonode-test-"))
    path.chmod(0o755)
    yield path
    path.chmod(0o755)
    shutil.rmtree(path)


@pytest.fixture
def nobody() -> Iterator[None]:
    """Without the rights of root, for which nothing is read-only."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    yield
    os.seteuid(0)


def test_read_only_directories(folder: Path, nobody: None) -> None:
    if os.geteuid() == folder.stat().st_uid:
        folder.chmod(0o555)
    for command in (
        ["verify", TICKET, "--request", "--dir", folder],
        ["verify", TICKET, "--request", "--dir", folder / "node"],
        ["run", "init", folder],
        ["run", "init", folder / "run"],
        ["local", "--dir", folder / "local"],
    ):
        assert "ermission denied" in gonode(*command).refusal()
    assert list(folder.iterdir()) == []


def test_a_directory_keeps_its_run(home: Home) -> None:
    before = home.ticket.read_bytes()
    assert "lives here" in gonode("join", TICKET, "--dir", home.directory).refusal()
    assert "lives here" in gonode("verify", TICKET, "--dir", home.directory).refusal()
    assert home.ticket.read_bytes() == before


# ---- the store


def text_instead(path: Path) -> None:
    path.write_bytes(b"this is no database" * 1000)


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def garbage_inside(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:4096] + os.urandom(len(data) - 4096))


def tables_gone(path: Path) -> None:
    with Store(path):
        pass
    db = sqlite3.connect(path)
    db.execute("DROP TABLE log")
    db.execute("DROP TABLE heads")
    db.close()


def format_of_the_future(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()


def of_another_run(path: Path) -> None:
    other = World(word="other")
    path.unlink()
    with Store(path) as store:
        store.append(other.entries)


def refused_entry(path: Path) -> None:
    with Store(path) as store:
        store.append([b"no entry"])


BREAKS = [text_instead, cut_short, garbage_inside, tables_gone, format_of_the_future, of_another_run, refused_entry]


@pytest.mark.parametrize("harm", BREAKS, ids=lambda harm: harm.__name__)
def test_stores(harm: Callable[[Path], None], home: Home) -> None:
    harm(home.database)
    gonode("match", "first", "random", "--dir", home.directory).refusal()
    gonode("coordinate", home.directory).refusal()


def test_an_audit_names_another_head_that_was_seen(home: Home) -> None:
    world = grown_world()
    head = Checkpoint(log_origin(world.run), 5, bytes(32))
    with Store(home.database) as store:
        store.put_head(Head(head.size, head.root_hash, head.sign(world.coordinator).encode()))
    answer = gonode("audit", "--dir", home.directory, "--sample", 0)
    assert answer.status == 1
    assert "FAIL  head" in answer.out


# ---- blobs


def test_a_damaged_blob_is_set_aside_and_named(home: Home) -> None:
    release = grown_world().state.release
    blob = home.public / "blob" / release.network_blob.hex()[:2] / release.network_blob.hex()
    blob.write_bytes(blob.read_bytes()[:-1] + b"!")
    audited = gonode("audit", "--dir", home.directory, "--sample", 0)
    assert audited.status == 1
    assert blob.name in audited.out
    sentence = gonode("match", "latest", "random", "--dir", home.directory).refusal()
    assert release.name in sentence
    assert not blob.exists()


def test_a_network_that_is_cut_short(home: Home, tmp_path: Path) -> None:
    release = grown_world().state.release
    data = grown_world().networks[release.network]
    for number, bad in enumerate((data[:-1], data + b"!", data[:100], b"\xff" * len(data))):
        path = tmp_path / f"net-{number}"
        path.write_bytes(bad)
        assert str(path) in gonode("match", path, "random", "--dir", home.directory).refusal()
