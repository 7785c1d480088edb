"""Players of a match: random moves that fill no own eye, releases by name, and networks that are not what they claim."""

from collections import Counter
from pathlib import Path

import pytest

from native.game import Game
from native.network import Kernel, Network
from native.rules import Colour, Rules
from node.disk.blob_store import BlobStore
from node.disk.home import Home
from node.matches import opponent
from node.matches.network_player import NetworkOpponent, is_same_network
from node.matches.opponent import (
    Gallery,
    OpponentError,
    RandomOpponent,
    _is_eye,
    load_network_file,
)
from tests.node.homes import grown_world, make_home, ticket_of
from verification.setup import engine_config


def board(text: str) -> bytes:
    """Stones of a picture: X black, O white."""
    return bytes({".": Colour.EMPTY, "X": Colour.BLACK, "O": Colour.WHITE}[c] for c in text if c in ".XO")


def eyes(text: str, colour: Colour) -> set[int]:
    stones = board(text)
    cols = len(text.split()[0])
    return {p for p, stone in enumerate(stones) if stone == Colour.EMPTY and _is_eye(stones, p, cols, colour)}


@pytest.mark.parametrize(
    ("picture", "expected"),
    [
        (".X... XX... ..... ..... .....", {0}),  # in the corner
        (".X... XO... ..... ..... .....", set()),  # a corner with an enemy diagonal is false
        ("X.X.. XXX.. ..... ..... .....", {1}),  # at the edge
        ("X.X.. OXX.. ..... ..... .....", set()),  # one enemy diagonal at the edge makes it false
        ("..... .XXX. .X.X. .XXX. .....", {12}),  # in the middle, all diagonals own
        ("..... .OXX. .X.X. .XXX. .....", {12}),  # one enemy diagonal in the middle is no harm
        ("..... .OXX. .X.X. .XXO. .....", set()),  # two are
        ("..... .XXX. .X.O. .XXX. .....", set()),  # an enemy neighbour
        ("..... .XX.. .X.X. .XX.. .....", {12}),  # open diagonals are no enemies
        ("..... ..X.. .X... ..X.. .....", set()),  # an open neighbour
    ],
)
def test_own_eyes(picture: str, expected: set[int]) -> None:
    assert eyes(picture, Colour.BLACK) == expected
    swapped = picture.translate(str.maketrans("XO", "OX"))
    assert eyes(swapped, Colour.WHITE) == expected
    assert not eyes(picture, Colour.WHITE)


def test_random_moves_fill_no_own_eye_and_never_pass_before() -> None:
    stones = board(".X... XX... ..... ..... .....")
    game = Game(Rules(5, 5, 0), stones, Colour.BLACK)
    chosen = {RandomOpponent().choose(game, bytes([number]) * 32) for number in range(200)}
    legal = {point for point, ok in enumerate(game.legal()[:25]) if ok}
    assert chosen == legal - {0}


def test_a_random_player_passes_when_only_eyes_are_left() -> None:
    stones = board(".X.X. XXXXX .X.X. XXXXX .X.X.")
    game = Game(Rules(5, 5, 0), stones, Colour.BLACK)
    assert RandomOpponent().choose(game, bytes(32)) == game.pass_move


def test_random_moves_are_uniform_and_repeatable() -> None:
    game = Game(Rules(3, 3, 0))
    counts = Counter(RandomOpponent().choose(game, number.to_bytes(32, "big")) for number in range(1800))
    assert set(counts) == set(range(9))
    assert all(140 < count < 260 for count in counts.values())
    assert RandomOpponent().choose(game, bytes(32)) == RandomOpponent().choose(game.copy(), bytes(32))


def test_random_games_end() -> None:
    for number in range(20):
        game = Game(Rules(7, 7, 1, move_cap=500))
        while not game.end:
            game.play(RandomOpponent().choose(game, bytes([number]) * 32))
        assert game.num_moves < 500


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return make_home(grown_world(), tmp_path_factory.mktemp("run") / "home")


def test_releases_by_name_number_and_word(home: Home) -> None:
    gallery = Gallery(home)
    names = [release.name for release in gallery.state.releases.all]
    assert gallery.network("first")[0] == gallery.network("0")[0] == names[0]
    assert gallery.network("1")[0] == gallery.network(names[1])[0] == names[1]
    assert gallery.network("latest")[0] == gallery.network("2")[0] == names[2]
    assert all(gallery.network(name)[1] is not None for name in names)
    with pytest.raises(OpponentError, match="it has first, "):
        gallery.network("3")


def test_a_network_file_plays_as_its_release_does(home: Home, tmp_path: Path) -> None:
    world = grown_world()
    path = tmp_path / "net"
    path.write_bytes(world.networks[world.state.release.network])
    gallery = Gallery(home)
    config = engine_config(gallery.manifest.gate_search)
    _, network = gallery.network("latest")
    game = Game(Rules(7, 7, 17))
    for number in range(10):
        seed = bytes([number]) * 32
        moves = {
            NetworkOpponent("a", each, config, kernel).choose(game, seed)
            for each in (network, load_network_file(path))
            for kernel in (Kernel.SCALAR, Kernel.BEST)
        }
        assert len(moves) == 1
        game.play(moves.pop())


def test_the_same_network_under_two_names(home: Home, tmp_path: Path) -> None:
    gallery = Gallery(home)
    config = engine_config(gallery.manifest.gate_search)
    path = tmp_path / "net"
    path.write_bytes(grown_world().networks[grown_world().state.release.network])
    file = NetworkOpponent("file", load_network_file(path), config, Kernel.SCALAR)
    latest, older = (NetworkOpponent(*gallery.network(name), config, Kernel.SCALAR) for name in ("latest", "1"))
    assert is_same_network(file, latest)
    assert not is_same_network(older, latest)
    none = NetworkOpponent("none", None, config, Kernel.SCALAR)
    assert is_same_network(none, none)
    assert not is_same_network(none, latest)
    assert not is_same_network(RandomOpponent(), RandomOpponent())


def test_a_huge_file_is_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "net"
    path.write_bytes(Network.first(bytes(32), 1, 16) + bytes(5000))
    monkeypatch.setattr(opponent, "MOST_BYTES", 12_000)
    with pytest.raises(OpponentError, match="has 12000 bytes"):
        load_network_file(path)


def test_what_is_missing(tmp_path: Path) -> None:
    world = grown_world()
    home = Home(tmp_path / "home")
    home.store_ticket(ticket_of(world))
    with pytest.raises(OpponentError, match="no log yet"):
        Gallery(home)
    assert not home.database.exists(), "looking makes nothing"
    with pytest.raises(OpponentError, match="No such file"):
        load_network_file(tmp_path / "none")
    home = make_home(world, tmp_path / "other")
    BlobStore(home.public).delete(world.state.release.network_blob)
    with pytest.raises(OpponentError, match="is not in this node's directory"):
        Gallery(home).network("latest")
