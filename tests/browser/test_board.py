"""The board alone in a real browser: played on by mouse, finger and keyboard, and what it shows besides stones."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import Browser, Page, launched
from tests.browser.made_game import made_game
from tests.browser.programs import install_tools
from tests.browser.served_game import ServedGame, served_game

DESK = {"width": 900, "height": 900}
PHONE = {"width": 360, "height": 780}
PICTURES = Path("build/pages")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for all."""
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def site(browser: Browser) -> Iterator[ServedGame]:
    """A board to play on; without a browser nothing is served."""
    with served_game(made_game()) as site:
        yield site


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A visitor at a desk; anything odd in the console fails the test."""
    context = browser.new_context(viewport=DESK)
    odd: list[str] = []
    context.on("console", lambda message: message.type in ("error", "warning") and odd.append(message.text))
    context.on("weberror", lambda error: odd.append(str(error.error)))
    yield context.new_page()
    context.close()
    assert odd == []


def visit(page: Page, site: ServedGame, query: str = "") -> None:
    """Opens the board."""
    page.goto(f"{site.url}/board?{query}")
    page.wait_for_selector(".shudan-goban")


def test_a_mouse_plays(page: Page, site: ServedGame) -> None:
    visit(page, site)
    page.hover("[data-x='2'][data-y='6']")
    assert page.locator(".ghost.black").get_attribute("cx") == "2.5"
    page.click("[data-x='2'][data-y='6']")
    assert page.inner_text("#played") == "Played: C3"
    assert page.inner_text("[aria-live]") == "Black C3"
    page.click("[data-x='2'][data-y='6']")
    page.click("[data-x='0'][data-y='0']")
    assert page.inner_text("#played") == "Played: C3 A9"
    assert page.inner_text("[aria-live]") == "White A9"


@pytest.mark.parametrize("query", ["size=7&coordinates=no", "size=13", "size=19"])
def test_corners_are_where_they_look(page: Page, site: ServedGame, query: str) -> None:
    visit(page, site, query)
    size = int(query.partition("=")[2].partition("&")[0])
    page.click(f"[data-x='{size - 1}'][data-y='{size - 1}']", position={"x": 2, "y": 2})
    page.click("[data-x='0'][data-y='0']", position={"x": 2, "y": 2})
    column = "ABCDEFGHJKLMNOPQRST"[size - 1]
    assert page.inner_text("#played") == f"Played: {column}1 A{size}"
    ghost = page.locator(".board-discs").bounding_box()
    vertices = page.locator(".shudan-vertices").bounding_box()
    assert ghost is not None
    assert vertices is not None
    assert all(abs(ghost[name] - vertices[name]) < 1.5 for name in ("x", "y", "width", "height")), (ghost, vertices)


def test_the_keyboard_plays(page: Page, site: ServedGame) -> None:
    visit(page, site)
    page.keyboard.press("Tab")
    grid = page.locator("[role=grid]")
    assert grid.evaluate("each => each === document.activeElement")
    for key in ("ArrowUp", "ArrowLeft", *["ArrowLeft"] * 9):
        page.keyboard.press(key)
    assert page.locator(f"[id='{grid.get_attribute('aria-activedescendant')}']").text_content() == "A6 empty"
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    assert page.inner_text("#played") == "Played: A6 B6"
    assert page.locator("[role=gridcell]").nth(27).text_content() == "A6 black"
    assert page.locator(".board-discs .cursor").count() == 1
    page.screenshot(path=str(folder() / "board-keyboard.png"))


def test_a_finger_chooses_first_where_points_are_small(browser: Browser, site: ServedGame) -> None:
    context = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    page = context.new_page()
    visit(page, site, "size=19")
    page.tap("[data-x='3'][data-y='3']")
    assert page.inner_text("#played") == "Played:"
    assert page.locator(".ghost.black").count() == 1
    page.tap("[data-x='4'][data-y='3']")
    page.tap("[data-x='4'][data-y='3']")
    assert page.inner_text("#played") == "Played: E16"
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_signs_are_shown_and_judged(browser: Browser, site: ServedGame, scheme: str) -> None:
    context = browser.new_context(viewport=DESK, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    visit(page, site, "discs=1")
    assert page.locator(".disc.best text").all_text_contents() == ["50", "1.2k"]
    page.screenshot(path=str(folder() / f"board-discs-{scheme}.png"))
    visit(page, site, "heat=1&discs=1&ownership=1")
    assert page.locator(".disc.best text").all_text_contents() == ["50"]
    assert page.locator(".disc.faint text").count() == 0
    assert {page.locator(f".shudan-heat_{step}").count() for step in range(1, 7)} == {11, 12}
    assert page.locator(".shudan-paint_1").count() == page.locator(".shudan-paint_-1").count() == 27
    page.add_script_tag(content=(install_tools() / "axe-core" / "axe.min.js").read_text(encoding="utf-8"))
    found: Any = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found["violations"]] == []
    page.screenshot(path=str(folder() / f"board-signs-{scheme}.png"))
    context.close()


def folder() -> Path:
    """Where pictures go."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    return PICTURES
