"""Plays games with the seeds of others where the log asks this key to, and what is missing in its own series.

Spec: `docs/spec/fills.md`. After gate pairs and before own games. Invariants: a finished game is on disk before the next
thing happens, apart from own games; what is signed was played to its end and the engine's canaries came out, and it is
signed once; what nobody waits for any more is not played on.
"""

from typing import Final

import trio

from native.search import Player
from node.contributor.sealing import seal_batch
from node.engine.engine import Engine
from node.gate_player import GatePlayer
from node.member import Member
from node.networks import NetworkFault
from node.outbox import BATCH, FILLED, Outbox, sealed_fill
from node.peering.transport import TransportError
from node.reminder import Reminder
from protocol.batch import unpack_batch
from protocol.ed25519 import SecretKey
from protocol.words import counted
from verification.releases import ReleaseInfo
from verification.series import Fill
from verification.setup import SelfplaySeries, selfplay_series

AGAIN_S: Final = 5.0
GAMES: Final = "fill/"
"""Where finished games are kept: owner, release, the fill's first counter, the game's."""


class FillPlayer:
    """Fills in what `secret`'s key is asked to."""

    def __init__(
        self, member: Member, secret: SecretKey, engine: Engine, kernel: str, outbox: Outbox, gate: GatePlayer
    ) -> None:
        self._member = member
        self._secret = secret
        self._engine = engine
        self._kernel = kernel
        self._outbox = outbox
        self._gate = gate
        self._is_draining = False
        self._idle = trio.Event()
        self._idle.set()

    async def idle(self) -> None:
        """Returns at once, or when the games being filled in are done."""
        await self._idle.wait()

    def drain(self) -> None:
        """Begins nothing more; what is begun stays on disk for the next start, or others fill it in."""
        self._is_draining = True

    def forget_games(self) -> None:
        """Forgets every kept game: they are played again."""
        for name in self._member.store.names(GAMES):
            self._member.store.delete(name)

    async def run(self) -> None:
        """Fills in as the log asks, until cancelled."""
        reminder = Reminder(self._member.events)
        while True:
            self._sweep()
            fill = await self._member.until(self._next)
            try:
                await self._fill(fill)
                reminder.forget()
                continue
            except (NetworkFault, TransportError) as error:
                pause_s = self._member.jitter(AGAIN_S)
                text = f"Games from {fill.first_counter} cannot be filled in yet, own ones go on: {error}"
                reminder.say(text, pause_s)
            await trio.sleep(pause_s)

    def _next(self) -> Fill | None:
        """What to fill in next, once enough witnesses cosigned the entry that asks for it."""
        if self._is_draining:
            return None
        key, member = self._secret.public, self._member
        for fill in member.state.fills.assignments(key):
            is_new = member.store.get(_sealed(fill)) is None
            if is_new and fill.assigned.get(key, fill.index) < member.cosigned_size:
                return fill
        return None

    def _is_wanted(self, fill: Fill) -> bool:
        return fill in self._member.state.fills.assignments(self._secret.public)

    def _sweep(self) -> None:
        """Forgets what was kept of fills that are over."""
        store = self._member.store
        places = tuple(_place(fill) for fill in self._member.state.fills.open)
        for prefix in (GAMES, FILLED):
            for name in store.names(prefix):
                if not name.removeprefix(prefix).startswith(places):
                    store.delete(name)

    async def _fill(self, fill: Fill) -> None:
        member = self._member
        release = member.state.release_by_id(fill.release)
        assert release is not None  # the log asks only for releases that it has
        blocks = self._own_batch(fill)
        if blocks is None:
            await self._play_all(fill, release, await member.player_of(release))
            blocks = [*self._kept(fill).values()]
            if len(blocks) < fill.games:
                return
            await self._engine.verify_canaries()
        if not self._is_wanted(fill):
            return
        place = release, fill.first_counter, blocks, fill.is_final, fill.owner
        envelope = seal_batch(member, self._secret, self._kernel, *place)
        with member.store.transaction():
            member.store.put(_sealed(fill), b"")
            self._outbox.put(BATCH, envelope.digest, envelope)
            for counter in self._kept(fill):
                member.store.delete(_game(fill, counter))
        text = f"Filled in {counted(fill.games, 'game')} from {fill.first_counter} of {fill.owner.hex()[:8]}."
        member.events("filled", text)

    def _own_batch(self, fill: Fill) -> list[bytes] | None:
        """The games of this node's own batch that was lost elsewhere, if its blob is still here."""
        if fill.owner != self._secret.public:
            return None
        place = fill.owner, fill.release, fill.first_counter
        headers = (batch.header for batch in self._member.state.batches.all)
        lost = next((each for each in headers if (each.peer, each.release, each.first_counter) == place), None)
        blob = None if lost is None else self._member.blob_store.get(lost.blob_digest)
        if lost is None or blob is None:
            return None
        return [block.raw for block in unpack_batch(blob, lost.raw_len).games]

    def _kept(self, fill: Fill) -> dict[int, bytes]:
        """The finished games of a fill, by counter, in order."""
        found = {}
        for counter in range(fill.first_counter, fill.first_counter + fill.games):
            block = self._member.store.get(_game(fill, counter))
            if block is not None:
                found[counter] = block
        return found

    async def _play_all(self, fill: Fill, release: ReleaseInfo, player: Player) -> None:
        """Plays the games that are not kept, or some of them where nobody waits for them any more."""
        series = selfplay_series(self._member.state, release, fill.owner)
        counters = range(fill.first_counter, fill.first_counter + fill.games)
        missing = set(counters) - set(self._kept(fill))
        self._idle = trio.Event()
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._give_up, fill, nursery.cancel_scope)
                async with trio.open_nursery() as games:
                    for counter in sorted(missing):
                        games.start_soon(self._play_one, fill, series, counter, player)
                nursery.cancel_scope.cancel()
        finally:
            self._idle.set()

    async def _give_up(self, fill: Fill, games: trio.CancelScope) -> None:
        await self._member.until(lambda: None if self._is_wanted(fill) else True)
        games.cancel()

    async def _play_one(self, fill: Fill, series: SelfplaySeries, counter: int, player: Player) -> None:
        await self._gate.idle()
        done = await self._engine.play(series.job(counter, player))
        if done.is_ok:
            self._member.store.put(_game(fill, counter), done.block)


def _sealed(fill: Fill) -> str:
    return sealed_fill(fill.owner, fill.release, fill.first_counter)


def _place(fill: Fill) -> str:
    return _sealed(fill).removeprefix(FILLED)


def _game(fill: Fill, counter: int) -> str:
    return f"{GAMES}{_place(fill)}/{counter:016x}"
