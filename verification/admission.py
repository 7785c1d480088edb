"""The cheap checks that every batch and gate result gets: form, setup, rules and counts of all games, without a search.

Spec: `docs/spec/admission.md` ("Reasons"). Pure: header and blob in, parsed games out, or `Rejected` with a named reason.
Order: size and digest, bounded decompression, form, root, counters, then game by game the setup that its seed gives, the
rules, and the counts of every ply. What only a search can tell is left to `verification.replay`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from native.errors import BlockError, IllegalMove
from native.game import Game
from native.rows import check_block
from native.rules import End
from protocol.batch import Batch, BatchLimits, batch_root, parse_batch
from protocol.blob import verify_blob
from protocol.compress import decompress
from protocol.errors import BadDigest, ParseError, ProtocolError, TooLarge
from protocol.game_block import VALUE_ONE, GameBlock
from protocol.gate import GatePair, GateResult
from protocol.header import BatchHeader
from protocol.manifest import Limits
from protocol.search_config import SearchConfig
from verification.faults import Rejected
from verification.gate_state import GateResultInfo
from verification.setup import GameSetup, GateSeries, SelfplaySeries, gate_series, selfplay_series
from verification.state import LogState
from verification.subjects import BatchSubject

TARGET_SUM = 65535


@dataclass(frozen=True, slots=True)
class Content:
    """What a signed header or result says of its blob."""

    batch_root: bytes
    blob_digest: bytes
    blob_len: int
    raw_len: int
    first_counter: int
    games: int


def check_batch(state: LogState, batch: BatchSubject, blob: bytes) -> Batch:
    """The games of a logged batch; raises Rejected with a named reason."""
    release = state.releases.find(batch.header.release)
    if release is None:
        raise Rejected("release", "The batch's release is not in the log.")
    return check_games(batch.header, blob, selfplay_series(state, release, batch.header.owner))


def check_gate_result(state: LogState, info: GateResultInfo, blob: bytes) -> Batch:
    """The games of a logged gate result; raises Rejected with a named reason."""
    return check_gate_games(
        info.result, info.assignment.first_pair, blob, gate_series(state, info.assignment.candidate)
    )


def check_games(header: BatchHeader, blob: bytes, series: SelfplaySeries) -> Batch:
    """The games of a self-play batch; raises Rejected with a named reason."""
    content = Content(
        header.batch_root, header.blob_digest, header.blob_len, header.raw_len, header.first_counter, header.games
    )
    batch = _open(content, blob, series.manifest.limits)
    if batch.plies != header.plies:
        raise Rejected("ply count", f"The header says {header.plies} plies, the batch has {batch.plies}.")
    _check_each(batch, series.setup, series.search)
    visits = total_visits(batch, series.search)
    if visits != header.visits:
        raise Rejected("visit count", f"The header says {header.visits} visits, the batch has {visits}.")
    return batch


def total_visits(batch: Batch, config: SearchConfig) -> int:
    """The visits that the config gives all searched plies of a batch."""
    full = sum(sum(block.kinds) for block in batch.games)
    return full * config.visits_full + (batch.plies - full) * config.visits_fast


def check_gate_games(result: GateResult, first_pair: int, blob: bytes, series: GateSeries) -> Batch:
    """The games of a gate result whose assignment begins with `first_pair`; raises Rejected with a named reason."""
    content = Content(
        result.batch_root,
        result.blob_digest,
        result.blob_len,
        result.raw_len,
        2 * first_pair,
        2 * len(result.pairs),
    )
    batch = _open(content, blob, series.manifest.limits)
    _check_each(batch, lambda counter: series.setup(counter // 2), series.manifest.gate_search)
    results = [block.header.result for block in batch.games]
    for k, pair in enumerate(result.pairs):
        if pair != GatePair(*results[2 * k : 2 * k + 2]):
            raise Rejected("pair result", f"Pair {first_pair + k} ended otherwise than the result says.", 2 * k)
    return batch


def check_game(block: GameBlock, setup: GameSetup, config: SearchConfig, game: int) -> None:
    """Checks game number `game` of a batch against its setup, the rules and the config; raises Rejected."""
    check_setup(block, setup, game)
    try:
        check_block(setup.rules, block.raw)
    except BlockError as error:
        _explain(block, setup, game, error)
    sums = config.visits_fast - 1, config.visits_full - 1
    for ply, kind in zip(block.plies, block.kinds, strict=True):
        visits = sum(block.visits(ply))
        if visits != sums[kind]:
            raise Rejected("visits sum", f"Ply {ply} of game {game} has {visits} visits, not {sums[kind]}.", game, ply)


def check_setup(block: GameBlock, setup: GameSetup, game: int) -> None:
    """Raises Rejected unless the game has the size, komi and opening that its seed draws."""
    header, rules = block.header, setup.rules
    if header.size != rules.rows:
        raise Rejected("setup", f"Game {game} is of size {header.size}; its seed gives {rules.rows}.", game)
    if header.komi_half != rules.komi_half:
        raise Rejected(
            "setup", f"Game {game} has komi {header.komi_half / 2}; its seed gives {rules.komi_half / 2}.", game
        )
    opening = setup.opening_moves
    if (header.opening, header.opening_moves) != (setup.opening, len(opening)):
        raise Rejected("setup", f"Game {game} has opening {header.opening}; its seed gives {setup.opening}.", game)
    if block.moves[: len(opening)] != opening:
        raise Rejected("setup", f"Game {game} does not begin with its opening's moves.", game)


def _open(content: Content, blob: bytes, limits: Limits) -> Batch:
    """The batch in a blob whose digest, lengths, form, root and counters are what was signed: what a game is rejected for
    is so under the signed root, and can be proved."""
    if content.blob_len > limits.blob_bytes or content.raw_len > limits.raw_bytes:
        raise Rejected("size limit", "The batch is larger than the manifest's limits.")
    if len(blob) != content.blob_len:
        raise Rejected("blob length", f"The blob has {len(blob)} bytes; {content.blob_len} are signed.")
    try:
        verify_blob(blob, content.blob_digest)
    except BadDigest as error:
        raise Rejected("blob digest", str(error)) from error
    try:
        raw = decompress(blob, limits.raw_bytes)
    except TooLarge as error:
        raise Rejected("size limit", str(error)) from error
    except ParseError as error:
        raise Rejected("compression", str(error)) from error
    if len(raw) != content.raw_len:
        raise Rejected("raw length", f"The content has {len(raw)} bytes; {content.raw_len} are signed.")
    try:
        batch = parse_batch(raw, BatchLimits(1024, limits.raw_bytes))
    except ProtocolError as error:
        raise Rejected("batch format", str(error)) from error
    if len(batch.games) != content.games:
        raise Rejected("game count", f"The batch has {len(batch.games)} games; {content.games} are signed.")
    if batch_root(batch) != content.batch_root:
        raise Rejected("batch root", "The games do not hash to the root that is signed.")
    if batch.games and batch.games[0].header.counter != content.first_counter:
        counter = batch.games[0].header.counter
        raise Rejected("counter", f"The first game's counter is {counter}; {content.first_counter} is signed.", 0)
    return batch


def _check_each(batch: Batch, setup_of: Callable[[int], GameSetup], config: SearchConfig) -> None:
    for number, block in enumerate(batch.games):
        check_game(block, setup_of(block.header.counter), config, number)


def _explain(block: GameBlock, setup: GameSetup, number: int, error: BlockError) -> NoReturn:
    """Names what the rules contradict in a block that `check_block` refused."""
    header = block.header
    game = Game(setup.rules)
    for ply, move in enumerate(block.moves):
        try:
            if ply >= header.opening_moves and ply == error.ply and game.end == End.NONE:
                _explain_record(block, game.legal(), number, ply)
            game.play(move)
        except IllegalMove as illegal:
            text = f"Move {ply} of game {number} is illegal ({illegal.reason})."
            raise Rejected("illegal move", text, number, ply) from illegal
    if game.end != header.end:
        text = f"Game {number} ends by {game.end.name.lower()}, not as its record says."
        raise Rejected("end", text, number)
    if game.score_half() != header.score_half:
        text = f"Game {number} has score {game.score_half() / 2}, not {header.score_half / 2}."
        raise Rejected("final score", text, number)
    raise Rejected("result", f"The result of game {number} is not what its score says.", number) from error


def _explain_record(block: GameBlock, legal: bytes, number: int, ply: int) -> None:
    """Raises Rejected for what is wrong in a ply's record, if anything is."""
    where = f"Ply {ply} of game {number}"
    visits, target = block.visits(ply), block.policy_target(ply)
    if any(count and not legal[move] for move, count in enumerate(visits)):
        raise Rejected("visits on illegal move", f"{where} has visits on an illegal move.", number, ply)
    if any(share and not legal[move] for move, share in enumerate(target)):
        raise Rejected("policy target", f"{where} has a policy target on an illegal move.", number, ply)
    if sum(target) != (TARGET_SUM if block.kinds[ply - block.header.opening_moves] else 0):
        raise Rejected("policy target", f"{where} has a policy target that does not sum as its kind says.", number, ply)
    if not any(visits):
        raise Rejected("visits sum", f"{where} has no visits.", number, ply)
    if abs(block.value(ply)) > VALUE_ONE:
        raise Rejected("value range", f"{where} has a value outside -1 to 1.", number, ply)
