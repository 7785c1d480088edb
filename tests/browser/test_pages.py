"""The pages of a run in a real browser: what a visitor sees, on a phone, by keyboard, without JavaScript, in both themes."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from node.disk.home import Home
from node.status import IN, OUT, LinkState
from tests.browser.answering_node import answering
from tests.browser.chromium import Browser, Page, follow, launched
from tests.browser.programs import install_tools
from tests.browser.shown_run import shown_run
from tests.node.keys import secret
from tests.node.reports.small_run import small_run, timed_home
from tests.node.screen.statuses import COORDINATING, status
from tests.node.web.test_app import proof_name
from tests.verification.world import World

PHONE = {"width": 360, "height": 780}
DESK = {"width": 1280, "height": 900}
PICTURES = Path("build/pages")
"""Where a picture of each page is kept, for people."""
COLUMNS = """
Math.max(0, ...[...document.querySelectorAll('thead tr')].map(row => [...row.cells].filter(cell => cell.offsetWidth).length))
"""


@pytest.fixture(scope="module")
def run() -> World:
    """Four cycles, a cheat that is banned, a batch that waits; look only."""
    return small_run()


@pytest.fixture(scope="module")
def home(run: World, tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Its coordinator's directory."""
    return timed_home(run, tmp_path_factory.mktemp("shown") / "coordinator")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for all."""
    with launched() as browser:
        yield browser


def status_of(url: str) -> int:
    """The status of an answer."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.fixture(scope="module")
def url(home: Home, browser: Browser) -> Iterator[str]:
    """The pages, once the log is taken in; without a browser nothing is served."""
    with shown_run(home) as url:
        while status_of(f"{url}api/v1/releases") == 503 or not has_all_games(url):
            time.sleep(0.1)
        yield url


def has_all_games(url: str) -> bool:
    """Whether the games of every batch are taken in."""
    with urllib.request.urlopen(f"{url}api/v1/games", timeout=10) as answer:
        here = json.load(answer)["answer"]["here"]
    return bool(here["batches"] == here["known"] > 0)


@pytest.fixture
def page(browser: Browser, url: str) -> Iterator[Page]:
    """A visitor with a phone; anything odd in the console, or asked of another host, fails the test."""
    context = browser.new_context(viewport=PHONE)
    odd: list[str] = []
    context.on(
        "console", lambda message: message.type == "error" and "404" not in message.text and odd.append(message.text)
    )
    context.on("weberror", lambda error: odd.append(str(error.error)))
    context.on("request", lambda request: request.url.startswith(url) or odd.append(request.url))
    yield context.new_page()
    context.close()
    assert odd == []


def paths(run: World) -> dict[str, str]:
    """A page of each kind by a name."""
    return {
        "run": "",
        "releases": "releases",
        "release": f"releases/{run.state.release.id.hex()}",
        "contributors": "contributors",
        "contributor": f"contributors/{run.peers['eve'].public.hex()}",
        "games": "games",
        "days": "dumps",
        "verification": "verification",
        "bans": "bans",
        "proof": f"proofs/{proof_name(run)}",
        "network": "network",
    }


SEEN = {
    "run": ["Newest release", "Last week", "Elo above release 0"],
    "releases": ["first", "the manifest"],
    "release": [
        "✓ passed against release",
        "Ancestry",
        "SHA-256 of its file",
        "cosigned by 1 of 1 witnesses",
        "verifier-0",
    ],
    "contributors": ["ada", "bob", "banned"],
    "contributor": ["eve", "banned", "✗ rejected"],
    "games": ["batches in the log are here", "training", "ada", "✓ verified", "✗ rejected", "… pending"],
    "days": ["2023-11-14", "the day is not over"],
    "verification": ["verifier-0", "Rejections", "eve"],
    "bans": ["eve", "the search of a ply is not as the batch says"],
    "proof": ["gonode proof check proof --ticket TICKET", "log entry", "✓ holds", "≠ differs", "= same"],
    "network": ["does not run", "coordinator", "Addresses are not shown"],
}


@pytest.mark.parametrize("name", SEEN)
def test_what_a_visitor_sees(page: Page, url: str, run: World, name: str) -> None:
    page.set_viewport_size(DESK)
    page.goto(url + paths(run)[name])
    text = page.inner_text("main")
    for words in SEEN[name]:
        assert words in text, text
    assert f"at log {run.state.size:,}" in page.inner_text("footer")
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(PICTURES / f"{name}.png"), full_page=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_them(browser: Browser, url: str, run: World, scheme: str) -> None:
    axe = (install_tools() / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
    context = browser.new_context(viewport=PHONE, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    for name, path in paths(run).items():
        page.goto(url + path)
        for summary in page.locator("summary").all():
            summary.click()
        page.add_script_tag(content=axe)
        found: Any = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
        told = [(each["id"], each["impact"], each["nodes"][0]["html"][:200]) for each in found["violations"]]
        assert told == [], name
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], name
        columns = page.evaluate(COLUMNS)
        assert columns <= (5 if name == "release" else 4), name  # five scores a pair can have
        PICTURES.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(PICTURES / f"{name}-phone-{scheme}.png"), full_page=True)
    context.close()


def test_all_of_it_works_without_javascript(browser: Browser, url: str, run: World) -> None:
    context = browser.new_context(viewport=DESK, java_script_enabled=False)
    page = context.new_page()
    page.goto(url)
    assert page.locator("#theme").is_hidden()
    follow(page, "nav >> text=Contributors")
    page.fill("#q", "bo")
    follow(page, "text=Search")
    assert page.locator("tbody tr").count() == 1
    follow(page, "tbody a")
    assert page.inner_text("h1") == "bob"
    follow(page, "nav >> text=Bans")
    follow(page, "tbody td a")
    assert page.inner_text("h1") == f"Proof {proof_name(run)[:8]}"
    follow(page, "nav >> text=Run")
    follow(page, "text=without refused candidates")
    assert page.locator(".graph .refused").count() == 0
    follow(page, "text=with refused candidates")
    assert page.locator(".graph .refused").count() > 0
    everything = page.locator("#elo tbody tr").count()
    follow(page, "#elo >> text=closer")
    assert 0 < page.locator("#elo tbody tr").count() < everything
    follow(page, "#elo >> text=later")
    follow(page, "#elo a[data-zoom=all]")
    assert page.locator("#elo tbody tr").count() == everything
    context.close()


def marks(page: Page) -> int:
    """How many networks the graph of strength has."""
    return int(page.locator(".graph .release, .graph .refused").count())


def wait_until(is_so: Callable[[], bool]) -> None:
    """Returns once it is so; the pages' policy lets nothing be evaluated in them again and again."""
    until = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_the_graph_zooms_by_keys(page: Page, url: str) -> None:
    page.goto(f"{url}?x=time")
    everything = marks(page)
    page.focus("#elo figure")
    page.keyboard.press("+")
    wait_until(lambda: 0 < marks(page) < everything)
    assert page.evaluate("document.activeElement.matches('#elo figure')")
    first = page.url
    assert "from=" in first
    page.keyboard.press("0")
    wait_until(lambda: marks(page) == everything)
    assert "from=" not in page.url
    page.go_back()
    wait_until(lambda: 0 < marks(page) < everything)
    assert page.url == first
    assert page.locator("#elo thead button").count() == 4  # the new table can be sorted too


def test_the_graph_zooms_by_pointer(page: Page, url: str) -> None:
    page.set_viewport_size(DESK)
    page.goto(f"{url}?x=time")
    everything = marks(page)
    low, high = (int(page.locator(".graph").get_attribute(name) or "") for name in ("data-low", "data-high"))
    page.locator(".graph").scroll_into_view_if_needed()
    box = page.locator(".graph").bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.6 * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 2, y, steps=4)
    assert page.locator(".graph .band").count() == 1
    page.mouse.up()
    wait_until(lambda: page.locator(".graph").get_attribute("data-low") != str(low))
    assert low < int(page.locator(".graph").get_attribute("data-low") or "") < high
    assert int(page.locator(".graph").get_attribute("data-high") or "") == high
    assert 0 < marks(page) < everything
    page.mouse.click(box["x"] + box["width"] / 2, y)  # no stretch
    assert page.locator(".graph .band").count() == 0


def test_an_answer_that_comes_late_is_passed_over(page: Page, url: str) -> None:
    page.goto(f"{url}?x=time")
    everything = marks(page)
    page.focus("#elo figure")
    page.keyboard.press("+")
    wait_until(lambda: 0 < marks(page) < everything)
    late: list[Any] = []
    page.route("**/*from=*", lambda route: late.append(route))
    page.keyboard.press("+")
    wait_until(lambda: marks(page) < everything and len(late) == 1)
    page.keyboard.press("0")
    wait_until(lambda: marks(page) == everything)
    late[0].continue_()
    page.wait_for_timeout(500)
    assert marks(page) == everything
    assert "from=" not in page.url


def once_gone(route: Any) -> None:
    """Has a part of a page not be there, and the page itself be."""
    if route.request.resource_type == "fetch":
        route.fulfill(status=404, body="gone")
    else:
        route.continue_()


def test_a_part_that_does_not_come_is_asked_for_as_a_page(page: Page, url: str) -> None:
    page.goto(f"{url}?x=time")
    everything = marks(page)
    page.route("**/*from=*", once_gone)
    page.focus("#elo figure")
    page.keyboard.press("+")
    wait_until(lambda: 0 < marks(page) < everything)
    assert "from=" in page.url


def test_links_of_a_node_that_runs(browser: Browser, home: Home, url: str, run: World) -> None:
    axe = (install_tools() / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
    links = (
        LinkState(
            run.peers["ada"].public, None, IN, 1_700_000_000, None, None, None, run.state.size - 3, 1_700_000_100
        ),
        LinkState(secret(0).public, "/ip4/198.51.100.9/tcp/7/p2p/x", OUT, 1_700_000_000, None, None, 1),
        LinkState(bytes([7]) * 32, "/ip4/198.51.100.8/tcp/7/p2p/x", OUT, 1_700_000_000, None, None, 1),
    )
    with answering(home, status(COORDINATING, log_size=run.state.size, links=links)):
        context = browser.new_context(viewport=PHONE, bypass_csp=True)
        page = context.new_page()
        until = time.monotonic() + 20
        while not page.locator(".map").count():
            assert time.monotonic() < until
            time.sleep(0.2)
            page.goto(f"{url}network")
        assert page.locator("[aria-labelledby=links] tbody tr").all_inner_texts()[1].split()[:3] == [
            "2",
            "contributor",
            "ada",
        ]
        text = page.inner_text("main")
        assert "3 behind" in text
        assert "198.51" not in page.content()
        assert "1 contributor" in page.locator(".map desc").inner_html()
        assert page.locator(".map .peer").count() == 3
        page.add_script_tag(content=axe)
        found: Any = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
        assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found["violations"]] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        assert page.evaluate(COLUMNS) <= 4
        page.set_viewport_size(DESK)
        page.screenshot(path=str(PICTURES / "network-running.png"), full_page=True)
        context.close()


def test_games_are_chosen(page: Page, url: str, run: World) -> None:
    page.set_viewport_size(DESK)
    page.goto(f"{url}games")
    page.select_option("#kind", "gate")
    page.fill("#release", "0")
    follow(page, "text=Show")
    rows = page.locator("tbody tr")
    assert rows.count() > 0
    assert set(rows.locator(".badge").all_inner_texts()) == {"gate"}
    page.fill("#release", "")
    page.select_option("#kind", "training")
    follow(page, "text=Show")
    games = sum(batch.header.games for batch in run.state.batches.all)
    seen = rows.count()
    while page.locator("a[rel=next]").count():
        follow(page, "a[rel=next]")
        seen += rows.count()
    assert seen == games
    follow(page, "tbody th a >> nth=0")
    assert page.inner_text("h1").startswith("Game ")


@pytest.mark.parametrize("kind", ["training", "gate"])
def test_a_game_is_stepped_through(page: Page, url: str, kind: str) -> None:
    page.set_viewport_size(DESK)
    page.goto(f"{url}games?kind={kind}")
    name = (page.get_attribute("tbody th a >> nth=0", "href") or "").rpartition("/")[2]
    page.goto(f"{url}games/{name[:8]}")
    page.wait_for_selector("#viewer:not([hidden]) .shudan-goban")
    assert page.url == f"{url}games/{name}"
    assert page.locator("details tbody tr").count() > 0
    page.keyboard.press("End")
    moves = page.locator("details tbody tr").count()
    assert f"Move {moves} of {moves}" in page.inner_text("#move")
    assert "The game ends" in page.inner_text("#move")
    page.keyboard.press("ArrowLeft")
    assert "Black's win rate" in page.inner_text("#thought")
    assert page.locator("#hints tbody tr").count() > 0
    assert page.locator(".board-discs .disc").count() + page.locator("#hints >> text=pass").count() > 0
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(PICTURES / f"game-{kind}.png"), full_page=True)
    with page.expect_download() as found:
        page.keyboard.press("s")
    assert found.value.path().read_text(encoding="utf-8").startswith("(;FF[4]")


def test_the_keyboard_is_enough(page: Page, url: str) -> None:
    page.goto(f"{url}releases")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.focus("#theme")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    page.reload()
    assert page.inner_text("#theme") == "Theme: dark"
    assert page.evaluate("getComputedStyle(document.querySelector('nav a')).minHeight") == "44px"


def test_tables_are_sorted(page: Page, url: str, run: World) -> None:
    page.set_viewport_size(DESK)
    page.goto(f"{url}releases")
    numbers = list(range(len(run.state.releases.all)))
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("No")

    def column() -> list[int]:
        return [int(text) for text in page.locator("tbody tr td:first-child").all_inner_texts()]

    assert column() == numbers[::-1]
    page.focus("thead th:first-child button")
    page.keyboard.press("Enter")
    assert column() == numbers
    assert page.locator("thead th").first.get_attribute("aria-sort") == "ascending"
    page.click("thead th:nth-child(4) button")
    assert page.locator("th[aria-sort]").count() == 1
    assert column() == numbers[::-1]


def test_what_is_not_there(browser: Browser, url: str) -> None:
    page = browser.new_page()
    page.goto(f"{url}releases/{'0' * 64}")
    assert page.inner_text("h1") == "Not here"
    follow(page, "text=To the run")
    assert page.locator(".graph").count() == 1
    page.close()


def test_the_audit_page_holds_here_too(page: Page, url: str) -> None:
    page.goto(f"{url}audit")
    page.wait_for_selector("#verdict:not([data-state=runs])", timeout=60_000)
    assert page.inner_text("#verdict").startswith("✓"), page.inner_text("main")
