"""Players of tests: a small network that nobody trained, and a search with it or without one."""

from functools import cache
from pathlib import Path

from native.network import Kernel, Network
from node.play.searcher import Searcher
from tests.verification.manifests import small_manifest
from verification.setup import engine_config


@cache
def small_network() -> Network:
    """One that nobody trained."""
    return Network.load(Network.first(bytes(32), 1, 16))


def small_searcher(network: Network | None = None) -> Searcher:
    """It searches as the small run's gates do."""
    return Searcher("small", bytes(32), network, engine_config(small_manifest().gate_search), Kernel.best())


def network_file(folder: Path) -> Path:
    """The small network as a file."""
    path = folder / "small.net"
    path.write_bytes(small_network().file)
    return path
