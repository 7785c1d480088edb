"""Files over HTTP: whole, bounded, from one host, and every way in which a server is bad is one sentence."""

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from node.audits import http_files
from node.audits.errors import AuditInputError
from node.audits.http_files import HttpFiles, Origin
from node.peering.transport import TooMuch, Unreachable
from tests.node.audits.web_server import Handler, Server, says, web_server


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(http_files, "AGAIN_S", 0.01)
    monkeypatch.setattr(http_files, "SILENT_S", 0.3)
    with web_server({"a": b"one", "empty": b"", "large": bytes(300_000), "x y/%": b"odd name"}) as server:
        yield server


@pytest.fixture
def files(server: Server) -> Iterator[HttpFiles]:
    with HttpFiles(server.url.rstrip("/")) as files:
        yield files


def test_files_come_over_one_connection(files: HttpFiles, server: Server) -> None:
    assert files.get("a", 3) == b"one"
    assert files.get("empty", 0) == b""
    assert files.get("none", 10) is None
    assert files.get("large", 300_000) == bytes(300_000)
    assert files.get("a", 3) == b"one"
    assert files.get("x y/%", 100) is None, "the server decodes nothing; the name is quoted"
    assert server.asked[-1] == "x%20y/%25"
    assert (server.connections, len(server.asked)) == (1, 6)


@pytest.mark.parametrize("status", [403, 404, 410])
def test_what_is_not_there(status: int, files: HttpFiles, server: Server) -> None:
    server.answers["a"] = says(status, bytes(200_000))
    assert files.get("a", 3) is None
    assert files.get("empty", 3) == b""


def chunked(handler: Handler) -> None:
    """An endless body."""
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    for _ in range(1000):
        handler.wfile.write(b"3e8\r\n" + bytes(1000) + b"\r\n")


def cut_short(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "10")
    handler.end_headers()
    handler.wfile.write(b"12345")
    handler.close_connection = True


def silent(handler: Handler) -> None:
    time.sleep(1)


def slow(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    for _ in range(50):
        handler.wfile.write(b"x")
        time.sleep(0.05)


def no_http(handler: Handler) -> None:
    handler.wfile.write(b"SSH-2.0\r\n\r\n")
    handler.close_connection = True


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (says(200, bytes(4)), TooMuch, "a has 4 bytes; it may have 3"),
        (chunked, TooMuch, "a has more than 3 bytes"),
        (cut_short, TooMuch, "a has 10 bytes"),
        (silent, Unreachable, "does not answer"),
        (no_http, Unreachable, "is not HTTP"),
        (says(500), Unreachable, "the server says 500 for a"),
        (says(401), Unreachable, "the server says 401 for a"),
        (says(206, b"on"), Unreachable, "the server says 206 for a"),
        (says(200, b"one", Content_Encoding="gzip"), Unreachable, "compressed"),
        (says(302, Location="a"), Unreachable, "again and again"),
        (says(302, Location="http://example.org/a"), Unreachable, "elsewhere, to http://example.org/a"),
        (says(302, Location="http://127.0.0.1:1/a"), Unreachable, "elsewhere"),
        (says(302, Location="file:///etc/passwd"), Unreachable, "elsewhere, to file"),
        (says(302, Location="http://127.0.0.1/\xe4"), Unreachable, "elsewhere"),
        (says(302, Location="//user@127.0.0.1/a"), Unreachable, "elsewhere"),
    ],
)
def test_bad_servers(answer: Any, error: type[Exception], words: str, files: HttpFiles, server: Server) -> None:
    server.answers["a"] = answer
    with pytest.raises(error, match=words) as raised:
        files.get("a", 3)
    assert str(raised.value).startswith(server.url)
    assert files.get("empty", 3) == b"", "another file is as good as before"


def test_a_body_that_drips_or_ends_early(files: HttpFiles, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.answers["a"] = slow
    monkeypatch.setattr(http_files, "TRIES", 1)
    with pytest.raises(Unreachable, match="sends a too slowly"):
        files.get("a", 2000)
    server.answers["a"] = cut_short
    with pytest.raises(Unreachable, match="sent 5 bytes of a and ended"):
        files.get("a", 2000)


def goes_on(first: bytes, more: bytes, pause_s: float = 0.0) -> Any:
    """An answer that never ends: `more` again and again, each time soon enough not to be silence."""

    def answer(handler: Handler) -> None:
        handler.close_connection = True
        handler.wfile.write(first)
        until = time.monotonic() + 20
        while time.monotonic() < until:
            handler.wfile.write(more)
            time.sleep(pause_s)

    return answer


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        goes_on(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.01),
        goes_on(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        goes_on(OK + b"X: ", b"x", 0.05),
        goes_on(OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n0\r\n", b"X: x\r\n", 0.01),
        goes_on(OK + b"Transfer-Encoding: chunked\r\n\r\n3;", b"x", 0.05),
        goes_on(OK + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n3;", b"x", 0.05),
        goes_on(b"HTTP/1.1 404 No\r\nContent-Length: 60000\r\n\r\n", b"x", 0.05),
        goes_on(b"HTTP/1.1 404 No\r\nConnection: close\r\n\r\n", b"x", 0.05),
        goes_on(b"HTTP/1.1 302 No\r\nLocation: /b\r\nContent-Length: 60000\r\n\r\n", b"x", 0.05),
    ],
    ids=["continue", "fast", "header", "trailers", "chunk", "close", "page", "no-length", "moved"],
)
def test_answers_that_never_end(answer: Any, files: HttpFiles, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_files, "TRIES", 1)
    server.answers["a"] = answer
    begun = time.monotonic()
    with pytest.raises(Unreachable, match="sends a too slowly"):
        files.get("a", 1 << 28)
    assert time.monotonic() - begun < 3
    assert files.get("empty", 3) == b"", "another file is as good as before"


def test_redirects_on_the_host_are_followed(files: HttpFiles, server: Server) -> None:
    server.answers["a"] = says(301, b"moved", Location="/b?c=d")
    server.files["b?c=d"] = b"two"
    assert files.get("a", 3) == b"two"
    assert Origin.of("http://h/x").may_lead_to(Origin.of("https://h/y"))
    assert not Origin.of("https://h/x").may_lead_to(Origin.of("http://h/y"))
    assert not Origin.of("https://h/x").may_lead_to(Origin.of("https://h:444/y"))


def test_failures_that_pass(files: HttpFiles, server: Server) -> None:
    answers = [says(503), cut_short, no_http, says(200, b"one")]
    server.answers["a"] = lambda handler: answers.pop(0)(handler)
    assert files.get("a", 10) == b"one"
    assert len(server.asked) == 4


def test_a_server_that_closes_connections(files: HttpFiles, server: Server) -> None:
    def last(handler: Handler) -> None:
        handler.close_connection = True
        handler.give(200, b"one")

    server.answers["a"] = last
    assert [files.get("a", 3) for _ in range(3)] == [b"one"] * 3


def test_closing_ends_what_waits(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_files, "SILENT_S", 30)
    server.answers["a"] = lambda handler: time.sleep(5)
    failed: list[Exception] = []
    files = HttpFiles(server.url)

    def get() -> None:
        try:
            files.get("a", 3)
        except Unreachable as error:
            failed.append(error)

    thread = threading.Thread(target=get)
    thread.start()
    while not server.asked:
        time.sleep(0.01)
    begun = time.monotonic()
    files.close()
    thread.join(4)
    assert len(failed) == 1
    assert time.monotonic() - begun < 2
    server.answers["a"] = says(200)


@pytest.mark.parametrize(
    "url",
    ["", "x", "ftp://h/", "http://", "http:///x", "http://h:x/", "http://h:99999/", "http://u:p@h/", "http://h/?q",
     "http://h/#f", "http://h/ x", "http://h/\n", "http://h/\xe4", "http://h/" + 3000 * "x", "http://[h/"],
)  # fmt: skip
def test_what_is_no_url(url: str) -> None:
    with pytest.raises(AuditInputError) as raised:
        HttpFiles(url)
    assert len(str(raised.value)) < 300


# ---- TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that signs itself, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    today = datetime.now(UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "certificate.pem"
    encoding, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    secret = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, plain)
    file.write_bytes(built.public_bytes(encoding) + secret)
    return file


def test_a_certificate_has_to_hold(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with web_server({"a": b"one"}) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        url = server.url.replace("http:", "https:")
        with HttpFiles(url) as files, pytest.raises(Unreachable, match="its certificate does not hold: self-signed"):
            files.get("a", 3)
        assert server.asked == []
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with HttpFiles(url) as files:
            assert files.get("a", 3) == b"one"
        with HttpFiles(url.replace("127.0.0.1", "localhost")) as files, pytest.raises(Unreachable, match="certificate"):
            files.get("a", 3)


def test_a_greeting_that_drips(monkeypatch: pytest.MonkeyPatch) -> None:
    """A TLS record of 16 KiB, a byte at a time."""
    monkeypatch.setattr(http_files, "SILENT_S", 0.3)
    monkeypatch.setattr(http_files, "TRIES", 1)

    def drip() -> None:
        with suppress(OSError):
            line, _ = listener.accept()
            with line:
                line.sendall(b"\x16\x03\x03\x40\x00")
                for _ in range(200):
                    line.sendall(b"\x02")
                    time.sleep(0.05)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip)
        thread.start()
        begun = time.monotonic()
        url = f"https://127.0.0.1:{listener.getsockname()[1]}/"
        with HttpFiles(url) as files, pytest.raises(Unreachable, match=r"does not answer|too slowly"):
            files.get("a", 3)
        assert time.monotonic() - begun < 3
        thread.join()
