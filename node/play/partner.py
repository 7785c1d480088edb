"""Whom one plays against: `Partner`, a network that searches by the rules of its run; what it finds is a `Thought`.

Invariants: nothing passes from move to move, so that one partner sits at any number of games, from any thread; a thought is
a function of the network, the game so far, the visits and the seed. No game is recorded and none is training data.
"""

from dataclasses import dataclass

from native.game import Game
from native.netfile import Architecture
from native.network import Kernel, Network
from native.rules import Colour, Rules
from node.play.errors import CannotPlay
from node.play.limits import LEAST_VISITS, most_visits, rules_for
from node.play.searcher import Searcher
from node.play.worth import Worth, worth_of
from protocol.manifest import RulesSpec
from protocol.search_config import SearchConfig
from verification.setup import engine_config


@dataclass(frozen=True, slots=True)
class Thought:
    """What a search of a position found: its move, visits of each move with the pass last, and how it stands.

    `policy` are weights of the moves that sum to 65535; `black_winrate` is from 0 to 1, `black_score` in points with komi.
    """

    move: int
    visits: tuple[int, ...]
    policy: tuple[int, ...]
    black_winrate: float
    black_score: float

    def worth(self, colour: Colour) -> Worth:
        """How it stands for one player."""
        black = Worth(self.black_winrate, self.black_score)
        return black if colour == Colour.BLACK else black.turned()


@dataclass(frozen=True, slots=True)
class Partner:
    """A network (None: uniform evaluation) under its `name` and 32-byte `id`, the rules that it plays by, and its search.

    It searches as in the run's gates, always in full and without noise; the gate's temperature stays, so that games differ.
    """

    name: str
    id: bytes
    network: Network | None
    spec: RulesSpec
    search: SearchConfig

    @property
    def shape(self) -> Architecture | None:
        """Of its network."""
        return None if self.network is None else self.network.architecture

    def rules(self, size: int, komi_half: int) -> Rules:
        """The rules of a game; raises CannotPlay for what is not offered."""
        return rules_for(self.spec, size, komi_half)

    def think(self, game: Game, visits: int, seed: bytes, kernel: Kernel = Kernel.BEST) -> Thought:
        """Searches the position for the side to move with so many visits and a 32-byte seed; without the GIL.

        Raises CannotPlay for visits that are not offered, IllegalMove when the game is over.
        """
        most = most_visits(self.shape, game.rules.rows, kernel)
        if not LEAST_VISITS <= visits <= most:
            raise CannotPlay(f"Visits of this network on this board have to be from {LEAST_VISITS} to {most}.")
        searcher = Searcher(self.name, self.id, self.network, engine_config(self.search), kernel)
        ply = searcher.search(game, visits, seed)
        worth = worth_of(ply)
        black = worth if game.to_move == Colour.BLACK else worth.turned()
        return Thought(ply.move, ply.visits, ply.policy_target, black.winrate, black.score)
