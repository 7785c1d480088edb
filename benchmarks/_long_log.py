"""A run with a log of any length: real records, signed and judged as in a run, of batches whose games nobody played."""

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

from protocol.ed25519 import SecretKey
from protocol.manifest import WindowPolicy
from tests.verification.manifests import small_manifest
from tests.verification.world import World
from verification.identities import BatchInfo
from verification.replay import Replayed

CONTRIBUTORS, GAMES = 20, 8
NEVER = 10**9


def long_run(entries: int, kept: Callable[[list[bytes]], object]) -> World:
    """A world whose log has `entries` entries or a few more; `kept` takes them, for the world keeps none."""
    manifest = small_manifest()
    manifest = replace(
        manifest,
        admission=replace(
            manifest.admission,
            games_per_batch=GAMES,
            hold_back_batches=2,
            q_min_ppm=50_000,
            epoch_entries=NEVER,
            exit_entries=NEVER,
            timeout_entries=NEVER,
        ),
        window=WindowPolicy(first_rows=2**40, new_rows=2**40, floor_rows=2**40, exponent_ppm=10**6),
        network=replace(manifest.network, first="uniform"),
    )
    world = World(manifest)
    peers = [world.register(f"peer-{number}") for number in range(CONTRIBUTORS)]
    header = world.header(peers[0], world.games(peers[0], GAMES))

    def log(peer: SecretKey) -> int:
        """The header of the peer's next batch; its index."""
        registration = world.state.registration(peer.public)
        assert registration is not None
        word = sha256(b"%d" % world.state.size).digest()
        ours = replace(
            header,
            peer=peer.public,
            registration=registration.index,
            first_counter=world.state.next_counter(peer.public, header.release),
            batch_root=word,
            blob_digest=word,
        )
        return world.log(ours, peer)

    def judge(batch: BatchInfo) -> None:
        """A verdict, and an opening of what was drawn."""
        games = batch.draw(world.secret(world.verifiers[0], 0))
        digests = tuple(sha256(b"%d" % ply).digest() for ply in range(len(games) * header.plies // GAMES))
        world.say(batch, Replayed(games, digests, None), None)

    while world.state.size < entries:
        indices = [log(peer) for peer in peers]
        world.share_set()
        for index in indices:
            batch = world.state.batch(index)
            assert batch is not None
            judge(batch)
        world.admit()
        kept(world.entries)
        world.entries.clear()
        world.blobs.clear()
    return world
