"""What a fraud proof claims, as text: who, of what, the position before the move, and what was said of it.

Spec: `docs/spec/proof.md`. Nothing is checked and nothing searched: the text shows what is in the file.
"""

from native.errors import EngineError
from native.game import Game
from native.rules import Colour, Rules
from node.exchange.values import COLUMNS, vertex
from protocol.batch import GameLeaf, parse_game_leaf
from protocol.envelope import Envelope
from protocol.game_block import KIND_FULL, SCORE_ONE, VALUE_ONE, PlyRecord
from protocol.header import BatchHeader
from protocol.manifest import Manifest
from protocol.proof import PLY, RULES, SETUP, VERIFIER, FraudProof
from protocol.verdict import ACCEPT, Verdict
from verification.setup import game_rules

MOST_MOVES = 8
MARKS = {Colour.EMPTY: ".", Colour.BLACK: "X", Colour.WHITE: "O"}
NAMES = {Colour.BLACK: "black", Colour.WHITE: "white"}


def describe_proof(data: bytes) -> str:
    """What a proof claims, and how it is checked; raises ProtocolError for bytes that are none."""
    return f"{claims_of(data)}\nNothing of this is checked yet: gonode proof check FILE"


def claims_of(data: bytes) -> str:
    """What a proof claims; raises ProtocolError for bytes that are none."""
    proof = FraudProof.parse(data)
    header = BatchHeader.parse(Envelope.parse(proof.header.entry).payload)
    verdict = Verdict.parse(Envelope.parse(proof.verdict[0].entry).payload) if proof.verdict else None
    leaf = parse_game_leaf(proof.game)
    ply = _ply(proof, leaf, verdict)
    lines = [
        f"run       {proof.run.hex()}",
        f"accused   the {proof.accused}",
        f"signer    {(header.peer if verdict is None else verdict.verifier).hex()}",
        f"kind      {proof.kind}",
        f"claim     {_claim(proof, verdict, ply)}",
        f"header    log entry {proof.header.index}, by {header.peer.hex()}",
    ]
    if header.fill_for:
        lines.append(f"seeds     those of {header.fill_for.hex()}")
    if proof.verdict:
        lines.append(f"verdict   log entry {proof.verdict[0].index}")
    lines += [
        f"release   {header.release.hex()}",
        f"game      {proof.game_index} of the batch, counter {leaf.header.counter}",
        f"setup     {leaf.header.size}x{leaf.header.size}, komi {leaf.header.komi_half / 2}, opening {leaf.header.opening}",
    ]
    if proof.kind == PLY:
        lines.append(f"ply       {ply}")
    lines += _position(proof, leaf, ply if proof.kind == PLY else None)
    if proof.ply:
        lines += _record(PlyRecord.parse(proof.ply, leaf.header.size), leaf)
    return "\n".join(lines)


def _ply(proof: FraudProof, leaf: GameLeaf, verdict: Verdict | None) -> int:
    """The absolute ply that the proof is about."""
    if verdict is not None and verdict.outcome != ACCEPT:
        return verdict.ply
    return proof.ply_index + leaf.header.opening_moves


def _claim(proof: FraudProof, verdict: Verdict | None, ply: int) -> str:
    what = {PLY: f"the search of ply {ply}", RULES: "what follows from the rules", SETUP: "the setup"}[proof.kind]
    if proof.accused != VERIFIER or verdict is None:
        return f"in game {proof.game_index} {what} is not as the batch says"
    if verdict.outcome == ACCEPT:
        return f"the verdict accepts game {proof.game_index}, in which {what} is not as the batch says"
    return f"the verdict rejects game {proof.game_index} for {what}, which is right; its reason: {verdict.reason}"


def _position(proof: FraudProof, leaf: GameLeaf, ply: int | None) -> list[str]:
    """The board before the ply, or at the game's end, or where a move is illegal."""
    size = leaf.header.size
    try:
        game = Game(_rules(proof, leaf))
        for number, move in enumerate(leaf.moves[:ply]):
            reason = game.check(move)
            if reason is not None:
                where = f"Move {number}, {vertex(move, size, size)}, is illegal here ({reason})."
                return [*_board(game, size, number), where]
            game.play(move)
    except EngineError as error:
        return [f"The game cannot be shown: {error}"]
    return _board(game, size, game.num_moves)


def _board(game: Game, size: int, moves: int) -> list[str]:
    stones = game.stones()
    rows = [
        f"{size - row:>4} {' '.join(MARKS[Colour(stone)] for stone in stones[row * size : (row + 1) * size])}"
        for row in range(size)
    ]
    return [f"After {moves} moves, {NAMES[game.to_move]} to move:", *rows, "     " + " ".join(COLUMNS[:size])]


def _rules(proof: FraudProof, leaf: GameLeaf) -> Rules:
    newest = proof.later[-1].entry if proof.later else proof.manifest
    envelope = Envelope.parse(newest)
    if envelope.type != Manifest.payload_type():
        envelope = Envelope.parse(proof.manifest)
    return game_rules(Manifest.parse(envelope.payload).rules, leaf.header.size, leaf.header.komi_half)


def _record(record: PlyRecord, leaf: GameLeaf) -> list[str]:
    """The record of the ply as it was signed."""
    size = leaf.header.size
    visits = sorted(enumerate(record.visits), key=lambda item: (-item[1], item[0]))
    told = [f"{vertex(move, size, size)} {count}" for move, count in visits if count]
    more = f", and {len(told) - MOST_MOVES} more" if len(told) > MOST_MOVES else ""
    return [
        f"signed    {'full' if record.kind == KIND_FULL else 'fast'} search, {vertex(record.move, size, size)} played",
        f"visits    {', '.join(told[:MOST_MOVES]) or 'none'}{more}; {sum(record.visits)} in all",
        f"value     {record.value / VALUE_ONE:+.4f}, score {record.score / SCORE_ONE:+.2f}, to the side to move",
    ]
