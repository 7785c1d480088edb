"""From seeds to games: size, komi, opening and rules of every self-play and gate game, as jobs for the engine.

Spec: `docs/spec/seeds.md`, `docs/spec/gate.md`. Pure: nobody chooses anything about a game; what a seed gives is drawn with
the weights of the manifest's stage at the release's training step, and self-play searches with that stage's visits.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from native.errors import EngineError
from native.game import Game
from native.netfile import FEATURES_VERSION, Architecture
from native.pool import Job
from native.rules import End, Ko, Rules
from native.search import Player, Root
from native.search import SearchConfig as EngineConfig
from protocol.gate import GateAssignment
from protocol.manifest import Manifest, RulesSpec
from protocol.search_config import SEMANTICS, SearchConfig
from protocol.seeds import game_seed, gate_seed, setup_draw
from verification.faults import LogFault

if TYPE_CHECKING:
    from verification.releases import ReleaseInfo
    from verification.state import LogState


@dataclass(frozen=True, slots=True)
class GameSetup:
    """How a game begins: its seed, rules with komi, and the opening's number and moves."""

    seed: bytes
    rules: Rules
    opening: int
    opening_moves: tuple[int, ...]


@lru_cache(maxsize=64)
def config_digest(config: SearchConfig) -> bytes:
    """The digest of a signed search config, which enters every seed and trace."""
    return config.digest()


@lru_cache(maxsize=64)
def engine_config(config: SearchConfig) -> EngineConfig:
    """The engine's form of a signed search config; EngineError for numbers that it does not search with."""
    return EngineConfig(
        root=Root[config.root.upper()],
        visits_full=config.visits_full,
        visits_fast=config.visits_fast,
        full_share_ppm=config.full_share_ppm,
        cpuct_micro=config.cpuct_micro,
        fpu_reduction_micro=config.fpu_reduction_micro,
        root_fpu_reduction_micro=config.root_fpu_reduction_micro,
        noise_weight_ppm=config.noise_weight_ppm,
        noise_alpha_micro=config.noise_alpha_micro,
        root_temperature_micro=config.root_temperature_micro,
        forced_playouts_micro=config.forced_playouts_micro,
        score_utility_micro=config.score_utility_micro,
        temperature_start_micro=config.temperature_start_micro,
        temperature_end_micro=config.temperature_end_micro,
        temperature_halflife=config.temperature_halflife,
        gumbel_considered=config.gumbel_considered,
        gumbel_noise_micro=config.gumbel_noise_micro,
        gumbel_c_visit_micro=config.gumbel_c_visit_micro,
        gumbel_c_scale_micro=config.gumbel_c_scale_micro,
        symmetry=int(config.symmetry),
    )


def game_rules(spec: RulesSpec, size: int, komi_half: int) -> Rules:
    """The engine's rules of a run's game."""
    return Rules(
        rows=size,
        cols=size,
        komi_half=komi_half,
        ko=Ko[spec.ko.upper()],
        suicide=spec.suicide,
        pass_alive=spec.pass_alive,
        settled_end=spec.settled_end,
        move_cap=spec.move_cap_factor * size * size,
    )


def selfplay_setup(manifest: Manifest, steps: int, seed: bytes) -> GameSetup:
    """The setup that a self-play seed draws at a training step."""
    return _setup(manifest, steps, seed, gate=False)


def gate_setup(manifest: Manifest, steps: int, seed: bytes) -> GameSetup:
    """The setup that a gate pair's seed draws at the base's training step."""
    return _setup(manifest, steps, seed, gate=True)


def _setup(manifest: Manifest, steps: int, seed: bytes, gate: bool) -> GameSetup:
    boards = manifest.stage(steps).boards
    board = boards[setup_draw(seed, "size", [each.weight for each in boards])]
    komi = board.komi[setup_draw(seed, "komi", [each.weight for each in board.komi])].komi_half
    openings = manifest.openings_for(board.size)
    weights = [each.gate_weight if gate else each.selfplay_weight for each in openings]
    number = setup_draw(seed, "opening", weights)
    return GameSetup(seed, game_rules(manifest.rules, board.size, komi), number, openings[number].moves)


@dataclass(frozen=True, slots=True)
class SelfplaySeries:
    """All games of one (peer, release): each follows from its counter. `steps` is the release's training step."""

    run: bytes
    manifest: Manifest
    release: bytes
    steps: int
    peer: bytes
    join_nonce: bytes

    @property
    def search(self) -> SearchConfig:
        """The search of the games: with the visits of the stage."""
        return self.manifest.selfplay_at(self.steps)

    def setup(self, counter: int) -> GameSetup:
        """The setup of a game."""
        config = config_digest(self.manifest.selfplay)
        seed = game_seed(self.run, self.release, config, self.peer, self.join_nonce, counter)
        return selfplay_setup(self.manifest, self.steps, seed)

    def job(self, counter: int, player: Player) -> Job:
        """The game as the engine plays or replays it; the job's id is the counter."""
        digest = config_digest(self.manifest.selfplay)
        return _job(self.search, digest, counter, self.setup(counter), player, player)


@dataclass(frozen=True, slots=True)
class GateSeries:
    """All pairs of one gate. `candidate` is the train record's digest, `base` the release's id, `steps` the base's."""

    run: bytes
    manifest: Manifest
    candidate: bytes
    base: bytes
    steps: int
    beacon: bytes

    def setup(self, pair: int) -> GameSetup:
        """The setup of both games of a pair."""
        return gate_setup(self.manifest, self.steps, gate_seed(self.run, self.candidate, self.base, self.beacon, pair))

    def jobs(self, pair: int, candidate: Player, base: Player) -> tuple[Job, Job]:
        """Game 2j with the candidate as black, game 2j + 1 with it as white; the jobs' ids are these numbers."""
        setup, config = self.setup(pair), self.manifest.gate_search
        digest = config_digest(config)
        return (
            _job(config, digest, 2 * pair, setup, candidate, base),
            _job(config, digest, 2 * pair + 1, setup, base, candidate),
        )


def _job(config: SearchConfig, digest: bytes, counter: int, setup: GameSetup, black: Player, white: Player) -> Job:
    return Job(
        id=counter,
        counter=counter,
        rules=setup.rules,
        config=engine_config(config),
        config_digest=digest,
        game_seed=setup.seed,
        black=black,
        white=white,
        opening=setup.opening,
        opening_moves=setup.opening_moves,
    )


def selfplay_series(state: "LogState", release: "ReleaseInfo", peer: bytes) -> SelfplaySeries:
    """The games of a registered peer with a release; LogFault while the peer has no join nonce."""
    nonce = state.join_nonce(peer)
    if nonce is None:
        raise LogFault("The peer is not registered, or the beacon of its registration is not made yet.")
    return SelfplaySeries(state.run, state.release_manifest(release), release.id, release.steps, peer, nonce)


def gate_series(state: "LogState", candidate: int) -> GateSeries:
    """The pairs of the gate whose candidate's train record is logged at `candidate`; LogFault while it has no beacon."""
    gate = state.gates.by_candidate(candidate)
    beacon = state.beacon(candidate)
    if gate is None or beacon is None:
        raise LogFault(f"Entry {candidate} is not a gate's candidate, or has no beacon yet.")
    return GateSeries(state.run, gate.manifest, gate.digest, gate.base.id, gate.base.steps, beacon)


def selfplay_job(state: "LogState", release: "ReleaseInfo", peer: bytes, counter: int, player: Player) -> Job:
    """One self-play game of a registered peer; LogFault while it has no join nonce."""
    return selfplay_series(state, release, peer).job(counter, player)


def gate_jobs(state: "LogState", assignment: GateAssignment, candidate: Player, base: Player) -> list[Job]:
    """The games of a logged assignment, in the order of the result's blob; LogFault while there is no beacon."""
    series = gate_series(state, assignment.candidate)
    pairs = range(assignment.first_pair, assignment.first_pair + assignment.pairs)
    return [job for pair in pairs for job in series.jobs(pair, candidate, base)]


def check_playable(manifest: Manifest) -> None:
    """Raises LogFault, with one sentence, for a manifest whose games or searches this build's engine cannot play."""
    if manifest.selfplay.semantics != SEMANTICS:
        raise LogFault(f"The manifest searches by {manifest.selfplay.semantics}; this build knows {SEMANTICS} only.")
    if manifest.network.features != FEATURES_VERSION:
        raise LogFault(
            f"The manifest has input features {manifest.network.features}; this build knows {FEATURES_VERSION} only."
        )
    try:
        engine_config(manifest.gate_search)
        Architecture(manifest.network.blocks, manifest.network.channels)
        for stage in manifest.stages:
            engine_config(manifest.selfplay_at(stage.from_step))
            for board in stage.boards:
                _check_openings(manifest, board.size)
                for komi in board.komi:
                    game_rules(manifest.rules, board.size, komi.komi_half)
    except EngineError as error:
        raise LogFault(f"The manifest cannot be played: {error}") from error


def _check_openings(manifest: Manifest, size: int) -> None:
    openings = manifest.openings_for(size)
    if not any(each.selfplay_weight for each in openings) or not any(each.gate_weight for each in openings):
        raise LogFault(f"The manifest cannot be played: size {size} has no opening with a weight above 0.")
    for opening in openings:
        game = Game(game_rules(manifest.rules, size, 0))
        for move in opening.moves:
            game.play(move)
        if game.end != End.NONE:
            raise LogFault(f"The manifest cannot be played: an opening of size {size} ends the game.")
