"""A terminal that was closed."""

import errno
import io


class Closed(io.StringIO):
    """Takes nothing while `is_gone`."""

    is_gone = True

    def write(self, text: str) -> int:
        if self.is_gone:
            raise OSError(errno.EIO, "Input/output error")
        return super().write(text)
