"""Properties of every record: values of all admitted kinds come back from their bytes, hostile bytes give named errors."""

import re
from dataclasses import replace
from typing import Any, get_args, get_origin

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from protocol.envelope import Envelope
from protocol.errors import ParseError, ProtocolError, TooLarge
from protocol.manifest import (
    BoardWeight,
    GatePolicy,
    KomiWeight,
    Manifest,
    NetworkSpec,
    Opening,
    RatePoint,
    Stage,
    TrainingPolicy,
)
from protocol.record import Record
from protocol.root import Role, Root
from protocol.types import UNSET, ZERO, Choice, Length, Range, Text
from protocol.verdict import Verdict
from tests.vectors.record_examples import CONTRIBUTOR, Example, digest_of, examples
from tests.vectors.record_format import RECORDS, constraint, hints, readable

EXAMPLES = examples()
NAMES = sorted(RECORDS)
# Long lists and byte strings say nothing new; these keep every record under its 64 KiB.
MOST_ITEMS = 3
MOST_BYTES = 100


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values that a field with this annotation admits."""
    if get_origin(hint) is tuple:
        return st.lists(values(get_args(hint)[0]), max_size=MOST_ITEMS).map(tuple)
    match constraint(hint):
        case Range(low, high):
            return st.integers(low, high)
        case Length(lengths, None):
            return st.sampled_from(lengths).flatmap(lambda size: st.binary(min_size=size, max_size=size))
        case Length(_, most):
            return st.binary(max_size=min(most or 0, MOST_BYTES))
        case Text(pattern, most):
            return st.from_regex(pattern, fullmatch=True, alphabet=st.characters(codec="ascii")).map(lambda x: x[:most])
        case Choice(words):
            return st.sampled_from(words)
    return st.booleans() if hint is bool else records(hint)


def records(cls: type[Record]) -> st.SearchStrategy[Record]:
    """Records of a class; what spans fields is arranged for the classes that ask for it, and otherwise left to chance."""
    made = {name: values(hint) for name, hint in hints(cls).items()}
    if cls is Root:
        keys = st.lists(st.binary(min_size=32, max_size=32), min_size=1, max_size=3, unique=True).map(tuple)
        roles = st.lists(records(Role), max_size=4, unique_by=lambda role: role.key).map(tuple)  # type: ignore[attr-defined]
        made |= {"keys": keys, "threshold": st.just(1), "roles": roles, "witness_threshold": st.integers(1, 3)}
    if cls in (Root, Manifest):
        made |= {"run": st.just(ZERO), "version": st.just(1)}
    if cls is Manifest:
        later = st.lists(records(Stage), max_size=2, unique_by=lambda stage: stage.from_step)  # type: ignore[attr-defined]
        made["stages"] = st.tuples(records(Stage), later).map(_rising)
        made |= {name: st.just(getattr(EXAMPLES["manifest"].record, name)) for name in ("selfplay", "gate_search")}
    if cls is BoardWeight:
        made["komi"] = st.lists(records(KomiWeight), min_size=1, max_size=MOST_ITEMS).map(tuple)
    if cls is Stage:
        made["boards"] = st.lists(records(BoardWeight), min_size=1, max_size=MOST_ITEMS).map(tuple)
        made |= {name: st.sampled_from((0, 2, 60000)) for name in ("visits_full", "visits_fast")}
    if cls is TrainingPolicy:
        made["processes"] = st.sampled_from((1, 2, 4))
        made["minibatch"] = st.integers(1, 100).map(lambda number: 4 * number)
        made["schedule"] = st.sets(st.integers(0, 2**64 - 1), max_size=MOST_ITEMS).map(
            lambda steps: tuple(RatePoint(step, 10**7) for step in sorted(steps))
        )
    if cls is NetworkSpec:
        made["channels"] = st.integers(1, 32).map(lambda number: 16 * number)
    if cls is Opening:
        made["moves"] = st.just((0, 1))
    if cls is GatePolicy:
        made |= {"games": st.integers(1, 1000).map(lambda number: 2 * number), "elo0": st.integers(-100, 0)}
        made["elo1"] = st.integers(1, 100)
    if cls.__name__ == "GateRecord":
        made |= {"counts": st.just((0, 1, 2, 3, 4)), "pairs": st.just(10)}
    if cls is Verdict:
        made["drawn"] = st.sets(st.integers(0, 65535), max_size=5).map(lambda games: tuple(sorted(games)))
        made["reason"] = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=200)
        made["outcome"] = st.just("reject")
    return st.fixed_dictionaries(made).map(lambda fields: _try(cls, fields)).filter(lambda made: made is not None)


def _try(cls: type[Record], fields: dict[str, Any]) -> Any:
    """The record, or None where fields contradict each other (single faults are found by the vectors)."""
    try:
        return cls(**fields)
    except ParseError:
        return None


def _rising(stages: tuple[Any, list[Any]]) -> tuple[Any, ...]:
    first, later = stages
    rest = sorted((stage for stage in later if stage.from_step > 0), key=lambda stage: stage.from_step)
    return (Stage(0, first.boards), *rest)


@pytest.mark.parametrize("name", NAMES)
def test_records_come_back_from_their_bytes(name: str) -> None:
    cls = RECORDS[name]

    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    @given(records(cls))
    def check(record: Record) -> None:
        assert cls.parse(record.encode()) == record
        sealed = record.seal(CONTRIBUTOR)
        assert cls.open(Envelope.parse(sealed.encode()), CONTRIBUTOR.public) == record
        assert sealed.digest == record.digest()

    check()


@pytest.mark.parametrize("name", NAMES)
def test_mutated_payloads_give_named_errors_only(name: str) -> None:
    record = EXAMPLES[name].record
    data = record.encode()

    @settings(max_examples=60, deadline=None)
    @given(st.integers(0, len(data) - 1), st.binary(min_size=0, max_size=4), st.integers(0, 4))
    def check(at: int, new: bytes, old: int) -> None:
        mutated = data[:at] + new + data[at + old :]
        assume(mutated != data)
        try:
            parsed = type(record).parse(mutated)
        except ProtocolError:
            return
        assert parsed != record  # another record, then, with its own bytes and its own identity
        assert parsed.encode() == mutated

    check()


@given(st.sampled_from(NAMES), st.binary(max_size=200))
def test_noise_gives_named_errors_only(name: str, data: bytes) -> None:
    with pytest.raises(ProtocolError):
        RECORDS[name].parse(data)


@pytest.mark.parametrize("name", NAMES)
def test_records_are_values(name: str) -> None:
    example: Example = EXAMPLES[name]
    twin = type(example.record).parse(example.record.encode())
    assert twin == example.record
    assert hash(twin) == hash(example.record)
    assert not hasattr(twin, "__dict__")
    with pytest.raises(AttributeError):
        setattr(twin, next(iter(hints(type(twin)))), ZERO)


def test_readable_values_are_plain() -> None:
    value = readable(EXAMPLES["root"].record.to_value())
    assert value["keys"] == [digest_key.hex() for digest_key in EXAMPLES["root"].record.keys]  # type: ignore[attr-defined]
    assert re.fullmatch("[0-9a-f]{64}", value["run"])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"version": 2}, "run id"),
        ({"run": digest_of("run")}, "run id"),
        ({"threshold": 2}, "threshold"),
        ({"threshold": 0}, "threshold"),
        ({"keys": (ZERO, ZERO)}, "distinct"),
        ({"roles": (Role("verifier", ZERO, "a"), Role("coordinator", ZERO, "b"))}, "one role"),
        ({"witness_threshold": 0}, "witness"),
        ({"witness_threshold": 2}, "witness"),
    ],
)
def test_root_fields_that_contradict(change: dict[str, Any], why: str) -> None:
    root = EXAMPLES["root"].record
    fields = {name: getattr(root, name) for name in hints(Root)}
    with pytest.raises(ParseError, match=why):
        Root(**{**fields, **change})


@pytest.mark.parametrize("verifiers", range(1, 6))
def test_witness_threshold_is_more_than_half(verifiers: int) -> None:
    roles = tuple(Role("verifier", bytes([number]) * 32, "v") for number in range(verifiers))
    admitted = []
    for threshold in range(verifiers + 2):
        try:
            Root(ZERO, 1, 1, (ZERO,), roles, threshold)
        except ParseError:
            continue
        admitted.append(threshold)
    assert admitted == list(range(verifiers // 2 + 1, verifiers + 1))


def test_roles_end_by_index() -> None:
    role = Role("verifier", ZERO, "v", expires=10, invalid_from=7)
    assert [role.is_valid_at(index) for index in (0, 6, 7, 10)] == [True, True, False, False]
    assert Role("verifier", ZERO, "v").is_valid_at(UNSET - 1)


def test_manifest_finds_its_stage_and_openings() -> None:
    manifest = EXAMPLES["manifest"].record
    assert isinstance(manifest, Manifest)
    fields = {name: getattr(manifest, name) for name in hints(Manifest)}
    later = Stage(100, (BoardWeight(9, 1, (KomiWeight(14, 1),)),))
    two = Manifest(**{**fields, "stages": (*manifest.stages, later)})
    assert [two.stage(step).from_step for step in (0, 99, 100, 10**9)] == [0, 0, 100, 100]
    assert two.openings_for(7) == manifest.openings
    assert two.openings_for(9) == (Opening(9, (), 1, 1),)
    assert two.openings_digest() == manifest.openings_digest()
    for stages in ((), (later,), (*manifest.stages, later, later)):
        with pytest.raises(ParseError, match="stages"):
            Manifest(**{**fields, "stages": stages})


def test_a_manifest_gives_self_play_the_visits_of_the_stage() -> None:
    manifest = EXAMPLES["manifest"].record
    assert isinstance(manifest, Manifest)
    (first,) = manifest.stages
    stages = (first, replace(first, from_step=5, visits_full=200), replace(first, from_step=9, visits_fast=3))
    staged = replace(manifest, stages=stages)
    visits = [(found.visits_full, found.visits_fast) for found in map(staged.selfplay_at, (0, 4, 5, 8, 9))]
    assert visits == [(64, 16), (64, 16), (200, 16), (200, 16), (64, 3)]
    assert replace(staged.selfplay_at(5), visits_full=64) == manifest.selfplay
    with pytest.raises(ParseError, match="visits must be 0 or from 2 on"):
        replace(first, visits_fast=1)


def test_a_schedule_rises_and_is_short() -> None:
    policy = EXAMPLES["training-policy"].record
    assert isinstance(policy, TrainingPolicy)
    assert replace(policy, schedule=tuple(RatePoint(step, 1) for step in range(64)))
    for steps in ((1, 1), (2, 1), range(65)):
        with pytest.raises(ParseError, match="at most 64 points, and their steps rise"):
            replace(policy, schedule=tuple(RatePoint(step, 1) for step in steps))


def test_a_record_too_long_for_a_reader_is_not_written() -> None:
    ban = EXAMPLES["ban"].record
    with pytest.raises(TooLarge):
        type(ban)(**{**{name: getattr(ban, name) for name in hints(type(ban))}, "proof": bytes(65536)}).encode()
