"""What the doctor says of the clock, by the heads that witnesses signed."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from node.disk.home import Home
from node.disk.store import Head, Store
from node.doctor.clock import check_clock, witnessed_unix_s
from node.doctor.finding import Standing
from protocol.checkpoint import Checkpoint, cosign
from protocol.seeds import log_origin
from tests.node.homes import grown_world, make_home, ticket_of
from tests.verification.world import World
from verification.witness import witness_name

NOON = 1_700_000_000
DAY_S = 86_400


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A directory with a cosigned head; look only."""
    return make_home(grown_world(), tmp_path_factory.mktemp("run") / "node")


@pytest.fixture(scope="module")
def witnessed() -> World:
    """A run with three verifiers, two of which must cosign; look only."""
    return World(word="clock", verifiers=3)


def seen_at(world: World, folder: Path, times: Sequence[int]) -> Home:
    """A directory whose newest head so many of the run's verifiers cosigned, at these times."""
    head = Checkpoint(log_origin(world.run), world.state.size, world.state.tree.root())
    lines = [
        cosign(head.body(), key, witness_name(key.public), at) for key, at in zip(world.verifiers, times, strict=False)
    ]
    home = Home(folder)
    home.store_ticket(ticket_of(world))
    with Store(home.database) as store:
        store.append(world.entries)
        note = head.sign(world.coordinator).with_signatures(lines).encode()
        store.put_head(Head(world.state.size, head.root_hash, note))
    return home


@pytest.mark.parametrize(
    ("later_s", "standing"),
    [(10, Standing.OK), (-30, Standing.OK), (-120, Standing.WARNING), (7200, Standing.UNKNOWN)],
)
def test_against_the_newest_head(later_s: int, standing: Standing, home: Home) -> None:
    signed = witnessed_unix_s(home)
    assert signed is not None
    assert check_clock(home, signed + later_s).standing is standing


@pytest.mark.parametrize("lie", [NOON - DAY_S, NOON + DAY_S, 0])
@pytest.mark.parametrize("liar", range(3))
def test_one_witness_of_three_moves_nothing(lie: int, liar: int, witnessed: World, tmp_path: Path) -> None:
    times = [NOON, NOON, NOON]
    times[liar] = lie
    home = seen_at(witnessed, tmp_path, times)
    assert witnessed_unix_s(home) == NOON
    assert check_clock(home, NOON + 10).standing is Standing.OK
    assert check_clock(home, NOON - 7200).standing is Standing.WARNING


def test_a_head_that_too_few_cosigned_says_nothing(witnessed: World, tmp_path: Path) -> None:
    home = seen_at(witnessed, tmp_path, [NOON])
    assert witnessed_unix_s(home) is None
    assert check_clock(home, NOON - DAY_S).standing is Standing.UNKNOWN


def test_nothing_to_compare_with(witnessed: World, tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert check_clock(home, 0).standing is Standing.UNKNOWN
    home.database.write_bytes(b"no database")
    assert check_clock(home, 0).standing is Standing.UNKNOWN
    home.store_ticket(ticket_of(witnessed))
    assert check_clock(home, 0).standing is Standing.UNKNOWN
    home.database.unlink()
    with Store(home.database):
        pass
    assert check_clock(home, 0).standing is Standing.UNKNOWN
