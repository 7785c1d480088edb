"""Verdicts that nobody replayed for, and the state that a log alone gives. For tests."""

from tests.verification.manifests import digest_of
from tests.verification.world import World
from verification.faults import Rejected
from verification.identities import BatchInfo, batch_of
from verification.replay import Replayed
from verification.state import LogState
from verification.subjects import BatchSubject


def accept(world: World, check: BatchSubject) -> None:
    """A verdict that nobody replayed for, with its opening: the games are those that the secret draws."""
    verifier = world.verifier_key(check.assigned)
    drawn = check.draw(world.secret(verifier, check.candidates[verifier.public]))
    world.say(check, Replayed(drawn, (digest_of("d"),) * (check.header.plies if drawn else 0), None), None)


def accepted(world: World, peer: str = "ada", games: int | None = None) -> BatchInfo:
    """A batch that all its verifiers accept."""
    batch = world.play(world.peers[peer], games)
    accept(world, batch)
    if batch.second is not None:
        accept(world, batch.second)
    world.admit()
    return batch


def accuse(world: World, check: BatchSubject, game: int = 0, index: int = 0) -> None:
    """A verdict that says that searched ply `index` of a game is wrong, whatever is true."""
    ply = world.content(batch_of(check)).games[game].plies[index]
    verifier = world.verifier_key(check.assigned)
    drawn = check.draw(world.secret(verifier, check.candidates[verifier.public]))
    replayed = Replayed(tuple(each for each in drawn if each <= game), (digest_of("d"),) * (index + 1), None)
    world.say(check, replayed, Rejected("value", "It is another one.", game, ply))


def rebuilt(world: World) -> LogState:
    """The state that the log alone gives."""
    state = LogState(world.run)
    for entry in world.entries:
        state.apply(entry)
    return state


def with_second(world: World) -> BatchInfo:
    """The first batch of ada's that is for two verifiers."""
    while True:
        batch = world.play(world.peers["ada"], 1)
        if batch.second is not None:
            return batch
        accept(world, batch)
        world.admit()
