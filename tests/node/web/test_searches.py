"""Places for searches: one an address, so many in all, and given back whatever happens."""

import threading

import pytest

from node.web.searches import Busy, Searches, searches_here


def test_one_search_an_address_and_so_many_in_all() -> None:
    searches = Searches(2)
    with searches.place("a"):
        with pytest.raises(Busy, match="for your address") as own, searches.place("a"):
            pass
        assert own.value.status == 429
        with searches.place("b"):
            with pytest.raises(Busy, match="Others") as others, searches.place("c"):
                pass
            assert others.value.status == 503
        with searches.place("c"):
            pass


def test_places_come_back_from_searches_that_fail() -> None:
    searches = Searches(1)
    with pytest.raises(ZeroDivisionError), searches.place("a"):
        raise ZeroDivisionError
    with searches.place("a"):
        pass


def test_threads_never_search_more_than_there_are_places() -> None:
    searches, at_once, most, refused = Searches(3), [0], [0], [0]
    lock, start = threading.Lock(), threading.Barrier(8)

    def visit(asker: str) -> None:
        start.wait()
        for _ in range(200):
            try:
                with searches.place(asker):
                    with lock:
                        at_once[0] += 1
                        most[0] = max(most[0], at_once[0])
                    with lock:
                        at_once[0] -= 1
            except Busy:
                refused[0] += 1

    threads = [threading.Thread(target=visit, args=(f"{number % 5}",)) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert most[0] <= 3
    assert at_once == [0]


def test_this_machine_searches() -> None:
    assert searches_here() >= 1
