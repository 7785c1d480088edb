"""Checks a fraud proof from the run id down, believing nobody: not the accuser, not the coordinator, not a server.

Spec: `docs/spec/proof.md`. A proof holds if every signature, inclusion and seed in it holds and then what the accused said
differs from what the checker computes by itself: a search (`ply`), the rules (`rules`) or the seed's setup (`setup`). The
accused said that a wrong game is right (by signing it, or by accepting it after a replay), or that a right one is wrong.
"""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from native.errors import EngineError
from native.game import Game
from native.network import Kernel, Network
from native.pool import Job
from native.search import Player
from protocol.batch import GameLeaf, verify_ply
from protocol.errors import BadProof
from protocol.proof import PLY, RULES, FraudProof
from protocol.verdict import ACCEPT
from verification.faults import LogFault
from verification.proof_context import ProofContext, establish
from verification.releases import first_network
from verification.replay import differences, repeat_ply

NetworkOf = Callable[[bytes], bytes | None]
"""Gives a network's file by the SHA-256 that a release names it by, or None."""


class NetworkMissing(ValueError):
    """The proof cannot be checked here: the network that it needs is not at hand."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A proof that holds: who is convicted, of what (`kind`), in one sentence.

    `entry` is the log index of the batch's header; `framed`: a verifier called right what is right. `searched`: the ply's
    record as its search gives it, to be held against the proof's; empty where none was searched.
    """

    subject: bytes
    accused: str
    kind: str
    entry: int
    game: int
    ply: int | None
    framed: bool
    sentence: str
    searched: bytes


def check_proof(data: bytes, run: bytes | None, network_of: NetworkOf, kernel: Kernel = Kernel.SCALAR) -> Finding:
    """The finding of a proof that holds.

    `run` is the run id to hold it against (None: the proof's own). Release 0's network is recomputed, not asked for.
    Raises ParseError and its kin for malformed bytes, BadProof when the proof does not hold, NetworkMissing.
    """
    proof = FraudProof.parse(data)
    if run is not None and proof.run != run:
        raise BadProof("The proof is of another run.")
    try:
        context = establish(proof)
        verdict = context.verdict
        if verdict is None:
            who, subject = "Contributor", context.header.peer
            did = "signed a batch whose game {game} {fault}"
        else:
            who, subject = "Verifier", verdict.verifier
            did = "accepted a batch whose game {game} {fault}"
        if verdict is not None and verdict.outcome != ACCEPT:
            ply, searched = _require_framed(context, network_of, kernel)
            where = f"game {proof.game_index}" if ply is None else f"ply {ply} of game {proof.game_index}"
            text = f"rejected a batch for the {_WRONG[proof.kind]} {where}, which is right"
            return _finding(proof, subject, ply, f"{who} {subject.hex()[:16]} {text}.", searched, framed=True)
        if verdict is not None and proof.game_index not in verdict.drawn:
            raise BadProof("The proof's verdict does not accept this game after replaying it.")
        fault, searched = _breach(context, network_of, kernel)
    except (LogFault, EngineError) as error:
        raise BadProof(f"The proof does not hold: {error}") from error
    ply = proof.ply_index + context.game.header.opening_moves if proof.kind == PLY else None
    text = did.format(game=proof.game_index, fault=fault)
    return _finding(proof, subject, ply, f"{who} {subject.hex()[:16]} {text}.", searched, framed=False)


_WRONG = {PLY: "search of", RULES: "rules of", "setup": "setup of"}


def _finding(
    proof: FraudProof, subject: bytes, ply: int | None, sentence: str, searched: bytes, framed: bool
) -> Finding:
    header, game = proof.header.index, proof.game_index
    return Finding(subject, proof.accused, proof.kind, header, game, ply, framed, sentence, searched)


# ---- a right game that a verifier calls wrong


def _require_framed(context: ProofContext, network_of: NetworkOf, kernel: Kernel) -> tuple[int | None, bytes]:
    """Raises BadProof unless what the verdict's evidence points to is right; the absolute ply, if it is one, and its record.

    A ply that the game does not have cannot be wrong: then the whole game has to follow the rules.
    """
    proof, verdict, game = context.proof, context.verdict, context.game
    if verdict is None or (verdict.evidence, verdict.game) != (proof.kind, proof.game_index):
        raise BadProof("The proof's verdict rejects the batch for something else.")
    fault = _setup_fault(context)
    if fault is not None:
        raise BadProof(f"The verdict rejects a batch whose game {proof.game_index} {fault}.")
    if proof.kind != PLY:
        fault = _rules_fault(context) if proof.kind == RULES else None
        if fault is not None:
            raise BadProof(f"The verdict rejects a batch whose game {proof.game_index} {fault}.")
        return None, b""
    header = game.header
    if not header.opening_moves <= verdict.ply < header.moves:
        if _rules_fault(context) is not None:
            raise BadProof("The game breaks the rules, so its plies are not what they should be.")
        return verdict.ply, b""
    if proof.ply_index + header.opening_moves != verdict.ply:
        raise BadProof("The proof is about another ply than its verdict.")
    fault, searched = _ply_fault(context, network_of, kernel)
    if fault is not None:
        raise BadProof(f"The verdict rejects a batch whose game {proof.game_index} {fault}.")
    return verdict.ply, searched


# ---- a wrong game that a contributor signed or a verifier accepted


def _breach(context: ProofContext, network_of: NetworkOf, kernel: Kernel) -> tuple[str, bytes]:
    """What the accused's game did, as the rest of a sentence, and the searched record; BadProof if nothing is wrong."""
    fault = _setup_fault(context)
    if context.proof.kind not in (PLY, RULES):
        if fault is None:
            raise BadProof("The game's counter, size, komi and opening are what its seed gives.")
        return fault, b""
    if fault is not None:
        raise BadProof("The game's setup is not what its seed gives, which is another kind of proof.")
    if context.proof.kind == RULES:
        fault = _rules_fault(context)
        if fault is None:
            raise BadProof("The game follows the rules.")
        return fault, b""
    fault, searched = _ply_fault(context, network_of, kernel)
    if fault is None:
        ply = context.proof.ply_index + context.game.header.opening_moves
        raise BadProof(f"Ply {ply} of the game is what its search gives.")
    return fault, searched


# ---- what may be wrong


def _setup_fault(context: ProofContext) -> str | None:
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


def _rules_fault(context: ProofContext) -> str | None:
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
    return None


def _ply_fault(context: ProofContext, network_of: NetworkOf, kernel: Kernel) -> tuple[str | None, bytes]:
    """What the search of the proof's ply gives otherwise, and the record that it gives.

    Raises BadProof where the ply is not this game's, or cannot be searched.
    """
    proof, game = context.proof, context.game
    record = verify_ply(proof.ply, proof.ply_path, game)
    if record.ply != proof.ply_index + game.header.opening_moves:
        raise BadProof("The proof's ply is not the one that it names.")
    player = Player(_network(context, network_of), context.header.release)
    job = context.series.job(context.counter, player)
    if _is_illegal(job, game, record.ply):
        raise BadProof("The game breaks the rules before this ply, which is another kind of proof.")
    ply = repeat_ply(job, game.moves, record.ply, kernel)
    searched = ply.record()
    if searched == proof.ply:
        return None, searched
    fields = " and ".join(differences(proof.ply, ply, game.header.size))
    return f"has another {fields} at ply {record.ply} than its search gives", searched


def _is_illegal(job: Job, game: GameLeaf, ply: int) -> bool:
    """Whether the position before `ply` cannot be reached by the rules, or nothing can be searched there."""
    position = Game(job.rules)
    for move in game.moves[:ply]:
        if position.check(move) is not None:
            return True
        position.play(move)
    return not any(position.legal())


def _network(context: ProofContext, network_of: NetworkOf) -> Network | None:
    digest = context.network
    if not digest:
        return None
    file = first_network(context.manifest, context.header.manifest) if context.is_first else None
    if file is None or sha256(file).digest() != digest:
        file = network_of(digest)
    if file is None:
        raise NetworkMissing(f"The proof needs the network {digest.hex()}, which is not at hand.")
    if sha256(file).digest() != digest:
        raise BadProof("The network given is not the one that the release names.")
    return Network.load(file)
