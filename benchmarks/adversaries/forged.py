"""Games that nobody searched: blocks in the right form, with legal moves and counts that pass the cheap checks."""

import struct
from random import Random

from native.errors import BlockError
from native.game import Game
from native.pool import Job
from native.rows import check_block
from native.rules import End
from protocol.game_block import BLACK_WINS, DRAW, KIND_FAST, WHITE_WINS, GameBlock, GameHeader
from tests.verification import edits
from tests.verification.manifests import small_manifest
from verification.setup import game_rules


def random_game(job: Job, visits: int, rng: Random) -> bytes:
    """A game of random legal moves as `job` sets it up, each claimed to be the only one that a fast search visited."""
    game = Game(job.rules)
    moves = list(job.opening_moves)
    for move in moves:
        game.play(move)
    while game.end == End.NONE:
        legal = [move for move, may in enumerate(game.legal()) if may]
        moves.append(rng.choice(legal))
        game.play(moves[-1])
    half = game.score_half()
    header = GameHeader(
        counter=job.counter,
        size=job.rules.rows,
        end=int(game.end),
        result=BLACK_WINS if half > 0 else WHITE_WINS if half < 0 else DRAW,
        opening_moves=len(job.opening_moves),
        komi_half=job.rules.komi_half,
        opening=job.opening,
        score_half=half,
        moves=len(moves),
    )
    searched = moves[len(job.opening_moves) :]
    counts = b"".join(
        struct.pack(f"<{header.points}H", *(visits - 1 if move == chosen else 0 for move in range(header.points)))
        for chosen in searched
    )
    return b"".join(
        (
            header.encode(),
            struct.pack(f"<{len(moves)}H", *moves),
            bytes([KIND_FAST]) * header.plies,
            counts,
            bytes(2 * header.points * header.plies),
            bytes(4 * header.plies),
            bytes(4 * header.plies),
            bytes(32 * header.plies),
        )
    )


def other_legal_move(block: GameBlock) -> bytes:
    """The game with one move changed for another that rules and counts allow, so that only a search can tell."""
    rules = game_rules(small_manifest().rules, block.header.size, block.header.komi_half)
    for index in reversed(range(block.header.plies)):
        for candidate in range(block.header.points):
            changed = edits.move(index, candidate)(block)
            if changed == block.raw:
                continue
            try:
                check_block(rules, changed)
            except BlockError:
                continue
            return changed
    return block.raw
