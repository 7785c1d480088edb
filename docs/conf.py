"""How `make docs` makes a site of this folder: Sphinx reads its pages as MyST, which is CommonMark and more.

Decision: docs/adr/0052-docs-by-sphinx.md. The site loads nothing from elsewhere. Pages stay plain Markdown, as hosts of
sources show it; `index.md` alone has blocks of Sphinx's. Warnings are errors: what is linked has to be there.
"""

import re
from pathlib import Path

from sphinx.application import Sphinx

project = "gonode"
copyright = "the gonode project; MIT licence"
extensions = ["myst_parser"]
myst_heading_anchors = 4

html_theme = "furo"
html_title = "gonode"
html_copy_source = False
pygments_style = "default"
pygments_dark_style = "monokai"

DOCS = Path(__file__).parent
INDICES = ("spec/README", "adr/README")
"""Pages that list all others of their folder; the site's navigation has those below them."""
CHILDREN = "\n```{toctree}\n:hidden:\n:glob:\n*\n```\n"
UP = re.compile(r"\[([^\]]*)\]\(((?:\.\./)+[^)#\s]*)[^)]*\)")


def prepare(app: Sphinx, page: str, source: list[str]) -> None:
    """Adds the pages below an index, and leaves of links to files outside of this folder, which the site lacks, the text."""

    def kept(link: re.Match[str]) -> str:
        target = (DOCS / page).parent / link[2]
        return link[0] if target.resolve().is_relative_to(DOCS) else link[1]

    source[0] = UP.sub(kept, source[0]) + (CHILDREN if page in INDICES else "")


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", prepare)
