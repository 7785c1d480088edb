"""The engine's search against the one of `search_reference`: whole records and digests, on random configs and positions."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from functools import lru_cache

import pytest

from native._engine import ffi, lib
from native.game import Game
from native.netfile import Architecture
from native.network import Kernel, Network
from native.rules import End, Ko, Rules
from native.search import Kind, Player, Root, SearchConfig, search_ply
from tests.native.network_reference import random_network
from tests.native.numbers_reference import dirichlet, exact_exp, exact_log
from tests.native.search_reference import levels, search_reference

ONE = 10**6
CASES = 12  # searched positions a seed


@lru_cache(maxsize=8)
def network(seed: int) -> Network | None:
    """None, a first network (nearly flat), or one of random numbers (sure of itself)."""
    if seed % 4 == 0:
        return None
    if seed % 4 == 1:
        return Network.load(Network.first(bytes([seed]) * 32, 1, 16))
    return Network.load(random_network(Architecture(1, 16), seed).encode())


def random_config(rng: random.Random, root: Root) -> SearchConfig:
    """Every number drawn, those that switch something off often 0."""

    def micro(most: float, zero: float = 0.3) -> int:
        return 0 if rng.random() < zero else rng.randint(1, round(most * ONE))

    noise = rng.choice((0, 0, 250_000, rng.randint(1, ONE)))
    return SearchConfig(
        root=root,
        visits_full=rng.randint(2, 90),
        visits_fast=rng.randint(2, 25),
        full_share_ppm=rng.choice((ONE, ONE, 600_000, 0)),
        cpuct_micro=micro(3, 0.1),
        fpu_reduction_micro=micro(1),
        root_fpu_reduction_micro=micro(1),
        noise_weight_ppm=noise,
        noise_alpha_micro=rng.randint(1, 40 * ONE) if noise else 0,
        root_temperature_micro=rng.choice((ONE, ONE, rng.randint(300_000, 3 * ONE))),
        forced_playouts_micro=micro(4),
        score_utility_micro=micro(1),
        temperature_start_micro=micro(2),
        temperature_end_micro=micro(1),
        temperature_halflife=rng.randint(1, 30),
        gumbel_considered=rng.choice((1, 2, 3, 4, 7, 8, 16, 362)),
        gumbel_noise_micro=rng.choice((ONE, ONE, 0, rng.randint(1, 3 * ONE))),
        gumbel_c_visit_micro=micro(80),
        gumbel_c_scale_micro=micro(2, 0.1),
        symmetry=rng.randint(0, 1),
    )


def random_game(rng: random.Random, square: bool) -> Game:
    """A position after some random moves, passes now and then, that is not over."""
    rows = rng.choice((3, 4, 5, 7))
    rules = Rules(
        rows,
        rows if square else rng.choice((2, 3, 5, 7)),
        rng.randint(-9, 19),
        rng.choice(list(Ko)),
        suicide=rng.random() < 0.5,
        pass_alive=rng.random() < 0.5,
        settled_end=rng.random() < 0.5,
        move_cap=rng.randint(rows * rows, 3 * rows * rows),
    )
    game = Game(rules)
    for _ in range(rng.randint(0, rules.points)):
        before = game.copy()
        game.play(rng.choice([move for move, legal in enumerate(game.legal()) if legal]))
        if game.end != End.NONE:
            return before
    return game


@pytest.mark.parametrize("root", Root)
@pytest.mark.parametrize("seed", range(16))
def test_engine_and_reference_search_alike(seed: int, root: Root) -> None:
    rng = random.Random(f"{root} {seed}")
    net = network(seed)
    release, config_digest = rng.randbytes(32), rng.randbytes(32)
    for _ in range(CASES):
        config, game, game_seed = random_config(rng, root), random_game(rng, net is not None), rng.randbytes(32)
        ours = search_ply(Player(net, release), Kernel.BEST, config, config_digest, game_seed, game)
        assert ours == search_reference(net, config, release, config_digest, game_seed, game), (config, game.moves)


def test_cases_reach_what_they_are_for() -> None:
    """Among the positions above: both kinds, ended games in the tree, pruned visits, moves that halving dropped."""
    kinds, ended, pruned, dropped = set(), 0, 0, 0
    for seed in range(4):
        for root in Root:
            rng = random.Random(f"{root} {seed}")
            net = network(seed)
            rng.randbytes(64)
            for _ in range(CASES):
                config, game, game_seed = random_config(rng, root), random_game(rng, net is not None), rng.randbytes(32)
                ply = search_ply(Player(net, bytes(32)), Kernel.BEST, config, bytes(32), game_seed, game)
                kinds.add((root, ply.kind))
                ended += ply.nodes < sum(ply.visits) + 1
                if ply.kind == Kind.FULL:
                    pruned += any(n and not share for n, share in zip(ply.visits, ply.policy_target, strict=True))
                    dropped += sum(n > 0 for n in ply.visits) > 2 > sum(n == max(ply.visits) for n in ply.visits)
    assert len(kinds) == 4
    assert min(ended, pruned, dropped) > 3


# ---- parts of the reference --------------------------------------------------------------------------------


def test_exp_log_and_dirichlet_are_the_engines_to_the_last_bit() -> None:
    rng = random.Random(2)
    for _ in range(3000):
        x = rng.uniform(-720, 700)
        assert exact_exp(x) == lib.go_exp(x)
        assert exact_log(abs(x) + 1e-300) == lib.go_log(abs(x) + 1e-300)
        y = math.exp(rng.uniform(-1, 1))
        assert exact_log(y) == lib.go_log(y)
    moves, out = [3, 4, 9, 30], ffi.new("double[]", 4)
    for ply in range(50):
        total = rng.uniform(0.01, 20)
        assert lib.go_dirichlet(bytes(range(32)), ply, total, ffi.new("uint16_t[]", moves), 4, out) == lib.GO_OK
        assert list(out) == dirichlet(bytes(range(32)), ply, total / 4, moves)


@pytest.mark.parametrize(
    ("considered", "count", "written"),
    [
        (1, 5, "01234"),
        (2, 6, "001122"),
        (4, 12, "000011223344"),
        (5, 13, "0000011223344"),
        (16, 20, "00000000000000001111"),
        (8, 3, "000"),
        (3, 14, "00011122334455"),
    ],
)
def test_sequential_halving_by_hand(considered: int, count: int, written: str) -> None:
    """Tables worked out from Karnin et al.; the first is one move alone, the last but one has fewer visits than moves."""
    assert "".join(map(str, levels(considered, count))) == written


def test_one_number_of_a_config_changes_the_search() -> None:
    """The comparison above would see it: each number of the root that is used, and no number of the other root."""
    game, player = Game(Rules(5, 5, 1, move_cap=75)), Player(network(2), bytes(32))

    def record(config: SearchConfig) -> tuple[object, ...]:
        ply = search_ply(player, Kernel.BEST, config, bytes(32), bytes(32), game)
        return ply.digest, ply.policy_target, ply.move

    puct = SearchConfig(
        visits_full=60,
        noise_weight_ppm=250_000,
        noise_alpha_micro=ONE,
        forced_playouts_micro=2 * ONE,
        score_utility_micro=100_000,
        temperature_start_micro=ONE,
    )
    gumbel = replace(puct, root=Root.GUMBEL, gumbel_noise_micro=ONE, gumbel_considered=8)
    of_gumbel = [
        {"gumbel_considered": 4},
        {"gumbel_noise_micro": ONE // 2},
        {"gumbel_c_visit_micro": ONE},
        {"gumbel_c_scale_micro": 3 * ONE},
    ]
    of_puct = [
        {"noise_weight_ppm": 500_000},
        {"noise_alpha_micro": 2 * ONE},
        {"forced_playouts_micro": 0},
        {"root_fpu_reduction_micro": 0},
        {"temperature_start_micro": 0},
    ]
    for change in of_gumbel:
        assert record(replace(gumbel, **change)) != record(gumbel), change
        assert record(replace(puct, **change)) == record(puct), change
    for change in of_puct:
        assert record(replace(gumbel, **change)) == record(gumbel), change
    for change in of_puct[:3]:
        assert record(replace(puct, **change)) != record(puct), change
    for both in ({"cpuct_micro": 3 * ONE}, {"score_utility_micro": 5 * ONE}, {"root_temperature_micro": 2 * ONE}):
        assert record(replace(gumbel, **both)) != record(gumbel), both
        assert record(replace(puct, **both)) != record(puct), both
