"""Which errors are the user's or the world's: each has one clear sentence and an exit status, never a traceback."""

import sqlite3

from native.canary import WrongMachine
from native.errors import EngineError
from node.audits.errors import AuditInputError
from node.audits.proof_files import ProofFileError
from node.contributor.contributor import Expelled
from node.contributor.registrar import RegistrationRefused
from node.contributor.replacing import ReplacementRefused
from node.control import ControlError
from node.coordinator.growth import GrowthRefused
from node.disk.home import HomeError
from node.disk.keyring import KeyringError
from node.disk.lockfile import DirectoryInUse
from node.disk.store import StoreError
from node.engine.process import EngineLost
from node.exchange.errors import ExportError, ReplayError, SgfError, TrainingFileError, WeightsError
from node.following.heads import LogUnbelievable
from node.founding.errors import FoundingError
from node.founding.invites import InviteError
from node.founding.listening import ListenError
from node.founding.manifest_file import ManifestFileError
from node.local import LocalError
from node.matches.match_record import RecordError
from node.matches.opponent import OpponentError
from node.matches.rating_table import RatingError
from node.matches.setups import OpeningError
from node.metrics.address import MetricsFault
from node.networks import NetworkFault
from node.peering.addresses import AnnounceError
from node.peering.transport import CannotListen, TransportError
from node.reports.drawing import MatplotlibMissing
from node.reports.gathering import NothingToReport
from node.services import ServiceLost
from node.training.admitted import NoAdmittedData
from node.training.request import OtherTraining
from node.verifier.epoch_keeper import Distrusted
from protocol.errors import ProtocolError
from verification.faults import LogFault
from verification.proof import NetworkMissing

REFUSALS: tuple[type[BaseException], ...] = (
    AnnounceError,
    AuditInputError,
    CannotListen,
    DirectoryInUse,
    Distrusted,
    EngineError,
    Expelled,
    ExportError,
    FoundingError,
    GrowthRefused,
    HomeError,
    InviteError,
    KeyringError,
    ListenError,
    LocalError,
    LogFault,
    LogUnbelievable,
    ManifestFileError,
    MatplotlibMissing,
    MetricsFault,
    NetworkFault,
    NetworkMissing,
    NoAdmittedData,
    NothingToReport,
    OSError,
    OpeningError,
    OpponentError,
    OtherTraining,
    ProofFileError,
    ProtocolError,
    RatingError,
    RecordError,
    RegistrationRefused,
    ReplacementRefused,
    ReplayError,
    SgfError,
    StoreError,
    TrainingFileError,
    WeightsError,
    sqlite3.Error,
)
"""Exit status 2."""

UNREACHABLE_ERRORS: tuple[type[BaseException], ...] = (ControlError, EngineLost, ServiceLost, TransportError)
"""Exit status 3."""

NO_ERRORS: tuple[type[BaseException], ...] = (WrongMachine,)
"""Exit status 1: asked whether it computes, the machine said no."""
