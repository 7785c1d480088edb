"""The store: order, transactions, kills."""

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from node.disk.store import BanRecord, Head, OutboxItem, PeerRecord, Series, Store, StoreError
from protocol.merkle import leaf_hash


def test_log(tmp_path: Path) -> None:
    with Store(tmp_path / "node.db") as store:
        assert store.log_size == 0
        assert store.append([b"a", b"bb"]) == 2
        assert store.append([b"ccc"]) == 3
        assert store.entry(1) == b"bb"
        assert store.entry(3) is None
        assert store.entries(0, 10) == [b"a", b"bb", b"ccc"]
        assert store.entries(1, 1) == [b"bb"]
        assert store.entries(0, 10, max_bytes=3) == [b"a", b"bb"]
        assert store.entries(3, 10) == []
    with Store(tmp_path / "node.db") as store:
        assert list(store.iterate_log(1)) == [b"bb", b"ccc"]


def test_transactions_are_whole(tmp_path: Path) -> None:
    with Store(tmp_path / "node.db") as store:

        def fail() -> None:
            with store.transaction():
                store.put("a", b"1")
                with store.transaction():
                    store.append([b"x"])
                raise RuntimeError

        with pytest.raises(RuntimeError):
            fail()
        assert store.get("a") is None
        assert store.log_size == 0
        with store.transaction():
            store.put("a", b"1")
            store.append([b"x"])
        assert (store.get("a"), store.log_size) == (b"1", 1)


def test_heads(tmp_path: Path) -> None:
    with Store(tmp_path / "node.db") as store:
        assert store.newest_head() is None
        store.put_head(Head(5, b"r5", b"note"))
        store.put_head(Head(5, b"r5", b"note with cosignature"))
        store.put_head(Head(5, b"r5", b"note"))
        store.put_head(Head(7, b"r7", b"n7"))
        store.put_head(Head(7, b"other", b"n7"))
        assert store.newest_head(6) == Head(5, b"r5", b"note with cosignature")
        assert store.newest_head(4) is None
        assert [head.root for head in store.heads(6)] == [b"other", b"r7"]


def test_values_and_own_games(tmp_path: Path) -> None:
    with Store(tmp_path / "node.db") as store:
        store.put("x/1", b"1")
        store.put("x/2", b"2")
        store.put("x_1", b"3")
        assert store.names("x/") == ["x/1", "x/2"]
        store.delete("x/1")
        assert store.get("x/1") is None
        assert store.series(b"r") == Series(b"r", 0, False)
        store.put_series(Series(b"r", 8, True))
        assert store.series(b"r") == Series(b"r", 8, True)
        for counter in (2, 0, 1):
            store.put_game(b"r", counter, b"game %d" % counter)
        assert store.games(b"r") == [(0, b"game 0"), (1, b"game 1"), (2, b"game 2")]
        assert (store.games_count(b"r"), store.games_count(b"s")) == (3, 0)
        store.drop_games(b"r", 2)
        assert store.games(b"r") == [(2, b"game 2")]
        for release in (b"s", b"t"):
            store.put_game(release, 0, b"game")
        store.keep_games({b"r", b"t"})
        assert [store.games_count(release) for release in (b"r", b"s", b"t")] == [1, 0, 1]


def test_outbox(tmp_path: Path) -> None:
    with Store(tmp_path / "node.db") as store:
        assert store.put_outbox("batch", b"1", b"payload")
        assert store.put_outbox("batch", b"0", b"second")
        assert store.put_outbox("verdict", b"1", b"other")
        assert not store.put_outbox("batch", b"1", b"again")
        assert [item.payload for item in store.outbox("batch")] == [b"payload", b"second"]
        assert store.waiting_count() == 3
        urgent, oldest = store.first_waiting("verdict"), store.first_waiting("gate-result")
        assert urgent is not None
        assert oldest is not None
        assert (urgent.payload, oldest.payload) == (b"other", b"payload")
        store.drop_outbox("batch", b"1")
        assert store.outbox_item("batch", b"1") is None
        found = store.outbox_item("verdict", b"1")
        assert found == OutboxItem(3, "verdict", b"1", b"other")


def test_a_store_of_format_1_is_renewed(tmp_path: Path) -> None:
    path = tmp_path / "node.db"
    with Store(path) as store:
        store.put_outbox("batch", b"1", b"payload")
        store.append([b"entry", b"another"])
    db = sqlite3.connect(path)
    db.executescript("ALTER TABLE outbox ADD COLUMN state TEXT NOT NULL DEFAULT 'new';")
    db.executescript("DROP TABLE bans; DROP TABLE leaves; PRAGMA user_version = 1;")
    db.close()
    for _ in range(2):
        with Store(path) as store:
            assert list(store.leaves()) == [leaf_hash(b"entry"), leaf_hash(b"another")]
            assert store.waiting() == [OutboxItem(1, "batch", b"1", b"payload")]
            assert not store.put_outbox("batch", b"1", b"again")
            assert store.put_outbox("batch", b"2", b"payload")
            store.drop_outbox("batch", b"2")
            store.put_ban(BanRecord(b"k", "It lied.", 1, 60))


def test_bans(tmp_path: Path) -> None:
    with Store(tmp_path / "node.db") as store:
        store.put_ban(BanRecord(b"k", "It lied.", 1, 60))
        store.put_ban(BanRecord(b"l", "It lied.", 1, 60))
        store.put_ban(BanRecord(b"k", "It lied again.", 2, 120))
        store.drop_ban(b"l")
    with Store(tmp_path / "node.db") as store:
        assert store.bans() == [BanRecord(b"k", "It lied again.", 2, 120)]


def test_peers(tmp_path: Path) -> None:
    with Store(tmp_path / "node.db") as store:
        store.put_peer(PeerRecord("/a", b"k"))
        store.put_peer(PeerRecord("/b", b"k", 5, 3, 0))
        store.put_peer(PeerRecord("/a", b"k", 1, 1, 2))
        assert store.peers() == [PeerRecord("/b", b"k", 5, 3, 0), PeerRecord("/a", b"k", 1, 1, 2)]
        store.drop_peer("/b")
        assert len(store.peers()) == 1


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "node.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreError, match="cannot be read"):
        Store(tmp_path / "node.db")
    db = sqlite3.connect(tmp_path / "newer.db")
    db.execute("PRAGMA user_version = 9")
    db.close()
    with pytest.raises(StoreError, match="format 9"):
        Store(tmp_path / "newer.db")


@pytest.mark.parametrize("mark", [b"entry", b"value"])
def test_a_damaged_page_is_found_when_the_store_is_opened_or_its_log_read(mark: bytes, tmp_path: Path) -> None:
    path = tmp_path / "node.db"
    with Store(path) as store:
        store.append([b"entry" * 100] * 100)
        for number in range(100):
            store.put(f"{number:03d}", b"value" * 100)
    data = bytearray(path.read_bytes())
    page = data.index(mark * 100) // 4096 * 4096
    data[page : page + 4096] = b"\xff" * 4096
    path.write_bytes(data)
    with pytest.raises(StoreError, match=r"damaged|cannot be read"), Store(path) as store:
        list(store.iterate_log())


def test_what_returned_survives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "node.db"
    script = (
        "import sys; from pathlib import Path; from node.disk.store import Store\n"
        "store = Store(Path(sys.argv[1]))\n"
        "for number in range(10**9):\n"
        "    with store.transaction():\n"
        "        store.append([b'%d' % number]); store.put('n', b'%d' % number)\n"
        "    print(number, flush=True)\n"
    )
    root = Path(__file__).parents[3]
    writer = subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(root)}
    )
    assert writer.stdout is not None
    last = -1
    for line in writer.stdout:
        last = int(line)
        if last >= 50:
            break
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    writer.stdout.close()
    with Store(path) as store:
        assert store.log_size > last
        assert store.get("n") == store.entry(store.log_size - 1) == b"%d" % (store.log_size - 1)


def test_a_commit_that_fails_leaves_nothing_half_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(tmp_path / "node.db") as store:
        database = store._db

        class Full:
            """The store's database, on a disk that takes no commit."""

            def execute(self, sql: str, *values: object) -> sqlite3.Cursor:
                if sql == "COMMIT":
                    raise sqlite3.OperationalError("database or disk is full")
                return database.execute(sql, *values)  # type: ignore[arg-type]

            @property
            def in_transaction(self) -> bool:
                return database.in_transaction

        monkeypatch.setattr(store, "_db", Full())
        with pytest.raises(sqlite3.OperationalError, match="full"), store.transaction():
            store.put("a", b"1")
        monkeypatch.undo()
        assert store.get("a") is None
        with store.transaction():  # and what comes next is kept by itself
            store.put("b", b"2")
        assert not database.in_transaction
        assert store.get("b") == b"2"
