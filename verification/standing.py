"""How each contributor stands: its history, credit, probation and share of replay, as the log alone gives them.

Spec: `docs/spec/admission.md` ("Credit", "Share of replay"). Pure. Credit is a sum over batches, so one history split over
several keys gives no more of it, in any way; a rejection, a ban or a reveal as a ringer leaves none. What a replaced key
did is its successor's.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from protocol.admission import REJECTED
from protocol.recovery import KeyReplacement
from protocol.registration import Registration
from verification.identities import BatchInfo, Identity, Tally
from verification.state import LogState

WAITING = "waiting"
PROBATION = "probation"
GOOD = "good"
SUSPENDED = "suspended"
LEFT = "left"
SLOT_LOST = "slot-lost"
REJECTION = "rejected"
BANNED = "banned"
RINGER = "ringer"
REPLACED = "replaced"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One contributor.

    `standing` is one of the words above; `reason` says why, `entry` is the log index of what made it so. `passed` of the
    first `needed` batches are accepted. `credit_plies` and `credit_visits` are of accepted batches. `held` batches wait to
    be released, `released` ones train. `q_ppm`: the share of games that is replayed now, None when no batch is taken;
    `q_reason` is `probation`, `history` or `scrutiny`, `scrutiny` what the one in force says. `last_seen`: how many entries
    were logged after its last header. `replaces` and `replaced_by` are keys of the same contributor.
    """

    peer: bytes
    name: str
    standing: str
    reason: str = ""
    entry: int | None = None
    passed: int = 0
    needed: int = 0
    batches: int = 0
    games: int = 0
    failed_games: int = 0
    credit_plies: int = 0
    credit_visits: int = 0
    held: int = 0
    released: int = 0
    q_ppm: int | None = None
    q_reason: str = ""
    scrutiny: str = ""
    last_seen: int | None = None
    replaces: bytes = b""
    replaced_by: bytes = b""


def standings(state: LogState, waiting: Sequence[Registration] = ()) -> list[Standing]:
    """All contributors, those with most credit first, then in the order of their registrations.

    `waiting`: registrations that are not logged yet and wait for a probation slot, oldest first; the log cannot say.
    """
    released = Counter(batch.header.peer for batch in state.batches.released)
    rows = [_of_key(state, peer, released) for peer in state.registry.peers]
    for place, record in enumerate(waiting, 1):
        if state.registration(record.peer) is None:
            why = f"for a probation slot, place {place} of {len(waiting)}"
            rows.append(Standing(peer=record.peer, name=record.name, standing=WAITING, reason=why))
    return sorted(rows, key=lambda row: (row.credit_plies, row.credit_visits), reverse=True)


def total(rows: Iterable[Standing]) -> Tally:
    """The sums of batches, games, failed games (`rejected`) and credit."""
    found = Tally()
    for row in rows:
        found += Tally(
            batches=row.batches,
            games=row.games,
            rejected=row.failed_games,
            credit_plies=row.credit_plies,
            credit_visits=row.credit_visits,
        )
    return found


def keys_of(state: LogState, peer: bytes) -> list[bytes]:
    """`peer` and the keys that it goes on for, newest first."""
    keys = [peer]
    while (info := state.registration(keys[-1])) is not None and isinstance(info.record, KeyReplacement):
        keys.append(info.record.peer)
    return keys


def name_of(state: LogState, peer: bytes) -> str:
    """The name that a contributor registered with, under this key or the one that it replaces."""
    info = state.registration(keys_of(state, peer)[-1])
    return info.record.name if info is not None and isinstance(info.record, Registration) else ""


def _of_key(state: LogState, peer: bytes, released: Counter[bytes]) -> Standing:
    name, keys, successor = name_of(state, peer), keys_of(state, peer), state.registry.successor(peer)
    replaces = keys[1] if len(keys) > 1 else b""
    if successor is not None:
        info = state.registration(successor)
        entry = None if info is None else info.index
        why = f"goes on under the key {successor.hex()}"
        return Standing(
            peer=peer,
            name=name,
            standing=REPLACED,
            reason=why,
            entry=entry,
            replaces=replaces,
            replaced_by=successor,
        )
    identity = state.batches.identity(peer) or Identity(peer)
    policy = state.manifest.admission
    standing, reason, entry = _standing(state, identity, keys)
    is_out = state.batches.is_out(peer)
    plies, visits = identity.credit
    least, last_index = identity.scrutiny
    is_scrutinised = state.size <= last_index
    q = identity.share_of_replay(policy, state.size)
    usual = PROBATION if identity.on_probation(policy) else "history"
    first = identity.first[: policy.probation_batches]
    return Standing(
        peer=peer,
        name=name,
        standing=standing,
        reason=reason,
        entry=entry,
        passed=sum(batch.is_accepted_batch for batch in first),
        needed=policy.probation_batches,
        batches=identity.tally.batches,
        games=identity.tally.games,
        failed_games=identity.tally.rejected,
        credit_plies=plies,
        credit_visits=visits,
        held=len(identity.held),
        released=sum(released[key] for key in keys),
        q_ppm=None if is_out else q,
        q_reason="" if is_out else "scrutiny" if is_scrutinised and usual != PROBATION and q == least else usual,
        scrutiny=identity.scrutiny_reason if is_scrutinised else "",
        last_seen=state.size - 1 - identity.last_index if identity.batches else None,
        replaces=replaces,
    )


def _standing(state: LogState, identity: Identity, keys: Sequence[bytes]) -> tuple[str, str, int | None]:
    """One word, why, and the entry that made it so."""
    peer, policy = keys[0], state.manifest.admission
    for key in keys:
        ringer = state.ringers.find(key)
        if ringer is not None:
            return RINGER, "the coordinator's own, to test its verifiers", ringer.revealed_at
    if identity.out_at is not None:
        for key in keys:
            if state.is_banned(key):
                proved = state.convictions.proved_at(key)
                batch = None if proved is None else state.batch(proved)
                return BANNED, _accusation(batch), state.convictions.banned_at(key)
        return REJECTION, _rejection(identity), identity.out_at
    if state.registry.has_lost_slot(peer):
        return SLOT_LOST, "sent no batch in time", None
    if identity.accusing:
        check = min(identity.accusing, key=lambda each: each.verdict_index)
        return SUSPENDED, "" if check.verdict is None else check.verdict.reason, check.verdict_index
    if state.join_nonce(peer) is None:
        info = state.registration(peer)
        return WAITING, "for the beacon of its registration", None if info is None else info.index
    if identity.batches and state.size > identity.last_index + policy.exit_entries:
        return LEFT, f"silent for {state.size - 1 - identity.last_index} entries", identity.last_index
    return PROBATION if identity.on_probation(policy) else GOOD, "", None


def _accusation(batch: BatchInfo | None) -> str:
    """What a verdict found wrong in a batch for which its signer is banned."""
    if batch is None:
        return ""
    verdicts = [look.verdict for look in batch.looks if look.verdict is not None and not look.is_accepted]
    return f"batch at entry {batch.index}: {verdicts[0].reason if verdicts else 'a proof shows that it is wrong'}"


def _rejection(identity: Identity) -> str:
    """The reason of the decision that rejected a contributor."""
    decided = [
        (batch, look.decision) for batch in identity.batches for look in batch.looks if look.decision is not None
    ]
    wrong = [(batch, decision) for batch, decision in decided if decision.outcome == REJECTED]
    return f"batch at entry {wrong[-1][0].index}: {wrong[-1][1].reason}" if wrong else ""
