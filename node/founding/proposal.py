"""What root keys are asked to sign, as one file that travels between their holders: `Proposal`.

Spec: docs/spec/proposal.md. The file certifies itself: it holds the root versions so far with their signatures, so a holder
sees which run he changes and what changes. Invariants: every signature in it holds and is by a key that is asked; a
proposal is for a new run (root and manifest version 1), for the next root version, or for the next manifest version.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Self

from node.founding.errors import ProposalError
from protocol import codec
from protocol.ed25519 import SecretKey
from protocol.envelope import Envelope, Signature, seal
from protocol.errors import ParseError, ProtocolError
from protocol.manifest import Manifest
from protocol.root import Root
from protocol.seeds import run_id
from protocol.types import ZERO
from protocol.words import counted
from verification.faults import LogFault
from verification.root_versions import verify_next_root

MAX_BYTES: Final = 4 << 20


@dataclass(frozen=True)
class Proposal:
    """`asked` waits for signatures: root and manifest version 1 of a new run, or one envelope of a run that is there.

    `roots` are that run's root versions so far, `manifests` its manifest version 1 and the newest one, all signed; both are
    empty for a new run. `log_size` informs: how many entries the log had.
    """

    roots: tuple[Envelope, ...]
    manifests: tuple[Envelope, ...]
    asked: tuple[Envelope, ...]
    log_size: int = 0

    def __post_init__(self) -> None:
        try:
            self._check()
        except (LogFault, ProtocolError) as error:
            raise ProposalError(f"This proposal does not hold: {error}") from None

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """The proposal in a file's bytes; raises ProposalError."""
        try:
            match codec.decode(data, MAX_BYTES):
                case {
                    "roots": list(roots),
                    "manifests": list(manifests),
                    "asked": list(asked),
                    "log_size": int(size),
                    **rest,
                } if not rest and not isinstance(size, bool):
                    return cls(_envelopes(roots), _envelopes(manifests), _envelopes(asked), size)
        except ProtocolError as error:
            raise ProposalError(f"This is not a proposal for root keys: {error}") from None
        raise ProposalError("This is not a proposal for root keys.")

    def encode(self) -> bytes:
        """The file's canonical bytes."""
        value: dict[str, codec.Value] = {"log_size": self.log_size}
        for name, envelopes in (("roots", self.roots), ("manifests", self.manifests), ("asked", self.asked)):
            value[name] = [envelope.encode() for envelope in envelopes]
        return codec.encode(value)

    # ---- what it is

    @cached_property
    def run(self) -> bytes:
        """The run's id."""
        first = (self.roots[0], self.manifests[0]) if self.roots else self.asked
        return run_id(*(envelope.payload for envelope in first))

    @property
    def is_founding(self) -> bool:
        """Whether it is for a new run."""
        return not self.roots

    @cached_property
    def before(self) -> Root | None:
        """The newest root version so far; None for a new run."""
        return Root.parse(self.roots[-1].payload) if self.roots else None

    @cached_property
    def root(self) -> Root | None:
        """The root version that is asked for, if one is."""
        return Root.parse(self.asked[0].payload) if self.asked[0].type == Root.payload_type() else None

    @cached_property
    def manifest_before(self) -> Manifest | None:
        """The manifest in force; None for a new run."""
        return Manifest.parse(self.manifests[-1].payload) if self.manifests else None

    @cached_property
    def manifest(self) -> Manifest | None:
        """The manifest version that is asked for, if one is."""
        return Manifest.parse(self.asked[-1].payload) if self.asked[-1].type == Manifest.payload_type() else None

    @property
    def name(self) -> str:
        """What tells it from others: `run-1a2b3c4d`, `root-2-1a2b3c4d` or `manifest-2-1a2b3c4d`, the last by the digest."""
        if self.is_founding:
            return f"run-{self.run.hex()[:8]}"
        record = self.root or self.manifest
        assert record is not None
        return f"{record.NAME}-{record.version}-{self.asked[0].digest.hex()[:8]}"

    # ---- signatures

    @property
    def signers(self) -> tuple[bytes, ...]:
        """The keys that signed all that is asked."""
        return tuple(key for key in self.asked[0].signers if all(key in each.signers for each in self.asked))

    @cached_property
    def thresholds(self) -> tuple[Root, ...]:
        """The root versions of each of which a threshold has to sign."""
        if self.before is None or self.root is None:
            root = self.before or self.root
            assert root is not None
            return (root,)
        return (self.before, self.root)

    @property
    def keys(self) -> tuple[bytes, ...]:
        """All keys that may sign, each once."""
        return tuple(dict.fromkeys(key for root in self.thresholds for key in root.keys))

    @property
    def missing(self) -> str:
        """How many signatures of whom are missing, in words; empty when it is complete."""
        parts = []
        for root in self.thresholds:
            count = root.missing(self.signers)
            if count:
                parts.append(f"{count} more of the {counted(len(root.keys), 'key')} of root version {root.version}")
        return " and ".join(parts)

    @property
    def is_complete(self) -> bool:
        """Whether enough keys signed."""
        return not self.missing

    def signed(self, secret: SecretKey) -> "Proposal":
        """With the signature of one of the keys that may sign; raises ProposalError for another one."""
        if secret.public not in self.keys:
            raise ProposalError(f"The key {secret.public.hex()} is none of the root's keys that are asked to sign.")
        return replace(self, asked=tuple(_with(each, seal(each.type, each.payload, secret)) for each in self.asked))

    def merged(self, other: "Proposal") -> "Proposal":
        """With the signatures of another copy; raises ProposalError when that asks for something else."""
        if [(each.type, each.payload) for each in self.asked] != [(each.type, each.payload) for each in other.asked]:
            raise ProposalError(f"The proposals {self.name} and {other.name} are not the same.")
        return replace(self, asked=tuple(map(_with, self.asked, other.asked)))

    # ---- checks

    def _check(self) -> None:
        kinds = [each.type for each in self.asked]
        if bool(self.roots) != bool(self.manifests) or len(self.manifests) > 2:
            raise ParseError("it does not hold what is before it.")
        if self.is_founding and kinds != [Root.payload_type(), Manifest.payload_type()]:
            raise ParseError("a new run needs a root and a manifest.")
        if not self.is_founding and kinds not in ([Root.payload_type()], [Manifest.payload_type()]):
            raise ParseError("it asks for neither a root nor a manifest.")
        if self.is_founding:
            self._check_version(self.root, 1)
            self._check_version(self.manifest, 1)
        else:
            versions = self._check_roots()
            self._check_manifests(versions)
            assert self.before is not None
            assert self.manifest_before is not None
            if self.root is not None:
                self._check_version(self.root, self.before.version + 1)
            self._check_version(self.manifest, self.manifest_before.version + 1)
        for envelope in self.asked:
            if envelope.signatures:
                envelope.verify()
            if not set(envelope.signers) <= set(self.keys):
                raise ParseError("a key that is not the root's signed it.")

    def _check_version(self, record: Root | Manifest | None, version: int) -> None:
        if record is not None and (record.version, record.run) != (version, ZERO if version == 1 else self.run):
            raise ParseError(f"it is not for version {version} of this run's {record.NAME}.")

    def _check_roots(self) -> list[Root]:
        first = Root.open(self.roots[0])
        self._check_version(first, 1)
        versions = [first]
        _require(self.roots[0], first)
        for envelope in self.roots[1:]:
            versions.append(verify_next_root(envelope.encode(), versions[-1], self.run))
        return versions

    def _check_manifests(self, versions: list[Root]) -> None:
        for number, envelope in enumerate(self.manifests):
            manifest = Manifest.open(envelope)
            if number == 0:
                self._check_version(manifest, 1)
                _require(envelope, versions[0])
            elif (
                manifest.run != self.run
                or manifest.version < 2
                or not any(_is_signed(envelope, each) for each in versions)
            ):
                raise ParseError("its manifest is not one of this run's.")


def _envelopes(items: list[codec.Value]) -> tuple[Envelope, ...]:
    found = tuple(Envelope.parse(item) for item in items if isinstance(item, bytes))
    if len(found) != len(items):
        raise ParseError("it holds something other than envelopes.")
    return found


def _is_signed(envelope: Envelope, root: Root) -> bool:
    return not root.missing(envelope.signers) and set(envelope.signers) <= set(root.keys)


def _require(envelope: Envelope, root: Root) -> None:
    if not _is_signed(envelope, root):
        raise ParseError("its first root or manifest is not signed by the root's keys.")


def _with(envelope: Envelope, other: Envelope) -> Envelope:
    """An envelope with the signatures of another one of the same payload, one a key."""
    found: dict[bytes, Signature] = {each.key: each for each in (*other.signatures, *envelope.signatures)}
    return Envelope(envelope.type, envelope.payload, tuple(found[key] for key in sorted(found)))
