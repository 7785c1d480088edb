"""Probation slots: who may register with a stamp, how long a slot is kept, and what floods and hoards get."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import permutations, product
from random import Random
from typing import Any

import pytest

from protocol import stamp
from protocol.ed25519 import SecretKey
from protocol.envelope import Envelope
from protocol.errors import ParseError
from protocol.registration import Registration
from protocol.seeds import first_u64, slot_rank
from protocol.slots import MOST_LISTED, SlotList
from tests.verification import edits
from tests.verification.manifests import small_manifest
from tests.verification.test_state import refused
from tests.verification.world import World
from verification.faults import LogFault, NotYet
from verification.state import LogState

TIMEOUT = 20


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Tries by a hash in the place of scrypt; the nonces tried."""
    tried: list[int] = []

    def number(message: bytes, nonce: int) -> int:
        tried.append(nonce)
        return first_u64(sha256(message + nonce.to_bytes(8, "little")).digest())

    monkeypatch.setattr(stamp, "stamp_number", number)
    return tried


@dataclass
class Gate:
    """A world in which keys register with stamps."""

    slots: int = 2
    difficulty: int = 1
    batches: int = 1
    world: World = field(init=False)

    def __post_init__(self) -> None:
        plain = small_manifest()
        policy = replace(
            plain.admission,
            registration="stamp",
            stamp_difficulty=self.difficulty,
            probation_slots=self.slots,
            probation_batches=self.batches,
            timeout_entries=TIMEOUT,
        )
        self.world = World(replace(plain, admission=policy))

    @property
    def state(self) -> LogState:
        return self.world.state

    def stamped(self, who: str, size: int | None = None, **changes: Any) -> Envelope:
        """A registration of the key of `who` with a stamp for the tree of `size`, by default the newest."""
        world = self.world
        size = world.state.size if size is None else size
        plain = Registration(world.run, world.key(who).public, who, b"", size, world.state.tree.root(size), b"", 0)
        record, is_found = stamp.find_stamp(replace(plain, **changes), self.difficulty, 1 << 16)
        assert is_found
        return record.seal(world.key(who))

    def list_these(self, waiting: Iterable[Envelope], is_drawn: bool = True) -> int:
        """Logs a slot list of these, and its beacon."""
        digests = tuple(envelope.digest for envelope in waiting)
        index = self.world.log(SlotList(self.world.run, digests), self.world.coordinator)
        if is_drawn:
            self.world.share_set()
        return index

    def log(self, envelope: Envelope) -> int:
        """Logs a registration, and the beacon that makes its join nonce."""
        index = self.world.log_bytes(envelope.encode())
        self.world.share_set()
        return index

    def join(self, name: str) -> SecretKey:
        """Has one key win a slot and register."""
        envelope = self.stamped(name)
        self.list_these([envelope])
        self.log(envelope)
        key = self.world.peers[name] = self.world.key(name)
        return key

    def free(self) -> int:
        """The slots that a list logged next may give."""
        return self.state.slots.free

    def why(self, envelope: Envelope) -> str:
        """Why a registration may not be logged now."""
        with pytest.raises(LogFault) as fault:
            self.state.check(envelope.encode())
        return ("later: " if isinstance(fault.value, NotYet) else "never: ") + fault.value.reason

    def winners(self, waiting: Iterable[Envelope]) -> list[Envelope]:
        """Those that may be logged now."""
        return [envelope for envelope in waiting if self.may_log(envelope)]

    def may_log(self, envelope: Envelope) -> bool:
        try:
            self.state.check(envelope.encode())
        except NotYet:
            return False
        return True


def rebuilt(world: World) -> LogState:
    """The state that the entries alone give."""
    state = LogState(world.run)
    for entry in world.entries:
        state.apply(entry)
    return state


def standing(state: LogState) -> tuple[Any, ...]:
    """What a state says of slots."""
    peers = state.registry.peers
    return (
        state.slots.holders,
        state.slots.free,
        state.slots.draw,
        [(peer, state.registry.has_lost_slot(peer), state.slots.last_index(peer)) for peer in peers],
    )


# ---- the draw


def test_a_stamp_waits_for_a_list_its_beacon_and_its_luck() -> None:
    gate = Gate(slots=1)
    ada, bob = gate.stamped("ada"), gate.stamped("bob")
    assert gate.why(ada) == "later: The registration waits for a probation slot."
    gate.list_these([ada, bob], is_drawn=False)
    assert gate.why(ada) == "later: The registration waits for the draw of its slot list."
    gate.world.share_set()
    (winner,) = gate.winners([ada, bob])
    loser = bob if winner is ada else ada
    assert gate.why(loser) == "later: The registration did not win a slot and waits for another list."
    gate.log(winner)
    assert gate.state.slots.holders == winner.signers
    assert gate.why(loser) == "later: The registration waits for a probation slot."
    assert gate.state.join_nonce(winner.signers[0]) is not None


@pytest.mark.parametrize(("waiting", "slots"), list(product(range(1, 6), range(1, 4))))
def test_the_lowest_ranks_win_the_free_slots(waiting: int, slots: int) -> None:
    gate = Gate(slots=slots)
    stamped = [gate.stamped(f"peer-{n}") for n in range(waiting)]
    index = gate.list_these(stamped)
    beacon = gate.state.beacon(index)
    assert beacon is not None
    ranked = sorted(stamped, key=lambda envelope: slot_rank(beacon, envelope.digest))
    assert gate.winners(ranked) == ranked[:slots]
    for order in permutations(ranked[:slots]):
        again = rebuilt(gate.world)
        for envelope in order:
            again.apply(envelope.encode())
        assert set(again.slots.holders) == {envelope.signers[0] for envelope in order}
        assert (again.slots.draw, again.slots.free) == (None, slots - len(order))


def test_every_order_of_a_list_draws_the_same() -> None:
    """The coordinator orders what it lists, and that changes nothing once the same tree came before: the beacon ranks."""
    gate = Gate(slots=2)
    beacon = bytes(range(32))
    digests = [gate.stamped(f"peer-{n}").digest for n in range(5)]
    drawn = {tuple(sorted(each, key=lambda digest: slot_rank(beacon, digest))[:2]) for each in permutations(digests)}
    assert len(drawn) == 1


def test_who_lists_what_and_when() -> None:
    gate = Gate(slots=1)
    ada, bob = gate.stamped("ada"), gate.stamped("bob")
    record = SlotList(gate.world.run, (ada.digest,))
    assert "not signed by a coordinator" in refused(gate.world, record, gate.world.verifiers[0])
    gate.list_these([ada], is_drawn=False)
    assert "is open" in refused(gate.world, record, gate.world.coordinator)
    gate.world.share_set()
    assert "is open" in refused(gate.world, record, gate.world.coordinator)
    gate.log(ada)
    assert refused(gate.world, record, gate.world.coordinator) == "No probation slot is free."
    for digests in ((), (bob.digest,) * 2, [*(sha256(bytes([n])).digest() for n in range(256)), ada.digest]):
        with pytest.raises(ParseError, match=f"from 1 to {MOST_LISTED}"):
            SlotList(gate.world.run, tuple(digests))


def test_a_run_by_invite_draws_no_slots() -> None:
    world = World()
    record = SlotList(world.run, (bytes(32),))
    assert "by invite only" in refused(world, record, world.coordinator)
    plain = Registration(world.run, world.key("ada").public, "ada", b"", 2, world.state.tree.root(2), b"", 1)
    assert "by invite only" in refused(world, plain, world.key("ada"))


def test_without_slots_nobody_is_drawn() -> None:
    gate = Gate(slots=0)
    record = SlotList(gate.world.run, (gate.stamped("ada").digest,))
    assert refused(gate.world, record, gate.world.coordinator) == "No probation slot is free."


def test_a_winner_that_comes_too_late_has_to_win_again() -> None:
    gate = Gate(slots=2)
    ada, bob = gate.stamped("ada"), gate.stamped("bob")
    gate.list_these([ada, bob])
    gate.log(ada)
    draw = gate.state.slots.draw
    assert draw is not None
    assert draw.awaited == {bob.digest}
    gate.world.ticks(draw.last_index - gate.state.size)
    assert gate.may_log(bob), "the last entry in which it may be logged"
    gate.world.ticks(1)
    assert gate.state.slots.draw is None
    assert gate.why(bob).startswith("never: The registration's stamp is for a tree of")
    fresh = gate.stamped("bob")
    gate.list_these([fresh])
    gate.log(fresh)
    assert bob.signers[0] in gate.state.slots.holders


# ---- stamps


def test_hoarded_stamps_are_worth_nothing() -> None:
    gate = Gate(slots=2)
    hoard = [gate.stamped(f"sybil-{n}") for n in range(3)]
    size = gate.state.size
    gate.world.ticks(TIMEOUT)
    gate.world.share_set()
    old = gate.stamped("old", size)
    assert all(gate.why(each).startswith("never: ") for each in [*hoard, old])
    newest = gate.stamped("newest", gate.state.size - TIMEOUT)
    assert gate.why(newest).startswith("later: ")
    gate.list_these([old, newest])
    assert "too old when it was listed" in gate.why(old), "a coordinator that lists it changes nothing"
    assert gate.may_log(newest)


def test_a_stamp_that_is_listed_in_time_stays_good_until_the_list_is_over() -> None:
    gate = Gate(slots=1)
    ada = gate.stamped("ada", gate.state.size - 1)
    gate.list_these([ada])
    gate.world.ticks(TIMEOUT - 2)
    assert gate.may_log(ada)


def test_a_stamp_has_the_difficulty_of_its_list() -> None:
    gate = Gate(slots=2, difficulty=64)
    good = gate.stamped("ada")
    record = Registration.open(good)
    weak = next(
        each
        for each in (replace(record, stamp=record.stamp + n).seal(gate.world.key("ada")) for n in range(1, 500))
        if not stamp.is_stamp(Registration.open(each), 64)
    )
    none = replace(record, stamp=0).seal(gate.world.key("ada"))
    gate.list_these([weak, none])
    assert gate.why(weak) == "never: The registration's stamp does not reach the difficulty of 64."
    assert gate.why(none) == "never: The registration has neither an invite nor a stamp."

    gate = Gate(slots=1, difficulty=4)
    bob = gate.stamped("bob")
    gate.list_these([bob])
    policy = replace(gate.world.manifest.admission, stamp_difficulty=2**32 - 1)
    harder = replace(gate.world.manifest, run=gate.world.run, version=2, admission=policy)
    gate.world.log(harder, gate.world.root_key)
    assert gate.may_log(bob)


def test_nobody_tries_a_stamp_that_did_not_win(cheap: list[int]) -> None:
    """What is only waiting costs whoever checks it no scrypt, and what won costs one."""
    gate = Gate(slots=1)
    waiting = [gate.stamped(f"peer-{n}") for n in range(4)]
    cheap.clear()
    for envelope in waiting:
        gate.why(envelope)
    gate.list_these(waiting)
    assert not cheap
    (winner,) = gate.winners(waiting)
    gate.log(winner)
    assert len(cheap) == 1


def test_an_invite_and_a_stamp_do_not_go_together() -> None:
    gate = Gate()
    size = gate.state.size
    key = gate.world.key("ada")
    root, invite = gate.state.tree.root(size), gate.world.invite("ada")
    both = Registration(gate.world.run, key.public, "ada", b"", size, root, invite, 1)
    assert "an invite or a stamp" in refused(gate.world, both, key)


def test_the_first_registration_of_a_key_wins() -> None:
    gate = Gate(slots=2)
    first = gate.stamped("ada")
    second = gate.stamped("ada", name="adam")
    gate.list_these([first, second])
    assert gate.winners([first, second]) == [first, second]
    gate.log(second)
    assert gate.why(first) == "never: This key is registered already."
    assert gate.state.slots.holders == second.signers
    draw = gate.state.slots.draw
    assert draw is not None
    assert draw.awaited == {first.digest}
    gate.world.ticks(draw.last_index - gate.state.size + 1)
    assert gate.state.slots.draw is None


def test_losers_may_be_listed_again() -> None:
    gate = Gate(slots=1)
    waiting = [gate.stamped(f"peer-{n}") for n in range(3)]
    gate.list_these(waiting)
    (winner,) = gate.winners(waiting)
    gate.log(winner)
    gate.world.batch(known(gate, winner))
    losers = [each for each in waiting if each is not winner]
    gate.list_these(losers)
    assert len(gate.winners(losers)) == 1


def known(gate: Gate, envelope: Envelope) -> SecretKey:
    """The key that signed a registration, known to the world under its name."""
    record = Registration.open(envelope)
    key = gate.world.peers[record.name] = gate.world.key(record.name)
    assert key.public == record.peer
    return key


# ---- keeping a slot


def test_a_slot_is_lost_without_a_batch_in_time() -> None:
    gate = Gate(slots=1)
    ada = gate.join("ada")
    found = gate.state.beacons.find(gate.state.registry.find(ada.public).index)  # type: ignore[union-attr]
    assert found is not None
    assert gate.state.slots.last_index(ada.public) == found.set_index + TIMEOUT
    header = gate.world.header(ada, gate.world.games(ada, 2))
    gate.world.ticks(found.set_index + TIMEOUT - gate.state.size)
    gate.state.check(header.seal(ada).encode())
    assert not gate.free()
    gate.world.ticks(1)
    assert gate.free() == 1
    assert gate.state.registry.has_lost_slot(ada.public)
    assert gate.state.batches.is_out(ada.public)
    assert "has lost its probation slot" in refused(gate.world, header, ada)
    bob = gate.join("bob")
    assert gate.state.slots.holders == (bob.public,)
    assert standing(rebuilt(gate.world)) == standing(gate.state)


def test_time_counts_from_the_join_nonce() -> None:
    gate = Gate(slots=1)
    envelope = gate.stamped("ada")
    gate.list_these([envelope])
    gate.world.log_bytes(envelope.encode())
    gate.world.ticks(2 * TIMEOUT)
    assert gate.state.slots.holders == envelope.signers, "without a beacon it cannot play"
    assert gate.state.slots.last_index(envelope.signers[0]) is None
    set_index = gate.world.share_set()
    assert gate.state.slots.last_index(envelope.signers[0]) == set_index + TIMEOUT


def test_each_batch_gives_more_time_and_the_last_of_probation_frees_the_slot() -> None:
    gate = Gate(slots=1, batches=3)
    ada = gate.join("ada")
    first = gate.state.slots.last_index(ada.public)
    assert first is not None
    for count in (1, 2):
        gate.world.batch(ada)
        assert gate.state.slots.last_index(ada.public) == first + count * TIMEOUT
        assert not gate.free()
    batch = gate.world.play(ada)
    assert gate.state.slots.last_index(ada.public) is None, "it has sent all, and waits for verdicts"
    gate.world.ticks(4 * TIMEOUT)
    assert not gate.free()
    gate.world.judge(batch)
    gate.world.admit()
    assert gate.free() == 1
    gate.world.ticks(10 * TIMEOUT)
    assert not gate.state.registry.has_lost_slot(ada.public)
    gate.world.batch(ada)
    assert standing(rebuilt(gate.world)) == standing(gate.state)


def test_time_stands_still_while_a_verdict_accuses() -> None:
    """Who waits for the proof of an accusation may send nothing; if it is framed, its slot is still there."""
    gate = Gate(slots=1, batches=3)
    ada = gate.join("ada")
    last_index = gate.state.slots.last_index(ada.public)
    assert last_index is not None
    gate.world.judge(gate.world.play(ada, edit=edits.of_game(1, edits.value(6))))
    assert gate.state.batches.is_suspended(ada.public)
    gate.world.ticks(5 * TIMEOUT)
    assert gate.state.slots.holders == (ada.public,)
    left = (gate.state.slots.last_index(ada.public) or 0) - gate.state.size
    gate.world.ticks(3)
    assert (gate.state.slots.last_index(ada.public) or 0) - gate.state.size == left
    gate.world.admit()
    assert gate.free() == 1, "the ban takes the slot"
    assert standing(rebuilt(gate.world)) == standing(gate.state)


def test_empty_batches_keep_no_slot() -> None:
    gate = Gate(slots=1, batches=3)
    ada = gate.join("ada")
    last_index = gate.state.slots.last_index(ada.public)
    gate.world.batch(ada, games=0, final=True)
    assert gate.state.slots.last_index(ada.public) == last_index


def test_an_invited_key_needs_no_slot_and_loses_none() -> None:
    gate = Gate(slots=1)
    ada = gate.join("ada")
    eve = gate.world.register("eve")
    assert gate.state.slots.holders == (ada.public,)
    gate.world.ticks(3 * TIMEOUT)
    assert gate.state.registry.has_lost_slot(ada.public)
    assert not gate.state.registry.has_lost_slot(eve.public)
    gate.world.batch(eve)


def test_a_new_key_takes_over_the_slot_or_its_loss() -> None:
    gate = Gate(slots=1)
    ada, later, last = gate.join("ada"), bytes([1]) * 32, bytes([2]) * 32
    gate.state.slots.replace(ada.public, later, gate.state.size)
    assert gate.state.slots.holders == (later,)
    gate.world.ticks(TIMEOUT + 2)
    assert gate.state.registry.has_lost_slot(later)
    gate.state.slots.replace(later, last, gate.state.size)
    assert gate.state.registry.has_lost_slot(last), "a new key is no way around"
    assert gate.free() == 1


def test_fewer_slots_in_a_new_manifest_take_none_away() -> None:
    gate = Gate(slots=2)
    ada, bob = gate.join("ada"), gate.join("bob")
    policy = replace(gate.world.manifest.admission, probation_slots=1)
    gate.world.log(replace(gate.world.manifest, run=gate.world.run, version=2, admission=policy), gate.world.root_key)
    assert gate.state.slots.holders == (ada.public, bob.public)
    assert gate.free() == 0


# ---- many at once


@pytest.mark.parametrize("word", ["a", "b", "c"])
def test_any_order_of_events_keeps_within_the_slots(word: str) -> None:
    """Lists, draws, winners, late winners, losses and graduations as they come: never more than the slots."""
    gate = Gate(slots=3)
    rng = Random(word)
    waiting: dict[str, Envelope] = {}
    number = 0
    for _ in range(150):
        state = gate.state
        draw = state.slots.draw
        match rng.choice(["come", "come", "list", "draw", "register", "register", "tick", "batch"]):
            case "come":
                number += 1
                waiting[f"peer-{number}"] = gate.stamped(f"peer-{number}")
            case "list" if state.slots.free and waiting:
                gate.list_these(list(waiting.values())[:MOST_LISTED], is_drawn=rng.random() < 0.5)
            case "draw":
                gate.world.share_set()
            case "register":
                for name, envelope in list(waiting.items()):
                    try:
                        state.check(envelope.encode())
                    except NotYet:
                        continue
                    except LogFault:
                        del waiting[name]
                        continue
                    gate.world.log_bytes(waiting.pop(name).encode())
                    break
            case "tick":
                gate.world.ticks(rng.randrange(1, 8))
            case "batch" if state.slots.holders and state.join_nonce(state.slots.holders[0]) is not None:
                info = state.registry.find(state.slots.holders[0])
                assert info is not None
                assert isinstance(info.record, Registration)
                gate.world.batch(gate.world.key(info.record.name))
        draw = state.slots.draw
        reserved = 0 if draw is None else draw.places - len(draw.logged)
        assert len(state.slots.holders) + reserved <= 3
        assert draw is None or state.slots.free == 0
    assert len(gate.state.registry.peers) > 3
    assert standing(rebuilt(gate.world)) == standing(gate.state)


def test_a_flood_of_keys_does_not_keep_the_honest_out() -> None:
    """Two honest keys among 200 that play nothing: all slots that the flood wins come back, and both get in."""
    gate = Gate(slots=8)
    honest = {"ada", "bob"}
    names = [*honest, *(f"sybil-{n}" for n in range(200))]
    rounds = 0
    held = 0
    while not all(gate.state.registry.find(gate.world.key(name).public) for name in honest):
        rounds += 1
        assert rounds < 300
        waiting = [gate.stamped(n) for n in names if gate.state.registry.find(gate.world.key(n).public) is None]
        gate.list_these(waiting)
        winners = gate.winners(waiting)
        assert len(winners) == 8
        for envelope in winners:
            gate.world.log_bytes(envelope.encode())
        gate.world.share_set()
        held = max(held, len(gate.state.slots.holders))
        gate.world.ticks(TIMEOUT + 2)
        assert gate.free() == 8
    assert held == 8, "never more on probation at once than there are slots"
