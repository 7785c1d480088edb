"""What a fraud proof's signatures and inclusions establish, from the run id down, believing nobody.

Spec: `docs/spec/proof.md` ("Semantics"). Invariants: root version 1 and manifest version 1 make the run id; each later root
version is signed by the threshold of the one before it and by its own; who may sign an entry is judged by the root version
logged before it; everything said lies in one tree whose head enough verifiers cosigned.
"""

from dataclasses import dataclass
from hashlib import sha256
from typing import TypeVar

from protocol.batch import GameLeaf, verify_game
from protocol.checkpoint import Checkpoint, SignedNote
from protocol.envelope import Envelope
from protocol.epoch import Share, ShareSet
from protocol.errors import BadProof, ProtocolError
from protocol.header import BatchHeader
from protocol.manifest import Manifest
from protocol.merkle import leaf_hash, verify_inclusion
from protocol.proof import FraudProof, LoggedEntry
from protocol.record import Record
from protocol.recovery import KeyReplacement
from protocol.registration import Registration
from protocol.release import FirstRelease, Release
from protocol.root import COORDINATOR, VERIFIER, Root
from protocol.seeds import beacon, join_nonce, run_id
from protocol.verdict import Verdict
from verification.root_versions import RootVersions
from verification.setup import GameSetup, SelfplaySeries, check_playable
from verification.witness import verify_head

R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True)
class ProofContext:
    """What a proof shows before anything is searched. `network` is the SHA-256 of the network's file, empty for uniform
    evaluation; `is_first`: the release is number 0, whose network the manifest gives. `verdict`: the accused verifier's."""

    proof: FraudProof
    manifest: Manifest
    header: BatchHeader
    verdict: Verdict | None
    series: SelfplaySeries
    game: GameLeaf
    counter: int
    network: bytes
    is_first: bool

    @property
    def setup(self) -> GameSetup:
        """What the game's seed gives."""
        return self.series.setup(self.counter)


def establish(proof: FraudProof) -> ProofContext:
    """The context of a proof; raises BadProof or another ProtocolError where something in it does not hold."""
    root_envelope, first_root = _opened(proof.root, Root, "root")
    manifest_envelope, first_manifest = _opened(proof.manifest, Manifest, "manifest")
    if run_id(root_envelope.payload, manifest_envelope.payload) != proof.run:
        raise BadProof("The proof's root and manifest make another run id.")
    for envelope in (root_envelope, manifest_envelope):
        _require_threshold(envelope, first_root)
    roots, later = _later_roots(proof, first_root)
    head = verify_head(SignedNote.parse(proof.checkpoint), proof.run, roots)
    for item in proof.later:
        _verify_logged(item, head)
    header = _logged(proof.header, BatchHeader, head)
    if _signers(proof.header) != (header.peer,) or header.run != proof.run:
        raise BadProof("The proof's header is not one that its peer signed for this run.")
    manifest = first_manifest
    if later is not None:
        manifest = _later_manifest(proof, later, header, roots)
    elif header.manifest != manifest_envelope.digest:
        raise BadProof("The proof's header and manifest do not belong together.")
    if header.config != manifest.selfplay.digest():
        raise BadProof("The proof's header and manifest do not belong together.")
    check_playable(manifest)
    steps, network, is_first = _release(proof, header)
    nonce = _nonce(proof, header, head, roots)
    series = SelfplaySeries(proof.run, manifest, header.release, steps, header.owner, nonce)
    game = verify_game(proof.game, proof.game_index, header.games, proof.game_path, header.batch_root)
    counter = header.first_counter + proof.game_index
    verdict = _verdict(proof, header, head, roots) if proof.accused == VERIFIER else None
    if proof.accused != VERIFIER and proof.verdict:
        raise BadProof("A proof against a contributor holds no verdict.")
    return ProofContext(proof, manifest, header, verdict, series, game, counter, network, is_first)


def _later_roots(proof: FraudProof, first: Root) -> tuple[RootVersions, LoggedEntry | None]:
    """The root versions of a proof, and the entry after them, which is a manifest version; their places are unverified."""
    roots = RootVersions(((0, first),))
    for position, item in enumerate(proof.later):
        envelope = Envelope.parse(item.entry)
        if envelope.type != Root.payload_type():
            if position != len(proof.later) - 1:
                raise BadProof("In a proof at most one manifest version follows the later root versions.")
            return roots, item
        index, before = roots.all[-1]
        root = _opened(item.entry, Root, "root")[1]
        if root.run != proof.run or root.version != before.version + 1 or item.index <= index:
            raise BadProof("The proof's root versions do not follow each other.")
        _require_threshold(envelope, before)
        _require_threshold(envelope, root)
        roots = roots.followed_by(item.index, root)
    return roots, None


def _later_manifest(proof: FraudProof, item: LoggedEntry, header: BatchHeader, roots: RootVersions) -> Manifest:
    envelope, manifest = _opened(item.entry, Manifest, "manifest")
    _require_threshold(envelope, roots.at(item.index))
    if manifest.run != proof.run or envelope.digest != header.manifest:
        raise BadProof("The proof's header and manifest do not belong together.")
    return manifest


def _require_threshold(envelope: Envelope, root: Root) -> None:
    if root.missing(envelope.signers):
        raise BadProof("The proof's root or manifest is not signed by the root's keys.")


def _verdict(proof: FraudProof, header: BatchHeader, head: Checkpoint, roots: RootVersions) -> Verdict:
    """The logged verdict of the accused verifier on this batch, whichever entry ordered it."""
    if len(proof.verdict) != 1:
        raise BadProof("A proof against a verifier holds its verdict.")
    (item,) = proof.verdict
    verdict = _logged(item, Verdict, head)
    role = roots.role(verdict.verifier, item.index)
    if _signers(item) != (verdict.verifier,) or role is None or role.role != VERIFIER or verdict.run != proof.run:
        raise BadProof("The proof's verdict is not signed by a verifier of this run.")
    if verdict.subject != header.digest():
        raise BadProof("The proof's verdict is about another batch.")
    return verdict


def _release(proof: FraudProof, header: BatchHeader) -> tuple[int, bytes, bool]:
    """The training step and the network's SHA-256 of the release that the header names; whether it is number 0."""
    if sha256(proof.release).digest() != header.release:
        raise BadProof("The proof's release is not the one that the header names.")
    release: FirstRelease | Release
    try:
        release = Release.parse(proof.release)
    except ProtocolError:
        release = FirstRelease.parse(proof.release)
    if release.run != proof.run or release.manifest != header.manifest:
        raise BadProof("The proof's release is of another run or manifest.")
    return (release.steps, release.network, False) if isinstance(release, Release) else (0, release.network, True)


def _nonce(proof: FraudProof, header: BatchHeader, head: Checkpoint, roots: RootVersions) -> bytes:
    """The join nonce of the seeds' owner, from its registration and the first share set that covers it."""
    item = proof.registration
    if _registered(item, proof.run, head) != header.owner:
        raise BadProof("The proof's registration is not that of the seeds' owner.")
    if not header.fill_for and item.index != header.registration:
        raise BadProof("The proof's registration is not the one that the header names.")
    shares = _logged(proof.shares, ShareSet, head)
    signers = _signers(proof.shares)
    signer = roots.role(signers[0], proof.shares.index) if len(signers) == 1 else None
    if signer is None or signer.role != COORDINATOR or shares.run != proof.run:
        raise BadProof("The proof's share set is not signed by the run's coordinator.")
    if not shares.previous_size <= item.index < shares.size or shares.size > proof.shares.index:
        raise BadProof("The proof's share set is not the one that makes the registration's beacon.")
    values: dict[bytes, bytes] = {}
    for data in shares.shares:
        envelope, share = _opened(data, Share, "share")
        role = roots.role(share.verifier, proof.shares.index)
        if envelope.signers != (share.verifier,) or role is None or role.role != VERIFIER:
            raise BadProof("A share in the proof is not signed by a verifier.")
        if (share.run, share.size, share.root_hash) != (shares.run, shares.size, shares.root_hash):
            raise BadProof("A share in the proof is for another tree.")
        values[share.verifier] = share.share
    if len(values) != len(shares.shares) or len(values) < roots.at(proof.shares.index).witness_threshold:
        raise BadProof("The proof's share set has too few shares.")
    return join_nonce(proof.run, header.owner, beacon(shares.run, shares.size, shares.root_hash, values))


def _registered(item: LoggedEntry, run: bytes, head: Checkpoint) -> bytes:
    """The key that a logged registration, or replacement of a key, brings into the run."""
    if Envelope.parse(item.entry).type == KeyReplacement.payload_type():
        replaced = _logged(item, KeyReplacement, head)
        key, signers, of_run = replaced.replacement, {replaced.recovery, replaced.replacement}, replaced.run
    else:
        registration = _logged(item, Registration, head)
        key, signers, of_run = registration.peer, {registration.peer}, registration.run
    if of_run != run or set(_signers(item)) != signers:
        raise BadProof("The proof's registration is not signed by whom it registers.")
    return key


def _opened(data: bytes, cls: type[R], what: str) -> tuple[Envelope, R]:
    try:
        envelope = Envelope.parse(data)
        return envelope, cls.open(envelope)
    except ProtocolError as error:
        raise BadProof(f"The proof's {what} is wrong: {error}") from error


def _logged(item: LoggedEntry, cls: type[R], head: Checkpoint) -> R:
    _verify_logged(item, head)
    return _opened(item.entry, cls, cls.NAME.replace("-", " "))[1]


def _verify_logged(item: LoggedEntry, head: Checkpoint) -> None:
    verify_inclusion(leaf_hash(item.entry), item.index, head.size, item.path, head.root_hash)


def _signers(item: LoggedEntry) -> tuple[bytes, ...]:
    return Envelope.parse(item.entry).signers
