"""What the coordinator does with posts: checks, mirrors the blob behind them, logs them once, answers with a receipt.

Spec: `docs/spec/wire.md` ("Post"). A blob is here before its header is logged, so a batch that is in the log can be
verified whatever becomes of its contributor. A repeated post gets the first one's answer. An author's posts are taken one
after another: of many headers for the same counters one is logged, and the blobs of the others are not fetched.
Registrations with a stamp are the doorkeeper's.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import trio

from node.coordinator.doorkeeper import Doorkeeper
from node.coordinator.log_writer import LogWriter
from node.engine.engine import Engine
from node.member import Member
from node.peering.call import CallRefused
from node.peering.post import Cosigning, Post, Posted
from protocol.ed25519 import SecretKey
from protocol.entries import Entry, parse_entry
from protocol.envelope import Envelope
from protocol.epoch import EpochHash, EpochReveal
from protocol.gate import GateResult
from protocol.header import BatchHeader
from protocol.receipt import Receipt
from protocol.record import Record
from protocol.recovery import KeyReplacement
from protocol.registration import Registration
from protocol.verdict import TraceOpening, Verdict
from verification.faults import LogFault

POSTABLE = (Registration, KeyReplacement, BatchHeader, EpochHash, EpochReveal, Verdict, TraceOpening, GateResult)
FETCH_WITHIN_S = 30
RECEIPTED = (BatchHeader, GateResult)


class Intake:
    """Serves posts and cosignings. `on_proof(verdict, proof)` is told of a proof that came with a logged verdict."""

    def __init__(self, member: Member, secret: SecretKey, log: LogWriter, engine: Engine) -> None:
        self._member = member
        self._secret = secret
        self._log = log
        self.on_proof: Callable[[Verdict, bytes], None] = lambda verdict, proof: None
        self._turns: dict[bytes, trio.Lock] = {}
        self.witnesses: dict[bytes, bytes] = {}
        """From whom each verifier's newest cosignature came."""
        self.door = Doorkeeper(member, secret, log, engine)

    async def cosigning(self, peer: bytes, request: bytes) -> bytes:
        """Takes a witness's cosignature; answers with nothing."""
        cosigning = Cosigning.parse(request)
        share = Envelope.parse(cosigning.share)
        if self._log.add_cosignature(cosigning.witness, cosigning.size, cosigning.line, share):
            self.witnesses[cosigning.witness] = peer  # who only repeats what others sent is none
        if self._member.links is not None:
            self._member.links.protect(peer)
        self._member.wake()
        return b""

    async def call(self, peer: bytes, request: bytes) -> bytes:
        """Takes a post of `peer`; the answer is a `Posted`. Raises CallRefused with the reason."""
        return (await self.post(Post.parse(request), peer)).encode()

    async def post(self, post: Post, peer: bytes | None = None) -> Posted:
        """Logs what is posted, unless it is logged already; `peer` is asked first for the blob."""
        entry = parse_entry(post.envelope)
        if not isinstance(entry.record, POSTABLE):
            raise CallRefused(f"Only the coordinator logs a {entry.record.NAME}.")
        index = self._log.index_of(entry.envelope)
        if index is None:
            async with self._turn(entry.envelope.signers):
                if isinstance(entry.record, Registration) and not entry.record.invite:
                    return await self.door.take(entry, entry.record, peer)
                index = await self._take(post, entry, peer)
        if isinstance(entry.record, Verdict) and post.proof:
            self.on_proof(entry.record, post.proof)
        receipt = self._receipt(entry.envelope.digest, index) if isinstance(entry.record, RECEIPTED) else b""
        return Posted(index, receipt)

    @asynccontextmanager
    async def _turn(self, author: tuple[bytes, ...]) -> AsyncIterator[None]:
        """Waits until no other post of an author is being taken."""
        key = b"".join(author)
        lock = self._turns.setdefault(key, trio.Lock())
        try:
            async with lock:
                yield
        finally:
            if not lock.locked():
                self._turns.pop(key, None)

    async def _take(self, post: Post, entry: Entry, peer: bytes | None) -> int:
        """Logs an entry once the blob behind it is here, unless another post of it was taken meanwhile; its index."""
        index = self._log.index_of(entry.envelope)
        if index is None:
            self._refuse_early(post.envelope)
            await self._mirror(entry.record, peer)
            index = self._append(entry.envelope)
        return index

    def _append(self, envelope: Envelope) -> int:
        """Logs an entry, unless the same post came twice at once."""
        index = self._log.index_of(envelope)
        if index is None:
            try:
                index = self._log.append(envelope)
            except LogFault as fault:
                raise CallRefused(fault.reason) from None
            self._member.wake()
        return index

    def _refuse_early(self, data: bytes) -> None:
        """Nothing is fetched for what could not be logged anyway."""
        try:
            self._member.state.check(data)
        except LogFault as fault:
            raise CallRefused(fault.reason) from None

    async def _mirror(self, record: Record, peer: bytes | None) -> None:
        """Has the blob that an entry names on this disk; a transport error tells the poster to come again."""
        if isinstance(record, BatchHeader | GateResult):
            length = record.blob_len
        elif isinstance(record, TraceOpening):
            length = 32 * record.plies
        else:
            return
        first = [peer] if peer is not None else []

        def peers() -> list[bytes]:
            return [*first, *self._member.transport.peers()]

        await self._member.blobs.fetch(record.blob_digest, peers, length, FETCH_WITHIN_S)

    def _receipt(self, subject: bytes, index: int) -> bytes:
        state = self._member.state
        receipt = Receipt(state.run, subject, index, state.size, state.tree.inclusion_proof(index, state.size))
        return receipt.seal(self._secret).encode()
