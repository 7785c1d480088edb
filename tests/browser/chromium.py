"""Debian's Chromium, driven by playwright; tests are skipped where one of them is missing. For tests."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
Browser, Page = sync_api.Browser, sync_api.Page


@contextmanager
def launched() -> "Iterator[Browser]":
    """A browser while the block runs."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("Chromium is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


def follow(page: "Page", selector: str) -> None:
    """Clicks what leads to another page, and returns once that page is whole: what is counted then is counted there."""
    with page.expect_navigation():
        page.click(selector)
