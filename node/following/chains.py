"""Root versions that follow one another by their signatures alone, from a base that is certain.

Spec: docs/spec/root.md ("Semantics"), docs/spec/swarm.md ("Roots"). Two versions of one number may both have enough
signatures: both are kept until the log holds one of them, so that whoever met the other one first is not led astray.
Envelopes that differ in signatures alone are one version.
"""

from collections.abc import Iterable
from typing import Final

from protocol.envelope import Envelope
from protocol.errors import ProtocolError
from protocol.root import COORDINATOR, Role, Root
from verification.faults import LogFault
from verification.root_versions import verify_next_root

ALTERNATIVES: Final = 4
"""So many versions of one number are kept."""


class RootChains:
    """`base` and the versions of `run` that follow it; `tips` are those that none of them follows."""

    def __init__(self, base: Root, run: bytes) -> None:
        self.base = base
        self.tips: tuple[Root, ...] = (base,)
        self._run = run
        self._later: dict[bytes, tuple[Root, bytes]] = {}

    @property
    def later(self) -> list[tuple[Root, bytes]]:
        """The versions after the base with their envelopes, lowest number first."""
        return sorted(self._later.values(), key=lambda each: each[0].version)

    def learn(self, roots: Iterable[bytes]) -> bool:
        """Takes envelopes, oldest first, as far as each follows a version that is known; whether one did."""
        before = len(self._later)
        for data in roots:
            root = self._following(data)
            if root is not None:
                self._later[Envelope.parse(data).payload] = (root, data)
        if len(self._later) == before:
            return False
        later = self.later
        self.tips = tuple(
            root
            for root in (self.base, *(each for each, _ in later))
            if not any(self._follows(data, root) for after, data in later if after.version == root.version + 1)
        )
        return True

    def reached(self, roots: Iterable[bytes]) -> int:
        """The highest number of a version that is known among these envelopes, or 0."""
        payloads = (_payload(data) for data in roots)
        return max((self._later[each][0].version for each in payloads if each in self._later), default=0)

    def coordinators(self, size: int) -> list[bytes]:
        """The coordinator keys that may sign a head of `size` entries, as one of the tips says."""
        return list(dict.fromkeys(role.key for role in self._coordinators() if role.is_valid_at(max(size, 1) - 1)))

    def undisputed(self, size: int) -> list[bytes]:
        """Those of them that no tip has ended there: only their heads are evidence of a fork."""
        ended = {role.key for role in self._coordinators() if not role.is_valid_at(max(size, 1) - 1)}
        return [key for key in self.coordinators(size) if key not in ended]

    def _coordinators(self) -> list[Role]:
        return [role for root in self.tips for role in root.roles if role.role == COORDINATOR]

    def _following(self, data: bytes) -> Root | None:
        """The root in an envelope, if it is not known and follows a known one whose successors are not too many yet."""
        if _payload(data) in self._later:
            return None
        for before in (self.base, *(root for root, _ in self.later)):
            if sum(root.version == before.version + 1 for root, _ in self._later.values()) < ALTERNATIVES:
                root = self._follows(data, before)
                if root is not None:
                    return root
        return None

    def _follows(self, data: bytes, before: Root) -> Root | None:
        try:
            return verify_next_root(data, before, self._run)
        except (LogFault, ProtocolError):
            return None


def _payload(data: bytes) -> bytes:
    """What an envelope says; nothing where there is none."""
    try:
        return Envelope.parse(data).payload
    except ProtocolError:
        return b""
