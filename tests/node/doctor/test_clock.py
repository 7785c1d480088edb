"""What the doctor says of the clock, by the heads that witnesses signed."""

from pathlib import Path

import pytest

from node.disk.home import Home
from node.disk.store import Store
from node.doctor.clock import check_clock, seen_unix_s
from node.doctor.finding import Standing
from tests.node.homes import grown_world, make_home


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A directory with a cosigned head; look only."""
    return make_home(grown_world(), tmp_path_factory.mktemp("run") / "node")


@pytest.mark.parametrize(
    ("later_s", "standing"),
    [(10, Standing.OK), (-30, Standing.OK), (-120, Standing.WARNING), (7200, Standing.UNKNOWN)],
)
def test_against_the_newest_head(later_s: int, standing: Standing, home: Home) -> None:
    with Store(home.database) as store:
        head = store.newest_head()
    assert head is not None
    signed = seen_unix_s(head)
    assert signed is not None
    assert check_clock(home.database, signed + later_s).standing is standing


def test_nothing_to_compare_with(tmp_path: Path) -> None:
    assert check_clock(tmp_path / "node.db", 0).standing is Standing.UNKNOWN
    (tmp_path / "node.db").write_bytes(b"no database")
    assert check_clock(tmp_path / "node.db", 0).standing is Standing.UNKNOWN
