"""How a node exchanges blobs: limits, what stays on disk, and where it works on them."""

from dataclasses import dataclass

from node.blobs.throttle import Throttle
from node.blobs.work import Work, here


@dataclass(frozen=True, slots=True)
class BlobOptions:
    """Bytes a second that leave and come, unlimited for None; the bytes kept on disk, None to delete nothing."""

    up_bytes_s: int | None = None
    down_bytes_s: int | None = None
    keep_bytes: int | None = None
    work: Work = here

    @property
    def up(self) -> Throttle:
        """A throttle for what leaves."""
        return Throttle(self.up_bytes_s)

    @property
    def down(self) -> Throttle:
        """A throttle for what comes."""
        return Throttle(self.down_bytes_s)


UNLIMITED = BlobOptions()
"""Nothing is limited, and nothing deleted."""
