"""Code of others is what its packages hold, and the page's own code is small, imports by name, and names no other host."""

import re
import tomllib
from hashlib import sha256
from pathlib import Path

HOME = Path(__file__).parents[3] / "node" / "web"
STATIC = HOME / "static"
VENDOR = STATIC / "vendor"
OWN = sorted(STATIC.glob("*.js"))
NAMES = {"https://in-toto.io/Statement/v1", "https://slsa.dev/provenance/v1", "http://www.w3.org/2000/svg"}
"""What formats call themselves in documents; nobody fetches them."""


def as_packed(file: Path, imports: dict[str, str]) -> bytes:
    """A file with the names of imports that its package has."""
    data = file.read_bytes()
    for name, place in imports.items():
        data = re.sub(rb'(\bfrom ?)"%b"' % re.escape(place.encode()), rb'\1"%b"' % name.encode(), data)
    return data


def test_vendored_files_are_pinned() -> None:
    pinned = tomllib.loads((HOME / "vendored.toml").read_text(encoding="utf-8"))
    found = {
        folder.name: {
            file.name: sha256(as_packed(file, pinned[folder.name].get("imports", {}))).hexdigest()
            for file in folder.iterdir()
        }
        for folder in VENDOR.iterdir()
    }
    assert found == {name: each["files"] for name, each in pinned.items()}
    for name, each in pinned.items():
        assert each["licence"] == "MIT"
        assert re.fullmatch(r"\d+\.\d+\.\d+", each["version"])
        assert re.fullmatch(r"sha512-[A-Za-z0-9+/]{86}==", each["integrity"])
        assert "MIT License" in (VENDOR / name / "LICENSE").read_text(encoding="utf-8")


def test_modules_import_what_is_there() -> None:
    for module in [*OWN, *VENDOR.rglob("*.js")]:
        text = re.sub(r"/\*.*?\*/", "", module.read_text(encoding="utf-8"), flags=re.S)
        for target in re.findall(r"^(?:import|export)\b[\w\s{},*$]*\bfrom ?['\"](.*?)['\"]", text, re.M):
            assert target.startswith("."), (module, target)
            assert (module.parent / target).is_file(), (module, target)
        assert not re.search(r"\bimport\(", text), module


def test_own_code_names_no_host_and_makes_no_html() -> None:
    own = [*OWN, *STATIC.glob("*.css"), HOME / "pages" / "audit.html"]
    assert len(own) > 20
    for file in own:
        text = file.read_text(encoding="utf-8")
        assert not set(re.findall(r"\w*://[^' ]*", text)) - NAMES, file
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", text), (
            file
        )
    assert max(len(file.read_text(encoding="utf-8").splitlines()) for file in OWN) <= 500


def test_the_page_has_no_inline_code() -> None:
    page = (HOME / "pages" / "audit.html").read_text(encoding="utf-8")
    assert re.findall(r"<script[^>]*>([^<]*)</script>", page) == [""]
    assert not re.search(r"\son[a-z]+=|<style|\sstyle=", page)
