"""A game against a release in a real browser: by mouse and by keyboard, to a score, kept across a reload, on a phone."""

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from node.disk.blob_store import BlobStore
from node.exchange.sgf_reader import parse_record
from node.exchange.values import vertex
from tests.browser.chromium import Browser, Page, launched
from tests.browser.programs import install_tools
from tests.browser.shown_run import shown_run
from tests.browser.test_pages import DESK, PHONE, PICTURES, status_of
from tests.node.homes import grown_world, make_home

SIZE = 7
NEWEST = grown_world().state.release
OLDER = grown_world().state.releases.all[1]
IDLE = "document.querySelector('#game').ariaBusy === 'false'"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for all."""
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def url(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The pages of a node that has lost the network of release 1."""
    home = make_home(grown_world(), tmp_path_factory.mktemp("played") / "node")
    BlobStore(home.public).delete(OLDER.network_blob)
    with shown_run(home) as url:
        while status_of(f"{url}api/v1/releases") == 503:
            time.sleep(0.1)
        yield url


@pytest.fixture
def page(browser: Browser, url: str) -> Iterator[Page]:
    """A visitor who has not played here; anything odd in the console, or asked of another host, fails the test."""
    context = browser.new_context(viewport=DESK)
    odd: list[str] = []
    context.on(
        "console",
        lambda message: (
            message.type == "error" and not re.search("status of (422|500)", message.text) and odd.append(message.text)
        ),
    )
    context.on("weberror", lambda error: odd.append(str(error.error)))
    context.on("request", lambda request: request.url.startswith((url, "blob:")) or odd.append(request.url))
    yield context.new_page()
    context.close()
    assert odd == []


def until(page: Page, condition: str) -> None:
    """Waits until a condition of the page holds; its policy forbids it to look by itself."""
    deadline = time.monotonic() + 60
    while not page.evaluate(condition):
        assert time.monotonic() < deadline, (condition, page.inner_text("main"))
        page.wait_for_timeout(30)


def begin(page: Page, url: str, *, visits: int = 16, colour: str = "Black, who begins", komi: str = "") -> None:
    """A new game on the run's board."""
    page.goto(f"{url}play/latest")
    page.select_option("#visits", str(visits))
    page.get_by_label(colour, exact=True).check()
    if komi:
        page.fill("#komi", komi)
    page.click("#new button[type=submit]")
    turn(page, "Black" if colour.startswith("Black") else "White")


def turn(page: Page, colour: str) -> None:
    """Waits until the visitor may move and nothing that was asked before is still to be answered."""
    until(page, f"document.querySelector('#status').textContent === 'Your move, {colour}' && {IDLE}")


@contextmanager
def answered(page: Page) -> Iterator[None]:
    """Waits for the release's answer to the move in the block, or for the end of the game."""
    before = len(kept(page)["moves"])
    yield
    until(
        page,
        f"JSON.parse(localStorage.getItem('gonode/play/{NEWEST.id.hex()}')).moves.length > {before} && "
        f"/^Your move|wins by|resigns/.test(document.querySelector('#status').textContent) && {IDLE}",
    )


def stones(page: Page) -> dict[str, str]:
    """What a screen reader reads on the board: the points with stones."""
    cells = page.locator("#board [role=grid] [role=gridcell], #board [role=table] [role=cell]").all_text_contents()
    assert len(cells) == SIZE * SIZE
    return {point: state for point, state in (cell.split(" ", 1) for cell in cells) if state != "empty"}


def click(page: Page, point: int) -> None:
    """A click on a point."""
    box = page.locator("#board .board-discs").bounding_box()
    assert box is not None
    row, column = divmod(point, SIZE)
    page.mouse.click(box["x"] + (column + 0.5) * box["width"] / SIZE, box["y"] + (row + 0.5) * box["height"] / SIZE)


def kept(page: Page) -> dict[str, Any]:
    """The game as the browser keeps it."""
    found: dict[str, Any] = json.loads(page.evaluate(f"localStorage.getItem('gonode/play/{NEWEST.id.hex()}')"))
    return found


def keep(page: Page, url: str, moves: list[int], human: int = 1) -> None:
    """A visitor who played these moves before."""
    page.goto(f"{url}releases")
    game = {"size": SIZE, "komi": 8.5, "human": human, "visits": 16, "moves": moves, "resigned": 0}
    page.evaluate(f"text => localStorage.setItem('gonode/play/{NEWEST.id.hex()}', text)", json.dumps(game))
    page.goto(f"{url}play/latest")


def picture(page: Page, name: str) -> None:
    """Kept for people."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(PICTURES / f"{name}.png"), full_page=True)


def test_from_a_release_to_a_score_by_mouse(page: Page, url: str) -> None:
    page.goto(url)
    page.click("main >> text=Play against it")
    assert page.inner_text("h1") == f"Play against release {NEWEST.number}"
    assert "not training data" in page.inner_text("main")
    page.wait_for_selector("#new", state="visible")
    assert page.input_value("#size") == str(SIZE)
    assert page.input_value("#visits") == "100"
    picture(page, "play-new")
    page.select_option("#visits", "32")
    page.click("text=Start")
    for point in (24, 16, 32):
        turn(page, "Black")
        before = stones(page)
        if vertex(point, SIZE, SIZE) in before:
            continue
        with answered(page):
            click(page, point)
        assert vertex(point, SIZE, SIZE) in stones(page)
        assert len(stones(page)) >= len(before)
    moves = kept(page)["moves"]
    assert moves[0] == 24
    assert len(moves) % 2 == 0
    picture(page, "play")
    while page.is_enabled("#pass"):
        with answered(page):
            page.click("#pass")
    told = page.inner_text("#status")
    assert " wins by " in told, told
    moves = kept(page)["moves"]
    assert told.startswith("Both passed") == (moves[-2:] == [49, 49])
    picture(page, "play-over")
    with page.expect_download() as caught:
        page.click("#sgf")
    record = parse_record(Path(caught.value.path()).read_bytes())
    assert [move.point for move in record.moves] == moves
    assert (record.rows, record.komi_half, record.rules) == (SIZE, int(2 * kept(page)["komi"]), "Tromp-Taylor")
    winner = "B" if "Black wins" in told else "W"
    assert record.result == f"{winner}+{float(told.split(' wins by ')[1].split(',')[0]):g}"
    assert record.black == "Visitor"
    assert NEWEST.name in record.white


def test_the_keyboard_is_enough(page: Page, url: str) -> None:
    page.goto(f"{url}play/latest")
    page.select_option("#visits", "16")
    page.focus("#new button[type=submit]")
    page.keyboard.press("Enter")
    turn(page, "Black")
    page.focus("#board [role=grid]")
    page.keyboard.press("Enter")  # the middle of the board
    until(page, "document.querySelector('#board [aria-live]').textContent.includes('White ')")
    turn(page, "Black")
    said = page.inner_text("#board [aria-live]")
    assert said.startswith("White ")
    assert said.endswith("Your move, Black")
    assert stones(page)["D4"] == "black"
    assert page.evaluate("document.activeElement.getAttribute('role')") == "grid", "the cursor stays where it was"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.querySelector('#board .cursor') !== null")
    picture(page, "play-keyboard")


def test_a_game_is_kept_and_undone(page: Page, url: str) -> None:
    begin(page, url, visits=8, colour="White", komi="0.5")
    first = kept(page)
    assert (first["human"], first["komi"], len(first["moves"])) == (-1, 0.5, 1)
    assert page.is_disabled("#undo")
    point = next(each for each in (0, 6) if each not in first["moves"])
    with answered(page):
        click(page, point)
    before = stones(page)
    page.reload()
    turn(page, "White")
    assert stones(page) == before
    assert kept(page)["moves"][1] == point
    page.click("#undo")
    turn(page, "White")
    assert kept(page)["moves"] == first["moves"]
    assert vertex(point, SIZE, SIZE) not in stones(page)
    page.click("#resign")
    until(page, "document.querySelector('#status').textContent === 'You resigned: Black wins'")
    assert page.is_disabled("#pass")
    page.reload()
    until(page, "document.querySelector('#status').textContent === 'You resigned: Black wins'")
    page.click("#undo")
    turn(page, "White")
    page.click("#another")
    assert page.is_visible("#new")
    page.click("#back")
    assert page.is_visible("#board")


def test_a_move_that_is_not_allowed_is_explained(page: Page, url: str) -> None:
    keep(page, url, [24, 1, 26, 7])
    turn(page, "Black")
    click(page, 0)
    until(page, "document.querySelector('#refusal').textContent !== ''")
    assert page.inner_text("#refusal") == "Move 5, A7, is not allowed: the stone would have no liberty."
    assert page.is_hidden("#again")
    assert kept(page)["moves"] == [24, 1, 26, 7]
    assert "A7" not in stones(page)
    with answered(page):
        click(page, 40)
    assert page.inner_text("#refusal") == ""
    assert kept(page)["moves"][4] == 40


def test_analysis_shows_what_the_release_thinks(page: Page, url: str) -> None:
    begin(page, url, visits=64)
    assert page.is_hidden("#thought")
    page.get_by_label("Analysis").check()
    page.wait_for_selector("#candidates tr")
    assert "Black to move. Black wins " in page.inner_text("#standing")
    visits = [int(text) for text in page.locator("#candidates td:nth-child(2)").all_inner_texts()]
    assert visits == sorted(visits, reverse=True)
    assert 0 < sum(visits) < 64
    assert page.locator("#board .disc.best").count() == 1
    picture(page, "play-analysis")
    with answered(page):
        click(page, 24)
    page.wait_for_selector("#candidates tr")
    page.get_by_label("Analysis").uncheck()
    page.wait_for_selector("#thought", state="hidden")
    assert page.locator("#board .disc").count() == 0


def test_a_server_that_is_gone_loses_no_game(page: Page, url: str) -> None:
    begin(page, url)
    page.route(
        "**/api/v1/play/*",
        lambda route: route.fulfill(status=500, content_type="application/json", body='{"error": "A fault."}'),
    )
    click(page, 24)
    page.wait_for_selector("#again", state="visible")
    assert page.inner_text("#refusal") == "A fault."
    assert kept(page)["moves"] == []
    page.unroute("**/api/v1/play/*")
    page.click("#again")
    turn(page, "Black")
    assert page.inner_text("#refusal") == ""
    with answered(page):
        click(page, 24)


def test_a_network_that_is_not_here(page: Page, url: str) -> None:
    page.goto(f"{url}releases/{OLDER.id.hex()}")
    page.click("main >> text=Play against it")
    assert f"The network of release {OLDER.name} is not in this node's directory" in page.inner_text("main")
    assert page.locator("form").count() == 0
    page.click("main >> text=release 0")
    assert page.inner_text("h1") == "Play against release 0"
    page.select_option("#visits", "8")
    page.click("text=Start")
    turn(page, "Black")
    click(page, 24)
    until(page, "document.querySelector('#course').textContent.includes('move 2')")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_play(browser: Browser, url: str, scheme: str) -> None:
    axe = (install_tools() / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
    context = browser.new_context(viewport=PHONE, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()

    def judged(name: str) -> None:
        page.add_script_tag(content=axe)
        found: Any = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
        assert [(each["id"], each["impact"], each["nodes"][0]["html"][:200]) for each in found["violations"]] == [], (
            name
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], name
        picture(page, f"{name}-phone-{scheme}")

    page.goto(f"{url}play/latest")
    page.wait_for_selector("#new", state="visible")
    judged("play-new")
    keep(page, url, [24, 16, 32, 18, 10, 26])
    turn(page, "Black")
    page.get_by_label("Analysis").check()
    page.wait_for_selector("#candidates tr")
    judged("play")
    keep(page, url, [24, 16, 49, 49])
    until(page, "document.querySelector('#status').textContent.includes(' wins by ')")
    judged("play-over")
    page.goto(f"{url}play/{OLDER.id.hex()}")
    judged("play-not-here")
    context.close()
