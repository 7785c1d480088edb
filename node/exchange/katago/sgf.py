"""A game as the SGF that KataGo's self-play writes, for programs that read those: `katago_sgf`.

Form: its `WriteSgf::writeSgf` (`cpp/dataio/sgf.cpp`). One line a game, so that files together are its `.sgfs`. The root's
comment says where self-play began (after the opening), and the hash that the game's training rows carry; a move's comment
what its search found: White's wins, losses, no results and score, visits, and the weight of the row (a fast search has 0).
A game that ended on settled areas, or by its longest length, has a result without two passes.
"""

from node.exchange.katago.names import model_name
from node.exchange.katago.rows import game_hash
from node.exchange.rule_names import TROMP_TAYLOR, katago_form, parse_rules
from node.exchange.values import write_point
from node.web.games.played import MoveLine, SearchLine
from node.web.queries.game import GameAnswer


def katago_sgf(game: GameAnswer) -> bytes:
    """The game as a line of a file."""
    rules = parse_rules(game.rules) or TROMP_TAYLOR
    head = {
        "FF": "4",
        "GM": "1",
        "SZ": str(game.size),
        "PB": model_name(game.black.name),
        "PW": model_name(game.white.name),
        "HA": "0",
        "KM": f"{game.komi:g}",
        "RU": katago_form(rules),
        "RE": game.result,
        "C": f"startTurnIdx={game.opening_moves},initTurnNum=0,gameHash={game_hash(game.hash)},gtype=normal",
    }
    root = "".join(f"{name}[{value}]" for name, value in head.items())
    last = len(game.moves) - 1
    moves = (_move(game.size, line, game.result if ply == last else "") for ply, line in enumerate(game.moves))
    return f"(;{root}{''.join(moves)})\n".encode("ascii")


def _move(size: int, line: MoveLine, result: str) -> str:
    words = [*(_search(line.search) if line.search is not None else ()), *([f"result={result}"] if result else ())]
    colour = "B" if line.colour == "black" else "W"
    return f";{colour}[{write_point(line.point, size, size)}]" + (f"C[{' '.join(words)}]" if words else "")


def _search(search: SearchLine) -> tuple[str, ...]:
    return (
        f"{1 - search.black_winrate:.2f} {search.black_winrate:.2f} 0.00 {-search.black_score:.1f}",
        f"v={sum(search.visits) + 1}",
        f"weight={float(search.kind == 'full'):.2f}",
    )
