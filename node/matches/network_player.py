"""A network that plays matches as in its run's gates: `NetworkOpponent`; and how networks are told apart.

It searches with the match's config, each move from its game's seed, and keeps nothing: the same game on every machine.
"""

import hashlib

from native.game import Game
from native.network import Kernel, Network
from native.search import Player, Ply, SearchConfig, search_ply
from node.matches.opponent import Opponent, OwnOpponent

NETWORKS = ("network:", "leela-zero:")
"""How identities of networks begin."""


class NetworkOpponent(OwnOpponent):
    """Searches with a network (None: uniform evaluation)."""

    def __init__(self, name: str, network: Network | None, config: SearchConfig, kernel: Kernel) -> None:
        self.name = name
        self._player = Player(network, hashlib.sha256(name.encode()).digest())
        self.config = config
        self._kernel = kernel

    @property
    def identity(self) -> str:
        """See `Opponent.identity`."""
        return network_identity(self.digest)

    @property
    def about(self) -> str:
        """See `Opponent.about`."""
        return f"gonode, {self.identity}"

    @property
    def digest(self) -> bytes | None:
        """The SHA-256 of the network's file; None when there is no network."""
        return None if self._player.network is None else self._player.network.digest

    def choose(self, game: Game, seed: bytes) -> int:
        """See `Seat.choose`."""
        return self.search(game, seed, self.config).move

    def search(self, game: Game, seed: bytes, config: SearchConfig) -> Ply:
        """Searches the position for the side to move; without the GIL."""
        digest = hashlib.sha256(repr(config).encode()).digest()
        return search_ply(self._player, self._kernel, config, digest, seed, game)


def network_identity(digest: bytes | None) -> str:
    """How a network is known whatever its name: by the SHA-256 of its file; None or empty: uniform evaluation."""
    return f"network:{digest.hex() if digest else 'uniform'}"


def is_same_network(first: Opponent, second: Opponent) -> bool:
    """Both players search with one network, whatever they are called."""
    return first.identity == second.identity and first.identity.startswith(NETWORKS)
