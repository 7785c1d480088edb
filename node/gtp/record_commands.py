"""Commands about the count and about records: final_score, final_status_list, loadsgf, printsgf."""

from dataclasses import replace
from os.path import isfile
from pathlib import Path
from typing import Final

from native.errors import EngineError
from native.rules import Colour, Rules
from node.disk.files import write_output
from node.exchange.errors import ReplayError, SgfError
from node.exchange.record import GameRecord, Setup, clean_name
from node.exchange.record import Move as RecordMove
from node.exchange.replay import play_record
from node.exchange.rule_names import name_rules, parse_rules
from node.exchange.sgf_reader import parse_record
from node.exchange.sgf_text import MAX_BYTES
from node.exchange.sgf_writer import encode_sgf
from node.exchange.values import parse_result, vertex
from node.gtp.command import Command
from node.gtp.errors import Failure
from node.gtp.line import Request
from node.gtp.session import Session
from node.gtp.table import Start
from node.gtp.values import argument, shown, whole_of
from node.gtp.verdict import judge

STATUSES: Final = ("alive", "dead", "seki")


def final_score(session: Session, request: Request) -> str:
    """The score of the position as it stands, by the rules."""
    return judge(session.table.stand, session.player).result


def final_status_list(session: Session, request: Request) -> str:
    """`final_status_list alive|dead|seki`: the stones of that kind; none are called seki."""
    status = argument(request.arguments, 0, "alive, dead or seki").lower()
    if status not in STATUSES:
        raise Failure(f"The status of stones is alive, dead or seki, not {shown(status)}.")
    verdict, game = judge(session.table.stand, session.player), session.table.game
    rules = game.rules
    stones = {point for point, stone in enumerate(game.stones()) if stone}
    found = {"dead": verdict.dead, "alive": stones - verdict.dead, "seki": frozenset[int]()}[status]
    return " ".join(vertex(point, rules.rows, rules.cols) for point in sorted(found))


# ---- records ----------------------------------------------------------------------------------------------------


def loadsgf(session: Session, request: Request) -> str:
    """`loadsgf FILE [MOVE]`: the main line of the file's first game, up to the move before that number."""
    argument(request.arguments, 0, "the name of a file")
    name, number, last = request.text.strip(), None, request.arguments[-1]
    if len(request.arguments) > 1 and last.isdecimal() and not isfile(name):
        number, name = whole_of(last, "A move's number"), name.removesuffix(last).strip()
    record = _read(Path(name))
    _set_up(session, record if number is None else _cut(record, max(number, 1) - 1))
    session.draw_seed()
    session.clock.restart()
    return session.to_move().name.lower()


def printsgf(session: Session, request: Request) -> str:
    """`printsgf [FILE]`: the game as a record, in the answer or in a file."""
    try:
        data = encode_sgf(_record(session))
        if not request.arguments:
            return data.decode("utf-8")
        write_output(Path(request.text.strip()), data)
    except SgfError as error:
        raise Failure(str(error)) from None
    except (OSError, ValueError) as error:
        raise Failure(f"The file cannot be written ({_why(error)}).") from None
    return ""


def _read(path: Path) -> GameRecord:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise Failure(f"cannot load file ({_why(error)})") from None
    try:
        return parse_record(data)
    except SgfError as error:
        raise Failure(f"cannot load file: {error}") from None


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or "its name is none"


def _cut(record: GameRecord, moves: int) -> GameRecord:
    """The record with its first moves alone, and the setups between them."""
    nodes: list[Setup | RecordMove] = []
    for node in record.nodes:
        if isinstance(node, RecordMove):
            if not moves:
                break
            moves -= 1
        nodes.append(node)
    return replace(record, nodes=tuple(nodes))


def _set_up(session: Session, record: GameRecord) -> None:
    """The table as the record leaves it; its moves after the last setup can be taken back."""
    rules = _rules(session, record)
    last = max((at for at, node in enumerate(record.nodes, 1) if isinstance(node, Setup) and node.points), default=0)
    before, moves = replace(record, nodes=record.nodes[:last], result=""), record.nodes[last:]
    try:
        game = play_record(before, rules)
        play_record(record, rules)
    except ReplayError as error:
        raise Failure(f"cannot load file: {error}") from None
    to_move = game.to_move if last else _first(record, game.to_move)
    turns = [node.to_move for node in moves if isinstance(node, Setup) and node.to_move is not None]
    played = [(node.colour, node.point) for node in moves if isinstance(node, RecordMove)]
    if turns and not played:
        to_move = turns[-1]
    taken = (0, game.captured(Colour.BLACK), game.captured(Colour.WHITE))
    session.table.put(rules, Start(game.stones(), to_move, taken, record.handicap or 0), played)


def _first(record: GameRecord, otherwise: Colour) -> Colour:
    moves = record.moves
    return moves[0].colour if moves and record.start.to_move is None else otherwise


def _rules(session: Session, record: GameRecord) -> Rules:
    """The table's rules with the record's size and komi, and with the rules that it names, where they are known."""
    named = parse_rules(record.rules)
    rules = session.sized(record.rows, record.cols)
    komi_half = rules.komi_half if record.komi_half is None else record.komi_half
    try:
        known = rules if named is None else session.named(named)
        return replace(known, rows=record.rows, cols=record.cols, komi_half=komi_half)
    except EngineError as error:
        raise Failure(f"cannot load file: {error}") from None


def _record(session: Session) -> GameRecord:
    table, rules = session.table, session.table.rules
    stones = table.start.stones or bytes(rules.points)
    points = {c: tuple(p for p, stone in enumerate(stones) if stone == c) for c in (Colour.BLACK, Colour.WHITE)}
    start = Setup(points[Colour.BLACK], points[Colour.WHITE])
    if start.points:
        start = replace(start, to_move=table.start.to_move)
    result = judge(table.stand, session.player).result if table.game.end else ""
    name = clean_name(session.player.name)
    return GameRecord(
        rules.rows,
        rules.cols,
        komi_half=rules.komi_half,
        handicap=table.start.handicap or None,
        rules=name_rules(rules),
        black=name,
        white=name,
        result=parse_result(result),
        start=start,
        nodes=tuple(RecordMove(colour, move) for colour, move in table.moves),
    )


COMMANDS: Final[dict[str, Command]] = {
    "final_score": final_score,
    "final_status_list": final_status_list,
    "loadsgf": loadsgf,
    "printsgf": printsgf,
}
