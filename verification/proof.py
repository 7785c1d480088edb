"""Checks a fraud proof from the run id down, believing nobody: not the accuser, not the coordinator, not a server.

Spec: `docs/spec/proof.md`. A proof holds if every signature, inclusion and seed in it holds and then what the accused signed
differs from what the checker computes by itself: a search (`ply`), the rules (`rules`) or the seed's setup (`setup`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeVar

from native.errors import EngineError
from native.game import Game
from native.network import Kernel, Network
from native.pool import Job
from native.search import Player
from protocol.batch import GameLeaf, verify_game, verify_ply
from protocol.checkpoint import Checkpoint, SignedNote
from protocol.envelope import Envelope
from protocol.epoch import Share, ShareSet
from protocol.errors import BadProof, ProtocolError
from protocol.header import BatchHeader
from protocol.manifest import Manifest
from protocol.merkle import leaf_hash, verify_inclusion
from protocol.proof import PLY, RULES, VERIFIER, FraudProof, LoggedEntry
from protocol.record import Record
from protocol.registration import Registration
from protocol.release import FirstRelease, Release
from protocol.root import COORDINATOR, Root
from protocol.seeds import beacon, join_nonce, run_id
from protocol.verdict import ACCEPT, Verdict
from verification.faults import LogFault
from verification.releases import first_network
from verification.replay import differences, repeat_ply
from verification.setup import GameSetup, SelfplaySeries, check_playable
from verification.witness import verify_head

R = TypeVar("R", bound=Record)

NetworkOf = Callable[[bytes], bytes | None]
"""Gives a network's file by the SHA-256 that a release names it by, or None."""


class NetworkMissing(ValueError):
    """The proof cannot be checked here: the network that it needs is not at hand."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A proof that holds: who is convicted, of what (`kind`), in one sentence."""

    subject: bytes
    accused: str
    kind: str
    game: int
    ply: int | None
    sentence: str


@dataclass(frozen=True, slots=True)
class _Context:
    """What a proof's signatures and inclusions establish."""

    proof: FraudProof
    manifest: Manifest
    header: BatchHeader
    series: SelfplaySeries
    game: GameLeaf
    counter: int
    network: bytes

    @property
    def setup(self) -> GameSetup:
        return self.series.setup(self.counter)


def check_proof(data: bytes, run: bytes | None, network_of: NetworkOf, kernel: Kernel = Kernel.SCALAR) -> Finding:
    """The finding of a proof that holds.

    `run` is the run id to hold it against (None: the proof's own). Release 0's network is recomputed, not asked for.
    Raises ParseError and its kin for malformed bytes, BadProof when the proof does not hold, NetworkMissing.
    """
    proof = FraudProof.parse(data)
    if run is not None and proof.run != run:
        raise BadProof("The proof is of another run.")
    try:
        context = _establish(proof)
        subject = _accused(context)
        text = _breach(context, network_of, kernel)
    except (LogFault, EngineError) as error:
        raise BadProof(f"The proof does not hold: {error}") from error
    who = "Verifier" if proof.accused == VERIFIER else "Contributor"
    act = "accepted" if proof.accused == VERIFIER else "signed"
    ply = proof.ply_index + context.game.header.opening_moves if proof.kind == PLY else None
    sentence = f"{who} {subject.hex()[:16]} {act} a batch whose game {proof.game_index} {text}."
    return Finding(subject, proof.accused, proof.kind, proof.game_index, ply, sentence)


# ---- who said what


def _establish(proof: FraudProof) -> _Context:
    root_envelope, root = _opened(proof.root, Root, "root")
    manifest_envelope, manifest = _opened(proof.manifest, Manifest, "manifest")
    if run_id(root_envelope.payload, manifest_envelope.payload) != proof.run:
        raise BadProof("The proof's root and manifest make another run id.")
    for envelope in (root_envelope, manifest_envelope):
        if sum(key in root.keys for key in envelope.signers) < root.threshold:
            raise BadProof("The proof's root or manifest is not signed by the root's keys.")
    check_playable(manifest)
    head = verify_head(SignedNote.parse(proof.checkpoint), proof.run, root)
    header = _logged(proof.header, BatchHeader, head)
    if _signers(proof.header) != (header.peer,) or header.run != proof.run or header.fill_for:
        raise BadProof("The proof's header is not one that the accused signed for this run.")
    if header.manifest != manifest_envelope.digest or header.config != manifest.selfplay.digest():
        raise BadProof("The proof's header and manifest do not belong together.")
    steps, network = _release(proof, header)
    nonce = _nonce(proof, header, head, root)
    series = SelfplaySeries(proof.run, manifest, header.release, steps, header.peer, nonce)
    game = verify_game(proof.game, proof.game_index, header.games, proof.game_path, header.batch_root)
    return _Context(proof, manifest, header, series, game, header.first_counter + proof.game_index, network)


def _accused(context: _Context) -> bytes:
    """The key that the proof convicts, its word being in the proof's log."""
    proof, header = context.proof, context.header
    if proof.accused != VERIFIER:
        if proof.verdict:
            raise BadProof("A proof against a contributor holds no verdict.")
        return header.peer
    if len(proof.verdict) != 1:
        raise BadProof("A proof against a verifier holds its verdict.")
    _, root = _opened(proof.root, Root, "root")
    verdict = _logged(proof.verdict[0], Verdict, verify_head(SignedNote.parse(proof.checkpoint), proof.run, root))
    role = root.find(verdict.verifier)
    if _signers(proof.verdict[0]) != (verdict.verifier,) or role is None or verdict.run != proof.run:
        raise BadProof("The proof's verdict is not signed by a verifier of this run.")
    if verdict.subject != header.digest() or verdict.index != proof.header.index:
        raise BadProof("The proof's verdict is about another batch.")
    if verdict.outcome != ACCEPT or proof.game_index not in verdict.drawn:
        raise BadProof("The proof's verdict does not accept this game after replaying it.")
    return verdict.verifier


def _release(proof: FraudProof, header: BatchHeader) -> tuple[int, bytes]:
    """The training step and the network's SHA-256 of the release that the header names."""
    if sha256(proof.release).digest() != header.release:
        raise BadProof("The proof's release is not the one that the header names.")
    release: FirstRelease | Release
    try:
        release = Release.parse(proof.release)
    except ProtocolError:
        release = FirstRelease.parse(proof.release)
    if release.run != proof.run or release.manifest != header.manifest:
        raise BadProof("The proof's release is of another run or manifest.")
    return (release.steps, release.network) if isinstance(release, Release) else (0, release.network)


def _nonce(proof: FraudProof, header: BatchHeader, head: Checkpoint, root: Root) -> bytes:
    """The join nonce of the header's peer, from its registration and the first share set that covers it."""
    registration = _logged(proof.registration, Registration, head)
    signers = _signers(proof.registration)
    if registration.run != proof.run or (registration.peer,) != signers or registration.peer != header.peer:
        raise BadProof("The proof's registration is not that of the header's peer.")
    if proof.registration.index != header.registration:
        raise BadProof("The proof's registration is not the one that the header names.")
    shares = _logged(proof.shares, ShareSet, head)
    signer = root.find(_signers(proof.shares)[0])
    if signer is None or signer.role != COORDINATOR or shares.run != proof.run:
        raise BadProof("The proof's share set is not signed by the run's coordinator.")
    if not shares.previous_size <= proof.registration.index < shares.size or shares.size > proof.shares.index:
        raise BadProof("The proof's share set is not the one that makes the registration's beacon.")
    values: dict[bytes, bytes] = {}
    for data in shares.shares:
        envelope, share = _opened(data, Share, "share")
        role = root.find(share.verifier)
        if envelope.signers != (share.verifier,) or role is None or role.role == COORDINATOR:
            raise BadProof("A share in the proof is not signed by a verifier.")
        if (share.run, share.size, share.root_hash) != (shares.run, shares.size, shares.root_hash):
            raise BadProof("A share in the proof is for another tree.")
        values[share.verifier] = share.share
    if len(values) != len(shares.shares) or len(values) < root.witness_threshold:
        raise BadProof("The proof's share set has too few shares.")
    return join_nonce(proof.run, header.peer, beacon(shares.run, shares.size, shares.root_hash, values))


def _opened(data: bytes, cls: type[R], what: str) -> tuple[Envelope, R]:
    try:
        envelope = Envelope.parse(data)
        return envelope, cls.open(envelope)
    except ProtocolError as error:
        raise BadProof(f"The proof's {what} is wrong: {error}") from error


def _logged(item: LoggedEntry, cls: type[R], head: Checkpoint) -> R:
    verify_inclusion(leaf_hash(item.entry), item.index, head.size, item.path, head.root_hash)
    return _opened(item.entry, cls, cls.NAME.replace("-", " "))[1]


def _signers(item: LoggedEntry) -> tuple[bytes, ...]:
    return Envelope.parse(item.entry).signers


# ---- what is wrong with it


def _breach(context: _Context, network_of: NetworkOf, kernel: Kernel) -> str:
    """What the accused's game did, as the rest of a sentence; raises BadProof if nothing is wrong with it."""
    fault = _setup_fault(context)
    if context.proof.kind not in (PLY, RULES):
        if fault is None:
            raise BadProof("The game's counter, size, komi and opening are what its seed gives.")
        return fault
    if fault is not None:
        raise BadProof("The game's setup is not what its seed gives, which is another kind of proof.")
    if context.proof.kind == RULES:
        return _rules_fault(context)
    return _ply_fault(context, network_of, kernel)


def _setup_fault(context: _Context) -> str | None:
    header, setup = context.game.header, context.setup
    if header.counter != context.counter:
        return f"has counter {header.counter} in place of {context.counter}"
    if (header.size, header.komi_half) != (setup.rules.rows, setup.rules.komi_half):
        return "is not played with the size and komi that its seed gives"
    opening = setup.opening_moves
    if (header.opening, header.opening_moves) != (setup.opening, len(opening)):
        return "does not have the opening that its seed gives"
    if context.game.moves[: len(opening)] != opening:
        return "does not begin with its opening's moves"
    return None


def _rules_fault(context: _Context) -> str:
    header = context.game.header
    game = Game(context.setup.rules)
    for ply, move in enumerate(context.game.moves):
        reason = game.check(move)
        if reason is not None:
            return f"has an illegal move at ply {ply} ({reason})"
        game.play(move)
    if game.end != header.end:
        return f"ends by {game.end.name.lower()}, not as its record says"
    score = game.score_half()
    if score != header.score_half:
        return f"has a score of {score / 2}, not {header.score_half / 2}"
    if header.result != (0 if score == 0 else 1 if score > 0 else 2):
        return "has another result than its score says"
    raise BadProof("The game follows the rules.")


def _ply_fault(context: _Context, network_of: NetworkOf, kernel: Kernel) -> str:
    proof, game = context.proof, context.game
    record = verify_ply(proof.ply, proof.ply_path, game)
    if record.ply != proof.ply_index + game.header.opening_moves:
        raise BadProof("The proof's ply is not the one that it names.")
    player = Player(_network(context, network_of), context.header.release)
    job = context.series.job(context.counter, player)
    if _is_illegal(job, game, record.ply):
        raise BadProof("The game breaks the rules before this ply, which is another kind of proof.")
    ply = repeat_ply(job, game.moves, record.ply, kernel)
    if ply.record() == proof.ply:
        raise BadProof(f"Ply {record.ply} of the game is what its search gives.")
    fields = " and ".join(differences(proof.ply, ply, game.header.size))
    return f"has another {fields} at ply {record.ply} than its search gives"


def _is_illegal(job: Job, game: GameLeaf, ply: int) -> bool:
    """Whether the position before `ply` cannot be reached by the rules, or nothing can be searched there."""
    position = Game(job.rules)
    for move in game.moves[:ply]:
        if position.check(move) is not None:
            return True
        position.play(move)
    return not any(position.legal())


def _network(context: _Context, network_of: NetworkOf) -> Network | None:
    digest = context.network
    if not digest:
        return None
    file = first_network(context.manifest, context.header.manifest)
    if file is None or sha256(file).digest() != digest:
        file = network_of(digest)
    if file is None:
        raise NetworkMissing(f"The proof needs the network {digest.hex()}, which is not at hand.")
    if sha256(file).digest() != digest:
        raise BadProof("The network given is not the one that the release names.")
    return Network.load(file)
