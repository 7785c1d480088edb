"""Whose bucket a question takes from, and to which names a server answers."""

import httpx
import pytest
import trio
from starlette.responses import PlainTextResponse

from node.web.guard import LOCAL, Guard, bucket_of

PROXY = "192.0.2.1"


async def asked(guard: Guard, client: str, path: str = "/", **headers: str) -> int:
    """The status of an answer."""
    transport = httpx.ASGITransport(app=guard, client=(client, 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080") as visitor:
        return (
            await visitor.get(path, headers={name.replace("_", "-"): text for name, text in headers.items()})
        ).status_code


def guarded(**how: object) -> Guard:
    return Guard(PlainTextResponse("here"), 0.001, 2, **how)  # type: ignore[arg-type]


def test_buckets() -> None:
    assert bucket_of("192.0.2.7") == bucket_of("::ffff:192.0.2.7") == "192.0.2.7"
    assert bucket_of("2001:db8:0:1::7") == bucket_of("2001:db8:0:1:ffff::1") != bucket_of("2001:db8:0:2::7")
    assert bucket_of("fe80::1%eth0") == bucket_of("fe80::2")
    assert bucket_of("nobody") == ""


async def test_only_a_proxy_that_is_believed_says_for_whom_it_asks(autojump_clock: trio.abc.Clock) -> None:
    guard = guarded(proxies=[PROXY])
    for visitor in ("198.51.100.1", "198.51.100.2"):
        forwarded = f"203.0.113.9, {visitor}, {PROXY}"
        assert [await asked(guard, PROXY, x_forwarded_for=forwarded) for _ in range(3)] == [200, 200, 429]
    for number in range(2):
        assert await asked(guard, "203.0.113.5", x_forwarded_for=f"198.51.100.{number}") == 200
    assert await asked(guard, "203.0.113.5", x_forwarded_for="198.51.100.77") == 429


async def test_files_count_for_nothing(autojump_clock: trio.abc.Clock) -> None:
    guard = guarded()
    assert {await asked(guard, PROXY, path) for path in ("/static/x", "/public/x") * 5} == {200}
    assert [await asked(guard, PROXY) for _ in range(3)] == [200, 200, 429]


@pytest.mark.parametrize(
    ("host", "status"),
    [("127.0.0.1:8080", 200), ("localhost", 200), ("[::1]:8080", 200), ("LOCALHOST:1", 200), ("rebound.example", 421)],
)
async def test_a_local_server_answers_to_its_own_names(host: str, status: int, autojump_clock: trio.abc.Clock) -> None:
    assert await asked(guarded(hosts=LOCAL), PROXY, host=host) == status
    assert await asked(guarded(), PROXY, host=host) == 200
