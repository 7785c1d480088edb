"""Who is found under a name, and the command's refusals: one sentence, and nothing on standard output."""

from pathlib import Path

from native.network import Kernel
from node.play.finding import find_player
from node.play.player import RandomPlayer
from node.play.searcher import Searcher
from tests.node.cli.gonode import gonode
from tests.node.homes import grown_world, make_home
from tests.node.play.players import network_file, small_network


def test_players_of_a_run(tmp_path: Path) -> None:
    world = grown_world()
    home = make_home(world, tmp_path / "coordinator")
    newest = world.state.release.name
    for name, known in (("latest", newest), (newest, newest), ("first", world.state.releases.all[0].name)):
        found = find_player(home.directory, name, Kernel.best())
        assert isinstance(found.player, Searcher)
        assert found.player.name == known
        assert found.visits == world.state.manifest.gate_search.visits_full
        assert found.rules(9).move_cap == 0
        assert found.sizes == {board.size for board in world.state.manifest.stages[0].boards}


def test_players_without_a_run(tmp_path: Path) -> None:
    found = find_player(tmp_path / "none", str(network_file(tmp_path)), Kernel.best())
    assert isinstance(found.player, Searcher)
    assert (found.player.name, found.player.digest, found.visits) == ("small.net", small_network().digest, 100)
    assert found.sizes == frozenset()
    assert find_player(tmp_path / "none", "random", Kernel.best()).player == RandomPlayer()


def test_refusals(tmp_path: Path) -> None:
    text = tmp_path / "text.net"
    text.write_text("no network")
    none = ("--dir", tmp_path / "none")
    assert "no run is here" in gonode("gtp", *none).refusal()
    assert "text.net" in gonode("gtp", text, *none).refusal()
    assert "no rules are known as 'x'" in gonode("gtp", "random", "--rules", "x", *none).refusal()
    home = make_home(grown_world(), tmp_path / "coordinator")
    assert "is not a release of this run" in gonode("gtp", "r9999", "--dir", home.directory).refusal()
    gonode("gtp", "random", "--size", 20, *none).refusal()
