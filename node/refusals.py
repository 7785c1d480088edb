"""Which errors are the user's or the world's: each has one clear sentence and an exit status, never a traceback."""

from native.errors import EngineError
from node.auditing import AuditInputError
from node.control import ControlError
from node.founding import FoundingError
from node.home import HomeError
from node.invites import InviteError
from node.keyring import KeyringError
from node.listening import ListenError
from node.lockfile import DirectoryInUse
from node.logsync import LogUnbelievable
from node.manifest_file import ManifestFileError
from node.networks import NetworkFault
from node.opponent import OpponentError
from node.registrar import RegistrationRefused
from node.store import StoreError
from node.transport import TransportError
from protocol.errors import ProtocolError
from verification.faults import LogFault

REFUSALS: tuple[type[BaseException], ...] = (
    AuditInputError,
    DirectoryInUse,
    EngineError,
    FoundingError,
    HomeError,
    InviteError,
    KeyringError,
    ListenError,
    LogFault,
    LogUnbelievable,
    ManifestFileError,
    NetworkFault,
    OSError,
    OpponentError,
    ProtocolError,
    RegistrationRefused,
    StoreError,
)
"""Exit status 2."""

UNREACHABLE_ERRORS: tuple[type[BaseException], ...] = (ControlError, TransportError)
"""Exit status 3."""
