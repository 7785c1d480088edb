"""Names of files in a run's public folder, which the coordinator keeps, a mirror copies and an audit reads.

Spec: `docs/spec/layout.md`. Everything below `public/` may be served as static files; nothing in it is secret.
"""

PUBLIC = "public"
CHECKPOINT = "checkpoint"
ROOT = "root"
MANIFEST = "manifest"
BLOBS = "blob"
RELEASES = "release"
STATEMENTS = "statement"


def blob_path(digest: bytes) -> str:
    """Where the blob with this blob digest lies, relative to the public folder."""
    name = digest.hex()
    return f"{BLOBS}/{name[:2]}/{name}"


def release_path(number: int, name: str) -> str:
    """Where a release's signed envelope lies, relative to the public folder."""
    return f"{RELEASES}/{number:05d}-{name}"


def statement_path(number: int, name: str, document: str) -> str:
    """Where a document of a release's statement lies, relative to the public folder."""
    return f"{STATEMENTS}/{number:05d}-{name}/{document}"
