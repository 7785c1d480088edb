"""What contributors do in a history at random: they register, play, fill in, replace their keys. For tests."""

from dataclasses import replace
from hashlib import sha256

from protocol.ed25519 import SecretKey
from protocol.header import BatchHeader
from protocol.recovery import KeyReplacement
from protocol.registration import Registration
from protocol.ringer import RingerHash
from protocol.seeds import ringer_commitment
from protocol.slots import SlotList
from tests.verification import replaced
from tests.verification.attempts import Attempts
from verification.setup import config_digest


class ContributorActs(Attempts):
    """Contributors, honest or not."""

    def register(self) -> None:
        name = f"peer{self.number()}"
        key = self.keys[self.world.key(name).public] = self.world.key(name)
        recovery = sha256(self.world.key(f"recovery {name}").public).digest()
        hash_ = self.rng.choice((b"", recovery))
        size = self.state.size
        invite = self.world.invite(name)
        record = Registration(self.world.run, key.public, name, hash_, size, self.state.tree.root(), invite, 0)
        if self.attempt(record, key) is not None:
            self.names.append(name)

    def wait_for_slots(self) -> None:
        """A slot list of a few registrations with a stamp; then these, winners or not."""
        size, records = self.state.size, []
        for _ in range(self.rng.choice((1, 2, 3))):
            name = f"slot{self.number()}"
            key = self.keys[self.world.key(name).public] = self.world.key(name)
            record = Registration(self.world.run, key.public, name, b"", size, self.state.tree.root(), b"", 1)
            records.append((record, key))
        digests = tuple(record.seal(key).digest for record, key in records)
        if self.attempt(SlotList(self.world.run, digests), self.coordinator) is not None:
            self.share_set()
            for record, key in records:
                self.attempt(record, key)

    def header(self, key: SecretKey, games: int, final: bool) -> BatchHeader | None:
        info = self.state.registration(key.public)
        if info is None:
            return None
        releases = self.state.releases.all[-2:]
        release = releases[-1] if self.rng.random() < 0.85 else releases[0]
        manifest = self.state.release_manifest(release)
        plies = games * self.rng.randint(3, 9)
        return BatchHeader(
            run=self.world.run,
            manifest=release.manifest,
            config=config_digest(manifest.selfplay),
            semantics=manifest.selfplay.semantics,
            release=release.id,
            peer=key.public,
            registration=info.index,
            first_counter=self.roughly(self.state.next_counter(key.public, release.id)),
            games=games,
            plies=plies,
            visits=10 * plies,
            batch_root=self.word(),
            blob_digest=self.word(),
            blob_len=100,
            raw_len=100,
            final=final,
            fill_for=b"",
            build=self.rng.choice(("0.1.0", "0.1.1")),
            kernel=self.rng.choice(("avx2", "scalar")),
            cpu=self.rng.choice(("a", "b")),
        )

    def play(self) -> None:
        key = self.some(list(self.keys.values()))
        final = self.rng.random() < 0.1
        n = self.state.manifest.admission.games_per_batch
        header = None if key is None else self.header(key, self.rng.choice((0, 1, n)) if final else n, final)
        if key is None or header is None:
            return
        if header.games and self.rng.random() < 0.1:
            game, ply, salt = self.rng.randrange(header.games), self.rng.randrange(5), self.word()
            self.secrets[header.digest()] = game, ply, salt
            commitment = ringer_commitment(self.world.run, header.digest(), game, ply, salt)
            self.attempt(RingerHash(self.world.run, commitment), self.coordinator)
        self.attempt(header, key)

    def fill_in(self) -> None:
        fill = self.some(list(self.state.fills.open))
        if fill is None:
            return
        players = [key for key in self.keys.values() if fill.may_be_played_by(key.public)]
        key = self.some(players if players and self.rng.random() < 0.9 else list(self.keys.values()))
        header = None if key is None else self.header(key, self.roughly(fill.games), fill.is_final)
        release = self.state.release_by_id(fill.release)
        if key is None or header is None or release is None:
            return
        manifest = self.state.release_manifest(release)
        first, config = self.roughly(fill.first_counter), config_digest(manifest.selfplay)
        header = replace(header, release=release.id, manifest=release.manifest, config=config)
        self.attempt(replace(header, first_counter=first, fill_for=fill.owner), key)

    def ask(self) -> None:
        record = self.state.fills.next_assignment(self.state.size)
        if record is not None:
            if self.rng.random() < 0.1:
                record = replace(record, player=self.rng.choice(list(self.keys)))
            self.attempt(record, self.coordinator)

    def replace_key(self) -> None:
        name = self.some(self.names)
        if name is None:
            return
        size = self.state.size
        since = self.rng.choice((size, size, size - 10, self.rng.randrange(size), size + 1))
        new = self.world.key(f"new {name}")
        record: KeyReplacement = replaced.replacement(self.world, name, max(0, since))
        if self.attempt(record, self.world.key(f"recovery {name}"), new) is not None:
            self.keys[new.public] = new
