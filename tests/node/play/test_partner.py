"""Partners: what they find, when they give up, which games they take, and where their networks come from."""

from pathlib import Path

import pytest

from native.netfile import Architecture
from native.network import Kernel, Network
from node.disk.blob_store import BlobStore
from node.play.errors import CannotPlay, NotHere
from node.play.limits import LEAST_VISITS, MOST_VISITS, most_visits
from node.play.partner import Partner
from node.play.position import outcome, reach
from node.play.reply import reply
from node.play.resignation import ResignRule
from node.play.shelf import Shelf
from node.play.worth import Worth
from protocol.envelope import Envelope
from protocol.release import Release
from tests.node.homes import grown_world, make_home
from tests.verification.manifests import small_manifest
from verification.releases import first_network

SEED = bytes(32)
MANIFEST = small_manifest()


def small_partner(network: Network | None = None) -> Partner:
    """It plays the small run's games."""
    return Partner("small", bytes(32), network, MANIFEST.rules, MANIFEST.gate_search)


@pytest.fixture(scope="module")
def network() -> Network:
    """A small one."""
    return Network.load(Network.first(bytes(32), 1, 16))


def envelopes(entries: list[bytes]) -> list[Envelope]:
    """Those of releases."""
    parsed = (Envelope.parse(entry) for entry in entries)
    return [each for each in parsed if each.type == Release.payload_type()]


def test_a_game_from_the_first_move_to_a_score(network: Network) -> None:
    partner = small_partner(network)
    reached = reach(partner.rules(7, 17), [])
    while not reached.game.end:
        found = reply(partner, reached, 12, reached.game.num_moves.to_bytes(32, "big"))
        assert found.move is not None, "a network that knows nothing never despairs"
        assert found.move == found.thought.move
        reached = found.reached
    ended = outcome(reached.game)
    assert ended is not None
    assert ended.end in ("passes", "settled", "cap")


def test_a_thought_is_a_function_of_what_is_asked(network: Network) -> None:
    partner = small_partner(network)
    rules = partner.rules(9, 14)
    first, again = (partner.think(reach(rules, [40, 30]).game, 40, SEED) for _ in range(2))
    scalar = partner.think(reach(rules, [40, 30]).game, 40, SEED, Kernel.SCALAR)
    assert first == again == scalar
    assert sum(first.visits) == 39
    assert sum(first.policy) == 65535
    assert len(first.visits) == len(first.policy) == 82
    assert 0 <= first.black_winrate <= 1


def test_numbers_are_from_blacks_view() -> None:
    partner = small_partner(None)
    rules = partner.rules(7, 0)
    found = partner.think(reach(rules, [24, 49]).game, 100, SEED)  # Black may pass and has the whole board
    assert (found.black_winrate > 0.5, found.black_score > 0) == (True, True)
    turned = partner.think(reach(rules, [49, 24, 49]).game, 100, SEED)
    assert turned.black_winrate < 0.5
    assert turned.black_score < 0


def test_it_passes_when_that_wins() -> None:
    partner = small_partner(None)
    reached = reach(partner.rules(7, 17), [24, 10, 49])
    assert reply(partner, reached, 200, SEED).move == 49


def test_when_it_gives_up() -> None:
    rule = ResignRule()
    rules = small_partner().rules(7, 17)
    late = reach(rules, [point for point in range(0, 48, 2) if point != 24] + [47, 49]).game
    assert late.num_moves >= 25
    lost = Worth(0.01, -12.0)
    assert rule.is_due(late, lost, 61)
    assert not rule.is_due(reach(rules, [24, 10]).game, lost, 61), "too early"
    assert not rule.is_due(late, lost, 21), "hardly looked at"
    assert not rule.is_due(late, Worth(0.01, -3.0), 61), "close"
    assert not rule.is_due(late, Worth(0.5, -12.0), 61), "open"


def test_what_is_not_offered(network: Network) -> None:
    partner = small_partner(network)
    for size, komi_half, why in ((6, 0, "side of 7 to 19"), (20, 0, "side of 7 to 19"), (7, 99, "from -49 to 49")):
        with pytest.raises(CannotPlay, match=why):
            partner.rules(size, komi_half)
    game = reach(partner.rules(7, 0), []).game
    for visits in (0, LEAST_VISITS - 1, MOST_VISITS + 1):
        with pytest.raises(CannotPlay, match=f"from {LEAST_VISITS} to {MOST_VISITS}"):
            partner.think(game, visits, SEED)


def test_large_networks_have_fewer_visits() -> None:
    small, large = Architecture(1, 16), Architecture(40, 224)
    assert most_visits(None, 19) == most_visits(small, 19, Kernel.AVX2) == MOST_VISITS
    fewer = most_visits(large, 19, Kernel.AVX2)
    assert LEAST_VISITS <= most_visits(large, 19, Kernel.SCALAR) < fewer < most_visits(large, 9, Kernel.AVX2)
    assert fewer * 18 * 40 * 224**2 * 361 <= 10**12


def test_networks_come_from_the_public_folder(tmp_path: Path) -> None:
    world = grown_world()
    home = make_home(world, tmp_path / "node")
    blob = BlobStore(home.public).path(world.state.release.network_blob)
    releases = [Release.parse(each.payload) for each in envelopes(world.entries)]
    newest = max(releases, key=lambda release: release.number)
    shelf = Shelf(home.public)
    assert shelf.has(newest)
    assert shelf.network(newest).digest == newest.network
    whole = blob.read_bytes()
    for damaged in (whole[:-1] + b"x", whole[:-1], whole + b"x"):
        blob.write_bytes(damaged)
        assert Shelf(home.public).has(newest) == (len(damaged) == len(whole))
        with pytest.raises(NotHere, match="is damaged"):
            Shelf(home.public).network(newest)
        assert blob.read_bytes() == damaged, "nothing is mended here"
    assert shelf.network(newest).digest == newest.network, "it is still loaded"
    blob.unlink()
    assert not Shelf(home.public).has(newest)
    with pytest.raises(NotHere, match="is not in this node's directory"):
        Shelf(home.public).network(newest)
    state = world.state
    first = Shelf(home.public).first(state.release_manifest(state.releases.all[0]), state.manifest_digest)
    assert first is not None
    assert first.digest == state.releases.all[0].network
    assert first.file == first_network(state.manifest, state.manifest_digest)
