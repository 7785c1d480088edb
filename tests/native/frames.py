"""Frames of the pipe to test with: one of each kind, and strategies that draw any."""

from hypothesis import strategies as st

from native.pipe import (
    Answer,
    AskCanary,
    CanaryAnswer,
    Failed,
    Finished,
    ForgetNetwork,
    LoadNetwork,
    Order,
    Play,
    Ready,
    Replay,
    Stop,
)
from native.pipe_job import PipeJob
from native.pool import Done, Job
from native.rules import Ko, Rules
from native.search import Player, SearchConfig

RULES = Rules(9, 9, 15, Ko.SITUATIONAL, suicide=False, pass_alive=True, settled_end=True, move_cap=243)
CONFIG = SearchConfig(visits_full=60, visits_fast=20, full_share_ppm=250_000, temperature_halflife=9)


def job(number: int = 7) -> Job:
    """A job whose networks are uniform."""
    one, two = Player(None, bytes([1]) * 32), Player(None, bytes([2]) * 32)
    return Job(number, 300, RULES, CONFIG, bytes([3]) * 32, bytes([4]) * 32, one, two, 2, (40, 81))


ORDERS: tuple[Order, ...] = (
    LoadNetwork(bytes([5]) * 32, b"a network"),
    ForgetNetwork(bytes([5]) * 32),
    Play(PipeJob(job(), bytes([5]) * 32, None)),
    Play(PipeJob(job(), None, None), b"a begun game"),
    Replay(PipeJob(job(8), None, bytes([6]) * 32), b"a block"),
    AskCanary(9),
    Stop(),
)
ANSWERS: tuple[Answer, ...] = (
    Ready(2, "vnni", 2, 8),
    Finished(Done(7, 0, -1, 60, 3000, 1500, b"a block", (bytes(32), bytes([1]) * 32))),
    Finished(Done(8, 11, -2, 0, 0, 0, b"", ())),
    Failed(7, "The engine does not have the network 0505050505050505."),
    CanaryAnswer(9, True, ""),
    CanaryAnswer(9, False, "This machine computes wrongly: 2 + 2 = 5."),
)

digests = st.binary(min_size=32, max_size=32)
numbers = st.integers(0, 2**64 - 1)
sides = st.integers(1, 19)
micros = st.integers(0, 10_000_000)
shares = st.integers(0, 1_000_000)
sentences = st.text(st.characters(exclude_categories=["Cs"]), max_size=1000)


@st.composite
def jobs(draw: st.DrawFn) -> PipeJob:
    """Any job of the pipe."""
    side = draw(sides)
    cap = draw(st.integers(5, 65534))
    rules = Rules(
        side,
        side,
        draw(st.integers(-32767, 32767)),
        draw(st.sampled_from(Ko)),
        suicide=draw(st.booleans()),
        pass_alive=draw(st.booleans()),
        settled_end=draw(st.booleans()),
        move_cap=cap,
    )
    config = SearchConfig(
        visits_full=draw(st.integers(2, 65535)),
        full_share_ppm=draw(shares),
        cpuct_micro=draw(micros),
        noise_weight_ppm=draw(shares),
        noise_alpha_micro=draw(st.integers(1, 10**9)),
        symmetry=draw(st.integers(0, 1)),
    )
    moves = draw(st.lists(st.integers(0, side * side), max_size=min(64, cap - 1)))
    made = Job(
        id=draw(numbers),
        counter=draw(numbers),
        rules=rules,
        config=config,
        config_digest=draw(digests),
        game_seed=draw(digests),
        black=Player(None, draw(digests)),
        white=Player(None, draw(digests)),
        opening=draw(st.integers(0, 65535)),
        opening_moves=tuple(moves),
    )
    return PipeJob(made, draw(st.none() | digests), draw(st.none() | digests))


dones = st.builds(
    Done,
    id=numbers,
    status=st.integers(0, 13),
    bad_ply=st.integers(-2, 65534),
    plies=st.integers(0, 65534),
    visits=st.integers(0, 2**63 - 1),
    evaluations=st.integers(0, 2**63 - 1),
    block=st.binary(max_size=100),
    digests=st.lists(digests, max_size=4).map(tuple),
)
orders: st.SearchStrategy[Order] = st.one_of(
    st.builds(LoadNetwork, digests, st.binary(max_size=100)),
    st.builds(ForgetNetwork, digests),
    st.builds(Play, jobs(), st.binary(max_size=100)),
    st.builds(Replay, jobs(), st.binary(max_size=100)),
    st.builds(AskCanary, numbers),
    st.just(Stop()),
)
answers: st.SearchStrategy[Answer] = st.one_of(
    st.builds(
        Ready,
        st.integers(0, 2**32 - 1),
        st.text("abcdefghijklmnop-", max_size=64),
        st.integers(1, 1024),
        st.integers(1, 1024),
    ),
    st.builds(Finished, dones),
    st.builds(Failed, numbers, sentences),
    st.builds(lambda number, sentence: CanaryAnswer(number, sentence == "", sentence), numbers, sentences),
)
