"""Zooming: every link leads to a stretch within all of it, closer ones are shorter; what is no number is a bad question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.disk.home import Home
from node.web.stretch import LEAST, ROWS, Stretch, View, view_of
from tests.node.web.pages import visiting, words

NUMBER = st.integers(0, 10**9)


def followed(view: View, name: str) -> View | None:
    """The view that a link leads to."""
    address = dict(view.steps).get(name)
    if address is None:
        return None
    query = dict(part.split("=") for part in address.partition("?")[2].split("&"))
    places = (view.whole.low, view.whole.high)
    return view_of(places, query["x"], "refused" not in query, query.get("from"), query.get("to"))


@given(
    NUMBER,
    st.integers(3, 10**9),
    st.lists(st.sampled_from(("closer", "wider", "earlier", "later", "all")), max_size=40),
)
def test_wherever_links_lead(low: int, length: int, names: list[str]) -> None:
    view = view_of((low, low + length), ROWS, True, None, None)
    assert view.is_whole
    for name in names:
        found = followed(view, name)
        if found is None:
            continue
        assert found.shown != view.shown
        assert found.whole.low <= found.shown.low <= found.shown.high <= found.whole.high
        if name == "closer":
            assert LEAST <= found.shown.length < view.shown.length
        if name == "wider":
            assert found.shown.length > view.shown.length
        if name == "all":
            assert found.is_whole
        view = found


def test_closer_ends_somewhere() -> None:
    view = view_of((0, 1000), ROWS, False, None, None)
    for _ in range(40):
        found = followed(view, "closer")
        if found is None:
            break
        view = found
    assert view.shown.length <= 2 * LEAST
    assert "closer" not in dict(view.steps)
    assert not view.has_refused


@given(NUMBER, NUMBER, NUMBER, NUMBER)
def test_any_stretch_that_is_asked_for(low: int, high: int, begin: int, end: int) -> None:
    places = sorted((low, high))
    begin, end = sorted((begin, end))
    view = view_of(places, ROWS, True, str(begin), str(end))
    assert view.shown.length <= max(LEAST, view.whole.length)
    assert view.shown.has(view.whole.low) or view.shown.low >= view.whole.low


def test_what_is_no_stretch() -> None:
    for begin, end in (("x", None), (None, "-1"), ("1" * 30, None), ("5", "4"), ("", "")):
        with pytest.raises(ValueError, match="from="):
            view_of((0, 10), ROWS, True, begin, end)
    with pytest.raises(ValueError, match="begins before"):
        Stretch(2, 1)
    assert view_of((), ROWS, True, None, None).steps == ()


async def test_the_page_zooms_by_links(shown: Home) -> None:
    async with visiting(shown) as visitor:
        everything = (await visitor.get("/")).text
        points = (await visitor.get("/api/v1")).json()["answer"]["points"]
        rows = sorted(point["rows"] for point in points)
        part = (await visitor.get(f"/?from={rows[0]}&to={rows[1]}")).text
        for query in ("from=x", "to=-1", "from=9&to=1"):
            answer = await visitor.get(f"/?{query}")
            assert answer.status_code == 400
            assert "from= " in words(answer.text)
    assert "Zoom closer" in words(everything)
    inside = [point for point in points if rows[0] <= point["rows"] <= max(rows[1], rows[0] + LEAST)]
    assert 0 < len(inside) < len(points)
    assert part.count("<tr><th") - everything.count("<tr><th") == len(inside) - len(points)
    assert part.count('class="release"') + part.count('class="refused"') == len(inside)
    assert "those of the stretch that is shown" in words(part)
    assert f'data-low="{rows[0]}"' in part
