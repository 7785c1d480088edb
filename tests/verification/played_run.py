"""A run whose contributors play real games on 7x7 by the engine, honest or changed before they are signed. For tests."""

from collections.abc import Callable

from native.network import Kernel, Network
from native.pool import Job, Pool
from native.search import Player
from protocol.batch import batch_root, encode_batch, parse_batch
from protocol.blob import blob_digest
from protocol.compress import compress
from protocol.ed25519 import SecretKey
from protocol.header import BatchHeader
from protocol.registration import Invite, Registration
from protocol.search_config import SEMANTICS
from tests.verification.manifests import digest_of
from tests.verification.run_log import RunLog
from verification.admission import total_visits
from verification.identities import BatchInfo
from verification.releases import ReleaseInfo
from verification.setup import selfplay_job

Edit = Callable[[list[bytes]], list[bytes]]


class PlayedRun(RunLog):
    """A run with contributors."""

    def invite(self, word: str, last_index: int = 10**6) -> bytes:
        """An invite's envelope."""
        return (
            Invite(self.run, digest_of(f"{self.word} invite {word}")[:16], last_index).seal(self.coordinator).encode()
        )

    def register(self, name: str) -> SecretKey:
        """Registers a contributor and makes its beacon."""
        key = self.peers[name] = self.key(name)
        size = self.state.size
        record = Registration(self.run, key.public, name, b"", size, self.state.tree.root(), self.invite(name), 0)
        self.log(record, key)
        self.share_set()
        return key

    def player(self, release: ReleaseInfo) -> Player:
        """The engine's player of a release."""
        file = self.networks[release.network] if release.network else None
        return Player(None if file is None else Network.load(file), release.id)

    def play_blocks(self, jobs: list[Job], kernel: Kernel | None = None) -> list[bytes]:
        """The blocks of the games that jobs play, in their order."""
        with Pool(1, kernel or self.kernel) as pool:
            for job in jobs:
                pool.play(job)
            done = {}
            while len(done) < len(jobs):
                game = pool.wait(60.0)
                assert game is not None
                assert game.is_ok
                done[game.id] = game.block
        return [done[job.id] for job in jobs]

    def games(self, peer: SecretKey, games: int, release: ReleaseInfo | None = None) -> list[bytes]:
        """The next honest games of a peer."""
        release = release or self.state.release
        first = self.state.next_counter(peer.public, release.id)
        player = self.player(release)
        jobs = [
            selfplay_job(self.state, release, peer.public, counter, player) for counter in range(first, first + games)
        ]
        return self.play_blocks(jobs) if jobs else []

    def header(
        self, peer: SecretKey, blocks: list[bytes], final: bool = False, release: ReleaseInfo | None = None
    ) -> BatchHeader:
        """The header of the peer's next batch, with these games; their blob is kept."""
        release = release or self.state.release
        registration = self.state.registration(peer.public)
        assert registration is not None
        raw = encode_batch(blocks)
        batch = parse_batch(raw)
        blob = compress(raw)
        return BatchHeader(
            run=self.run,
            manifest=release.manifest,
            config=self.state.release_manifest(release).selfplay.digest(),
            semantics=SEMANTICS,
            release=release.id,
            peer=peer.public,
            registration=registration.index,
            first_counter=self.state.next_counter(peer.public, release.id),
            games=len(batch.games),
            plies=batch.plies,
            visits=total_visits(batch, self.state.release_manifest(release).selfplay_at(release.steps)),
            batch_root=batch_root(batch),
            blob_digest=self.put(blob),
            blob_len=len(blob),
            raw_len=len(raw),
            final=final,
            fill_for=b"",
            build="0.1.0",
            kernel=self.kernel.name.lower(),
            cpu="test",
        )

    def put(self, blob: bytes) -> bytes:
        """Keeps a blob; gives its digest."""
        digest = blob_digest(blob)
        self.blobs[digest] = blob
        return digest

    def play(
        self,
        peer: SecretKey,
        games: int | None = None,
        edit: Edit | None = None,
        final: bool = False,
        release: ReleaseInfo | None = None,
    ) -> BatchInfo:
        """Plays, perhaps edits, and logs the header of a peer's next batch, with its beacon."""
        count = self.manifest.admission.games_per_batch if games is None else games
        blocks = self.games(peer, count, release)
        header = self.header(peer, blocks if edit is None else edit(blocks), final, release)
        index = self.log(header, peer)
        self.share_set()
        batch = self.state.batch(index)
        assert batch is not None
        return batch
