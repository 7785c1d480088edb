"""Which errors end a node, whatever part of it meets them: no restart of that part would change them.

Spec: `docs/commands.md` ("Exit status"). Each has one sentence. A disk that is full, read-only or broken, and a store that
refuses, are among them: what a node cannot keep it must not say, and whether memory and disk still agree is then not
known. The next start goes on from what the disk holds. (What a role raises outside any service, such as `Expelled`, ends the
node without being named here.)
"""

import errno
import sqlite3
from typing import Final

from native.canary import WrongMachine
from native.errors import EngineError
from node.disk.store import StoreError
from node.engine.process import EngineLost
from node.following.heads import LogUnbelievable
from node.peering.transport import CannotListen

FATAL: Final[tuple[type[Exception], ...]] = (
    CannotListen,
    EngineError,
    EngineLost,
    LogUnbelievable,
    StoreError,
    WrongMachine,
    sqlite3.Error,
)

DISK_ERRORS: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EFBIG})
"""Numbers of OSErrors that say that the disk takes or gives nothing."""


def fatal_in(error: Exception) -> Exception | None:
    """The first fatal error that `error` is or holds in its groups; None when a restart may help."""
    if isinstance(error, ExceptionGroup):
        return next((found for inner in error.exceptions if (found := fatal_in(inner)) is not None), None)
    if isinstance(error, OSError):
        return error if error.errno in DISK_ERRORS else None
    return error if isinstance(error, FATAL) else None
