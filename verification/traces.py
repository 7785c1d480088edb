"""Trace openings: whether the D that a verifier shows are the ones that its verdict binds and the batch records.

Spec: `docs/spec/verdict.md` ("Opening"). `work` binds the D of all replayed plies. A batch records H(D) of every ply, so the
opening of an accepted game needs no replay to be checked; where a replay stopped at a mismatch, the last D is the verifier's
own. An opening shows possession, not honesty: a contributor could tell its D.
"""

from hashlib import sha256

from protocol.batch import Batch
from protocol.seeds import work
from protocol.verdict import ACCEPT, Verdict

DIGEST_BYTES = 32


def parse_traces(data: bytes) -> list[bytes]:
    """The D in an opening's blob, 32 bytes each; ValueError for another length."""
    if len(data) % DIGEST_BYTES:
        raise ValueError("A trace opening is made of digests of 32 bytes.")
    return [data[at : at + DIGEST_BYTES] for at in range(0, len(data), DIGEST_BYTES)]


def is_backed(verdict: Verdict, data: bytes, content: Batch | None = None) -> bool:
    """Whether an opening's blob `data` (empty: none) backs a verdict: it hashes to `work` and, given the batch's
    `content`, its D are those whose hashes the batch records for the games drawn, up to a mismatch."""
    try:
        traces = parse_traces(data)
    except ValueError:
        return False
    if work(verdict.run, verdict.verifier, verdict.subject, traces) != verdict.work:
        return False
    if content is None:
        return True
    games = [content.games[number] for number in verdict.drawn if number < len(content.games)]
    recorded = [game.trace_hash(ply) for game in games for ply in game.plies]
    if verdict.outcome == ACCEPT:
        return recorded == [sha256(trace).digest() for trace in traces]
    sure = max(0, len(traces) - 1)
    return len(traces) <= len(recorded) and recorded[:sure] == [sha256(trace).digest() for trace in traces[:sure]]
