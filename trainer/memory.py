"""Memory that stays with the process between steps: `keep_freed_memory`.

A step allocates and frees the same hundreds of megabytes again. glibc gives large blocks back to the kernel at once and so
has every page cleared for the next step, which takes a twentieth of it.
"""

from __future__ import annotations

import ctypes
from typing import Final

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # <malloc.h>
_KEPT_BYTES: Final = 1 << 30


def keep_freed_memory() -> bool:
    """Has the C library keep what is freed, up to a gigabyte, for what is allocated next; gives whether it can."""
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library
        return False
    options = ((_TRIM_THRESHOLD, _KEPT_BYTES), (_MMAP_THRESHOLD, _KEPT_BYTES), (_TOP_PAD, 1 << 26))
    taken = [set_option(option, value) == 1 for option, value in options]
    return all(taken)
