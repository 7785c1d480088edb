"""A run whose log is real and whose games are not: an oracle knows which games of a batch are wrong.

Headers, verdicts, openings, bans and decisions are signed, parsed and judged by `verification.state.LogState` as in any
run; the draws are its draws. What is replaced is the replay: a drawn game that the oracle calls wrong is found. That replays
are exact is for `benchmarks.convictions`, that proofs hold for the harness's own real games (`edited`).
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from protocol.admission import Admission
from protocol.ed25519 import SecretKey
from protocol.header import BatchHeader
from protocol.manifest import AdmissionPolicy
from protocol.proof import CONTRIBUTOR, PLY, VERIFIER, Ban, FraudProof, LoggedEntry, Pardon
from protocol.search_config import SEMANTICS
from protocol.types import ZERO
from protocol.verdict import ACCEPT, REJECT, TraceOpening, Verdict
from tests.verification.manifests import digest_of, small_manifest
from tests.verification.world import World
from verification.identities import BatchInfo, Recheck, batch_of
from verification.subjects import BatchSubject

GAME_PLIES = 60
GAME_VISITS = 100
FIRST = "first"
DECISIONS_AN_ENTRY = 300

Conduct = Callable[[BatchSubject, tuple[int, ...], frozenset[int]], int | None]
"""What a verifier says of a check, given the games drawn and those that are wrong: the game that it rejects, or None."""


def honest(check: BatchSubject, drawn: tuple[int, ...], wrong: frozenset[int]) -> int | None:
    """The first drawn game that is wrong: there the replay stops."""
    return next((game for game in drawn if game in wrong), None)


def blind(check: BatchSubject, drawn: tuple[int, ...], wrong: frozenset[int]) -> int | None:
    """The conduct of a verifier that accepts everything."""
    return None


def policy_of(**changes: int | str) -> AdmissionPolicy:
    """The policy of statistical runs: short probation, so that q is at its floor soon; no timeout ever comes."""
    usual = small_manifest().admission
    return replace(
        usual,
        **{
            "games_per_batch": 4,
            "probation_batches": 1,
            "q_min_ppm": 50_000,
            "hold_back_batches": 100,
            "timeout_entries": 10**9,
            "exit_entries": 10**9,
            "epoch_entries": 10**9,
            "final_entries": 10**9,
            **changes,
        },  # type: ignore[arg-type]
    )


class Oracle(World):
    """A run of synthetic batches. `replayed` counts replayed games by the purpose of the check, `cost` by contributor."""

    def __init__(self, policy: AdmissionPolicy, verifiers: int = 1, word: str = "oracle") -> None:
        manifest = small_manifest()
        manifest = replace(manifest, admission=policy, network=replace(manifest.network, first="uniform"))
        super().__init__(manifest, verifiers, word)
        self.policy = policy
        self.wrong: dict[int, frozenset[int]] = {}
        self.conduct: dict[bytes, Conduct] = {}
        self.replayed: Counter[str] = Counter()
        self.cost: Counter[bytes] = Counter()
        self.pardons: Counter[bytes] = Counter()
        self._config = self.manifest.selfplay.digest()

    # ---- contributors

    def submit(
        self, peer: SecretKey, wrong: Iterable[int] = (), games: int | None = None, final: bool = False
    ) -> BatchInfo:
        """Logs the header of a peer's next batch, in which these games are wrong."""
        record = self.synthetic(peer, games, final)
        index = self.log(record, peer)
        self.wrong[index] = frozenset(wrong)
        batch = self.state.batch(index)
        assert batch is not None
        return batch

    def synthetic(self, peer: SecretKey, games: int | None = None, final: bool = False) -> BatchHeader:
        """The header of a peer's next batch."""
        release, registration = self.state.release, self.state.registration(peer.public)
        assert registration is not None
        count = self.policy.games_per_batch if games is None else games
        counter = self.state.next_counter(peer.public, release.id)
        content = digest_of(f"{self.word} {peer.public.hex()} {self.state.size}")
        return BatchHeader(
            run=self.run,
            manifest=release.manifest,
            config=self._config,
            semantics=SEMANTICS,
            release=release.id,
            peer=peer.public,
            registration=registration.index,
            first_counter=counter,
            games=count,
            plies=count * GAME_PLIES,
            visits=count * GAME_PLIES * GAME_VISITS,
            batch_root=content,
            blob_digest=content,
            blob_len=1000,
            raw_len=1000,
            final=final,
            fill_for=b"",
            build="0.1.0",
            kernel="best",
            cpu="test",
        )

    # ---- verifiers

    def settle(self) -> None:
        """A beacon, all verdicts that wait for one, and what the coordinator decides by them."""
        self.share_set()
        self.judge_all()
        self.admit()

    def judge_all(self, newest_first: bool = False) -> None:
        """Logs the assigned verifiers' verdicts and openings on every check that has none."""
        checks = [each for each in self.state.batches.undecided() if each.beacon is not None and each.verdict is None]
        for check in reversed(checks) if newest_first else checks:
            if check.verdict is None and not batch_of(check).dropped:
                self.speak(check)

    def speak(self, check: BatchSubject) -> None:
        """Logs the assigned verifier's verdict on a check, and its opening."""
        verifier = self.verifier_key(check.assigned)
        batch, key = batch_of(check), verifier.public
        drawn = check.draw(self.secret(verifier, check.candidates[key]))
        bad = self.conduct.get(key, honest)(check, drawn, self.wrong.get(batch.index, frozenset()))
        done = drawn if bad is None else tuple(game for game in drawn if game <= bad)
        self.replayed[check.purpose if isinstance(check, Recheck) else FIRST] += len(done)
        self.cost[batch.header.peer] += len(done)
        verdict = Verdict(
            run=self.run,
            subject=check.digest,
            index=check.index,
            epoch=check.candidates[key],
            verifier=key,
            semantics=SEMANTICS,
            drawn=done,
            outcome=ACCEPT if bad is None else REJECT,
            evidence="" if bad is None else PLY,
            game=bad or 0,
            ply=0,
            reason="" if bad is None else "value: the oracle knows better.",
            work=ZERO,
        )
        self.log(verdict, verifier)
        if done:
            self.log(TraceOpening(self.run, key, check.digest, check.index, ZERO, len(done) * GAME_PLIES), verifier)

    def rotate(self, verifier: SecretKey) -> int:
        """A verifier begins its next epoch and reveals the one before; the reveal's index."""
        before = self.epoch[verifier.public]
        self.begin_epoch(verifier)
        return self.reveal(verifier, before)

    # ---- the coordinator

    def convict(self) -> None:
        """Logs for every accusation a pardon if the rules allow one, else a ban unless bans are paused."""
        for check in self.state.batches.accusing():
            batch, peer = batch_of(check), check.header.peer
            if self.state.is_banned(peer) or self.state.convictions.is_shown(batch.index):
                continue
            is_paused = self.state.convictions.alarm.reason(batch.header, self.state.size) is not None
            if self.may_pardon(batch, is_paused):
                self.log(Pardon(self.run, peer, self.accusation(check)), self.coordinator)
                self.pardons[peer] += 1
                self.share_set()
            elif not is_paused:
                self.log(Ban(self.run, peer, self.accusation(check)), self.coordinator)

    def may_pardon(self, batch: BatchInfo, is_alarm: bool) -> bool:
        """Whether the coordinator pardons, as `node.coordinator.prosecutor` decides it."""
        identity = self.state.batches.identity(batch.header.peer)
        if identity is None or not self.state.rechecks.may_pardon(batch, self.state.size):
            return False
        return not is_alarm or (identity.first_passed(self.policy) and not identity.pardoned_at)

    def admit(self) -> int | None:
        """Logs bans and every decision that is due, so many an entry; the last one's index."""
        self.convict()
        due = [each.decision for each in self.state.due_decisions() if each.checks]
        index = None
        for start in range(0, len(due), DECISIONS_AN_ENTRY):
            index = self.log(Admission(self.run, tuple(due[start : start + DECISIONS_AN_ENTRY])), self.coordinator)
        return index

    def accusation(self, check: BatchSubject, against_verifier: bool = False) -> bytes:
        """A proof in form: the log sees on whose words it rests, the oracle vouches for the rest."""
        batch = batch_of(check)
        registration = self.state.registration(batch.header.peer)
        assert registration is not None
        shares = self.state.beacons.find(registration.index)
        assert shares is not None
        return FraudProof(
            run=self.run,
            kind=PLY,
            accused=VERIFIER if against_verifier else CONTRIBUTOR,
            root=b"",
            manifest=b"",
            later=(),
            release=b"",
            checkpoint=b"",
            header=self.logged(batch.index),
            registration=self.logged(registration.index),
            shares=self.logged(shares.set_index),
            verdict=(self.logged(check.verdict_index),) if against_verifier else (),
            game=b"",
            game_index=check.verdict.game if check.verdict is not None else 0,
            game_path=(),
            ply=b"",
            ply_index=0,
            ply_path=(),
        ).encode()

    def logged(self, index: int) -> LoggedEntry:
        """An entry as proofs hold it, without its path."""
        return LoggedEntry(self.entries[index], index, ())
