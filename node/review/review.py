"""What a network finds in each position of a record: `review`, `Review`, `Opinion`.

Every position is searched once, with the same visits and seed and without chance, so that the same record, network and
visits give the same review. Positions in which the game is over are counted, not searched.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from native.game import Game
from native.rules import Colour, Rules
from node.exchange.errors import ReplayError
from node.exchange.record import GameRecord, Move
from node.exchange.replay import play_record
from node.exchange.rule_names import NamedRules, by_name, parse_rules
from node.play.report import report
from node.play.searcher import Searcher
from node.play.stand import Stand
from node.play.worth import Worth, worth_at_end, worth_of

SEED: Final = bytes(32)


@dataclass(frozen=True, slots=True)
class Opinion:
    """Of one position: how it stands for Black, and how play might go on; no line where the game is over."""

    black: Worth
    line: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Review:
    """A record and an opinion of its start and of the position after each of its nodes."""

    record: GameRecord
    rules: Rules
    visits: int
    opinions: tuple[Opinion, ...]

    def loss(self, node: int) -> Worth | None:
        """What the mover of a node, from 0, gave away by it, as the searches before and after say; None for a setup."""
        move = self.record.nodes[node]
        if not isinstance(move, Move):
            return None
        before, after = self.opinions[node].black, self.opinions[node + 1].black
        sign = 1 if move.colour == Colour.BLACK else -1
        return Worth(sign * (before.winrate - after.winrate), sign * (before.score - after.score))


def review(
    record: GameRecord, searcher: Searcher, house: Rules, visits: int, tell: Callable[[int], None] = lambda done: None
) -> Review:
    """Searches every position of the record; `tell` hears how many are done. Raises ReplayError.

    The rules are those that the record names, else those of `house`, the run's.
    """
    rules = review_rules(record, house)
    if rules.rows != rules.cols and searcher.network is not None:
        raise ReplayError(f"A network sees square boards only, not {rules.cols} by {rules.rows}.", 0)
    play_record(record, rules)  # all of it, before the first search
    opinions = []
    for done in range(len(record.nodes) + 1):
        game = play_record(replace(record, nodes=record.nodes[:done]), rules)
        opinions.append(_opinion(game, _mover(record, done, game), searcher, visits))
        tell(done + 1)
    return Review(record, rules, visits, tuple(opinions))


def review_rules(record: GameRecord, house: Rules) -> Rules:
    """The rules of a record on its board, with its komi; what only area scoring knows is as in `house`."""
    named = parse_rules(record.rules) or NamedRules(house.ko, house.suicide, house.scoring)
    return by_name(Rules(record.rows, record.cols, record.komi_half or 0), named, house)


def _mover(record: GameRecord, done: int, game: Game) -> Colour:
    """Who plays next: the record knows, as long as it has moves."""
    following = record.nodes[done] if done < len(record.nodes) else None
    return following.colour if isinstance(following, Move) else game.to_move


def _opinion(game: Game, colour: Colour, searcher: Searcher, visits: int) -> Opinion:
    if game.end:
        worth = worth_at_end(game)
        return Opinion(worth if game.to_move == Colour.BLACK else worth.turned(), ())
    game = Stand(game, (0, 0, 0)).turn_of(colour).game
    ply = searcher.search(game, visits, SEED, varies=False)
    (best,) = report(searcher, game, ply, SEED, 1).moves
    worth = worth_of(ply)
    return Opinion(worth if colour == Colour.BLACK else worth.turned(), best.line)
