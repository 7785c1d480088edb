"""Who ends engines when this process no longer can: `Warden`.

Engines have sessions of their own, so that a Ctrl-C is not for them; one that thinks, or hangs, would go on for long after
a SIGKILL of the match. A shell beside it reads which groups of processes there are, and at the end of its input, which is
when this process ends in whatever way, kills those that are left. An engine that leaves its group is not found.
"""

import contextlib
import subprocess
from threading import Lock
from typing import Final

_SCRIPT: Final = """
while read -r sign group; do
  rest=
  for each in $groups; do [ "$each" = "$group" ] || rest="$rest $each"; done
  groups=$rest
  [ "$sign" = + ] && groups="$groups $group"
done
for each in $groups; do kill -s KILL -- "-$each"; done
"""


class Warden:
    """Watches groups of processes; safe to use from many threads."""

    def __init__(self) -> None:
        """Starts the shell; raises OSError."""
        self._lock = Lock()
        self._shell = subprocess.Popen(
            ["sh", "-c", _SCRIPT],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )

    def watch(self, group: int) -> None:
        """A group that shall not outlive this process."""
        self._say("+", group)

    def forget(self, group: int) -> None:
        """A group that was ended; its number may become another's."""
        self._say("-", group)

    def close(self) -> None:
        """Ends the groups that are still watched, and the shell."""
        assert self._shell.stdin is not None
        with self._lock, contextlib.suppress(OSError):
            self._shell.stdin.close()
        self._shell.wait()

    def _say(self, sign: str, group: int) -> None:
        assert self._shell.stdin is not None
        # Closed, or somebody killed the shell: then engines are ended as far as this process ends them.
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._shell.stdin.write(f"{sign} {group}\n".encode())
