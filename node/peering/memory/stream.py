"""Streams between two nodes in memory (see `node.peering.transport.Stream`)."""

import math
from collections import deque
from typing import TYPE_CHECKING, Final

import trio

if TYPE_CHECKING:
    from node.peering.memory.network import MemoryNetwork
from node.peering.transport import MAX_FRAME, STALL_S, Misdeed, PeerGone, Timeout, TooMuch, short

_WINDOW: Final = 16


class MemoryStream:
    """One end of a stream in memory (see `node.peering.transport.Stream`)."""

    def __init__(self, network: "MemoryNetwork", key: bytes, peer: bytes) -> None:
        self.peer = peer
        self._key = key
        self._network = network
        self._frames: deque[tuple[float, bytes]] = deque()
        self._arrived = trio.Event()
        self._taken = trio.Event()
        self._ended_at = math.inf
        self._other: MemoryStream = self
        self._receiving = trio.Lock()

    def join(self, other: "MemoryStream") -> None:
        """Makes two ends one stream."""
        self._other, other._other = other, self

    @property
    def ended(self) -> bool:
        """Whether either side ended the stream."""
        return self._ended_at < math.inf

    async def send(self, frame: bytes) -> None:
        if len(frame) > MAX_FRAME:
            raise TooMuch(f"A frame of {len(frame)} bytes is over the limit of {MAX_FRAME}.")
        await trio.lowlevel.checkpoint()
        network, other = self._network, self._other
        if network.draw(self._key, self.peer).random() < network.cut:
            self.reset()
        with trio.move_on_after(STALL_S):
            while len(other._frames) >= _WINDOW and not self.ended:
                await other._taken.wait()
            if self.ended:
                raise PeerGone(f"The stream with peer {short(self.peer)} has ended.")
            leaves = network.leaving(self._key, len(frame))
            other._frames.append((leaves + network.delay(self._key, self.peer), bytes(frame)))
            other._wake()
            if leaves > trio.current_time():
                await trio.sleep_until(leaves)  # as a socket that is full
            return
        raise Timeout(f"Peer {short(self.peer)} took no frame for {STALL_S:g} s.")

    async def receive(self, max_bytes: int = MAX_FRAME) -> bytes:
        await trio.lowlevel.checkpoint()
        with trio.move_on_after(STALL_S):
            async with self._receiving:
                while not self._is_next_here():
                    if self._frames:
                        await self._network.wait_reach(self._key, self.peer)
                        await trio.sleep_until(self._frames[0][0])
                    elif self.ended:
                        raise PeerGone(f"The stream with peer {short(self.peer)} has ended.")
                    else:
                        await self._arrived.wait()
                _, frame = self._frames.popleft()
                self._taken.set()
                self._taken = trio.Event()
                if len(frame) > max_bytes:
                    self.reset()
                    node = self._network.node(self._key)
                    if node is not None:
                        node.complain(self.peer, Misdeed.TOO_LONG)
                    raise TooMuch(f"Peer {short(self.peer)} sent a frame of {len(frame)} bytes, over {max_bytes}.")
                return frame
        raise Timeout(f"Peer {short(self.peer)} sent nothing for {STALL_S:g} s.")

    async def close(self) -> None:
        self.end()

    def end(self) -> None:
        """Ends both directions; frames on their way still arrive at the other side."""
        self._frames.clear()
        for side in (self, self._other):
            side._ended_at = min(side._ended_at, trio.current_time())
            side._wake()

    def reset(self) -> None:
        """Ends both directions and loses what is on its way."""
        self._other._frames.clear()
        self.end()

    def _is_next_here(self) -> bool:
        here = self._network.reaches(self._key, self.peer)
        return here and bool(self._frames) and self._frames[0][0] <= trio.current_time()

    def _wake(self) -> None:
        self._arrived.set()
        self._arrived = trio.Event()
        self._taken.set()
        self._taken = trio.Event()
