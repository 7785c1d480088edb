"""The page of a game in a real browser: the board step by step, searches, graph, keys, phone, both themes, no JavaScript."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from node.web.rendering import UNKNOWN
from tests.browser.chromium import Browser, Page, launched, sync_api
from tests.browser.made_game import FIRST, MISTAKES, OPENING, Named, made_game
from tests.browser.programs import install_tools
from tests.browser.served_game import ServedGame, served_game

PHONE = {"width": 360, "height": 780}
DESK = {"width": 1280, "height": 900}
PICTURES = Path("build/pages")
END = len(FIRST)
SMALL_TARGETS = """
[...document.querySelectorAll('#viewer button, #viewer input, summary, dialog[open] button, dialog[open] label')]
  .map(each => [each.id || each.tagName, each.getBoundingClientRect()])
  .filter(([, box]) => box.width > 0 && (box.height < 44 || box.width < 44))
  .map(([name, box]) => [name, box.width, box.height])
"""
expect = sync_api.expect


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for all."""
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def site(browser: Browser) -> Iterator[ServedGame]:
    """The page; without a browser nothing is served."""
    with served_game(made_game()) as site:
        yield site


@pytest.fixture
def page(browser: Browser, site: ServedGame) -> Iterator[Page]:
    """A visitor at a desk; anything odd in the console, or asked of another host, fails the test."""
    context = browser.new_context(viewport=DESK)
    odd: list[str] = []
    context.on("console", lambda message: message.type in ("error", "warning") and odd.append(message.text))
    context.on("weberror", lambda error: odd.append(str(error.error)))
    context.on("request", lambda request: request.url.startswith(site.url) or odd.append(request.url))
    yield context.new_page()
    context.close()
    assert odd == []


def visit(page: Page, site: ServedGame, ply: int | None = None) -> None:
    """Opens the page at a position, and waits for the board."""
    page.goto(f"{site.url}{site.path}{'' if ply is None else f'#m={ply}'}")
    page.wait_for_selector("#viewer:not([hidden]) .shudan-goban")


def stones(page: Page) -> set[str]:
    """What stands where, as the screen reader's table has it."""
    cells = page.locator("#board [role=cell]").all_text_contents()
    return {cell for cell in cells if not cell.endswith(" empty")}


def shown_ply(page: Page) -> int:
    """The position that the page says it shows."""
    found = re.match(r"Move (\d+) of", page.inner_text("#move"))
    return int(found[1]) if found else 0


def test_what_a_visitor_sees(page: Page, site: ServedGame) -> None:
    visit(page, site)
    text = page.inner_text("main")
    for words in (
        "training",
        "✓ verified",
        "B+3.5",
        "komi 7,",
        "Tromp-Taylor",
        "Release 3",
        "ada",
        "Before the first of 12",
    ):
        assert words in text, text
    assert stones(page) == set()
    assert page.locator(".board .shudan-gridline").count() == 18
    assert page.locator("#graph svg.graph path.rate").get_attribute("d") is not None
    assert "drawn, not searched" in page.inner_text("#thought")


def test_steps_take_captured_stones_off(page: Page, site: ServedGame) -> None:
    visit(page, site, 6)
    assert stones(page) == {"E5 black", "E4 white", "D4 black", "A1 white", "F4 black", "A2 white"}
    page.click("#on")
    assert "Move 7 of 12: Black E3, captures 1" in page.inner_text("#move")
    assert stones(page) == {"E5 black", "D4 black", "A1 white", "F4 black", "A2 white", "E3 black"}
    assert page.locator(".shudan-sign_1.shudan-marker_circle").get_attribute("data-x") == "4"
    page.click("#back")
    assert "E4 white" in stones(page)
    page.click("#end")
    assert "The game ends: B+3.5" in page.inner_text("#move")
    page.click("#first")
    assert stones(page) == set()


def test_keys(page: Page, site: ServedGame) -> None:
    visit(page, site)
    for key, ply in (
        *(("ArrowRight", 1), ("x", 2), ("ArrowLeft", 1), ("z", 0), ("z", 0), ("End", END), ("x", END), ("Home", 0)),
        *(("n", MISTAKES[0]), ("n", MISTAKES[1]), ("n", MISTAKES[1]), ("Control+z", MISTAKES[1])),
    ):
        page.keyboard.press(key)
        assert shown_ply(page) == ply, key
    assert page.inner_text("#board [aria-live]") == "No mistake after this move"
    page.wait_for_url(lambda url: url.endswith(f"#m={MISTAKES[1]}"))
    page.reload()
    page.wait_for_selector("#viewer:not([hidden]) .shudan-goban")
    assert shown_ply(page) == MISTAKES[1]


def test_an_address_leads_to_a_move(page: Page, site: ServedGame) -> None:
    visit(page, site, 7)
    assert shown_ply(page) == 7
    page.evaluate("location.hash = '#m=9999'")
    expect(page.locator("#move")).to_contain_text(f"Move {END} of {END}")
    page.evaluate("location.hash = '#main'")
    page.wait_for_url(lambda url: url.endswith(f"#m={END}"))
    assert shown_ply(page) == END


def test_searches_are_discs_and_a_list(page: Page, site: ServedGame) -> None:
    visit(page, site, OPENING)
    assert page.locator(".board-discs .disc").count() == 3
    assert page.locator(".board-discs .disc.faint").count() == 1
    best = page.locator(".board-discs .disc.best")
    assert best.locator("text").all_text_contents() == ["50", "60"]
    assert float(best.locator("circle").get_attribute("cx") or 0) == 3.5
    assert page.locator("#hints tbody tr").all_inner_texts()[0].split("\t") == ["D4 (played)", "60", "58 %", "58 %"]
    assert page.locator("#hints tbody tr").last.inner_text().startswith("pass")
    assert "Black's win rate 50 %, White ahead by 1.0; full search, 103 visits; next D4" in page.inner_text("#thought")
    page.keyboard.press("w")
    assert page.locator(".board-discs .disc").count() == 0
    assert page.get_attribute("#discs", "aria-pressed") == "false"
    page.keyboard.press("e")
    assert page.locator("#hints").is_hidden()


def test_policy_has_six_steps(page: Page, site: ServedGame) -> None:
    visit(page, site, OPENING)
    page.keyboard.press("r")
    heat = page.locator(".board [class*=shudan-heat_]")
    found = [re.findall(r"shudan-heat_(\d)", each.get_attribute("class") or "") for each in heat.all()]
    assert sorted(found) == [["4"], ["5"], ["6"]]
    page.keyboard.press("r")
    assert heat.count() == 0
    visit(page, site, 4)
    page.reload()
    page.wait_for_selector("#viewer:not([hidden]) .shudan-goban")
    page.keyboard.press("r")
    assert heat.count() == 0
    assert page.locator("#hints tbody tr td:last-child").first.inner_text() == UNKNOWN


def test_ownership_coordinates_and_numbers(page: Page, site: ServedGame) -> None:
    visit(page, site, END)
    page.keyboard.press("t")
    assert page.locator(".board .shudan-paint_1").count() > 0
    page.keyboard.press("ArrowLeft")
    assert page.locator(".board .shudan-paint_1").count() == 0
    assert page.locator(".shudan-coordx").count() == 2
    page.keyboard.press("k")
    assert page.locator(".shudan-coordx").count() == 0
    page.keyboard.press("m")
    assert page.locator(".shudan-vertex[data-x='4'][data-y='6'] .shudan-marker").inner_text() == "7"
    assert page.locator(".shudan-vertex .shudan-marker").count() == END - 3


def test_the_graph_goes_to_a_move(page: Page, site: ServedGame) -> None:
    visit(page, site)
    graph = page.locator("#graph svg.graph")
    label = graph.get_attribute("aria-label") or ""
    assert "over 12 moves; after move 0: nothing was searched here" in label
    box = graph.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 48 + (box["width"] - 92) * 6 / END, box["y"] + 60)
    assert shown_ply(page) == 6
    assert "after move 6: 75 % and +4 points" in (graph.get_attribute("aria-label") or "")
    ticks = page.locator("#graph .tick").all_text_contents()
    assert ticks[:6] == ["0 %", "\N{MINUS SIGN}5", "50 %", "0", "100 %", "+5"]
    curve = page.locator("#graph svg.graph path.score").get_attribute("d") or ""
    assert curve.count("L") == END - OPENING - 1


def test_a_screen_reader_hears_moves_alone(page: Page, site: ServedGame) -> None:
    visit(page, site)
    live = page.locator("[aria-live]")
    assert live.count() == 1
    assert live.inner_text() == ""
    page.keyboard.press("ArrowRight")
    assert live.inner_text() == "Move 1 of 12: Black E5"
    page.keyboard.press("r")
    assert live.inner_text() == "Move 1 of 12: Black E5"
    page.focus("#ply")
    page.keyboard.press("ArrowRight")
    assert page.get_attribute("#ply", "aria-valuetext") == "Move 2 of 12: White E4"
    assert page.locator("#board [role=row]").count() == 9


def test_help_and_letters(page: Page, site: ServedGame) -> None:
    visit(page, site)
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("x")
    assert shown_ply(page) == 0
    page.uncheck("#letters")
    page.keyboard.press("Escape")
    assert page.locator("#keys").is_hidden()
    page.keyboard.press("x")
    assert shown_ply(page) == 0
    page.keyboard.press("ArrowRight")
    assert shown_ply(page) == 1
    page.click("#help")
    page.check("#letters")
    page.click("#keys button")
    page.keyboard.press("x")
    assert shown_ply(page) == 2


def test_sgf_is_a_key_away(page: Page, site: ServedGame) -> None:
    visit(page, site)
    with page.expect_download() as found:
        page.keyboard.press("s")
    assert found.value.url == f"{site.url}{site.path}.sgf"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_it(browser: Browser, site: ServedGame, scheme: str) -> None:
    axe = (install_tools() / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name, size in (("phone", PHONE), ("desk", DESK)):
        context = browser.new_context(viewport=size, color_scheme=scheme, bypass_csp=True)
        page = context.new_page()
        visit(page, site, 6)
        page.keyboard.press("r")
        page.screenshot(path=str(PICTURES / f"game-{name}-{scheme}.png"), full_page=True)
        page.click("summary")
        page.add_script_tag(content=axe)
        for opened in (False, True):
            if opened:
                page.click("#help")
            found: Any = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
            told = [(each["id"], each["impact"], each["nodes"][0]["html"][:200]) for each in found["violations"]]
            assert told == [], name
            assert page.evaluate(SMALL_TARGETS) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], name
        context.close()


def test_without_javascript_the_moves_are_text(browser: Browser, site: ServedGame) -> None:
    context = browser.new_context(viewport=PHONE, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site.url}{site.path}")
    assert page.locator("#viewer").is_hidden()
    page.click("summary")
    rows = page.locator("details tbody tr").all_inner_texts()
    assert len(rows) == END
    assert " ".join(rows[6].split()) == "7 Black E3 captures E4 75 % +4.0 103"
    assert " ".join(rows[0].split()) == f"1 Black E5 {UNKNOWN} {UNKNOWN} {UNKNOWN}"
    assert page.get_attribute("main a[download]", "href") == f"{site.path}.sgf"
    context.close()


def test_a_game_of_a_gate_names_both_sides(browser: Browser) -> None:
    values = {
        "kind": "gate",
        "fate": None,
        "unix_s": None,
        "fault": "Move 13 (A1) is illegal: occupied.",
        "black": Named(name="candidate 40", release=None, id=None, candidate=40),
        "white": Named(name="third", release=3, id=b"\3" * 32, candidate=None),
        "contributor": Named(key=b"\x09" * 32, name="verifier-0", is_contributor=False),
        "ownership": (),
    }
    with served_game(made_game(**values)) as site:
        page = browser.new_page(viewport=DESK)
        visit(page, site, END)
        text = " ".join(page.inner_text("main").split())
        for words in (
            "gate B+3.5",
            "Black Candidate of entry 40",
            "White Release 3 third",
            "Played by verifier-0 Logged time",
        ):
            assert words in text, text
        assert "Move 13 (A1) is illegal: occupied." in text
        assert page.locator("#owners").is_hidden()
        page.keyboard.press("t")
        assert page.locator(".board .shudan-paint_1").count() == 0
        page.close()


def test_a_game_that_cannot_be_read_says_so(browser: Browser, site: ServedGame) -> None:
    page = browser.new_page()
    page.route("**/api/v1/**", lambda route: route.fulfill(status=503, body="{}"))
    page.goto(f"{site.url}{site.path}")
    expect(page.locator("#fault")).to_contain_text("the server answers 503.")
    assert page.locator("#viewer").is_hidden()
    page.close()


def test_a_big_board_fits_a_phone(browser: Browser) -> None:
    game = made_game(("Q16", "D4", "K10", "T1", "A19"), size=19)
    with served_game(game) as site:
        page = browser.new_page(viewport=PHONE)
        visit(page, site, 5)
        assert {"Q16 black", "T1 white", "A19 black"} <= stones(page)
        box = page.locator(".board-frame").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE["width"]
        PICTURES.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(PICTURES / "game-19-phone.png"), full_page=True)
        page.close()
