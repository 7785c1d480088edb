"""The coordinator's scrutineer: has more of one contributor's games replayed, for a while and for a logged reason.

Spec: `docs/spec/orders.md`. Nothing is kept but the log. Invariant: what a scrutiny in force asks already is not said again.
"""

from node.coordinator.log_writer import LogWriter
from node.member import Member
from node.peering.transport import short
from protocol.ed25519 import SecretKey
from protocol.orders import Scrutiny
from protocol.seeds import PPM
from verification.statistics.suspicion import Suspicion

RESTARTED = "probation anew: "


class Scrutineer:
    """Logs scrutinies, each for `exit_entries` entries."""

    def __init__(self, member: Member, secret: SecretKey, log: LogWriter) -> None:
        self._member = member
        self._secret = secret
        self._log = log

    def raise_share(self, suspicion: Suspicion) -> bool:
        """Logs what a suspicion asks; False where it is in force, or the contributor is out or has no batch."""
        state, peer = self._member.state, suspicion.peer
        identity = state.batches.identity(peer)
        if identity is None or state.batches.is_out(peer):
            return False
        least, last_index = identity.scrutiny
        if state.size >= last_index:
            least = 0
        is_new = suspicion.restart and not (least and identity.scrutiny_reason.startswith(RESTARTED))
        if suspicion.q_ppm <= least and not is_new:
            return False
        reason = f"{RESTARTED}{suspicion.reason}" if suspicion.restart else suspicion.reason
        scrutiny = Scrutiny(
            run=state.run,
            peer=peer,
            q_ppm=max(least, suspicion.q_ppm),
            last_index=max(last_index, state.size + state.manifest.admission.exit_entries),
            restart=is_new,
            reason=reason[:200],
        )
        self._log.append(scrutiny.seal(self._secret))
        self._member.wake()
        text = f"Of {short(peer)} {100 * scrutiny.q_ppm / PPM:.3g}% is replayed up to entry {scrutiny.last_index}: {reason}."
        self._member.events("scrutiny", text, peer=peer.hex(), q_ppm=scrutiny.q_ppm)
        return True
