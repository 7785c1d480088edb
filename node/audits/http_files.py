"""Files of a web server, fetched with every bound that a stranger's server needs: `HttpFiles`.

Spec: `docs/spec/audit.md` ("Over HTTP"). By the standard library alone: plain GETs over kept connections need no more.
Invariants: no file is larger than asked for; a server that sends too slowly is given up, wherever in an answer it does;
redirects stay on the host, and never lead from https to http. What comes is believed by nobody; the audit looks at it.
"""

import http.client
import math
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self
from urllib.parse import quote, urljoin, urlsplit

from node.audits.errors import AuditInputError
from node.peering.transport import TooMuch, Unreachable

SILENT_S: Final = 20.0
"""How long a server may send nothing. Twice that is the time for each step of an answer, however busily it sends: greeting
by TLS, headers, a part of the body with what frames it, a page that is skipped."""

SLOWEST_BYTES_S: Final = 8 << 10
"""What a server sends a second at least, after SILENT_S."""

TRIES: Final = 4
AGAIN_S: Final = 0.5
"""The first wait after a failure that may pass; it doubles."""

MOST_REDIRECTS: Final = 5
MAX_URL: Final = 2048

_LOOK_S: Final = 0.1
_PART: Final = 1 << 16
_ABSENT: Final = frozenset({403, 404, 410})
"""No such file; storage that shows no lists says 403 for it."""

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Origin:
    """A server: whether by TLS, its host and its port."""

    is_secure: bool
    host: str
    port: int

    @classmethod
    def of(cls, url: str) -> Self:
        """The server of an http or https URL; raises AuditInputError."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise AuditInputError(f"{_short(url)} is not a URL.") from None
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise AuditInputError(f"{_short(url)} is not the URL of a folder: http://HOST/PATH or https://HOST/PATH.")
        is_secure = parts.scheme == "https"
        return cls(is_secure, parts.hostname, port or (443 if is_secure else 80))

    def may_lead_to(self, other: "Origin") -> bool:
        """Whether a redirect goes on with the same host, by the same way or by TLS."""
        return self == other or (self.host == other.host and not self.is_secure and other.is_secure)


class Passing(Exception):
    """A failure that another try may not meet."""


class _Connection(http.client.HTTPConnection):
    """A connection that another thread can cut, whatever http.client waits for in it."""

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin.host, origin.port, timeout=SILENT_S)
        self.default_port = 443 if origin.is_secure else 80
        self.until_s = math.inf
        """When it is cut, by the monotonic clock."""
        self.is_cut = False
        self._tls = ssl.create_default_context() if origin.is_secure else None
        self._line: socket.socket | None = None

    def connect(self) -> None:
        """See http.client; the socket can be cut from before the greeting on, and after http.client has let go of it."""
        super().connect()
        self._line = self.sock
        if self._tls is not None:
            self.sock = secure = self._tls.wrap_socket(
                self.sock, server_hostname=self.host, do_handshake_on_connect=False
            )
            self._line = secure
            self.allow_step()
            secure.do_handshake()

    def allow_step(self) -> None:
        """Gives the next step of an answer its time."""
        self.until_s = time.monotonic() + 2 * SILENT_S

    def cut(self) -> None:
        """Ends what waits at it."""
        self.is_cut = True
        if self._line is not None:
            with suppress(OSError):
                socket.socket.shutdown(self._line, socket.SHUT_RDWR)  # an SSLSocket's own would go on without TLS


class HttpFiles:
    """The files below `url`; `get` may be called from several threads, each of which keeps a connection. A context manager:
    leaving it ends what runs."""

    def __init__(self, url: str) -> None:
        """Raises AuditInputError for what is not the URL of a folder."""
        if not _is_plain(url):
            raise AuditInputError(f"{_short(url)} is not a URL.")
        if "?" in url or "#" in url:
            raise AuditInputError(f"{_short(url)} is not the URL of a folder: it has a query or a fragment.")
        self.url = url if url.endswith("/") else url + "/"
        self._origin = Origin.of(self.url)
        self._mine = threading.local()
        self._all: list[_Connection] = []
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._watch: threading.Thread | None = None

    def get(self, path: str, limit: int) -> bytes | None:
        """A file of at most `limit` bytes, or None when the server has none. Raises Unreachable, TooMuch."""
        wait_s = AGAIN_S
        for left in reversed(range(TRIES)):
            try:
                return self._get(self.url + quote(path), path, limit)
            except (Passing, OSError, http.client.HTTPException) as error:
                is_slow = self._drop()
                if left == 0 or self._closed.is_set() or isinstance(error, ssl.SSLCertVerificationError):
                    reason = f"the server sends {path} too slowly." if is_slow else _reason(error)
                    raise Unreachable(f"{_short(self.url)}: {reason}") from None
            time.sleep(wait_s)
            wait_s *= 2
        raise AssertionError

    def close(self) -> None:
        """Ends all connections, also those that others wait at."""
        with self._lock:
            self._closed.set()
            for connection in self._all:
                connection.cut()
                connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _get(self, url: str, path: str, limit: int) -> bytes | None:
        origin = self._origin
        for _ in range(MOST_REDIRECTS + 1):
            response = self._ask(origin, url)
            if response.status in _REDIRECTS:
                self._skip(response)
                url = urljoin(url, response.headers.get("Location", ""))
                if not self._is_followed(origin, url):
                    raise Unreachable(f"{_short(self.url)}: it sends us elsewhere, to {_short(url)}; audit that URL.")
                origin = Origin.of(url)
                continue
            if response.status in _ABSENT:
                self._skip(response)
                return None
            if response.status in _PASSING:
                raise Passing(f"the server says {response.status} for {path}.")
            if response.status != 200:
                raise Unreachable(f"{_short(self.url)}: the server says {response.status} for {path}.")
            if response.headers.get("Content-Encoding", "identity") != "identity":
                raise Unreachable(f"{_short(self.url)}: the server sends {path} compressed, which was not asked for.")
            return b"".join(self._parts(response, path, limit))
        raise Unreachable(f"{_short(self.url)}: it redirects {path} again and again.")

    def _ask(self, origin: Origin, url: str) -> http.client.HTTPResponse:
        """The beginning of an answer, over this thread's connection to a server."""
        kept: tuple[Origin, _Connection] | None = getattr(self._mine, "kept", None)
        if kept is None or kept[0] != origin:
            self._drop()
            kept = origin, self._connect(origin)
            self._mine.kept = kept
        parts = urlsplit(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        kept[1].until_s = math.inf  # it may have to connect first, which has its own limit
        kept[1].request("GET", target, headers={"Accept-Encoding": "identity", "User-Agent": "gonode"})
        kept[1].allow_step()
        return kept[1].getresponse()

    @staticmethod
    def _is_followed(origin: Origin, url: str) -> bool:
        try:
            return _is_plain(url) and origin.may_lead_to(Origin.of(url))
        except AuditInputError:
            return False

    def _skip(self, response: http.client.HTTPResponse) -> None:
        """Reads a page that nobody wants, so that the connection can be used again, unless it is long."""
        connection = self._connection()
        connection.allow_step()
        response.read(_PART)
        connection.until_s = math.inf
        if connection.is_cut:
            raise Passing("the server sends a page too slowly.")
        if not response.isclosed():
            self._drop()

    def _connect(self, origin: Origin) -> _Connection:
        with self._lock:
            if self._closed.is_set():
                raise Passing("the fetching was ended.")
            connection = _Connection(origin)
            self._all.append(connection)
            if self._watch is None:
                self._watch = threading.Thread(target=self._cut_slow, daemon=True)
                self._watch.start()
        return connection

    def _cut_slow(self) -> None:
        """Cuts connections whose time is over, until all are closed."""
        while not self._closed.wait(_LOOK_S):
            with self._lock:
                for connection in self._all:
                    if connection.until_s < time.monotonic():
                        connection.cut()

    def _connection(self) -> _Connection:
        """This thread's connection, in the middle of an answer."""
        kept: tuple[Origin, _Connection] = self._mine.kept
        return kept[1]

    def _parts(self, response: http.client.HTTPResponse, path: str, limit: int) -> Iterator[bytes]:
        """The body, while it comes fast enough and is not too large."""
        if (response.length or 0) > limit:
            self._drop()
            raise TooMuch(f"{_short(self.url)}: {path} has {response.length} bytes; it may have {limit}.")
        begun, total, connection = time.monotonic(), 0, self._connection()
        while True:
            connection.allow_step()
            part = response.read1(_PART)
            if connection.is_cut:
                raise Passing(f"the server sends {path} too slowly.")
            if not part:
                break
            total += len(part)
            if total > limit:
                self._drop()
                raise TooMuch(f"{_short(self.url)}: {path} has more than {limit} bytes.")
            if total < SLOWEST_BYTES_S * (time.monotonic() - begun - SILENT_S):
                raise Passing(f"the server sends {path} too slowly.")
            yield part
        if response.length:
            raise Passing(f"the server sent {total} bytes of {path} and ended.")
        connection.until_s = math.inf
        response.close()  # the connection goes on

    def _drop(self) -> bool:
        """Ends this thread's connection; whether it was cut for being slow."""
        kept: tuple[Origin, _Connection] | None = getattr(self._mine, "kept", None)
        if kept is None:
            return False
        self._mine.kept = None
        kept[1].close()
        with self._lock:
            self._all.remove(kept[1])
        return kept[1].is_cut and not self._closed.is_set()


def _is_plain(url: str) -> bool:
    """Whether a URL has no more and no other characters than one may have."""
    return len(url) <= MAX_URL and url.isascii() and url.isprintable() and " " not in url


def _short(url: str) -> str:
    shown = "".join(letter if letter.isprintable() else "?" for letter in url)
    return shown if len(shown) <= 120 else f"{shown[:117]}..."


def _reason(error: Exception) -> str:
    if isinstance(error, Passing):
        return str(error)
    if isinstance(error, TimeoutError):
        return "the server does not answer."
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate does not hold: {error.verify_message}."
    if isinstance(error, OSError):
        return f"it cannot be reached: {error.strerror or error}."
    return f"what it answers is not HTTP ({type(error).__name__})."
