"""The page: well formed, complete for who sees no chart, in both themes, and it loads nothing. The picture: a PNG."""

import re
import struct
import sys
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from node.disk.home import Home
from node.reports.chart import Chart
from node.reports.charts import charts_of
from node.reports.drawing import DARK, LIGHT, MatplotlibMissing, Palette, to_png, to_svg
from node.reports.facts import RunFacts
from node.reports.gathering import gather
from node.reports.page import to_html

VOID = {"meta", "br", "link", "img", "input", "hr"}
NAMES = [
    "strength",
    "policy-loss",
    "value-loss",
    "data",
    "rate",
    "length",
    "balance",
    "rounding",
    "same-move",
    "windows",
    "contributors",
    "verification",
]


class Page(HTMLParser):
    """What a page is made of; raises AssertionError where a tag is not closed in its turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.text: dict[str, str] = {}
        self._ids: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attributes}
        self.tags.append((tag, found))
        if tag not in VOID:
            self.open.append(tag)
            self._ids.append(found.get("id", ""))

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attributes}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self._ids.pop()

    def handle_data(self, data: str) -> None:
        for name in filter(None, self._ids):
            self.text[name] = self.text.get(name, "") + data

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def facts(home: Home) -> RunFacts:
    return gather(home, 1000)


@pytest.fixture(scope="module")
def charts(facts: RunFacts) -> list[Chart]:
    return charts_of(facts)


@pytest.fixture(scope="module")
def text(facts: RunFacts, charts: list[Chart]) -> str:
    return to_html(facts, charts)


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def test_every_chart_is_there(page: Page, charts: list[Chart]) -> None:
    assert [chart.name for chart in charts] == NAMES
    assert [section["id"] for section in page.all("section")] == NAMES
    assert len(page.all("svg")) == len(page.all("figure")) == len(page.all("table")) == len(NAMES)


def test_every_chart_has_a_text_in_its_place(page: Page, charts: list[Chart]) -> None:
    pictures = [each for each in page.all("div") if each.get("role") == "img"]
    assert len(pictures) == len(charts)
    for picture, svg, chart in zip(pictures, page.all("svg"), charts, strict=True):
        assert page.text[picture["aria-labelledby"]] == chart.summary
        assert len(chart.summary) > 40
        assert svg["aria-hidden"] == "true"


def test_every_chart_has_its_numbers(page: Page, charts: list[Chart]) -> None:
    for chart in charts:
        assert chart.rows
        assert all(len(row) == len(chart.head) for row in chart.rows)
        for cell in {*chart.head, *chart.rows[-1]}:
            assert cell in page.text[chart.name]
    assert sum(each["scope"] == "col" for each in page.all("th")) == sum(len(chart.head) for chart in charts)
    assert len(page.all("caption")) == len(charts)


def test_ids_are_used_once_and_lead_somewhere(page: Page) -> None:
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    uses = [attributes["xlink:href"] for _, attributes in page.tags if "xlink:href" in attributes]
    clips = [m for _, each in page.tags for m in re.findall(r"url\((.*?)\)", each.get("clip-path", ""))]
    assert uses
    assert clips
    assert all(target.startswith("#") and target[1:] in ids for target in (*uses, *clips))


def test_nothing_is_loaded(page: Page, text: str) -> None:
    assert not {"script", "link", "img", "iframe", "object", "embed", "image", "base"} & {tag for tag, _ in page.tags}
    addresses = {"src", "srcset", "href", "xlink:href", "action", "data", "poster"}
    loaded = [value for _, each in page.tags for name, value in each.items() if name in addresses]
    assert all(value.startswith("#") for value in loaded)
    assert "@import" not in text
    assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", text))
    names = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert set(re.findall(r"https?://[^\"' <>]*", text)) == names  # of languages, which nobody fetches
    (policy,) = [each["content"] for each in page.all("meta") if "http-equiv" in each]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_it_is_made_for_phones_and_both_themes(page: Page, text: str) -> None:
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in page.all("meta")
    assert "@media(prefers-color-scheme:dark)" in text
    for svg in page.all("svg"):
        assert "width" not in svg
        assert "height" not in svg
        assert svg["viewbox"].startswith("0 0 ")
    body = text.split("<body>")[1]
    assert re.findall(r"#[0-9a-f]{6}\b", body) == []  # every colour is the page's own
    assert set(re.findall(r"var\((--[a-z0-9-]+)\)", body)) <= set(re.findall(r"(--[a-z0-9-]+):", text))


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(("palette", "card"), [(LIGHT, "#f5f6f7"), (DARK, "#1b1e21")], ids=["light", "dark"])
def test_colours_are_seen(palette: Palette, card: str, text: str) -> None:
    """Contrast as WCAG 2 has it: 4.5 for words and lines that carry numbers."""
    assert f"--card:{card}" in text
    for colour in (palette.ink, *palette.series):
        low, high = sorted((luminance(colour), luminance(card)))
        assert (high + 0.05) / (low + 0.05) >= 4.5, colour


def test_words_of_others_are_no_markup(facts: RunFacts) -> None:
    evil = "<b>$x_{1&"
    share = replace(facts.shares[0], name=evil)
    made = replace(facts, name=evil, shares=(share,), releases=(*facts.releases[:-1], evil))
    page = Page(to_html(made, charts_of(made)))
    assert page.all("b") == []
    assert evil in page.text["contributors"]


def test_cycles_given_up_are_named(facts: RunFacts, text: str) -> None:
    assert "<dt>cycles given up</dt><dd>5 (loss-spike)</dd>" in text
    assert "given up" not in to_html(replace(facts, given_up=()), [])


def test_many_lines_and_bars_are_cut_and_say_so(facts: RunFacts) -> None:
    balance = tuple(replace(facts.balance[0], komi=float(komi), games=10 + komi) for komi in range(20))
    shares = tuple(replace(facts.shares[0], name=f"n{number}", share=0.02) for number in range(50))
    charts = {chart.name: chart for chart in charts_of(replace(facts, balance=balance, shares=shares))}
    assert "The 6 most played boards of 20 are drawn." in charts["balance"].summary
    assert len(charts["balance"].rows) == 20
    assert "38 others" in to_svg(charts["contributors"])
    assert len(charts["contributors"].rows) == 50
    assert to_svg(charts["balance"]).count("komi") == 6


def test_a_run_without_anything(facts: RunFacts) -> None:
    nothing = replace(
        facts,
        cycles=(),
        data=(),
        lengths=(),
        balance=(),
        shares=(),
        verification=replace(facts.verification, games=0),
        first_unix_s=None,
        last_unix_s=None,
    )
    assert charts_of(nothing) == []
    assert "Nothing is logged yet" in to_html(nothing, [])


def test_without_times_data_is_over_entries(facts: RunFacts) -> None:
    bare = replace(facts, first_unix_s=None, data=tuple(replace(point, unix_s=None) for point in facts.data))
    charts = {chart.name: chart for chart in charts_of(bare)}
    assert charts["data"].head[0] == "log entries"
    assert "per 100 entries" in charts["rate"].summary
    timed = {chart.name: chart for chart in charts_of(facts)}
    assert "per second" in timed["rate"].summary


def test_a_picture(charts: list[Chart]) -> None:
    data = to_png("Run world", charts)
    assert data.startswith(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    width, height = struct.unpack_from(">II", data, 16)
    assert 1000 < width < height < 10_000
    assert data.endswith(b"IEND\xaeB`\x82")


def test_the_same_numbers_give_the_same_page(facts: RunFacts, text: str) -> None:
    assert to_html(facts, charts_of(facts)) == text


def test_without_matplotlib(charts: list[Chart], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (lambda: to_svg(charts[0]), lambda: to_png("Run", charts)):
        with pytest.raises(MatplotlibMissing, match=r"gonode\[report\]"):
            draw()
