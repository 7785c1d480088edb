"""What this server finds when it checks a proof itself, with the release's network from its own directory: `Recomputer`.

Page: docs/pages.md. Invariants: one proof is checked at a time, in whatever threads ask, and nobody waits for another's;
what was found is kept, so that a proof is searched once; the node's store is only read. A visitor need not believe it: the
page names the command that finds the same elsewhere.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from native.canary import verify_kernel
from native.errors import EngineError
from native.network import Kernel
from protocol.errors import ProtocolError
from protocol.layout import blob_path
from protocol.proof import FraudProof
from protocol.release import Release
from verification.proof import NetworkMissing, NetworkOf, check_proof

HOLDS: Final = "holds"
FAILS: Final = "fails"
NO_NETWORK: Final = "no-network"
BUSY: Final = "busy"
BROKEN: Final = "broken"

MOST_KEPT: Final = 512
AGAIN_S: Final = 60.0
"""Whether a network is here by now is looked up so often."""


@dataclass(frozen=True, slots=True)
class Recomputed:
    """What a check found: HOLDS or FAILS for good; for now NO_NETWORK, BUSY with another proof, or BROKEN, a machine that
    computes wrongly. `record`: the ply's as its search gives it, empty where none was searched."""

    state: str
    sentence: str
    record: bytes = b""


class Recomputer:
    """Checks proofs of `run` with the networks below `public`; `check` is for tests."""

    def __init__(self, public: Path, run: bytes, check: Callable[[bytes, bytes, NetworkOf], Recomputed] | None = None):
        self._public = public
        self._run = run
        self._check = check or checked
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, tuple[Recomputed, float]] = OrderedDict()

    def get(self, proof_id: bytes, data: bytes) -> Recomputed:
        """What the check of a proof found, which is done now where it was not before."""
        known = self._kept.get(proof_id)
        if known is not None and (known[0].state in (HOLDS, FAILS) or time.monotonic() < known[1] + AGAIN_S):
            return known[0]
        if not self._lock.acquire(blocking=False):
            return Recomputed(BUSY, "This server checks another proof just now.")
        try:
            found = self._check(data, self._run, self._networks(data))
            self._kept[proof_id] = (found, time.monotonic())
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        finally:
            self._lock.release()
        return found

    def _networks(self, data: bytes) -> NetworkOf:
        """Gives the network of the proof's release, where it is here and whole."""

        def network_of(digest: bytes) -> bytes | None:
            try:
                release = Release.parse(FraudProof.parse(data).release)
                file = (self._public / blob_path(release.network_blob)).read_bytes()
            except (ProtocolError, OSError):
                return None
            return file if sha256(file).digest() == digest else None

        return network_of


def checked(data: bytes, run: bytes, network_of: NetworkOf) -> Recomputed:
    """What the whole check of a proof finds on this machine."""
    kernel = Kernel.best()
    try:
        verify_kernel(kernel)
        finding = check_proof(data, run, network_of, kernel)
    except NetworkMissing as error:
        return Recomputed(NO_NETWORK, str(error))
    except ProtocolError as error:
        return Recomputed(FAILS, str(error))
    except EngineError as error:
        return Recomputed(BROKEN, str(error))
    return Recomputed(HOLDS, finding.sentence, finding.searched)
