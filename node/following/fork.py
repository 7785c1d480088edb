"""Proof that a log's signer forked it: two signed checkpoints of which neither tree extends the other.

Spec: docs/spec/swarm.md ("Fork proof"). Beside the two notes it holds the root that the newer tree had at the older one's
size, with the RFC 6962 proof for that: another root than the older note's. Anyone checks it with the signer's key alone.
"""

from dataclasses import dataclass
from typing import Final, Self

from protocol import checkpoint, codec
from protocol.checkpoint import Checkpoint, SignedNote
from protocol.errors import BadProof, ParseError
from protocol.merkle import verify_consistency
from protocol.seeds import log_origin

MAX_BYTES: Final = 128 << 10


@dataclass(frozen=True, slots=True)
class ForkProof:
    """`older` and `newer` are signed notes; the tree of `newer` had `root` at the size of `older`, as `path` shows."""

    older: bytes
    newer: bytes
    root: bytes
    path: tuple[bytes, ...]

    def encode(self) -> bytes:
        """The canonical bytes."""
        return codec.encode({"newer": self.newer, "older": self.older, "path": self.path, "root": self.root})

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """The proof in `data`, not yet verified; raises a ProtocolError."""
        match codec.decode(data, MAX_BYTES):
            case {"newer": bytes(newer), "older": bytes(older), "path": list(path), "root": bytes(root), **rest}:
                steps = tuple(step for step in path if isinstance(step, bytes))
                if not rest and len(steps) == len(path):
                    return cls(older, newer, root, steps)
        raise ParseError("The bytes are not a fork proof.")

    def verify(self, run: bytes, older_key: bytes, newer_key: bytes | None = None) -> tuple[Checkpoint, Checkpoint]:
        """The two checkpoints, signed by these coordinator keys of `run` (one, when not replaced in between).

        Raises BadProof when the newer one may extend the older one, or another ProtocolError.
        """
        origin = log_origin(run)
        older = checkpoint.verify(SignedNote.parse(self.older), older_key, origin)
        newer = checkpoint.verify(SignedNote.parse(self.newer), newer_key or older_key, origin)
        verify_consistency(older.size, newer.size, self.path, self.root, newer.root_hash)
        if self.root == older.root_hash:
            raise BadProof("The newer checkpoint extends the older one: the log was not forked.")
        return older, newer
