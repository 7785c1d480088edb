"""The coordinator's gate: assigns pairs, waits for results, logs the record and the release that the state computes.

Spec: `docs/spec/gate.md`. Whatever is decided is a pure function of the log (`verification.gates`); this part only decides
who plays next: contributors seen lately and the coordinator's own player, one open assignment each.
"""

from node.coordinator.log_writer import LogWriter
from node.member import Member
from protocol.ed25519 import SecretKey
from protocol.release import Release
from protocol.words import counted

LOOK_EVERY_S = 0.3


class Gatekeeper:
    """Has candidates play the newest release, through others."""

    def __init__(self, member: Member, secret: SecretKey, log: LogWriter) -> None:
        self._member = member
        self._secret = secret
        self._log = log

    async def decide(self) -> None:
        """Has the open candidate gated and logs its record; goes on with a gate already begun."""
        state = self._member.state
        while (record := state.due_gate_record()) is None:
            self._assign()
            await self._member.change_within(LOOK_EVERY_S)
        self._log.append(record.seal(self._secret))
        self._member.wake()
        if state.gates.all[-1].is_refused_unplayed:
            self._member.events(
                "refused-candidate",
                "The candidate lost more by rounding than the run allows; no game is played.",
                passed=False,
            )
            return
        score = sum(k * count for k, count in enumerate(record.counts)) / max(1, 4 * record.pairs)
        self._member.events(
            "gated" if record.passed else "refused-candidate",
            f"The candidate {'passed' if record.passed else 'did not pass'} its gate: {counted(record.pairs, 'pair')}, "
            f"score {score:.3f}, llr {record.llr_micro / 1e6:.2f}.",
            passed=record.passed,
        )

    def release(self, release: Release) -> None:
        """Logs the release of a candidate that passed."""
        envelope = release.seal(self._secret)
        self._log.append(envelope)
        self._member.wake()
        self._member.events(
            "release", f"Release {release.number}: {release.name} ({envelope.digest.hex()[:8]}).", number=release.number
        )

    def _assign(self) -> None:
        """Gives pairs to every player that has none open."""
        for player in (*self._member.state.active_players(), self._secret.public):
            assignment = self._member.state.next_gate_assignment(player)
            if assignment is not None:
                self._log.append(assignment.seal(self._secret))
                self._member.wake()
