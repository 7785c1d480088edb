"""How this node reaches the others of its run: connected peers, the ticket's first, and calls to the coordinator."""

from typing import Protocol

from node.peering.call import call
from node.peering.post import POST_PROTOCOL, Post, Posted
from node.peering.transport import PeerGone, Transport, TransportError, Unreachable, address_key
from protocol.errors import ProtocolError
from protocol.ticket import Ticket

POST_WITHIN_S = 60


class Reach(Protocol):
    """The ways to the coordinator and to peers."""

    def coordinators(self) -> tuple[bytes, ...]:
        """Connected peers that the ticket names."""

    def peers(self) -> tuple[bytes, ...]:
        """Connected peers, those of the ticket first."""

    async def post(self, post: Post) -> Posted:
        """Hands a post to the coordinator; raises CallRefused or TransportError."""

    async def call(self, protocol: str, request: bytes) -> bytes:
        """Calls the coordinator; raises CallRefused or TransportError."""


class RemoteReach:
    """The coordinator is another process, at one of the ticket's addresses."""

    def __init__(self, transport: Transport, ticket: Ticket) -> None:
        self._transport = transport
        self._first = tuple(address_key(address) for address in ticket.addresses)

    def coordinators(self) -> tuple[bytes, ...]:
        """Connected peers that the ticket names."""
        connected = self._transport.peers()
        return tuple(key for key in self._first if key in connected)

    def peers(self) -> tuple[bytes, ...]:
        """Connected peers, those of the ticket first."""
        first = self.coordinators()
        return first + tuple(key for key in self._transport.peers() if key not in first)

    async def post(self, post: Post) -> Posted:
        """Hands a post to the coordinator; raises CallRefused or TransportError."""
        answer = await self.call(POST_PROTOCOL, post.encode())
        try:
            return Posted.parse(answer)
        except ProtocolError as error:
            raise PeerGone(f"The coordinator's answer to a post cannot be read: {error}") from error

    async def call(self, protocol: str, request: bytes) -> bytes:
        """Calls the coordinator; raises CallRefused or TransportError."""
        failure: TransportError = Unreachable("The coordinator is not connected.")
        for peer in self.coordinators():
            try:
                return await call(self._transport, peer, protocol, request, timeout_s=POST_WITHIN_S)
            except TransportError as error:
                failure = error
        raise failure
