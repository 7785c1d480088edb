"""Games against a release over HTTP: moves, scores, analysis, what is refused and how, and who has to wait."""

import json
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from node.disk.blob_store import BlobStore
from node.disk.home import Home
from node.play.partner import Partner, Thought
from node.web import play as web_play
from node.web.app import make_app
from node.web.faults import Faults
from node.web.play import Play
from node.web.question import MOST_BYTES
from node.web.searches import Searches
from tests.node.homes import grown_world, make_home
from tests.node.web.pages import fill, visiting, words
from tests.verification.world import World

PASS = 49
BASE: dict[str, Any] = {"size": 7, "komi": 8.5, "moves": [], "visits": 16}


def path_of(world: World, number: int = -1) -> str:
    """Where a release is asked."""
    return f"/api/v1/play/{world.state.releases.all[number].id.hex()}"


async def asked(visitor: httpx.AsyncClient, path: str, **changes: Any) -> Any:
    """The answer to a question that has one."""
    found = await visitor.post(path, json={**BASE, **changes})
    assert found.status_code == 200, found.text
    return found.json()["answer"]


async def refused(visitor: httpx.AsyncClient, path: str, **changes: Any) -> tuple[int, str]:
    """Status and sentence of a refusal."""
    found = await visitor.post(path, json={**BASE, **changes})
    assert found.headers["cache-control"] == "no-store"
    return found.status_code, found.json()["error"]


@pytest.mark.parametrize("number", [0, -1])
async def test_a_game_to_its_score(shown: Home, shown_world: World, number: int) -> None:
    moves: list[int] = []
    async with visiting(shown) as visitor:
        while True:
            found = await asked(visitor, path_of(shown_world, number), moves=moves)
            if found["move"] is None:
                break
            moves.append(found["move"])
            assert found["moves"] == len(moves)
            assert found["to_play"] == (1 if len(moves) % 2 == 0 else -1)
            if found["move"] != PASS:
                assert found["stones"][found["move"]] in (-found["to_play"], 0)
            rules = await asked(visitor, path_of(shown_world, number), moves=moves, visits=0)
            assert {**rules, "move": found["move"]} == found, "the rules alone say the same of the position"
    assert found["end"] is not None
    score = found["end"]["score"]
    assert found["end"]["result"] == f"{'B' if score > 0 else 'W'}+{abs(score):g}"
    assert found["search"] is None


async def test_two_passes_and_a_score(shown: Home, shown_world: World) -> None:
    async with visiting(shown) as visitor:
        found = await asked(visitor, path_of(shown_world), moves=[24, PASS, PASS], visits=100)
        head = (await visitor.post(path_of(shown_world), json=BASE)).json()["seen"]
    assert found["move"] is None
    assert found["end"] == {"how": "passes", "result": "B+40.5", "score": 40.5, "owner": [1] * 49, "dead": []}
    assert (found["to_play"], found["prisoners"]) == (-1, [0, 0])
    assert head["log_size"] == shown_world.state.size


async def test_analysis_tells_the_search(shown: Home, shown_world: World) -> None:
    async with visiting(shown) as visitor:
        found = await asked(visitor, path_of(shown_world), moves=[24], visits=40, analysis=True)
    search = found["search"]
    assert sum(search["visits"]) == 39
    assert sum(search["policy"]) == 65535
    assert search["visits"][found["move"]] > 0
    assert 0 <= search["black_winrate"] <= 1
    assert search["kind"] == "full"


async def test_any_board_that_a_network_takes(shown: Home, shown_world: World) -> None:
    async with visiting(shown) as visitor:
        for size in (9, 19):
            found = await asked(visitor, path_of(shown_world), size=size, visits=4, moves=[0])
            assert len(found["stones"]) == size * size


async def test_captures_are_told(shown: Home, shown_world: World) -> None:
    async with visiting(shown) as visitor:
        found = await asked(visitor, path_of(shown_world), moves=[1, 0, 7], visits=0)
    assert (found["captured"], found["prisoners"], found["stones"][:2]) == ([0], [1, 0], [0, 1])


async def test_what_is_refused_and_how(shown: Home, shown_world: World) -> None:
    path = path_of(shown_world)
    async with visiting(shown) as visitor:
        assert await refused(visitor, path, moves=[3, 3]) == (
            422,
            "Move 2, D7, is not allowed: there is a stone already.",
        )
        assert await refused(visitor, path, komi=50) == (400, "komi has to be a whole or half number from -49 to 49.")
        assert await refused(visitor, path, visits=1) == (
            400,
            "Visits of this network on this board have to be from 2 to 1600.",
        )
        assert await refused(visitor, "/api/v1/play/" + 64 * "0") == (
            404,
            "Nothing here has a name that begins with 0000000000000000.",
        )
        for data, kind, status in (
            (b"[" * 1000, "application/json", 400),
            (b"{}", "text/plain", 415),
            (b"{}", "application/x-www-form-urlencoded", 415),
            (b" " * (MOST_BYTES + 1), "application/json", 413),
        ):
            found = await visitor.post(path, content=data, headers={"Content-Type": kind})
            assert (found.status_code, found.json()["error"][-1]) == (status, ".")
        assert (await visitor.post(path)).status_code == 415
        assert (
            (await visitor.post(path, content=b"{}", headers={"Content-Type": "Application/JSON; charset=utf-8"}))
            .json()["error"]
            .startswith("The question has to be an object")
        )


async def test_only_own_pages_ask_and_only_here(shown: Home, shown_world: World) -> None:
    path = path_of(shown_world)
    own = {"Origin": "http://pages.test"}
    elsewhere = (
        {"Origin": "http://other.test"},
        {"Origin": "null"},
        {"Origin": "http://pages.test:81"},
        {**own, "Sec-Fetch-Site": "cross-site"},
        {**own, "Sec-Fetch-Site": "same-site"},
    )
    async with visiting(shown) as visitor:
        for headers in elsewhere:
            found = await visitor.post(path, json=BASE, headers=headers)
            assert found.status_code == 403, headers
            assert "access-control-allow-origin" not in found.headers
        for headers in (own, {**own, "Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "same-origin"}):
            assert (await visitor.post(path, json={**BASE, "visits": 0}, headers=headers)).status_code == 200, headers
        for other in ("/", "/api/v1", "/releases", "/audit", path.removeprefix("/api/v1"), "/public/checkpoint"):
            assert (await visitor.post(other, json=BASE)).status_code == 405, other
        for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
            assert (await visitor.request(method, path)).status_code == 405, method
        assert "access-control-allow-origin" not in (await visitor.options(path)).headers


async def test_the_page_of_a_release(shown: Home, shown_world: World) -> None:
    newest = shown_world.state.release
    async with visiting(shown) as visitor:
        moved = await visitor.get("/play/latest")
        assert (moved.status_code, moved.headers["location"]) == (302, f"/play/{newest.id.hex()}")
        assert (await visitor.get("/api/v1/play/first")).headers["location"] == path_of(shown_world, 0)
        answer = await visitor.get(f"/play/{newest.id.hex()}")
        found = (await visitor.get(path_of(shown_world))).json()["answer"]
        missing = await visitor.get(f"/play/{'0' * 64}")
    assert "not training data" in words(answer.text)
    assert answer.headers["cache-control"] == "no-store"
    assert (found["number"], found["name"], found["why_not"]) == (newest.number, newest.name, "")
    run, *others = found["boards"]
    assert (run["size"], run["komis"], run["most_komi"]) == (7, [8.5, 9.5], 49)
    assert [each["size"] for each in others] == list(range(8, 20))
    assert all(each["komis"] == [] for each in others)
    assert found["rules"] == "Tromp-Taylor"
    assert missing.status_code == 404


async def test_a_network_that_is_not_here(tmp_path: Path) -> None:
    world = grown_world()
    home = make_home(world, tmp_path / "node")
    fill(home)
    BlobStore(home.public).delete(world.state.release.network_blob)
    async with visiting(home) as visitor:
        page = await visitor.get(f"/play/{world.state.release.id.hex()}")
        assert page.status_code == 200
        assert f"The network of release {world.state.release.name} is not in this node's directory" in words(page.text)
        assert "<form" not in page.text
        status, sentence = await refused(visitor, path_of(world))
        assert (status, "is not in this node's directory" in sentence) == (404, True)
        assert (await asked(visitor, path_of(world), visits=0))["moves"] == 0, "rules need no network"
        assert (await asked(visitor, path_of(world, 0)))["move"] is not None, "release 0 is drawn from the manifest"


async def test_before_anything_is_taken_in(tmp_path: Path) -> None:
    home = make_home(grown_world(), tmp_path / "new")
    async with visiting(home) as visitor:
        found = await visitor.post(path_of(grown_world()), json=BASE)
        assert (found.status_code, found.headers["retry-after"]) == (503, "1")
        assert (await visitor.get("/play/latest")).status_code == 503


class Thinking:
    """Searches that begin, and end only once they may."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun: list[None] = []
        self.may_end = threading.Event()
        think = Partner.think

        def slowly(partner: Partner, *given: Any) -> Thought:
            self.begun.append(None)
            assert self.may_end.wait(60)
            return think(partner, *given)

        monkeypatch.setattr(Partner, "think", slowly)

    async def have_begun(self, count: int) -> None:
        """Waits for so many."""
        with trio.fail_after(30):
            while len(self.begun) < count:
                await trio.sleep(0.01)


async def test_one_search_an_address_and_a_few_in_all(
    shown: Home, shown_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_play, "searches_here", lambda: 2)
    thinking, path, app = Thinking(monkeypatch), path_of(shown_world), make_app(shown, Faults(print))
    visitors = [
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app, client=(f"192.0.2.{each}", 1)), base_url="http://pages.test"
        )
        for each in range(3)
    ]
    statuses: list[int] = []

    async def play(visitor: httpx.AsyncClient) -> None:
        statuses.append((await visitor.post(path, json=BASE)).status_code)

    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(play, visitors[0])
            await thinking.have_begun(1)
            assert await refused(visitors[0], path) == (
                429,
                "A search for your address still runs; ask again when it has ended.",
            )
            nursery.start_soon(play, visitors[1])
            await thinking.have_begun(2)
            assert await refused(visitors[2], path) == (503, "Others are being played with; ask again in a second.")
            assert (await asked(visitors[2], path, visits=0))["moves"] == 0, "rules are told meanwhile"
            thinking.may_end.set()
        assert statuses == [200, 200]
        assert (await visitors[0].post(path, json=BASE)).status_code == 200, "places came back"
    finally:
        thinking.may_end.set()
        for visitor in visitors:
            await visitor.aclose()


async def test_a_visitor_who_leaves_keeps_the_place_until_the_search_ends(
    shown: Home, shown_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    thinking, path = Thinking(monkeypatch), path_of(shown_world)
    async with visiting(shown) as visitor:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: visitor.post(path, json=BASE))
            await thinking.have_begun(1)
            nursery.cancel_scope.cancel()
        assert (await refused(visitor, path))[0] == 429
        thinking.may_end.set()
        with trio.fail_after(30):
            while (await visitor.post(path, json=BASE)).status_code == 429:
                await trio.sleep(0.05)


async def test_slow_and_broken_questions(shown: Home, shown_world: World, autojump_clock: trio.abc.Clock) -> None:
    async def slowly() -> AsyncIterator[bytes]:
        yield b"{"
        await trio.sleep(3600)

    async with visiting(shown) as visitor:
        found = await visitor.post(path_of(shown_world), content=slowly(), headers={"Content-Type": "application/json"})
    assert (found.status_code, found.json()["error"]) == (408, "The question did not come within 10 seconds.")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the client's half-sent body
async def test_a_question_without_a_length_is_bounded_too(shown: Home, shown_world: World) -> None:
    sent: list[int] = []

    async def endless() -> AsyncIterator[bytes]:
        while True:
            sent.append(1000)
            yield b" " * 1000

    async with visiting(shown) as visitor:
        found = await visitor.post(
            path_of(shown_world), content=endless(), headers={"Content-Type": "application/json"}
        )
    assert found.status_code == 413
    assert sum(sent) <= MOST_BYTES + 2000


VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=5)
    | st.lists(st.integers(-2, 90), max_size=8)
)
PLAYED = st.lists(st.integers(0, 49), max_size=60)


def test_whatever_is_asked_is_answered_with_a_sentence(shown: Home, shown_world: World) -> None:
    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(
        st.dictionaries(st.sampled_from(["size", "komi", "visits", "analysis", "x"]), VALUES, max_size=2),
        PLAYED,
        st.sampled_from([0, 2, 8]),
    )
    def play(changes: dict[str, Any], moves: list[int], visits: int) -> None:
        async def ask() -> None:
            body = json.dumps({**BASE, "visits": visits, "moves": moves, **changes})
            async with visiting(shown) as visitor:
                found = await visitor.post(
                    path_of(shown_world), content=body, headers={"Content-Type": "application/json"}
                )
            assert found.status_code in (200, 400, 422), found.text
            if found.status_code != 200:
                assert found.json()["error"].endswith(".")

        trio.run(ask)

    play()


def test_places_are_this_machines(shown: Home) -> None:
    assert Play(shown, shown.directory / "pages.db", b"", Searches(3))._searches.most == 3
