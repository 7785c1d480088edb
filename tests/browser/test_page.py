"""The audit page in a real browser: an honest run holds, what is changed fails by name, and the page asks nobody else."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from node.web.site import SERVED_ONLY
from protocol.envelope import Envelope
from protocol.layout import CHECKPOINT, MANIFEST
from protocol.orders import VoidEpoch
from protocol.ticket import Ticket
from protocol.window import WindowCommitment
from tests.browser.chromium import Browser, Page, launched
from tests.browser.programs import STATIC, install_tools
from tests.browser.rewritten import doubtful
from tests.browser.served_site import ServedSite, served
from tests.interop.test_vectors import read
from tests.verification.world import World

ALL = ["run", "log", "signatures", "head", "seen", "release", "gate", "window", "chain", "statement", "replay"]
WORDS = {"pass": "✓ holds", "fail": "✗ fails", "none": "○ not checked", "open": "? not decided"}
PHONE = {"width": 360, "height": 780}


@pytest.fixture(scope="module")
def public(world: World) -> dict[str, bytes]:
    """Its public folder."""
    return world.public()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for all."""
    with launched() as browser:
        yield browser


@pytest.fixture
def site(public: dict[str, bytes]) -> Iterator[ServedSite]:
    """The page beside the honest folder."""
    with served() as site:
        site.show(public)
        yield site


@pytest.fixture
def page(browser: Browser, site: ServedSite) -> Iterator[Page]:
    """A visitor who was never here; anything odd in the console, or asked of another host, fails the test."""
    context = browser.new_context(viewport=PHONE)
    odd: list[str] = []
    context.on(
        "console", lambda message: message.type == "error" and "404" not in message.text and odd.append(message.text)
    )
    context.on("weberror", lambda error: odd.append(str(error.error)))
    context.on("request", lambda request: request.url.startswith(site.url) or odd.append(request.url))
    yield context.new_page()
    context.close()
    assert odd == []


def answers(page: Page, url: str = "") -> dict[str, tuple[str, str]]:
    """State and sentence of each step, once all are answered."""
    if url:
        page.goto(url)
    page.wait_for_selector("#verdict:not([data-state=runs])", timeout=30_000)
    found = {}
    for name in ALL:
        step = page.locator(f"#step-{name}")
        state = step.get_attribute("data-state") or ""
        assert step.locator(".state").inner_text() == WORDS[state], name
        found[name] = (state, step.locator(".sentence").inner_text())
    return found


def states(found: dict[str, tuple[str, str]], state: str) -> list[str]:
    """The steps in a state."""
    return [name for name, (each, _) in found.items() if each == state]


def test_an_honest_run_holds(page: Page, site: ServedSite, world: World) -> None:
    found = answers(page, site.url)
    assert states(found, "none") == ["seen", "replay"], found
    assert states(found, "fail") == []
    assert page.inner_text("#verdict") == "✓ Everything that a browser can check holds."
    assert page.inner_text("#about") == "9 checks of 11 hold, 2 could not be made here."
    assert world.run.hex()[:16] in found["run"][1]
    assert f"{world.state.size} entries" in found["log"][1]
    assert world.state.release.name in found["release"][1]
    assert "gonode audit --url " + site.url in page.inner_text("#command")
    assert "could as well send a page that says yes" in page.inner_text(".trust")
    origin = page.inner_text("#origin")
    assert all(word in origin for word in ("ada", "bob", "Release 0", world.state.release.name)), origin
    page.locator("#step-signatures summary").click()
    assert "WebCrypto" in page.inner_text("#step-signatures dl")
    assert not [path for path in site.asked if "blob" in path]


def test_the_head_is_kept_and_compared(page: Page, site: ServedSite, world: World) -> None:
    answers(page, site.url)
    again = answers(page, site.url)
    assert again["seen"] == ("pass", "The log goes on from 1 head that this browser saw before.")
    fork = World()
    fork.register("ada")
    fork.register("eve")
    while fork.state.size <= world.state.size:
        fork.ticks(1)
    assert fork.run == world.run
    site.show(fork.public())
    other = answers(page, site.url)
    assert states(other, "fail") == ["seen"]
    assert "it forked" in other["seen"][1]
    assert page.inner_text("#verdict") == "✗ Not to be believed: seen before."
    site.show(world.public())
    assert answers(page, site.url)["seen"][0] == "pass", "a head that was refused was kept"


def test_each_release_can_be_chosen(page: Page, site: ServedSite, world: World) -> None:
    answers(page, site.url)
    first = world.state.releases.all[1]
    page.select_option("#release", "1")
    page.wait_for_selector(f"#step-release .sentence:has-text('{first.name}')")
    page.wait_for_selector("#origin tr[aria-current] >> text=Release 1")
    found = answers(page)
    assert states(found, "fail") == []
    assert "2 releases" in found["chain"][1]
    zero = answers(page, f"{site.url}?again#release=0")
    assert states(zero, "pass") == ["run", "log", "signatures", "head", "seen", "chain"]
    assert "drawn from the manifest" in zero["chain"][1]


def flipped(data: bytes, at: int) -> bytes:
    """A byte changed."""
    at %= len(data)
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def test_what_is_changed_fails_by_name(page: Page, site: ServedSite, public: dict[str, bytes]) -> None:
    first, second = sorted(path for path in public if path.startswith("release/"))
    bundle = next(path for path in public if path.startswith("tile/entries/"))
    hashes = next(path for path in public if path.startswith("tile/0/"))
    note = public[CHECKPOINT]
    root_hash = note.index(b"\n", note.index(b"\n") + 1) + 3
    changes = [
        (bundle, flipped(public[bundle], 100), "log", f"File {bundle}: entry 0 "),
        (hashes, flipped(public[hashes], -1), "log", f"File {hashes}: the hash tile does not fit"),
        (CHECKPOINT, flipped(note, root_hash), "log", "File checkpoint"),
        (CHECKPOINT, note[:-20] + b"A" + note[-19:], "head", "File checkpoint"),
        (MANIFEST, flipped(public[MANIFEST], 900), "signatures", "File manifest is not the entry"),
        (second, public[first], "release", f"File {second} is not the entry that the log holds."),
    ]
    for path, data, step, sentence in changes:
        site.show({**public, path: data})
        found = answers(page, site.url)
        assert found[step][0] == "fail", (path, found)
        assert sentence in found[step][1], (path, found)
        assert page.inner_text("#verdict").startswith("✗ Not to be believed: ")
        assert states(found, "none")
    page.locator("#step-release summary").click()
    told = page.inner_text("#step-release dl")
    assert "differs" in told
    assert public[first].hex() in told
    assert public[second].hex() in told
    site.show(public)
    assert states(answers(page, site.url), "fail") == []


def test_a_ticket_says_which_run_is_meant(page: Page, site: ServedSite, world: World) -> None:
    answers(page, site.url)

    def submit(text: str) -> None:
        page.fill("#ticket", text)
        page.click("#expect button")

    submit(Ticket(world.run, world.root.digest(), ()).encode())
    page.wait_for_selector("#step-run .sentence:has-text('It is the one that you mean.')")
    answers(page)
    submit(Ticket(b"\1" * 32, world.root.digest(), ()).encode())
    page.wait_for_selector("#step-run[data-state=fail]")
    found = answers(page)
    assert "not 0101010101010101" in found["run"][1]
    assert states(found, "pass") == ["log"]
    submit("gonode1abc")
    assert "typing error" in page.inner_text("#expect-fault")
    assert states(answers(page, f"{site.url}?other#run={'ab' * 32}"), "fail") == ["run"]


def test_without_webcrypto_the_answers_are_the_same(page: Page, site: ServedSite) -> None:
    page.add_init_script("Object.defineProperty(Crypto.prototype, 'subtle', { value: undefined })")
    found = answers(page, site.url)
    assert states(found, "fail") == []
    assert len(states(found, "pass")) == 9
    page.locator("#step-signatures summary").click()
    assert "JavaScript, for WebCrypto has no Ed25519 here" in page.inner_text("#step-signatures dl")


def test_this_browser_refuses_foreign_forgeries(page: Page, site: ServedSite) -> None:
    page.goto(site.url)
    vectors = read("ed25519/cctv/ed25519vectors.json")
    program = """async (vectors) => {
      const { verify } = await import('./static/ed25519.js')
      const { unhex, utf8 } = await import('./static/bytes.js')
      const holds = ({ key, msg, sig }) => verify(unhex(key), utf8(msg), unhex(sig)).then(() => true, () => false)
      return Promise.all(vectors.map(holds))
    }"""
    passing = {"low_order_component_A", "low_order_component_R"}
    assert page.evaluate(program, vectors) == [set(each["flags"] or ()) <= passing for each in vectors]


def test_what_is_not_decided_is_said_first(
    page: Page, site: ServedSite, world: World, public: dict[str, bytes]
) -> None:
    window = world.state.windows[-1]
    narrower = WindowCommitment.open(Envelope.parse(world.entries[window.index]))
    narrower = replace(narrower, games=narrower.games - 1)
    void = VoidEpoch(world.run, world.verifiers[0].public, 0)
    changes = doubtful(world, void, window.index - 4, narrower)
    site.show({**public, **{path: data for path, data in changes.items() if data is not None}})
    found = answers(page, site.url)
    assert states(found, "open") == ["window"]
    assert states(found, "fail") == []
    assert page.inner_text("#verdict") == "? Not decided: training window."
    assert "gonode audit decides it" in page.inner_text("#about")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_it(browser: Browser, site: ServedSite, public: dict[str, bytes], scheme: str) -> None:
    axe = (install_tools() / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
    context = browser.new_context(viewport=PHONE, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    second = sorted(path for path in public if path.startswith("release/"))[-1]
    site.show({**public, second: public[second][:-1]})
    assert states(answers(page, site.url), "fail") == ["release"]
    for summary in page.locator("summary").all():
        summary.click()
    page.add_script_tag(content=axe)
    found: Any = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    told = [(each["id"], each["impact"], each["nodes"][0]["html"][:200]) for each in found["violations"]]
    assert told == []
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    context.close()


def test_the_keyboard_is_enough(page: Page, site: ServedSite) -> None:
    answers(page, site.url)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('li').id") == "step-run"
    page.keyboard.press("Enter")
    assert page.locator("#step-run details").get_attribute("open") is not None
    page.focus("#theme")
    page.keyboard.press("Enter")
    assert page.inner_text("#theme") == "Theme: light"
    page.keyboard.press("Enter")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    page.reload()
    assert page.inner_text("#theme") == "Theme: dark"


def test_the_page_is_all_that_is_there(site: ServedSite) -> None:
    everything = {path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*") if path.is_file()}
    modules = {f"static/{path}" for path in everything if not path.startswith(SERVED_ONLY)}
    assert set(site.pages) == modules | {"index.html"}
