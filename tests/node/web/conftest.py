"""One small run for all tests of pages; look only."""

import pytest

from node.disk.home import Home
from tests.node.reports.small_run import small_run, timed_home
from tests.node.web.pages import fill
from tests.verification.world import World


@pytest.fixture(scope="package")
def shown_world() -> World:
    """The run: four cycles, a cheat that is banned, a batch that waits."""
    return small_run()


@pytest.fixture(scope="package")
def shown(shown_world: World, tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Its coordinator's directory, with the pages' file."""
    home = timed_home(shown_world, tmp_path_factory.mktemp("pages") / "coordinator")
    fill(home)
    return home
