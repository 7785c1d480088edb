"""What a player of matches is, `Opponent`, and where networks are found: releases in a node's directory, and files.

A player sits down at a game and picks a move for each position. Networks are in `node.matches.network_player`, on the clock
in `node.matches.timed_network`, engines of others in `node.matches.gtp_player`; uniformly random moves are here.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from random import Random
from typing import ClassVar, Protocol

from native.errors import EngineError
from native.game import Game
from native.network import Network
from native.rules import Colour
from node.disk.blob_store import BlobStore
from node.disk.home import Home
from node.matches.stored_state import load_state
from protocol.manifest import Manifest
from verification.releases import ReleaseInfo, first_network

SEED_DOMAIN = b"gonode/match/v1\0"
MOST_BYTES = 1 << 27
"""Above every network's file; of a longer one no more is read."""


class OpponentError(ValueError):
    """One sentence about a player that cannot be had."""


class GameLost(Exception):
    """The side to move has lost; the message follows the player's name in a sentence. `how` is the result's letter."""

    how: ClassVar[str]


class Resigned(GameLost):
    """It gave up."""

    how = "R"


class Forfeit(GameLost):
    """It cannot go on, or may not."""

    how = "F"


class OutOfTime(GameLost):
    """It did not answer in time."""

    how = "T"


class Seat(Protocol):
    """A player in one game."""

    def prepare(self, game: Game, seed: bytes) -> None:
        """Gets ready for the next `choose` with the same words; it takes none of the time of a move. Raises GameLost."""
        ...

    def choose(self, game: Game, seed: bytes) -> int:
        """The move for the side to move, legal or not; `seed` is the game's. Raises GameLost."""
        ...

    def count(self, game: Game, seed: bytes) -> str | None:
        """How it counts the end of the game, as `parse_count` gives it; None where it does not."""
        ...


class Opponent(Protocol):
    """Somebody who plays a match, games at once if need be.

    `name` is what people read, `about` says what it is; two players of the same `identity` play the same, as far as they
    repeat themselves.
    """

    name: str

    @property
    def about(self) -> str:
        """Program and version, or the network."""
        ...

    @property
    def counts(self) -> bool:
        """Whether it can be asked to count a game."""
        ...

    @property
    def identity(self) -> str:
        """`random`, `network:` or `leela-zero:` and the digest of its file, or `gtp:` and the command."""
        ...

    def sit(self, handicap: Sequence[int] = ()) -> AbstractContextManager[Seat]:
        """Takes part in one game, which begins with Black's stones on the points of its handicap."""
        ...

    def close(self) -> None:
        """Plays no more; from any thread, also while games are played."""
        ...


class OwnOpponent:
    """A player of this process, who keeps nothing between moves and so sits at all games at once."""

    counts = False

    def prepare(self, game: Game, seed: bytes) -> None:
        """See `Seat.prepare`."""

    def choose(self, game: Game, seed: bytes) -> int:
        """See `Seat.choose`."""
        raise NotImplementedError

    def count(self, game: Game, seed: bytes) -> str | None:
        """See `Seat.count`."""
        return None

    def sit(self, handicap: Sequence[int] = ()) -> AbstractContextManager[Seat]:
        """See `Opponent.sit`."""
        return nullcontext(self)

    def close(self) -> None:
        """See `Opponent.close`."""


class RandomOpponent(OwnOpponent):
    """Plays uniformly among legal moves that fill no own eye; passes when there is none."""

    name = "random"
    about = "uniformly random moves"
    identity = "random"

    def choose(self, game: Game, seed: bytes) -> int:
        """See `Seat.choose`."""
        ply = game.num_moves
        rng = Random(SEED_DOMAIN + seed + ply.to_bytes(4, "little"))
        legal = game.legal()
        stones, cols = game.stones(), game.rules.cols
        me = game.to_move
        moves = [p for p in range(game.rules.points) if legal[p] and not _is_eye(stones, p, cols, me)]
        return rng.choice(moves) if moves else game.pass_move


class Gallery:
    """The releases of the run in a node's directory."""

    def __init__(self, home: Home) -> None:
        self._blobs = BlobStore(home.public)
        self.state = load_state(home)
        if self.state.size < 2:
            raise OpponentError(f"{home.directory}: this node has no log yet.")

    @property
    def manifest(self) -> Manifest:
        """The run's manifest."""
        return self.state.manifest

    def network(self, name: str) -> tuple[str, Network | None]:
        """A release by name, number, or `first` or `latest`; raises OpponentError."""
        release = self._find(name)
        if release.number == 0:
            file = first_network(self.state.release_manifest(release), release.manifest)
            return release.name, None if file is None else Network.load(file)
        data = self._blobs.get(release.network_blob)
        if data is None:
            raise OpponentError(f"The network of release {release.name} is not in this node's directory.")
        try:
            return release.name, Network.load(data)
        except EngineError as error:
            raise OpponentError(f"The network of release {release.name} cannot be loaded: {error}") from None

    def weights(self, name: str) -> tuple[str, bytes]:
        """A release's name and the file of its float weights; raises OpponentError."""
        release = self._find(name)
        if release.number == 0:
            raise OpponentError(f"{release.name} is drawn by the engine, in integers: it has no float weights.")
        data = self._blobs.get(release.weights_blob)
        if data is None:
            raise OpponentError(f"The weights of release {release.name} are not in this node's directory.")
        return release.name, data

    def _find(self, name: str) -> ReleaseInfo:
        releases = self.state.releases.all
        if name == "latest":
            return releases[-1]
        for release in releases:
            if name in (release.name, str(release.number)):
                return release
        known = ", ".join(release.name for release in releases)
        raise OpponentError(f"{name[:80]!r} is not a release of this run; it has {known}.")


def load_network_file(path: Path) -> Network:
    """A network from its file; raises OpponentError."""
    try:
        with path.open("rb") as file:
            return Network.load(file.read(MOST_BYTES))
    except OSError as error:
        raise OpponentError(f"{path}: cannot be read ({error.strerror}).") from None
    except EngineError as error:
        raise OpponentError(f"{path}: {error}") from None


def _is_eye(stones: bytes, point: int, cols: int, me: Colour) -> bool:
    """Whether `point` is a real eye of `me`: own stones all around, and at most one enemy corner (none at the edge)."""
    rows = len(stones) // cols
    row, col = divmod(point, cols)
    enemies = edges = 0
    for dr, dc in ((-1, 0), (1, 0), (0, -1), (0, 1)):
        r, c = row + dr, col + dc
        if 0 <= r < rows and 0 <= c < cols and stones[r * cols + c] != me:
            return False
    for dr, dc in ((-1, -1), (-1, 1), (1, -1), (1, 1)):
        r, c = row + dr, col + dc
        if not (0 <= r < rows and 0 <= c < cols):
            edges = 1
        elif stones[r * cols + c] == me.other:
            enemies += 1
    return enemies + edges < 2
