"""Searches of one position with so many visits: `think`, also of some of its moves alone.

A search has no way to be kept from moves. So where some are barred, the root is divided here, by sequential halving
(Karnin et al., 2013) over the moves that are left, the likeliest first: what each is worth after n visits is what a
search of its position with n visits finds, and the better half gets the next visits. Everything is a function of
(network, config, position, visits, moves).
"""

from collections.abc import Sequence
from typing import Final

from native.game import Game
from native.search import Kind, Ply
from node.play.report import Report, report
from node.play.searcher import Raw, Searcher
from node.play.worth import Worth, worth_at_end, worth_of
from protocol.game_block import SCORE_ONE, VALUE_ONE

SEED: Final = bytes(32)
"""No search draws by chance: the same question has the same answer."""
CONSIDERED: Final = 16
"""Moves that a divided root begins with, at most."""
LEAST_VISITS: Final = 2


def think(searcher: Searcher, game: Game, visits: int, barred: frozenset[int] = frozenset()) -> Report:
    """What a search of `game` with so many visits finds; with one visit, or no move left, what the network says alone."""
    legal = [move for move, is_legal in enumerate(game.legal()) if is_legal]
    left = [move for move in legal if move not in barred]
    if visits < LEAST_VISITS or not left:
        raw = searcher.evaluate(game, SEED)
        return Report(game, 1, raw.worth, raw, ())
    if len(left) == len(legal):
        ply = searcher.search(game, visits, SEED, varies=False)
    else:
        ply = _divided(searcher, game, visits, left)
    return report(searcher, game, ply, SEED)


def _divided(searcher: Searcher, game: Game, visits: int, left: Sequence[int]) -> Ply:
    """The root's visits over the moves that are `left`, as a search leaves them behind."""
    raw = searcher.evaluate(game, SEED)
    field = sorted(left, key=lambda move: (-raw.policy[move], move))[: min(CONSIDERED, visits - 1)]
    given = dict.fromkeys(field, 0)
    worths: dict[int, Worth] = {}
    spare = visits - 1
    while True:
        rounds_left = max(1, (len(field) - 1).bit_length())
        share = max(1, spare // (rounds_left * len(field)))
        for move in field:
            more = min(share, spare)
            if more:
                given[move], spare = given[move] + more, spare - more
                worths[move] = _worth(searcher, game, move, given[move])
        field.sort(key=lambda move: (-worths[move].winrate, -worths[move].score, move))
        if len(field) == 1:
            break
        del field[(len(field) + 1) // 2 :]
    if spare:
        best = field[0]
        given[best] += spare
        worths[best] = _worth(searcher, game, best, given[best])
    return _ply(game, raw, field[0], given, worths)


def _worth(searcher: Searcher, game: Game, move: int, visits: int) -> Worth:
    """What a move is worth to who makes it, after so many visits."""
    game = game.copy()
    game.play(move)
    if game.end:
        return worth_at_end(game).turned()
    if visits < LEAST_VISITS:
        return searcher.evaluate(game, SEED).worth.turned()
    return worth_of(searcher.search_below(game, visits, SEED)).turned()


def _ply(game: Game, raw: Raw, best: int, given: dict[int, int], worths: dict[int, Worth]) -> Ply:
    """The sums of the divided root: its own evaluation, and each move by its visits."""
    parts = [(1, raw.worth), *((count, worths[move]) for move, count in given.items() if count)]
    total = sum(count for count, _ in parts)
    winrate = sum(count * worth.winrate for count, worth in parts) / total
    score = sum(count * worth.score for count, worth in parts) / total
    width = game.rules.points + 1
    return Ply(
        ply=game.num_moves,
        move=best,
        kind=Kind.FULL,
        visits=tuple(given.get(move, 0) for move in range(width)),
        policy_target=(0,) * width,
        value=round((2 * winrate - 1) * VALUE_ONE),
        score=round(score * SCORE_ONE),
        nodes=total,
        digest=b"",
    )
