"""Ringers' keys and choices: repeatable, nobody else's, and cheap on average."""

from dataclasses import replace
from pathlib import Path

from node.coordinator.ringer_plan import Plan, Ringer, commitment_every, drop_plan, kept_plan
from node.disk.store import Store
from protocol.ed25519 import SecretKey
from protocol.envelope import Envelope
from protocol.manifest import AdmissionPolicy
from protocol.registration import Invite
from tests.verification.manifests import digest_of, small_manifest

COORDINATOR = SecretKey(digest_of("coordinator"))
RUN = digest_of("run")
COUNT = 3000


def ringer(number: int, secret: SecretKey = COORDINATOR) -> Ringer:
    return Ringer(secret, RUN, number)


def default_policy() -> AdmissionPolicy:
    """The numbers of the default run that matter here."""
    policy = small_manifest().admission
    return replace(policy, probation_batches=10, hold_back_batches=100, ringer_batches=200)


def test_a_ringer_follows_from_key_and_number() -> None:
    assert ringer(3).key == ringer(3).key
    assert ringer(3).salt == ringer(3).salt
    assert ringer(3).rng("x").random() == ringer(3).rng("x").random()
    words = [each for n in range(4) for each in (ringer(n).key.seed, ringer(n).salt, ringer(n).recovery_hash)]
    words += [ringer(0, SecretKey(digest_of("another"))).key.seed]
    assert len(set(words)) == len(words)
    invite = Invite.open(Envelope.parse(ringer(0).invite), COORDINATOR.public)
    assert invite.run == RUN


def test_most_ringers_are_new_and_some_are_past_probation() -> None:
    policy = default_policy()
    ages = [ringer(number).age(policy) for number in range(COUNT)]
    assert max(ages) <= 2 * policy.probation_batches
    aged, past = (sum(age > least for age in ages) / COUNT for least in (0, policy.probation_batches))
    assert 1 / 45 < aged < 1 / 22
    assert 1 / 110 < past < 1 / 40
    overhead = 2 * (1 + sum(ages) / COUNT) / policy.ringer_batches
    assert overhead < 0.015


def test_no_honest_batch_of_a_ringer_can_be_released() -> None:
    policy = replace(default_policy(), hold_back_batches=3)
    assert max(ringer(number).age(policy) for number in range(COUNT)) == 3
    assert not any(ringer(number).age(replace(policy, hold_back_batches=0)) for number in range(COUNT))


def test_ringers_come_as_often_as_the_manifest_says() -> None:
    pauses = [ringer(number).pause(200) for number in range(COUNT)]
    assert abs(sum(pauses) / COUNT - 200) < 10
    assert {ringer(number).pause(1) for number in range(50)} == {1}
    assert {ringer(number).delay(default_policy()) for number in range(COUNT)} == set(
        range(1, 2 * commitment_every(200) + 1)
    )


def test_a_plan_is_kept(tmp_path: Path) -> None:
    header = Invite(RUN, bytes(16), 0).seal(COORDINATOR)
    with Store(tmp_path / "node.db") as store:
        assert kept_plan(store) is None
        plan = Plan(7, header, b"blob" * 100_000, 3, 41, 12)
        plan.keep(store)
        assert kept_plan(store) == plan
        drop_plan(store)
        assert kept_plan(store) is None
