"""Following a coordinator whose key was replaced: root versions ahead of the log, and what a stolen key is worth."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
import trio.testing

from node.disk.store import Store
from node.following.ahead import AHEAD_KEY, stored_ahead
from node.following.chains import ALTERNATIVES
from node.following.heads import Heads, LogForked
from node.following.roots import LOGGED_WITHIN, KnownRoots
from node.following.service import LOG_PROTOCOL, MAX_ROOTS
from node.peering.call import serve_calls
from protocol.checkpoint import Checkpoint
from protocol.ed25519 import SecretKey
from protocol.entries import Entry
from protocol.errors import WrongSigner
from protocol.merkle import Tree
from protocol.root import COORDINATOR, VERIFIER, Role, Root
from protocol.seeds import log_origin
from tests.node.following import copies
from tests.node.following.copies import BEGINNING, OTHER, OWNER, PEN, ROLES, ROOT, RUN, Log, cosigned, logs, tick
from tests.node.keys import secret

FIRST = Root.parse(ROOT.payload)
NEW, THIEF, NEW_OWNER = secret(110), PEN, secret(111)
END = 12
"""The old coordinator's key counts below this entry."""


def version(number: int, end: int = END, key: SecretKey = NEW) -> Root:
    """Root version `number`, in which `key` follows the first coordinator."""
    roles = (replace(ROLES[0], invalid_from=end), ROLES[1], Role(COORDINATOR, key.public, "new"))
    return replace(FIRST, run=RUN, version=number, roles=roles)


SECOND = version(2).seal(OWNER).encode()


class Rules(copies.Rules):
    """A replica that knows root versions."""

    def apply(self, entry: bytes, **how: bool) -> Entry:
        parsed = super().apply(entry, **how)
        if isinstance(parsed.record, Root) and parsed.record.version > 1:
            self.roots = self.roots.followed_by(self.size - 1, parsed.record)
        return parsed


@pytest.fixture(autouse=True)
def _rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "Rules", Rules)


def begin(log: Log, size: int = 10) -> None:
    """The log up to `size` entries, signed by the old key."""
    add(log, [*BEGINNING, *map(tick, range(2, size))])
    log.sign(PEN)


def add(log: Log, entries: Iterable[bytes]) -> None:
    """Adds entries as its coordinator does."""
    for entry in entries:
        log.replica.apply(entry)
        log.store.append([entry])


def hand_over(log: Log, key: SecretKey = NEW) -> None:
    """Root version 2 is logged, and a head signed by the new key."""
    add(log, [SECOND, *map(tick, range(log.replica.size + 1, log.replica.size + 4))])
    log.store.put_head(cosigned(copies.signed_head(log.replica.tree, key)))


async def test_a_follower_goes_on_with_the_new_key(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with logs(tmp_path, 3) as (source, mine, late):
        begin(source)
        follower = mine.follower(tmp_path, source)
        await follower.sync_once()
        assert mine.replica.size == 10
        hand_over(source)
        await follower.sync_once()
        assert mine.replica.size == source.replica.size
        assert follower.cosigned_size == source.replica.size
        newcomer = late.follower(tmp_path, source)
        await newcomer.sync_once()
        assert late.replica.tree.root() == source.replica.tree.root()
        assert newcomer.cosigned_size == source.replica.size
        await late.follower(tmp_path, mine).sync_once()


async def test_the_new_coordinator_shows_no_head_that_the_old_key_signed_too_late(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """A cosigned one, too: a peer that shows it would not be believed in anything."""
    async with logs(tmp_path, 2) as (source, mine):
        begin(source, END + 3)
        source.store.put_head(cosigned(copies.signed_head(source.replica.tree)))
        follower = mine.follower(tmp_path, source)
        add(source, [SECOND])
        source.sign(NEW)
        assert (await follower._client.heads(source.key)).cosigned == b""
        await follower.sync_once()
        assert mine.replica.size == END + 4


async def test_a_new_key_that_no_root_names(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with logs(tmp_path, 2) as (source, mine):
        begin(source)
        follower = mine.follower(tmp_path, source)
        await follower.sync_once()
        hand_over(source, OTHER)
        await follower.sync_once()
        assert mine.replica.size == 10


async def test_the_old_key_ends(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    """Heads by it of more entries than its end are nobody's; gossip does not carry them on either."""
    async with logs(tmp_path, 3) as (source, mine, thief):
        begin(source)
        begin(thief)
        follower = mine.follower(tmp_path, source)
        await follower.sync_once()
        hand_over(source)
        add(thief, map(tick, range(100, 120)))
        stolen = thief.sign(THIEF)
        assert follower.is_head(stolen.note)
        await follower.sync_once()
        assert not follower.is_head(stolen.note)
        await mine.follower(tmp_path, thief).sync_once()
        assert mine.replica.size == source.replica.size


@pytest.mark.parametrize("size", [4, 10, 14, 40])
async def test_a_stolen_key_forks_nothing_any_more(
    size: int, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """A head that contradicts the log proves nothing once its key was replaced, also one that was kept before."""
    async with logs(tmp_path, 3) as (source, mine, thief):
        begin(source)
        add(thief, [*BEGINNING, *map(tick, range(1000, 998 + size))])
        follower = mine.follower(tmp_path, source)
        await follower.sync_once()
        stolen = thief.sign(THIEF)
        assert stolen.size == size
        if size > 10:
            follower.hint(stolen.note)  # kept before the new root is known
            await follower.sync_once()
        hand_over(source)
        await follower.sync_once()
        follower.hint(stolen.note)
        await mine.follower(tmp_path, thief).sync_once()
        add(source, map(tick, range(200, 240)))
        source.store.put_head(copies.signed_head(source.replica.tree, NEW))
        await follower.sync_once()
        assert mine.replica.tree.root() == source.replica.tree.root()
        assert not list(tmp_path.glob("fork-*"))


async def test_the_new_key_can_still_fork(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with logs(tmp_path, 2) as (source, mine):
        begin(source)
        hand_over(source)
        follower = mine.follower(tmp_path, source)
        await follower.sync_once()
        head = Checkpoint(log_origin(RUN), 9, bytes(32))
        follower.hint(head.sign(NEW).encode())
        with pytest.raises(LogForked):
            await follower.sync_once()


async def test_a_head_stays_cosigned_when_more_have_to_cosign(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """By a node that starts again after another verifier was approved who has not cosigned yet."""
    async with logs(tmp_path, 2) as (source, mine):
        begin(source)
        source.store.put_head(cosigned(copies.signed_head(source.replica.tree)))
        await mine.follower(tmp_path, source).sync_once()
        roles = (*ROLES, Role(VERIFIER, OTHER.public, "late"))
        add(
            source,
            [replace(FIRST, run=RUN, version=2, roles=roles, witness_threshold=2).seal(OWNER).encode(), tick(11)],
        )
        source.store.put_head(cosigned(copies.signed_head(source.replica.tree)))
        await mine.follower(tmp_path, source).sync_once()
        assert mine.replica.size == 12
        again = mine.follower(tmp_path, source)
        assert again.cosigned_size == 10
        assert (await again._client.heads(source.key)).cosigned == source.store.newest_head(10).note  # type: ignore[union-attr]
        source.store.put_head(cosigned(cosigned(copies.signed_head(source.replica.tree)), OTHER))
        await again.sync_once()
        assert again.cosigned_size == 12


@pytest.mark.parametrize(("end", "size"), [(9, 0), (10, 10)])
async def test_a_revoked_witness_counts_below_its_end_only(
    end: int, size: int, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with logs(tmp_path, 2) as (source, mine):
        begin(source)
        source.store.put_head(cosigned(copies.signed_head(source.replica.tree)))
        await mine.follower(tmp_path, source).sync_once()
        roles = (ROLES[0], replace(ROLES[1], invalid_from=end), Role(VERIFIER, OTHER.public, "new"))
        add(source, [replace(FIRST, run=RUN, version=2, roles=roles).seal(OWNER).encode(), tick(11)])
        source.sign()
        await mine.follower(tmp_path, source).sync_once()
        assert mine.follower(tmp_path, source).cosigned_size == size


@pytest.mark.parametrize("asks", [False, True], ids=["before it asks", "while it asks"])
async def test_a_head_that_waits_ends_with_its_key(
    asks: bool, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """What a thief signed before the node learned of the new key is pulled from nobody after it."""
    reports: list[bytes] = []
    async with logs(tmp_path, 3) as (source, mine, thief):
        begin(source)
        add(thief, [*BEGINNING, *map(tick, range(2, 10)), *map(tick, range(1000, 1030))])
        stolen = thief.sign(THIEF)
        await mine.follower(tmp_path, source).sync_once()
        follower = mine.follower(tmp_path, thief, report=lambda peer, why: reports.append(peer))

        async def answer(peer: bytes, request: bytes) -> bytes:
            if asks and b"entries" in request:
                follower.learn_root(SECOND)
            return await thief.answer(peer, request)

        serve_calls(thief.transport, LOG_PROTOCOL, answer, max_bytes=256)
        follower.hint(stolen.note)
        follower._take_heard()
        assert [each.head for each in follower._targets] == [stolen]
        if not asks:
            follower.learn_root(SECOND)
        await follower._pull_once(1)
        assert (thief.calls["entries"], mine.replica.size) == (int(asks), 10)
        assert follower._targets == follower._waiting == follower._heard == reports == []
        hand_over(source)
        await mine.follower(tmp_path, source).sync_once()
        assert mine.replica.size == source.replica.size


async def test_a_head_that_was_heard_before_its_key_ended_is_dropped(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with logs(tmp_path, 2) as (source, mine):
        begin(source)
        follower = mine.follower(tmp_path, source)
        await follower.sync_once()
        follower.hint(copies.signed_head(Tree([*BEGINNING, *map(tick, range(1000, 1030))]), THIEF).note)
        assert follower._heard
        follower._heads.roots.learn([SECOND])  # or an entry of the log, between hearing it and keeping it
        await follower.sync_once()
        assert follower._targets == follower._waiting == []
        assert mine.store.heads(11) == []


async def test_nobody_is_blamed_for_having_no_proof_for_a_thief(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """A thief's head is gossiped to a node that knows no newer root; whom it asks for its entries tells of that."""
    reports: list[bytes] = []
    async with logs(tmp_path, 2) as (source, mine):
        begin(source)
        follower = mine.follower(tmp_path, source, report=lambda peer, why: reports.append(peer))
        await follower.sync_once()
        add(source, [SECOND, *map(tick, range(200, 240))])
        source.sign(NEW)
        follower.hint(copies.signed_head(Tree([*BEGINNING, *map(tick, range(1000, 1030))]), THIEF).note)
        follower._take_heard()
        await follower._pull_once(5)
        assert mine.replica.size == source.replica.size
        assert not reports


@pytest.mark.parametrize("is_shown", [True, False], ids=["shown", "given as a file"])
async def test_another_version_that_enough_signed_strands_nobody(
    is_shown: bool, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """A second version 2 was signed by enough and then never logged; who met it first goes on when the log has another."""
    other = version(2, key=OTHER).seal(OWNER).encode()
    async with logs(tmp_path, 3) as (source, mine, liar):
        begin(source)
        follower = mine.follower(tmp_path, source)
        await follower.sync_once()
        if is_shown:
            liar.store.put_head(copies.signed_head(source.replica.tree, OTHER))
            add(liar, [*BEGINNING, *map(tick, range(2, 10)), other])
            liar.sign(OTHER)
            await mine.follower(tmp_path, liar)._ask(liar.key)
        else:
            follower.learn_root(other)
        follower = mine.follower(tmp_path, source)
        assert OTHER.public in follower._heads.roots.coordinators(11)
        hand_over(source)
        await follower.sync_once()
        assert mine.replica.size == source.replica.size
        assert follower._heads.roots.tips == (mine.replica.roots.newest,)
        assert follower._heads.roots.coordinators(99) == [NEW.public]
        assert mine.service._roots(1) == [SECOND]
        again = mine.follower(tmp_path, source)
        assert again._heads.roots.coordinators(99) == [NEW.public], "also after it started again"


async def test_an_ended_key_that_another_version_keeps_forks_nothing(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """Its thief has a version 2 that never ended it, but his heads prove nothing where the other one is known."""
    kept = replace(FIRST, run=RUN, version=2).seal(OWNER).encode()
    async with logs(tmp_path, 3) as (source, mine, thief):
        begin(source, 20)
        follower = mine.follower(tmp_path, source)
        await follower.sync_once()
        follower.learn_root(SECOND)
        follower.learn_root(kept)
        add(thief, [*BEGINNING, *map(tick, range(1000, 1010)), kept])
        follower.hint(thief.sign(THIEF).note)
        await mine.follower(tmp_path, thief).sync_once()
        await follower.sync_once()
        add(source, [SECOND, tick(21)])
        source.sign(NEW)
        await follower.sync_once()
        assert mine.replica.size == 22
        assert not list(tmp_path.glob("fork-*"))


# ---- what is known ahead of the log


def test_versions_of_one_number_are_bounded(tmp_path: Path) -> None:
    _, store, roots = known(tmp_path)
    versions = [version(2, END + more).seal(OWNER).encode() for more in range(ALTERNATIVES + 3)]
    with store:
        assert roots.learn(versions)
        assert not roots.learn(versions)
        assert list(stored_ahead(store)) == versions[:ALTERNATIVES]
        assert roots.learn([version(3).seal(OWNER).encode()])
        assert [root.version for root in roots.tips] == [3], "it follows each of them"
        assert roots.coordinators(END + 1) == [NEW.public]


def test_what_follows_only_a_version_that_is_not_logged_is_dropped(tmp_path: Path) -> None:
    replica, store, roots = known(tmp_path)
    other = replace(version(2, key=OTHER), keys=(NEW_OWNER.public,)).seal(OWNER, NEW_OWNER).encode()
    third = replace(version(3, key=OTHER), keys=(NEW_OWNER.public,)).seal(NEW_OWNER).encode()
    with store:
        assert roots.learn([other, third, SECOND])
        assert sorted(root.version for root in roots.tips) == [2, 3]
        assert roots.coordinators(END + 1) == [NEW.public, OTHER.public]
        replica.apply(SECOND)
        assert roots.tips == (replica.roots.newest,)
        for number in range(LOGGED_WITHIN + 1):
            replica.apply(tick(number + 500))
        assert roots.overdue is None
        assert not roots.learn([other, third])
        assert roots.learn([version(3).seal(OWNER).encode()])
        assert roots.overdue is None, "its time begins now"


def known(tmp_path: Path, size: int = 10) -> tuple[Rules, Store, KnownRoots]:
    replica, store = Rules(), Store(tmp_path / "node.db")
    for entry in [*BEGINNING, *map(tick, range(2, size))]:
        replica.apply(entry)
    return replica, store, KnownRoots(replica, store)


def test_roots_are_learned_in_order_and_kept(tmp_path: Path) -> None:
    replica, store, roots = known(tmp_path)
    third = version(3).seal(OWNER).encode()
    with store:
        assert not roots.learn([third])
        assert roots.tips == (replica.roots.newest,)
        assert roots.learn([third, SECOND, third])
        assert [root.version for root in roots.tips] == [3]
        assert not roots.learn([SECOND, third])
        assert KnownRoots(replica, store).tips == roots.tips
        assert list(stored_ahead(store)) == [SECOND, third]
        assert roots.coordinators(END) == [PEN.public, NEW.public]
        assert roots.coordinators(END + 1) == [NEW.public]


@pytest.mark.parametrize(
    "data",
    [
        version(2).seal(NEW_OWNER).encode(),
        version(2).seal(OWNER, NEW_OWNER).encode(),
        replace(version(2), run=bytes(31) + b"x").seal(OWNER).encode(),
        replace(version(2), keys=(NEW_OWNER.public,)).seal(OWNER).encode(),
        tick(5),
        b"noise",
        b"",
    ],
    ids=["another key", "one key more", "another run", "without the new threshold", "a tick", "noise", "nothing"],
)
def test_what_is_no_root_version(data: bytes, tmp_path: Path) -> None:
    replica, store, roots = known(tmp_path)
    with store:
        assert not roots.learn([data])
        assert roots.tips == (replica.roots.newest,)
        assert store.get(AHEAD_KEY) is None


def test_a_log_that_leaves_a_root_out(tmp_path: Path) -> None:
    replica, store, roots = known(tmp_path)
    with store:
        roots.learn([SECOND])
        assert roots.overdue is None
        for number in range(LOGGED_WITHIN + 1):
            replica.apply(tick(number + 500))
        assert roots.overdue == 2
        replica.apply(SECOND)
        assert roots.overdue is None
        assert roots.tips == (replica.roots.newest,)


def test_starting_again_gives_a_log_no_more_time(tmp_path: Path) -> None:
    """A witness that starts again often would else cosign for ever a log that leaves a root version out."""
    replica, store, roots = known(tmp_path)
    with store:
        roots.learn([SECOND])
        for start in range(3):
            for number in range(LOGGED_WITHIN // 2):
                replica.apply(tick(1000 * (start + 1) + number))
            roots = KnownRoots(replica, store)
            assert not roots.learn([SECOND])
            assert roots.overdue == (2 if start == 2 else None)
        roots.learn([version(3).seal(OWNER).encode()])
        assert roots.overdue == 2, "a version more gives no more time either"
        assert list(stored_ahead(store).values()) == [10, replica.size]


async def test_roots_are_served_in_bounds(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with logs(tmp_path, 2) as (source, mine):
        begin(source)
        versions = [version(number).seal(OWNER).encode() for number in range(2, 20)]
        add(source, versions)
        source.sign(NEW)
        follower = mine.follower(tmp_path, source)
        client = follower._client
        assert await client.roots(source.key, 0) == [ROOT.encode(), *versions[: MAX_ROOTS - 1]]
        assert await client.roots(source.key, 12) == versions[11:]
        assert await client.roots(source.key, 10**9) == []
        await follower.sync_once()
        assert mine.replica.roots.newest.version == 19


def test_a_strange_head_is_nobodys(tmp_path: Path) -> None:
    replica, store, _ = known(tmp_path)
    with store:
        heads = Heads(replica, store, tmp_path)
        note = Checkpoint(log_origin(RUN), 3, replica.tree.root(3)).sign(NEW).encode()
        with pytest.raises(WrongSigner):
            heads.verified(note)
        heads.roots.learn([SECOND])
        assert heads.verified(note).size == 3
