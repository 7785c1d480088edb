"""`gonode web --static`: the page's files, where it looks for a run, and the log that is copied beside it."""

from pathlib import Path

import pytest

from node.disk.home import Home, HomeError
from node.web.site import Site, SiteError, log_files, run_of
from protocol.layout import BLOBS, CHECKPOINT, MANIFEST
from protocol.ticket import Ticket
from tests.node.cli.gonode import gonode
from tests.node.homes import grown_world, make_home


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A coordinator's directory; look only."""
    return make_home(grown_world(), tmp_path_factory.mktemp("run") / "coordinator")


def written(folder: Path) -> dict[str, bytes]:
    """All files below a folder by their paths."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_run_beside_the_page(home: Home, tmp_path: Path) -> None:
    answer = gonode("web", "--dir", home.directory, "--static", tmp_path)
    assert answer.status == 0, answer.err
    files = written(tmp_path)
    assert f"{len(files)} files, the page and the run's log." in answer.out
    log = {path: data for path, data in written(home.public).items() if not path.startswith(f"{BLOBS}/")}
    assert {path.removeprefix("public/"): data for path, data in files.items() if path.startswith("public/")} == log
    page = files["index.html"].decode()
    assert f'name="gonode-run" content="{grown_world().run.hex()}"' in page
    assert 'name="gonode-folder" content="public/"' in page
    assert "connect-src 'self';" in page
    assert "{{" not in page
    assert gonode("web", "--dir", home.directory, "--static", tmp_path).status == 0
    assert written(tmp_path) == files


def test_a_page_for_a_folder_elsewhere(tmp_path: Path) -> None:
    ticket = Ticket(b"\7" * 32, b"\1" * 32, ())
    answer = gonode("web", "--static", tmp_path, "--folder", "https://example.org/run", "--ticket", ticket.encode())
    assert answer.status == 0, answer.err
    assert "reads the run's public folder at https://example.org/run" in answer.out
    files = written(tmp_path)
    page = files["index.html"].decode()
    assert 'name="gonode-folder" content="https://example.org/run/"' in page
    assert "connect-src 'self' https://example.org;" in page
    assert f'content="{"07" * 32}"' in page
    assert not [path for path in files if path.startswith("public/")]
    assert not [path for path in files if any(name in path for name in ("pages.", "board.", "shudan", "preact"))]
    assert {"static/page.js", "static/page.css", "static/icon.svg", "static/vendor/noble-hashes/sha2.js"} <= set(files)


@pytest.mark.parametrize(
    "folder",
    [
        "x';script-src *",
        "https://a b/",
        "ftp://example.org/",
        "https://example.org/?a=b",
        "//example.org/",
        "https://u@h/",
        "",
    ],
)
def test_a_folder_that_no_page_can_read_is_refused(folder: str) -> None:
    with pytest.raises(SiteError, match="is not where a page finds a public folder"):
        Site(folder or "?")


@pytest.mark.parametrize("folder", ["public/", "../run/public", "/runs/a/", "http://127.0.0.1:8000/public/"])
def test_folders_that_a_page_can_read(folder: str) -> None:
    assert f'content="{folder.rstrip("/")}/"'.encode() in Site(folder).files()["index.html"]


def test_wrong_use_is_one_sentence(home: Home, tmp_path: Path) -> None:
    both = gonode("web", "--static", tmp_path, "--dir", home.directory, "--folder", "public/")
    assert both.status == 2
    assert "--folder or --dir" in both.err
    empty = gonode("web", "--static", tmp_path, "--dir", tmp_path)
    assert empty.status == 2
    assert "no published log here" in empty.err
    other = gonode(
        "web", "--static", tmp_path, "--dir", home.directory, "--ticket", Ticket(b"\7" * 32, b"\1" * 32, ()).encode()
    )
    assert other.status == 2
    assert "is here, not 0707070707070707" in other.err
    assert list(tmp_path.iterdir()) == []


def test_a_log_without_a_manifest_is_told(home: Home) -> None:
    log = log_files(home)
    assert CHECKPOINT in log
    assert run_of(log) == grown_world().run
    with pytest.raises(HomeError, match="no root and manifest"):
        run_of({path: data for path, data in log.items() if path != MANIFEST})
    with pytest.raises(HomeError, match="no root and manifest"):
        run_of({**log, MANIFEST: b"?"})
