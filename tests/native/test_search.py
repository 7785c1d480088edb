"""The search through its Python face: golden trees, kernels, records, refusals, exact arithmetic."""

import hashlib
import itertools
import math
import random
from dataclasses import replace

import pytest

from native._engine import ffi, lib
from native.errors import EngineError, IllegalMove
from native.game import Game
from native.network import Kernel, Network, softmax
from native.pool import Job, Pool
from native.rules import Colour, End, Rules
from native.search import Kind, Player, Ply, Root, SearchConfig, search_ply, selftest
from protocol.game_block import PlyRecord
from tests.vectors import search_generate
from tests.vectors.search_generate import GUMBEL, PLAIN, RULES, SCENARIOS, SELF_PLAY, Scenario

ZERO = bytes(32)
UNIFORM = Player(None, ZERO)


def search(config: SearchConfig, game: Game, player: Player = UNIFORM, seed: bytes = ZERO) -> Ply:
    return search_ply(player, Kernel.BEST, config, ZERO, seed, game)


@pytest.fixture(scope="module")
def network() -> Network:
    """One whose first choice on the boards below is a point, not the pass."""
    return Network.load(Network.first(bytes([1]) * 32, 1, 16))


# ---- golden trees ------------------------------------------------------------------------------------------


def test_golden_trees_are_what_the_generator_writes() -> None:
    stored = {path.name: path.read_text(encoding="utf-8") for path in search_generate.FOLDER.glob("*.json")}
    assert dict(search_generate.files()) == stored
    assert len(stored) == len(SCENARIOS)
    assert search_generate.page() == search_generate.PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("kernel", Kernel.available())
@pytest.mark.parametrize("scenario", [s for s in SCENARIOS if s.network is not None], ids=lambda s: s.name)
def test_every_kernel_finds_the_golden_trees(scenario: Scenario, kernel: Kernel) -> None:
    assert search_generate.play(scenario, kernel) == search_generate.play(scenario)


def test_golden_trees_cover_both_kinds_and_the_ends() -> None:
    plies = {scenario.name: search_generate.play(scenario) for scenario in SCENARIOS}
    assert {ply.kind for ply in plies["network-self-play"]} == {Kind.FAST, Kind.FULL}
    assert {ply.kind for ply in plies["gumbel-self-play"]} == {Kind.FAST, Kind.FULL}
    assert plies["end-of-game"][0].nodes < 200  # finished games were visited again and again
    assert plies["move-cap"][-1].nodes <= 27
    assert min(ply.nodes for ply in plies["settled-end"]) < 250


def test_selftest_passes() -> None:
    selftest()


# ---- what a ply says ---------------------------------------------------------------------------------------


def test_a_ply_is_a_function_of_its_arguments(network: Network) -> None:
    game = Game(RULES)
    player = Player(network, ZERO)
    first = search(SELF_PLAY, game, player)
    assert search(SELF_PLAY, game.copy(), player) == first
    assert search(SELF_PLAY, game, Player(network, bytes([1]) * 32)).digest != first.digest
    assert search_ply(player, Kernel.BEST, SELF_PLAY, bytes([1]) * 32, ZERO, game).digest != first.digest
    other_seed = search(SELF_PLAY, game, player, bytes([1]) * 32)
    assert (other_seed.visits, other_seed.digest) != (first.visits, first.digest)


@pytest.mark.parametrize("seed", range(6))
def test_visits_and_targets_add_up(seed: int, network: Network) -> None:
    rng = random.Random(seed)
    game = Game(replace(RULES, move_cap=60))
    for _ in range(seed * 6):
        game.play(rng.choice([move for move, legal in enumerate(game.legal()) if legal and move < game.pass_move]))
    ply = search(SELF_PLAY, game, Player(network, ZERO), bytes([seed]) * 32)
    full = ply.kind == Kind.FULL
    assert ply.ply == game.num_moves
    assert sum(ply.visits) == (SELF_PLAY.visits_full if full else SELF_PLAY.visits_fast) - 1
    assert sum(ply.policy_target) == (65535 if full else 0)
    legal = game.legal()
    assert all(
        legal[move] or not (n or t) for move, (n, t) in enumerate(zip(ply.visits, ply.policy_target, strict=True))
    )
    assert ply.visits[ply.move] > 0
    assert -(1 << 24) <= ply.value <= 1 << 24


def test_record_is_the_leaf_that_the_protocol_reads() -> None:
    ply = search(PLAIN, Game(RULES))
    record = PlyRecord.parse(ply.record(), 7)
    assert (record.ply, record.move, record.kind) == (ply.ply, ply.move, ply.kind)
    assert (record.visits, record.policy_target) == (ply.visits, ply.policy_target)
    assert (record.value, record.score) == (ply.value, ply.score)
    assert record.trace_hash == hashlib.sha256(ply.digest).digest()


def test_digest_of_two_visits_is_the_one_of_the_spec() -> None:
    """D written out by hand: a root and one child, uniform evaluation."""
    config = SearchConfig(visits_full=2, visits_fast=2)
    release, config_digest, seed = (bytes([i]) * 32 for i in (1, 2, 3))
    game = Game(RULES)
    game.play(24)
    ply = search_ply(Player(None, release), Kernel.BEST, config, config_digest, seed, game)
    nodes = [(2**32 - 1, 65535, 2, 0, 0), (0, 0, 1, 0, 0)]
    data = b"gonode/trace/v1\0" + release + config_digest + seed + (1).to_bytes(4, "little") + (2).to_bytes(4, "little")
    for parent, move, visits, value, score in nodes:
        data += parent.to_bytes(4, "little") + move.to_bytes(2, "little") + visits.to_bytes(4, "little")
        data += value.to_bytes(8, "little", signed=True) + score.to_bytes(8, "little", signed=True)
    assert ply.digest == hashlib.sha256(data).digest()
    assert (ply.move, ply.nodes) == (0, 2)


def test_root_of_two_visits_has_the_means_of_the_network(network: Network) -> None:
    """With one child the value is the mean of two evaluations, seen from the root."""
    game = Game(RULES)
    ply = search(SearchConfig(visits_full=2, visits_fast=2, symmetry=0), game, Player(network, ZERO))
    root = network.evaluate(Kernel.SCALAR, 7, 7, game.features())[0]
    best = max(range(50), key=lambda move: (root.policy[move], -move))
    assert ply.move == best
    game.play(best)
    child = network.evaluate(Kernel.SCALAR, 7, 7, game.features())[0]
    total = sum(sign * round(lib.go_tanh(out.value) * 2**24) for sign, out in ((1, root), (-1, child)))
    assert ply.value == (2 * total + 2) // 4
    assert ply.score == (2 * (root.score_mean - child.score_mean) + 2) // 4


def image(symmetry: int, point: int, size: int) -> int:
    """Where a symmetry takes a point, as docs/spec/search.md says."""
    row, col = divmod(point, size)
    if symmetry & 4:
        row, col = col, row
    row = size - 1 - row if symmetry & 1 else row
    col = size - 1 - col if symmetry & 2 else col
    return row * size + col


def test_symmetry_is_drawn_from_seed_and_planes(network: Network) -> None:
    """The best move of a root evaluated in Python, turned there and back, is the only one that two visits try."""
    game = Game(RULES)
    for move in (10, 38, 12, 22):
        game.play(move)
    planes, points = game.features(), 49
    drawn, moves = set(), set()
    for i in range(40):
        seed = bytes([i]) * 32
        symmetry = hashlib.sha256(seed + planes).digest()[0] & 7
        drawn.add(symmetry)
        turned = bytearray(len(planes))
        for at, number in enumerate(planes):
            turned[at - at % points + image(symmetry, at % points, 7)] = number
        out = network.evaluate(Kernel.SCALAR, 7, 7, bytes(turned))[0]
        logits = [out.policy[image(symmetry, point, 7)] for point in range(points)] + [out.policy[points]]
        best = max((move for move, legal in enumerate(game.legal()) if legal), key=lambda move: (logits[move], -move))
        ply = search(SearchConfig(visits_full=2, visits_fast=2), game, Player(network, ZERO), seed)
        assert ply.move == best
        moves.add(best)
    assert drawn == set(range(8))
    assert len(moves) > 1


@pytest.mark.parametrize("root", Root)
def test_a_won_board_is_passed_on(root: Root) -> None:
    """White has passed and black owns the board: the search finds the pass by itself."""
    rules = Rules(5, 5, 1, move_cap=75)
    stones = bytes(1 if point % 5 in (1, 3) or point // 5 == 2 else 0 for point in range(25))
    game = Game(rules, stones, Colour.WHITE)
    game.play(game.pass_move)
    assert game.end == End.NONE
    ply = search(SearchConfig(root=root, visits_full=400, visits_fast=400), game)
    assert ply.move == game.pass_move
    assert ply.policy_target[game.pass_move] == max(ply.policy_target)
    if root == Root.PUCT:
        assert ply.value > 1 << 23


@pytest.mark.parametrize("root", Root)
def test_a_losing_pass_is_not_answered_with_a_pass(root: Root) -> None:
    """After black's pass white is behind on the board: another pass would lose at once."""
    game = Game(Rules(5, 5, -20, move_cap=75))
    game.play(game.pass_move)
    ply = search(SearchConfig(root=root, visits_full=400, visits_fast=400, gumbel_considered=26), game)
    assert ply.move != game.pass_move
    assert ply.visits[game.pass_move] < 20
    assert ply.policy_target[game.pass_move] < 65535 // 26


def test_noise_only_on_full_searches(network: Network) -> None:
    fast = replace(SELF_PLAY, full_share_ppm=0)
    plain = replace(PLAIN, visits_fast=16, full_share_ppm=0, score_utility_micro=100_000)
    player = Player(network, ZERO)
    game = Game(RULES)
    assert search(fast, game, player).visits == search(plain, game, player).visits


def test_temperature_zero_takes_the_first_of_the_heaviest() -> None:
    ply = search(SearchConfig(visits_full=9, visits_fast=9), Game(RULES))
    assert ply.move == ply.visits.index(max(ply.visits))


def test_temperature_draws_by_visits() -> None:
    """At temperature 1 a move's share of the draws is its share of the visits."""
    config = SearchConfig(visits_full=31, visits_fast=31, temperature_start_micro=10**6, temperature_end_micro=10**6)
    game = Game(Rules(3, 3, 1, move_cap=27))
    for move in (4, 9, 1, 9, 3, 9, 5, 9, 7, 9):
        game.play(move)
    draws = [search(config, game, seed=i.to_bytes(4, "little") + bytes(28)) for i in range(600)]
    share = sum(ply.move == game.pass_move for ply in draws) / 600
    assert share == pytest.approx(draws[0].visits[game.pass_move] / 30, abs=0.07)
    assert 0 < share < 1


# ---- Gumbel root -------------------------------------------------------------------------------------------


def test_halving_gives_out_the_visits(network: Network) -> None:
    """39 visits among 8 moves: one each; up to 4 for the best 4; the rest in turn for the best 2."""
    for i in range(10):
        ply = search(replace(GUMBEL, full_share_ppm=10**6), Game(RULES), Player(network, ZERO), bytes([i]) * 32)
        assert sorted(filter(None, ply.visits), reverse=True) == [14, 13, 4, 4, 1, 1, 1, 1]
        assert ply.visits[ply.move] == 14


def test_target_of_a_gumbel_root_completes_values(network: Network) -> None:
    """Moves without visits have shares by their logits; the noise is not in the target."""
    game, player = Game(RULES), Player(network, ZERO)
    config = replace(GUMBEL, full_share_ppm=10**6, root_temperature_micro=10**6, symmetry=0)
    ply = search(config, game, player)
    untried = [move for move in range(50) if not ply.visits[move]]
    logits = network.evaluate(Kernel.SCALAR, 7, 7, game.features())[0].policy
    assert len(untried) == 42
    for a, b in itertools.pairwise(untried):
        want = math.exp((logits[a] - logits[b]) / 4096)
        assert abs(ply.policy_target[a] - want * ply.policy_target[b]) <= 1 + want


def test_a_fast_gumbel_ply_has_noise_and_no_target(network: Network) -> None:
    config = replace(GUMBEL, full_share_ppm=0)
    plies = [search(config, Game(RULES), Player(network, ZERO), bytes([i]) * 32) for i in range(8)]
    assert all(ply.kind == Kind.FAST and not any(ply.policy_target) for ply in plies)
    assert all(sum(ply.visits) == config.visits_fast - 1 for ply in plies)
    assert len({ply.visits for ply in plies}) > 4


def test_without_noise_a_gumbel_root_plays_its_best_move(network: Network) -> None:
    config = replace(GUMBEL, full_share_ppm=10**6, gumbel_noise_micro=0, symmetry=0, gumbel_c_scale_micro=10**8)
    plies = [search(config, Game(RULES), Player(network, ZERO), bytes([i]) * 32) for i in range(4)]
    assert len({(ply.move, ply.visits) for ply in plies}) == 1
    assert plies[0].policy_target[plies[0].move] == max(plies[0].policy_target)


def test_noise_draws_a_move_by_the_policy(network: Network) -> None:
    """The Gumbel-max trick: where values weigh nothing, a move is played as often as its prior says."""
    config = SearchConfig(
        root=Root.GUMBEL, visits_full=2, visits_fast=2, symmetry=0, gumbel_noise_micro=10**6, gumbel_c_scale_micro=0
    )
    game = Game(Rules(3, 3, 1, move_cap=27))
    for move in (4, 9, 1, 9, 3, 9, 5, 9):
        game.play(move)
    logits = network.evaluate(Kernel.SCALAR, 3, 3, game.features())[0].policy
    priors = softmax(logits, game.legal())
    draws = 3000
    count = [0] * 10
    for i in range(draws):
        count[search(config, game, Player(network, ZERO), i.to_bytes(4, "little") + bytes(28)).move] += 1
    assert max(abs(n / draws - prior) for n, prior in zip(count, priors, strict=True)) < 0.03
    assert count[4] == 0


def test_a_pool_plays_and_replays_gumbel_games(network: Network) -> None:
    """Beside games with a PUCT root, whatever else is in flight."""
    player = Player(network, ZERO)
    rules = replace(RULES, settled_end=True, move_cap=20)
    gumbel = replace(GUMBEL, visits_full=20, visits_fast=6)
    configs = [gumbel, replace(gumbel, root=Root.PUCT)]
    jobs = [Job(i, i, rules, configs[i % 2], ZERO, bytes([i]) * 32, player, player) for i in range(8)]
    blocks = []
    for threads, games in ((1, 1), (2, 4)):
        with Pool(threads, Kernel.BEST, games) as pool:
            for job in jobs:
                pool.play(job)
            blocks.append({done.id: done.block for done in filter(None, (pool.wait(60) for _ in jobs)) if done.is_ok})
    assert blocks[0] == blocks[1]
    assert len(blocks[0]) == len(jobs)
    with Pool(1, Kernel.BEST, 2) as pool:
        pool.replay(jobs[0], blocks[0][0])
        pool.replay(replace(jobs[2], config=replace(gumbel, gumbel_considered=7)), blocks[0][2])
        found = {done.id: done for done in filter(None, (pool.wait(60) for _ in range(2)))}
    assert found[0].is_ok
    assert found[2].is_mismatch


# ---- refusals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "number"),
    [
        ("root", 2),
        ("visits_full", 1),
        ("visits_fast", 65536),
        ("full_share_ppm", -1),
        ("cpuct_micro", 10**9),
        ("root_temperature_micro", 0),
        ("temperature_halflife", 0),
        ("gumbel_considered", 0),
        ("gumbel_considered", 363),
        ("gumbel_noise_micro", -1),
        ("gumbel_c_visit_micro", 10**9 + 1),
        ("gumbel_c_scale_micro", 10**8 + 1),
        ("symmetry", 2),
        ("score_utility_micro", 1.5),
    ],
)
def test_config_out_of_range_is_named(field: str, number: object) -> None:
    with pytest.raises(EngineError, match=field):
        SearchConfig(**{field: number})  # type: ignore[arg-type]


def test_noise_without_concentration_is_refused() -> None:
    with pytest.raises(EngineError, match="noise"):
        SearchConfig(noise_weight_ppm=250_000)


def test_what_is_not_searched_says_why(network: Network) -> None:
    game = Game(RULES)
    with pytest.raises(EngineError, match="square"):
        search(PLAIN, Game(Rules(7, 9, 1)), Player(network, ZERO))
    with pytest.raises(EngineError, match="32"):
        Player(None, b"short")
    with pytest.raises(EngineError, match="game seed"):
        search(PLAIN, game, seed=b"")
    game.play(game.pass_move)
    game.play(game.pass_move)
    with pytest.raises(IllegalMove):
        search(PLAIN, game)


def test_uniform_evaluation_searches_rectangles() -> None:
    assert sum(search(PLAIN, Game(Rules(2, 7, 1))).visits) == PLAIN.visits_full - 1


# ---- exact arithmetic --------------------------------------------------------------------------------------


def test_exp_and_log_are_within_one_ulp() -> None:
    rng = random.Random(1)
    for _ in range(20_000):
        x = rng.uniform(-700, 700)
        assert abs(lib.go_exp(x) - math.exp(x)) <= math.ulp(math.exp(x))
        y = math.exp(rng.uniform(-700, 700))
        assert abs(lib.go_log(y) - math.log(y)) <= math.ulp(math.log(y))
    for near in (1 + 2**-52, 1 - 2**-53, 1.4142135623730951, 0.7071067811865476, 2**-1022, 5e-324):
        assert abs(lib.go_log(near) - math.log(near)) <= math.ulp(math.log(near))


def test_dirichlet_has_its_moments() -> None:
    moves = ffi.new("uint16_t[]", [0, 7, 11, 49])
    out = ffi.new("double[]", 4)
    total, draws = 0.8, []
    for ply in range(3000):
        assert lib.go_dirichlet(bytes(range(32)), ply, total, moves, 4, out) == lib.GO_OK
        draws.append(list(out))
        assert sum(out) == pytest.approx(1, abs=1e-12)
    variance = 0.25 * 0.75 / (total + 1)
    for i in range(4):
        column = [draw[i] for draw in draws]
        mean = sum(column) / len(column)
        assert mean == pytest.approx(0.25, abs=0.025)
        assert sum((x - mean) ** 2 for x in column) / len(column) == pytest.approx(variance, abs=0.012)
