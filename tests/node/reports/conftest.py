"""One small run for all tests of reports; look only."""

import pytest

from node.disk.home import Home
from tests.node.reports.small_run import small_run, timed_home
from tests.verification.world import World


@pytest.fixture(scope="package")
def world() -> World:
    """The run."""
    return small_run()


@pytest.fixture(scope="package")
def home(world: World, tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Its coordinator's directory."""
    return timed_home(world, tmp_path_factory.mktemp("report") / "coordinator")
