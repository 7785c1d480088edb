"""Games of a match as SGF files: `MatchSgf`.

A file says what the record of a match says, so it can be written after the game, too: players, rules, komi, handicap,
result, date and place in the match; who the players are (program and version, or the network's digest) in the first
node's comment; why a game ended early, or the engines did not agree, in the last move's. `node.exchange` reads it back.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from native.handicap import fixed_points
from native.rules import Colour, Rules
from node.disk.files import write_file
from node.exchange.record import GameRecord, Move, Setup, clean_comment, clean_name
from node.exchange.rule_names import name_rules
from node.exchange.sgf_writer import encode_sgf
from node.exchange.values import parse_vertex
from node.matches.opponent import Opponent
from node.matches.played_game import PlayedGame


@dataclass(frozen=True, slots=True)
class MatchSgf:
    """A folder that gets games; `date` as SGF writes it (`2026-11-30`), or empty."""

    folder: Path
    date: str = ""

    def path(self, number: int) -> Path:
        """Where a game of the match is."""
        return self.folder / f"{number:05d}.sgf"

    def write(self, number: int, played: PlayedGame, rules: Rules, black: Opponent, white: Opponent) -> None:
        """Writes a game as a whole file, over what is there; OSError names it."""
        write_file(self.path(number), match_sgf(played, rules, black, white, self.date, number), is_durable=False)


def match_sgf(played: PlayedGame, rules: Rules, black: Opponent, white: Opponent, date: str, number: int) -> bytes:
    """The file of a game."""
    stones = tuple(sorted(fixed_points(rules, played.handicap))) if played.handicap else ()
    turns = (Colour.WHITE, Colour.BLACK) if stones else (Colour.BLACK, Colour.WHITE)
    moves = [parse_vertex(word, rules.rows, rules.cols) for word in played.moves.split()]
    nodes = [Move(turns[ply % 2], move) for ply, move in enumerate(moves)]
    players = f"Black: {black.name} ({black.about}).\nWhite: {white.name} ({white.about})."
    reason = clean_comment(played.reason or played.dispute)
    if nodes:
        nodes[-1] = replace(nodes[-1], comment=reason)
    elif reason:
        players = f"{players}\n{reason}"
    record = GameRecord(
        rules.rows,
        rules.cols,
        komi_half=rules.komi_half,
        handicap=played.handicap or None,
        rules=name_rules(rules),
        black=clean_name(black.name),
        white=clean_name(white.name),
        result=played.result,
        start=Setup(black=stones, to_move=Colour.WHITE if stones else None, comment=clean_comment(players)),
        nodes=tuple(nodes),
    )
    return encode_sgf(record, {"DT": date, "GN": clean_name(f"{black.name} - {white.name}, game {number}")})
