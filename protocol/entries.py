"""What a log entry may be: the envelope of one of these records.

Spec: `docs/spec/log-entry.md`. The log holds envelopes as their authors signed them; who may sign what, and when, is
judged by `verification.state`.
"""

from dataclasses import dataclass

from protocol.admission import Admission
from protocol.envelope import Envelope
from protocol.epoch import EpochHash, EpochReveal, ShareSet
from protocol.errors import ParseError
from protocol.fills import FillAssignment
from protocol.gate import GateAssignment, GateRecord, GateResult
from protocol.header import BatchHeader
from protocol.manifest import Manifest
from protocol.orders import Exit, Scrutiny, VoidEpoch
from protocol.proof import Ban, Pardon
from protocol.receipt import Tick
from protocol.record import Record
from protocol.recovery import KeyReplacement
from protocol.registration import Registration
from protocol.release import Release
from protocol.ringer import RingerHash, RingerReveal
from protocol.root import Root
from protocol.slots import SlotList
from protocol.statement.record import ReleaseStatement
from protocol.tiles import MAX_ENTRY_BYTES
from protocol.verdict import TraceOpening, Verdict
from protocol.window import GivenUpCycle, TrainRecord, WindowCommitment

ENTRY_TYPES: dict[str, type[Record]] = {
    cls.payload_type(): cls
    for cls in (
        Root,
        Manifest,
        Registration,
        Tick,
        EpochHash,
        EpochReveal,
        ShareSet,
        BatchHeader,
        Verdict,
        TraceOpening,
        Admission,
        WindowCommitment,
        TrainRecord,
        GivenUpCycle,
        GateAssignment,
        GateResult,
        GateRecord,
        Release,
        ReleaseStatement,
        Ban,
        Pardon,
        SlotList,
        KeyReplacement,
        FillAssignment,
        Exit,
        VoidEpoch,
        Scrutiny,
        RingerHash,
        RingerReveal,
    )
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A parsed entry: its envelope, whose signatures are valid, and the record inside.

    `is_verified`: that they are was known before, and so are the signatures of the envelopes that the record carries.
    """

    envelope: Envelope
    record: Record
    is_verified: bool = False

    @property
    def signers(self) -> tuple[bytes, ...]:
        """The keys that signed it."""
        return self.envelope.signers


def parse_entry(data: bytes, *, is_verified: bool = False) -> Entry:
    """Parses an entry and verifies its signatures, unless `is_verified` says that they hold.

    Raises ParseError, NotCanonical, TooLarge, BadSignature.
    """
    envelope = Envelope.parse(data, MAX_ENTRY_BYTES)
    cls = ENTRY_TYPES.get(envelope.type)
    if cls is None:
        raise ParseError(f"a log cannot hold an entry of type {envelope.type[:80]}.")
    return Entry(envelope, cls.open(envelope, is_verified=is_verified), is_verified)
