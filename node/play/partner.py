"""Whom one plays against: `Partner`, a network that searches by the rules of its run; what it finds is a `Thought`.

Invariants: nothing passes from move to move, so that one partner sits at any number of games, from any thread; a thought is
a function of the network, the game so far, the visits and the seed. No game is recorded and none is training data.
"""

from dataclasses import dataclass, replace
from hashlib import sha256

from native.game import Game
from native.netfile import Architecture
from native.network import Kernel, Network
from native.rules import Colour, Rules
from native.search import Player, search_ply
from native.search import SearchConfig as EngineConfig
from node.play.errors import CannotPlay
from node.play.limits import LEAST_VISITS, most_visits, rules_for
from protocol.manifest import RulesSpec
from protocol.search_config import SearchConfig
from protocol.seeds import PPM
from verification.setup import engine_config

VALUE_ONE = 1 << 24
SCORE_ONE = 1 << 12


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

    def winrate(self, colour: Colour) -> float:
        """Of one player."""
        return self.black_winrate if colour == Colour.BLACK else 1 - self.black_winrate

    def score(self, colour: Colour) -> float:
        """Points by which one player is ahead."""
        return self.black_score if colour == Colour.BLACK else -self.black_score


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
        config = self._config(visits)
        digest = sha256(repr(config).encode()).digest()
        ply = search_ply(Player(self.network, self.id), kernel, config, digest, seed, game)
        sign = 1 if game.to_move == Colour.BLACK else -1
        winrate = (1 + sign * ply.value / VALUE_ONE) / 2
        return Thought(ply.move, ply.visits, ply.policy_target, winrate, sign * ply.score / SCORE_ONE)

    def _config(self, visits: int) -> EngineConfig:
        return replace(
            engine_config(self.search),
            visits_full=visits,
            visits_fast=visits,
            full_share_ppm=PPM,
            noise_weight_ppm=0,
            forced_playouts_micro=0,
            gumbel_noise_micro=0,
        )
