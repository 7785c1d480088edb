"""A finished run that the tests of this folder share."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.process import FAST, TINY, Ended, gonode


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A network that made its first release: its folder, and how `gonode local` ended."""

    directory: Path
    ended: Ended

    @property
    def coordinator(self) -> Path:
        """The coordinator's directory."""
        return self.directory / "coordinator"


def local(directory: Path, *more: object) -> tuple[object, ...]:
    """The command of a tiny network. Contributors play slowly and the verifier replays fast, so that nothing piles up."""
    kernels = ("--kernel", "scalar", "--verifier-kernel", FAST)
    return "local", "--run", TINY, "--dir", directory, "--releases", 1, "--minutes", 4, "--json", *kernels, *more


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    directory = tmp_path_factory.mktemp("finished") / "run"
    return FinishedRun(directory, gonode(*local(directory)))
