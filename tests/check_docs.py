"""Checks the documentation against the tree: `python -m tests.check_docs` names what is wrong and exits 1.

Every relative link and every path of this repository that a page or a docstring names in backticks leads to something.
Every page of `docs/`, `docs/spec/` and `docs/adr/` is in its index, and every page that a module names as its specification
is there. The code can print every sentence that `docs/troubleshooting.md` explains.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

HOME = Path(__file__).parents[1]
CODE = ("benchmarks", "native", "node", "protocol", "tests", "trainer", "verification")
SPEAKING = ("native", "node", "protocol", "verification")
"""Packages whose errors users read."""
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(?:#[^)]*)?\)")
QUOTED = re.compile(rf"`((?:{'|'.join((*CODE, 'docs'))})/[\w./-]*)`")
NAMED = re.compile(r"\bdocs/(?:spec|adr)/[\w-]+\.md")
SENTENCE = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)
ANYTHING = "…"
"""In a sentence of the page: what differs each time."""


def pages() -> Iterator[Path]:
    """All Markdown files that belong to the project."""
    yield from sorted(HOME.glob("*.md"))
    for folder in ("docs", "tests", "benchmarks"):
        yield from sorted((HOME / folder).rglob("*.md"))


def texts(folder: Path) -> Iterator[str]:
    """The texts in the Python files below `folder`, with `ANYTHING` where a value is put in."""
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.JoinedStr):
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else ANYTHING for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def unspoken(page: str) -> Iterator[str]:
    """The sentences of a page that no code says: of a text of the code, a sentence may leave out values, and end early."""
    spoken = "\n".join(text for folder in SPEAKING for text in texts(HOME / folder))
    for sentence in SENTENCE.findall(page):
        parts = [re.escape(part) for part in sentence.split(ANYTHING)]
        if not re.search(r"[^\n]*".join(parts), spoken):
            yield sentence


def faults() -> Iterator[str]:
    """One sentence for each thing that is wrong."""
    for page in pages():
        text = page.read_text(encoding="utf-8")
        name = page.relative_to(HOME)
        for target in LINK.findall(text):
            if not (page.parent / target).exists():
                yield f"{name}: the link to {target} leads nowhere."
        for target in QUOTED.findall(text):
            if not (HOME / target).exists():
                yield f"{name}: there is no {target}."
    for folder in ("spec", "adr"):
        index = HOME / "docs" / folder / "README.md"
        listed = set(LINK.findall(index.read_text(encoding="utf-8")))
        for page in sorted(index.parent.glob("*.md")):
            if page != index and page.name not in listed:
                yield f"docs/{folder}/README.md: does not list {page.name}."
    index = HOME / "docs" / "index.md"
    listed = set(index.read_text(encoding="utf-8").splitlines())
    for page in sorted(index.parent.glob("*.md")):
        if page != index and page.stem not in listed:
            yield f"docs/index.md: no navigation leads to {page.name}."
    for sentence in unspoken((HOME / "docs" / "troubleshooting.md").read_text(encoding="utf-8")):
        yield f"docs/troubleshooting.md: nothing says {sentence!r}."
    for folder in CODE:
        for source in sorted([*(HOME / folder).rglob("*.py"), *(HOME / folder).rglob("*.[ch]")]):
            for target in sorted(set(NAMED.findall(source.read_text(encoding="utf-8")))):
                if not (HOME / target).exists():
                    yield f"{source.relative_to(HOME)}: there is no {target}."


def main() -> int:
    """Prints the faults; the exit status."""
    found = list(faults())
    print("\n".join(found) or "The documentation's links hold.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
