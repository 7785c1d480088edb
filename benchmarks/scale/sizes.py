"""Bytes of what travels and is logged, by encoding the example records of `tests/vectors/` with the code itself."""

from dataclasses import dataclass, replace
from functools import cache
from typing import Final, cast

from protocol import checkpoint, seeds
from protocol.admission import ACCEPTED, Admission, Decision
from protocol.epoch import Share, ShareSet
from protocol.types import ZERO
from protocol.verdict import ACCEPT, Verdict
from tests.vectors.record_examples import COORDINATOR, VERIFIER, digest_of, examples
from verification.witness import witness_name

HASH_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes of envelopes as the log holds them; of a decision, a share and a cosignature's line, what one more adds."""

    header: int
    opening: int
    admission: int
    decision: int
    share_set: int
    share: int
    epoch_hash: int
    epoch_reveal: int
    registration: int
    gate_assignment: int
    gate_result: int
    cycle: int
    note: int
    cosignature: int


@cache
def verdict_bytes(drawn: int) -> int:
    """A verdict that accepts after so many games were replayed."""
    verdict = cast(Verdict, examples()["verdict"].record)
    accepted = replace(verdict, drawn=tuple(range(drawn)), outcome=ACCEPT, evidence="", game=0, ply=0, reason="")
    return len(accepted.seal(VERIFIER).encode())


@cache
def sizes() -> Sizes:
    """All of them; indices and sizes as a log of millions of entries has them make a few bytes more."""
    made = examples()

    def sealed(name: str) -> int:
        example = made[name]
        assert example.signer is not None
        return len(example.record.seal(example.signer).encode())

    decision = Decision(2**24, 2**24, ACCEPTED, VERIFIER.public, 50_000, "")
    one, two = (len(Admission(ZERO, (decision,) * count).seal(COORDINATOR).encode()) for count in (1, 2))
    share = cast(Share, made["share"].record).seal(VERIFIER).encode()
    set_of = cast(ShareSet, made["share-set"].record)
    without = len(replace(set_of, shares=()).seal(COORDINATOR).encode())
    with_one = len(replace(set_of, shares=(share,)).seal(COORDINATOR).encode())
    head = checkpoint.Checkpoint(seeds.log_origin(digest_of("run")), 2**30, ZERO).sign(COORDINATOR)
    line = checkpoint.cosign(head.text, VERIFIER, witness_name(VERIFIER.public), 1_760_000_000)
    note = len(head.encode())
    return Sizes(
        header=sealed("batch-header"),
        opening=sealed("trace-opening"),
        admission=2 * one - two,
        decision=two - one,
        share_set=without,
        share=with_one - without,
        epoch_hash=sealed("epoch-hash"),
        epoch_reveal=sealed("epoch-reveal"),
        registration=sealed("registration"),
        gate_assignment=sealed("gate-assignment"),
        gate_result=sealed("gate-result"),
        cycle=sum(sealed(name) for name in ("window", "train-record", "gate-record", "release")),
        note=note,
        cosignature=len(head.with_signatures([line]).encode()) - note,
    )
