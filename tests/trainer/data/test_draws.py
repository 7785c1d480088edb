"""Draws: pure functions of seed and step."""

import numpy as np

from trainer.data.draws import Sampler, is_held_out, random_words

SEED = bytes(range(32))
WORDS = ["0x515533135bc98477", "0x6ec9a61f4f378b38"]


def test_the_words_never_change() -> None:
    assert [hex(word) for word in random_words(SEED, "order", 3, 2)] == WORDS
    assert random_words(SEED, "order", 3, 5)[:2].tolist() == random_words(SEED, "order", 3, 2).tolist()


def test_a_minibatch_does_not_depend_on_those_drawn_before() -> None:
    numbers = np.arange(100, 170)
    one, two = Sampler(SEED, numbers, 32), Sampler(SEED, numbers, 32)
    drawn = [one.minibatch(step) for step in range(9)]
    for step in (7, 2, 8, 0):
        rows, symmetries = two.minibatch(step)
        assert rows.tolist() == drawn[step][0].tolist()
        assert symmetries.tolist() == drawn[step][1].tolist()


def test_every_row_is_drawn_once_before_any_is_drawn_again() -> None:
    numbers = np.arange(70)
    sampler = Sampler(SEED, numbers, 32)
    drawn = np.concatenate([sampler.minibatch(step)[0] for step in range(35)])
    assert len(drawn) == 16 * 70
    orders = drawn.reshape(16, 70)
    assert all(sorted(order) == numbers.tolist() for order in orders.tolist())
    assert len({tuple(order) for order in orders.tolist()}) == 16


def test_all_symmetries_are_drawn_alike() -> None:
    sampler = Sampler(SEED, np.arange(10), 4000)
    counts = np.bincount(sampler.minibatch(0)[1], minlength=8)
    assert counts.min() > 400
    assert len(counts) == 8


def test_another_seed_draws_otherwise() -> None:
    numbers = np.arange(1000)
    assert (
        Sampler(SEED, numbers, 32).minibatch(0)[0].tolist() != Sampler(bytes(32), numbers, 32).minibatch(0)[0].tolist()
    )


def test_the_share_held_out() -> None:
    held = [is_held_out(SEED, game, 100_000) for game in range(5000)]
    assert 400 < sum(held) < 600
    assert not any(is_held_out(SEED, game, 0) for game in range(100))
    assert all(is_held_out(SEED, game, 10**6) for game in range(100))
