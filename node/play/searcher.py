"""A network that searches as its run's gates do: `Searcher`; and what it says without a search: `Raw`.

Spec: docs/spec/search.md. A search is a function of (network, config, visits, seed, position) and nothing passes from
move to move, so that what is said of a move can be found by searching its position: however the root divides its
visits, the part of the tree below a child with n visits is the tree of a search by PUCT of the child's position with n
visits and the same seed. For many threads.
"""

import math
from dataclasses import dataclass, replace
from hashlib import sha256

from native.game import Game
from native.network import ONE, Kernel, Network, Output, softmax, tanh
from native.search import Player, Ply, Root, SearchConfig, search_ply
from node.play.symmetry import symmetry_of, turn_back, turn_planes
from node.play.worth import Worth
from protocol.seeds import PPM


@dataclass(frozen=True, slots=True)
class Raw:
    """What a network says of a position without a search, for the side to move; ownership from -1 (other) to 1.

    `policy`: a share a move, 0 where it is illegal, the pass last. Without a network nothing is known of ownership: b"".
    """

    worth: Worth
    policy: tuple[float, ...]
    ownership: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Searcher:
    """A network (None: uniform evaluation), under its name and a 32-byte digest, and how its run's gates search."""

    name: str
    digest: bytes
    network: Network | None
    config: SearchConfig
    kernel: Kernel = Kernel.BEST

    def search(self, game: Game, visits: int, seed: bytes, *, varies: bool = True) -> Ply:
        """For the side to move, in full and without noise; if it `varies`, at the config's temperature; without the GIL.

        `seed`: 32 bytes. Raises IllegalMove when the game is over, EngineError for a board that the network does not see.
        """
        config = self._quiet(visits)
        if not varies:
            config = replace(config, temperature_start_micro=0, temperature_end_micro=0)
        return self._search(game, config, seed)

    def search_below(self, game: Game, visits: int, seed: bytes) -> Ply:
        """As the part of a tree: PUCT at the root as below it. Raises as `search`."""
        config = replace(
            self._quiet(visits),
            root=Root.PUCT,
            root_fpu_reduction_micro=self.config.fpu_reduction_micro,
            root_temperature_micro=10**6,
            temperature_start_micro=0,
            temperature_end_micro=0,
        )
        return self._search(game, config, seed)

    def evaluate(self, game: Game, seed: bytes) -> Raw:
        """As a search with this seed evaluates the position."""
        if self.network is None:
            legal = game.legal()
            count = max(1, sum(legal))
            return Raw(Worth(0.5, 0.0), tuple(each / count for each in legal), ())
        symmetry = symmetry_of(seed, game.features()) if self.config.symmetry else 0
        return self.evaluate_by(game, symmetry)

    def evaluate_by(self, game: Game, symmetry: int) -> Raw:
        """The network's evaluation of a square board by one of the eight symmetries (0 to 7); raises EngineError."""
        assert self.network is not None, "only a network has symmetries"
        size = game.rules.rows
        planes = turn_planes(game.features(), symmetry, size)
        (output,) = self.network.evaluate(self.kernel, size, size, planes)
        return _raw(output, symmetry, game)

    def _quiet(self, visits: int) -> SearchConfig:
        return replace(
            self.config,
            visits_full=visits,
            visits_fast=visits,
            full_share_ppm=PPM,
            noise_weight_ppm=0,
            forced_playouts_micro=0,
            gumbel_noise_micro=0,
        )

    def _search(self, game: Game, config: SearchConfig, seed: bytes) -> Ply:
        digest = sha256(repr(config).encode()).digest()
        return search_ply(Player(self.network, self.digest), self.kernel, config, digest, seed, game)


def _raw(output: Output, symmetry: int, game: Game) -> Raw:
    size = game.rules.rows
    logits = [*turn_back(output.policy[:-1], symmetry, size), output.policy[-1]]
    legal = game.legal()
    policy = softmax(logits, legal) if any(legal) else [0.0] * len(logits)
    owned = turn_back(output.ownership, symmetry, size)
    worth = Worth((1 + tanh(output.value)) / 2, output.score_mean / ONE)
    return Raw(worth, tuple(policy), tuple(math.tanh(each / ONE) for each in owned))
