"""What `gonode bench` measures, in real short runs: what is counted and what is chosen, never how fast it was."""

import pytest

from native.errors import EngineError
from native.network import Kernel, Network
from native.pool import Pool
from node.machine.bench import Plan, measure
from node.machine.evaluating import Evaluations, evaluation_s, measure_network, peak_rate
from node.machine.playing import play, play_for, replay, self_play_games
from node.machine.settings import (
    Choice,
    Setting,
    Subject,
    compare,
    find_settings,
    smallest_enough,
    thread_counts,
    thread_rates,
)

NETWORK = Network.load(Network.first(bytes(32), 1, 16))
SCALAR = Kernel.SCALAR


@pytest.mark.parametrize("kernel", Kernel.available(), ids=Kernel.encode)
def test_the_network_and_its_peak_are_measured(kernel: Kernel) -> None:
    speed = measure_network(NETWORK, 7, kernel, 2, 0.01)
    assert speed.gmac_per_s > 0
    assert speed.gmac_per_s == pytest.approx(speed.evaluations_per_s * NETWORK.macs(7, 7) / 1e9)
    assert peak_rate(kernel, 0.001) > 0
    assert 0 < evaluation_s(NETWORK, 7, kernel, 4, 2, 0.001) < 1


def test_evaluations_takes_as_long_as_asked() -> None:
    one = Evaluations(NETWORK, 9, SCALAR, 3)
    assert one.seconds(0) > 0
    assert one.seconds(0.01) > 0


def test_games_count_what_was_searched() -> None:
    job_of = self_play_games(NETWORK, 7, 4)
    with Pool(2, SCALAR) as pool:
        played, dones = play(pool, [job_of(number) for number in range(3)])
        assert (played.games, len(dones)) == (3, 3)
        assert played.visits == 4 * played.plies == 4 * sum(done.plies for done in dones)
        assert 0 < played.evaluations <= played.visits
        assert played.cpu_s > 0
        assert played.wall_s > 0
        again = replay(pool, [(job_of(done.id), done.block) for done in dones])
        assert (again.games, again.plies, again.visits) == (3, played.plies, played.visits)


def test_a_strangers_game_is_searched_for_one_move() -> None:
    with Pool(1, SCALAR) as pool:
        _, games = play(pool, [self_play_games(None, 7, 2)(5)])
        replayed = replay(pool, [(self_play_games(NETWORK, 7, 30)(5), games[0].block)])
    assert (replayed.games, replayed.plies, replayed.visits) == (0, 1, 30)


def test_playing_for_a_time_counts_games_that_were_cut() -> None:
    played = play_for(SCALAR, 2, 1, self_play_games(NETWORK, 19, 1000), 0.3)
    assert played.games == 0
    assert played.visits > 0
    assert played.evaluations > 0
    assert played.evaluations_per_visit < 1.1


def test_playing_for_a_time_goes_on_with_new_games() -> None:
    played = play_for(SCALAR, 1, 1, self_play_games(None, 7, 2), 0.3)
    assert played.games > 3


def test_a_game_that_cannot_be_played_is_an_error() -> None:
    job_of = self_play_games(NETWORK, 7, 4)
    with Pool(1, SCALAR) as pool:
        pool.stop()
        with pytest.raises(EngineError):
            play(pool, [job_of(0)])


# ---- settings


@pytest.mark.parametrize(("cores", "counts"), [(1, [1]), (2, [2, 1]), (6, [6, 3, 1]), (64, [64, 32, 16, 8, 4, 2, 1])])
def test_threads_to_try(cores: int, counts: list[int]) -> None:
    assert thread_counts(cores) == counts


def test_the_smallest_of_about_equal_settings_is_chosen() -> None:
    assert smallest_enough({8: 100.0, 4: 98.0, 2: 60.0}) == 4
    assert smallest_enough({1: 50.0, 8: 80.0, 4: 79.0}) == 4
    assert smallest_enough({3: 1.0}) == 3


def test_threads_are_compared_with_a_core_each_when_others_use_the_machine() -> None:
    alone = [Setting(1, 1, 99.0, 100.0), Setting(4, 1, 100.0, 100.0)]  # limited to one core
    assert thread_rates(alone) == {1: 99.0, 4: 100.0}
    busy = [Setting(1, 1, 50.0, 100.0), Setting(4, 1, 45.0, 98.0)]
    assert thread_rates(busy) == {1: 100.0, 4: 392.0}
    assert thread_rates([]) == {}


def test_the_reasons_name_what_was_compared() -> None:
    by_games = Setting(2, 1, 70.0, 80.0), Setting(2, 4, 9.0, 100.0), Setting(2, 8, 1.0, 101.0)
    alone = Setting(1, 1, 50.0, 50.0), Setting(2, 1, 100.0, 60.0)
    choice = Choice(2, 4, alone, by_games)
    assert choice.why == [
        "2 threads: 1 gives 0.50 times as much a second",
        "4 games in flight: 1 gives 0.80, 8 give 1.01 times as much a processor second",
    ]
    assert choice.tried == alone + by_games
    busy = Setting(1, 1, 50.0, 100.0), Setting(2, 1, 45.0, 100.0)
    assert Choice(2, 1, busy, ()).why == ["2 threads: 1 gives 0.50 times as much if each thread had a core"]
    assert Choice(3, 1, (), ()).why == []


def test_settings_that_are_given_are_not_tried() -> None:
    said: list[str] = []
    choice = find_settings(Subject(NETWORK, 7, 4, SCALAR), [3], [1], 1.0, said.append)
    assert choice == Choice(3, 1, (), ())
    assert said == []


def test_settings_take_turns() -> None:
    said: list[str] = []
    tried = compare(Subject(NETWORK, 7, 4, SCALAR), [(2, 1), (1, 1)], 0.02, said.append)
    assert [(each.threads, each.games) for each in tried] == [(2, 1), (1, 1)]
    assert all(each.per_s > 0 and each.per_cpu_s > 0 for each in tried)
    assert len(said) == 6
    assert said[:2] == said[2:4] == said[4:]


def test_a_whole_measurement() -> None:
    said: list[str] = []
    report = measure(Plan("b1c16", NETWORK, 7, 8, SCALAR, [2, 1], [1], 1.0), said.append)
    assert report.choice.threads in (1, 2)
    assert report.played.visits > 0
    assert report.replay_ms_per_ply > 0
    assert said[0] == "the network"
    assert said[-1] == "replay"
