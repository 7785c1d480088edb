"""A player by what a person calls it: a release of the run in a node's directory, `first`, a network's file, or `random`.

A file and `random` need no run; where there is none, the file is searched with as the default run's gates do.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from native.network import Kernel
from native.rules import Rules
from node.disk.home import Home
from node.founding.manifest_file import load_manifest
from node.matches.opponent import Gallery, load_network_file
from node.play.player import AnyPlayer, RandomPlayer
from node.play.searcher import Searcher
from protocol.manifest import Manifest
from verification.setup import engine_config, game_rules

RANDOM: Final = "random"
SIZE: Final = 19
"""The board of a game of which nothing else is said."""
KOMI_HALF: Final = 15
"""Half points of komi until a controller or a record says otherwise."""


@dataclass(frozen=True, slots=True)
class Found:
    """A player, the rules on a board of a size, and how many visits the run's gates have.

    `sizes`: the boards that a release's run plays on; empty for who is no release, of whom that is not known.
    """

    player: AnyPlayer
    rules: Callable[[int], Rules]
    visits: int
    sizes: frozenset[int] = frozenset()


def find_player(directory: Path, name: str, kernel: Kernel) -> Found:
    """The player called `name`; raises OpponentError, HomeError, StoreError or LogFault."""
    path = Path(name)
    is_alone = name == RANDOM or path.is_file()
    gallery = None if is_alone and not Home(directory).ticket.is_file() else Gallery(Home(directory))
    manifest = load_manifest(None) if gallery is None else gallery.manifest
    config, sizes = engine_config(manifest.gate_search), frozenset[int]()
    player: AnyPlayer
    if name == RANDOM:
        player = RandomPlayer()
    elif path.is_file():
        network = load_network_file(path)
        player = Searcher(path.name, network.digest, network, config, kernel)
    else:
        assert gallery is not None, "a release is of a run"
        known, found = gallery.network(name)
        sizes = frozenset(board.size for stage in manifest.stages for board in stage.boards)
        player = Searcher(known, bytes(32) if found is None else found.digest, found, config, kernel)
    return Found(player, lambda size: _rules(manifest, size), config.visits_full, sizes)


def _rules(manifest: Manifest, size: int) -> Rules:
    """The run's rules without its cap of moves: a person may play on."""
    return replace(game_rules(manifest.rules, size, KOMI_HALF), move_cap=0)
