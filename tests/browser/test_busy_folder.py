"""The audit page waits for a server that is asked too often, and says so when that does not end."""

from tests.browser.programs import answer


def test_a_busy_server_is_asked_again() -> None:
    assert answer("busy_folder.js", 0) == {"found": "all of it", "asked": 1}
    assert answer("busy_folder.js", 3) == {"found": "all of it", "asked": 4}
    refused = answer("busy_folder.js", 1000)
    assert refused["found"] == "File checkpoint could not be fetched: the server answers 429."
    assert refused["asked"] < 10
