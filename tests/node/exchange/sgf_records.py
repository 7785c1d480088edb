"""Game records drawn by hypothesis: all that a record may hold, on boards of every shape."""

from hypothesis import strategies as st

from native.rules import MAX_KOMI_HALF, MAX_SIDE, Colour
from node.exchange.record import GameRecord, Move, Setup, clean_comment, clean_name
from node.exchange.values import parse_result

COLOURS = st.sampled_from((Colour.BLACK, Colour.WHITE))
SIGNS = st.one_of(st.characters(), st.sampled_from("\\]:[();\n \t"))
COMMENTS = st.text(SIGNS, max_size=20).map(clean_comment)
NAMES = st.text(SIGNS, max_size=20).map(clean_name)
RESULTS = st.one_of(st.sampled_from(("B+3.5", "w+Resign", "0", "Void", "?", "B+", "W+T")), NAMES).map(parse_result)


@st.composite
def setups(draw: st.DrawFn, points: int, first: bool = False) -> Setup:
    owners = draw(st.dictionaries(st.integers(0, points - 1), st.sampled_from("bw" if first else "bwe"), max_size=8))
    black, white, empty = (tuple(sorted(p for p, owner in owners.items() if owner == sign)) for sign in "bwe")
    return Setup(black, white, empty, draw(st.none() | COLOURS), draw(COMMENTS))


@st.composite
def records(draw: st.DrawFn) -> GameRecord:
    rows, cols = draw(st.integers(1, MAX_SIDE)), draw(st.integers(1, MAX_SIDE))
    points = rows * cols
    node = st.one_of(
        st.builds(Move, COLOURS, st.integers(0, points), COMMENTS),
        setups(points).filter(lambda setup: setup != Setup()),
    )
    return GameRecord(
        rows,
        cols,
        komi_half=draw(st.none() | st.integers(-MAX_KOMI_HALF, MAX_KOMI_HALF)),
        handicap=draw(st.none() | st.integers(0, points)),
        rules=draw(NAMES),
        black=draw(NAMES),
        white=draw(NAMES),
        result=draw(RESULTS),
        start=draw(setups(points, first=True)),
        nodes=tuple(draw(st.lists(node, max_size=12))),
    )
