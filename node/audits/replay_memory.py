"""Games that audits on this machine replayed and found right, as a file of keys: an interrupted audit goes on, a later one
draws others.

Spec: `docs/spec/audit.md` ("Sampling"). It lies in the user's cache folder and never in an audited one, which may come from
elsewhere, and belongs to one build of the engine. Nothing depends on it but time: a key that is lost is a game replayed
again, and a folder that takes no file is none.
"""

import os
import stat
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Final, Self

KEY_BYTES: Final = 32


class ReplayMemory:
    """A `verification.audit.replays.Memory` in a file, of whole keys one after the other; a context manager."""

    def __init__(self, file: Path | None) -> None:
        """None keeps nothing beyond this object."""
        self._keys: set[bytes] = set()
        self._file = -1
        if file is None:
            return
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK, 0o600)
            if not stat.S_ISREG(os.fstat(self._file).st_mode):  # a device might never end
                self._close()
                return
            data = file.read_bytes()
            whole = len(data) // KEY_BYTES * KEY_BYTES
            os.ftruncate(self._file, whole)  # a key of which a kill or a full disk left a part
        except OSError:
            self._close()
            return
        self._keys = {data[at : at + KEY_BYTES] for at in range(0, whole, KEY_BYTES)}

    def knows(self, key: bytes) -> bool:
        """See `Memory`."""
        return key in self._keys

    def keep(self, key: bytes) -> None:
        """See `Memory`."""
        self._keys.add(key)
        if self._file >= 0:
            try:
                written = os.write(self._file, key)
            except OSError:
                written = 0
            if written != KEY_BYTES:
                self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def memory_file() -> Path | None:
    """Where the replays of this build of the engine are remembered: in the user's cache folder (XDG Base Directory).

    None for a user without a home.
    """
    cache = os.environ.get("XDG_CACHE_HOME", "")
    try:
        folder = Path(cache) if cache.startswith("/") else Path("~/.cache").expanduser()
    except RuntimeError:
        return None
    return folder / "gonode" / f"replayed-{_engine_digest().hex()[:16]}"


def _engine_digest() -> bytes:
    """The SHA-256 of the library that replays."""
    spec = find_spec("native._engine")
    assert spec is not None
    assert spec.origin is not None
    return sha256(Path(spec.origin).read_bytes()).digest()
