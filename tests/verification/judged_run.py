"""A played run whose verifiers replay what their draws say, and log verdicts and openings. For tests."""

from collections.abc import Sequence

from native.pool import Job, Pool
from protocol import seeds
from protocol.batch import Batch
from protocol.ed25519 import SecretKey
from protocol.game_block import GameBlock
from protocol.search_config import SEMANTICS
from protocol.verdict import ACCEPT, REJECT, TraceOpening, Verdict
from tests.verification.played_run import PlayedRun
from verification.admission import check_batch
from verification.faults import Rejected
from verification.gate_state import GateResultInfo
from verification.identities import BatchInfo
from verification.proof_builder import evidence_fields
from verification.replay import Replayed, collect, name_mismatch
from verification.setup import selfplay_job
from verification.subjects import BatchSubject


class JudgedRun(PlayedRun):
    """A run with contributors and verifiers."""

    def verifier_key(self, public: bytes | None) -> SecretKey:
        """The verifier's key with this public key."""
        return next(key for key in self.verifiers if key.public == public)

    def examine(self, batch: BatchSubject) -> tuple[Batch | None, Replayed, Rejected | None]:
        """What the assigned verifier finds: the games, what was replayed, and why it rejects."""
        release = self.state.release_by_id(batch.header.release)
        assert release is not None
        try:
            content = check_batch(self.state, batch, self.blobs[batch.header.blob_digest])
        except Rejected as rejected:
            return None, Replayed((), (), None), rejected
        verifier = self.verifier_key(batch.assigned)
        drawn = batch.draw(self.secret(verifier, batch.candidates[verifier.public]))
        player = self.player(release)
        jobs = [
            selfplay_job(self.state, release, batch.header.owner, block.header.counter, player)
            for block in content.games
        ]
        with Pool(1, self.verifier_kernel) as pool:
            found = replay_games(pool, drawn, jobs, content.games)
        if found.mismatch is None:
            return content, found, None
        game = found.mismatch.game
        return content, found, name_mismatch(jobs[game], content.games[game], found.mismatch)

    def judge(self, batch: BatchSubject) -> Rejected | None:
        """Logs the assigned verifier's verdict and, if it replayed anything, its opening; a second verifier's too."""
        _, found, rejected = self.examine(batch)
        self.say(batch, found, rejected)
        if isinstance(batch, BatchInfo) and batch.second is not None:
            self.judge(batch.second)
        return rejected

    def say(self, subject: BatchSubject | GateResultInfo, found: Replayed, rejected: Rejected | None) -> None:
        """Logs a verdict and its opening."""
        verifier = self.verifier_key(subject.assigned)
        verdict = Verdict(
            run=self.run,
            subject=subject.digest,
            index=subject.index,
            epoch=subject.candidates[verifier.public],
            verifier=verifier.public,
            semantics=SEMANTICS,
            drawn=found.games,
            outcome=ACCEPT if rejected is None else REJECT,
            **evidence_fields(rejected),
            reason="" if rejected is None else str(rejected)[:200],
            work=seeds.work(self.run, verifier.public, subject.digest, found.digests),
        )
        self.log(verdict, verifier)
        if found.games:
            blob = self.put(b"".join(found.digests))
            opening = TraceOpening(self.run, verifier.public, subject.digest, subject.index, blob, len(found.digests))
            self.log(opening, verifier)


def replay_games(pool: Pool, games: Sequence[int], jobs: Sequence[Job], blocks: Sequence[GameBlock]) -> Replayed:
    """Replays the games with these numbers of a batch; `jobs` and `blocks` are the whole batch's."""
    for game in games:
        pool.replay(jobs[game], blocks[game].raw)
    dones = {}
    for _ in games:
        done = pool.wait(60.0)
        assert done is not None
        dones[done.id] = done
    return collect(games, [dones[jobs[game].id] for game in games])
