"""The coordinator's overseer: orders new looks at batches of who fell silent, and of verifiers that keep a secret back.

Spec: `docs/spec/orders.md`. What may be ordered is a function of the log (`verification.rechecks`), so a kill changes
nothing; this part says it. Invariants: no epoch is voided while its verifier still gets on with what it has to judge first,
nor where no other verifier is left.
"""

from node.coordinator.log_writer import LogWriter
from node.member import Member
from node.peering.transport import short
from protocol.ed25519 import SecretKey
from protocol.orders import Exit, VoidEpoch
from protocol.words import counted
from verification.epochs import EpochInfo

MOST_AT_ONCE = 256


class Overseer:
    """Logs exits and void epochs as they become due."""

    def __init__(self, member: Member, secret: SecretKey, log: LogWriter) -> None:
        self._member = member
        self._secret = secret
        self._log = log
        self._kept_back: list[EpochInfo] = []  # overdue, and nobody else is there
        # Of spent epochs: what has to be judged before the reveal, and the size of the log when that last changed.
        self._owed: dict[tuple[bytes, int], tuple[frozenset[bytes], int]] = {}

    def step(self) -> None:
        """Logs what is due now."""
        if self._member.state.size >= 2:
            self._void()
            self._exit()

    @property
    def faults(self) -> list[str]:
        """Void epochs of verifiers that the root still names, and why bans are paused."""
        state = self._member.state
        if state.size < 2:
            return []
        void = [
            f"Verifier {short(role.key)} did not reveal epoch {info.epoch} in time and judges nothing more; the root's "
            "holder may approve a new key for it (gonode root sign)."
            for role in state.verifiers()
            for info in state.epochs.all(role.key)
            if state.rechecks.is_void(info)
        ]
        void += [
            f"Verifier {short(info.verifier)} did not reveal epoch {info.epoch} in time, and no other could judge anew."
            for info in self._kept_back
        ]
        return [*void, *state.convictions.alarm.reasons(state.size)]

    def _exit(self) -> None:
        state = self._member.state
        peers = state.rechecks.silent(state.size)[:MOST_AT_ONCE]
        if not peers:
            return
        self._log.append(Exit(state.run, tuple(peers)).seal(self._secret))
        self._member.wake()
        for peer in peers:
            identity = state.batches.identity(peer)
            held = 0 if identity is None else sum(batch.leaving for batch in identity.held)
            text = (
                f"Contributor {short(peer)} fell silent: {counted(held, 'batch', 'batches')} of it are drawn once more."
            )
            self._member.events("exit", text, peer=peer.hex(), batches=held)

    def _void(self) -> None:
        state = self._member.state
        self._owed = {(info.verifier, info.epoch): self._owing(info) for info in self._spent()}
        self._kept_back = []
        for info in state.rechecks.overdue(state.size):
            _, since = self._owed.get((info.verifier, info.epoch), (frozenset(), 0))
            if since and state.size <= since + state.manifest.admission.timeout_entries:
                continue
            if not self._has_others(info.verifier):
                self._kept_back.append(info)
                continue
            self._log.append(VoidEpoch(state.run, info.verifier, info.epoch).seal(self._secret))
            self._member.wake()
            text = f"Verifier {short(info.verifier)} did not reveal epoch {info.epoch} in time; others judge what it judged."
            self._member.events("void-epoch", text, verifier=info.verifier.hex(), epoch=info.epoch)

    def _has_others(self, verifier: bytes) -> bool:
        """Whether another verifier could judge anew: without one a void epoch would only end the run."""
        state = self._member.state
        return any(role.key not in state.subjects.distrusted | {verifier} for role in state.verifiers())

    def _spent(self) -> list[EpochInfo]:
        """Epochs that another one follows and whose secret is not known."""
        epochs = self._member.state.epochs
        return [info for key in epochs.verifiers for info in epochs.all(key)[:-1] if info.secret is None]

    def _owing(self, info: EpochInfo) -> tuple[frozenset[bytes], int]:
        """What its verifier has to judge before a reveal, older epochs' first, and the size of the log when that changed.

        The size is 0 while it never did. Nothing is owed once all of the epoch itself is judged.
        """
        state = self._member.state
        unjudged = state.batches.unjudged
        owed: frozenset[bytes] = frozenset()
        if unjudged(info.verifier, info.epoch):
            until = state.epochs.all(info.verifier)[: info.epoch + 1]
            older = [each.epoch for each in until if each.secret is None]
            owed = frozenset(each.key for epoch in older for each in unjudged(info.verifier, epoch))
        before, since = self._owed.get((info.verifier, info.epoch), (owed, 0))
        return owed, since if owed == before else state.size
