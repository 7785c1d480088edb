"""Game blocks of chosen moves without a search behind them: the right form, zeros for everything that a search would say."""

import struct

from hypothesis import strategies as st

from protocol.batch import Batch, encode_batch, parse_batch
from protocol.game_block import GameBlock, GameHeader


def block(moves: tuple[int, ...], size: int = 9, opening_moves: int = 0, **header: int) -> GameBlock:
    """A game of these moves; other fields of its header in `header`."""
    fields = {"counter": 0, "end": 1, "result": 1, "komi_half": 14, "opening": 0, "score_half": 3, **header}
    head = GameHeader(size=size, opening_moves=opening_moves, moves=len(moves), **fields)
    data = head.encode() + struct.pack(f"<{len(moves)}H", *moves)
    return GameBlock.parse(data + bytes(head.block_bytes - len(data)))


def batch_of(games: list[GameBlock]) -> Batch:
    """A parsed batch of games; their counters have to follow each other."""
    return parse_batch(encode_batch(game.raw for game in games))


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    """Batches of up to six short games on two sizes."""
    games = []
    for counter in range(draw(st.integers(0, 6))):
        size = draw(st.sampled_from((5, 6)))
        moves = tuple(draw(st.lists(st.integers(0, size * size), min_size=1, max_size=30)))
        games.append(
            block(
                moves,
                size,
                opening_moves=draw(st.integers(0, min(2, len(moves) - 1))),
                counter=counter,
                end=draw(st.integers(1, 3)),
                result=draw(st.integers(0, 2)),
                komi_half=draw(st.sampled_from((-3, 14))),
                score_half=draw(st.integers(-70, 70)),
            )
        )
    return batch_of(games)
