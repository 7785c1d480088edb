"""A public folder in memory, for audits."""


class MemoryReader:
    """The public folder as a dict, for `verification.audit`."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files

    def read(self, path: str) -> bytes | None:
        """A file's bytes."""
        return self.files.get(path)

    def list(self, prefix: str) -> list[str]:
        """Paths that start with `prefix`."""
        return sorted(path for path in self.files if path.startswith(prefix))
