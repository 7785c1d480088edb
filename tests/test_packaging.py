"""What gets installed: five packages and nothing else, torch and numpy only with the extra `train`, charts with `report`,
pages with `web`.

The soak test builds the wheel and uses it outside this tree, in an environment of its own.
"""

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

HOME = Path(__file__).parents[1]
PACKAGES = ["native", "node", "protocol", "trainer", "verification"]
HEAVY = {"torch", "numpy"}
TRAIN = HEAVY | {"tensorboardx"}
REPORT = {"matplotlib"}
WEB = {"hypercorn", "jinja2", "starlette"}
PROJECT: dict[str, Any] = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]

# Imports every module of the packages given as arguments and prints which modules that brought in.
IMPORT_ALL = """
import importlib, json, pkgutil, sys
for name in sys.argv[1:]:
    package = importlib.import_module(name)
    for found in pkgutil.walk_packages(package.__path__, name + "."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def names(requirements: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(text).name) for text in requirements}


def pins() -> dict[str, str]:
    lines = (HOME / "constraints.txt").read_text(encoding="utf-8").splitlines()
    found = [line.split("==") for line in lines if line and not line.startswith("#")]
    assert all(len(pin) == 2 for pin in found), "every line of constraints.txt is NAME==VERSION"
    return {canonicalize_name(name): version for name, version in found}


def imported_by(*packages: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, *packages], cwd=HOME, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_the_wheel_holds_the_five_packages() -> None:
    build = PROJECT["tool"]["scikit-build"]
    assert sorted(build["wheel"]["packages"]) == PACKAGES
    assert build["wheel"]["py-api"] == "cp311"
    for package in PACKAGES:
        assert (HOME / package / "__init__.py").is_file()
        assert (HOME / package / "py.typed").is_file()
    for folder in ("tests", "docs", "benchmarks"):
        assert (HOME / folder).is_dir()
        assert folder not in build["wheel"]["packages"]


def test_what_is_heavy_comes_with_its_extra_only() -> None:
    assert names(EXTRAS["train"]) == TRAIN
    assert names(EXTRAS["report"]) == REPORT
    assert names(EXTRAS["web"]) == WEB
    for other in (PROJECT["project"]["dependencies"], EXTRAS["dev"]):
        assert not names(other) & (TRAIN | REPORT | WEB)


def test_every_requirement_is_pinned_within_its_range() -> None:
    pinned = pins()
    everything = [
        *PROJECT["project"]["dependencies"],
        *(text for extra in EXTRAS.values() for text in extra),
        *PROJECT["build-system"]["requires"],
    ]
    for text in everything:
        requirement = Requirement(text)
        assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)]), text


def test_constraints_name_no_host_and_no_path() -> None:
    assert not re.search(r"[@/:]|\s-", (HOME / "constraints.txt").read_text(encoding="utf-8").partition("\n")[2])


@pytest.mark.parametrize("package", ["protocol", "native", "verification", "node"])
def test_no_package_but_the_trainer_imports_torch_or_numpy(package: str) -> None:
    brought = imported_by(package)
    assert package in brought
    assert not brought & (HEAVY | REPORT)


@pytest.mark.parametrize("package", ["protocol", "native", "verification"])
def test_only_the_node_imports_trio_and_libp2p(package: str) -> None:
    assert not imported_by(package) & {"trio", "libp2p", "click", "rich"}


def test_the_command_answers_fast_and_without_libp2p() -> None:
    code = "import sys, node.cli; print(sorted({'libp2p', 'torch', 'numpy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=HOME, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


CLEAN = """
import importlib.metadata as metadata, json, sys
found = metadata.packages_distributions()
print(json.dumps({
    "owners": {name: found.get(name) for name in sys.argv[1:]},
    "top": sorted({str(path).split("/")[0] for path in metadata.files("gonode") or []}),
}))
"""


@pytest.mark.soak
def test_the_wheel_works_outside_the_tree(tmp_path: Path) -> None:
    def run(*command: str | Path, cwd: Path = tmp_path) -> str:
        quiet = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        done = subprocess.run([str(part) for part in command], cwd=cwd, env=quiet, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    pip = ("-m", "pip", "--disable-pip-version-check", "--quiet")
    build = ("-c", "import sys; from scikit_build_core.build import build_sdist; print(build_sdist(sys.argv[1]))")
    run(sys.executable, *build, tmp_path, cwd=HOME)
    source = next(tmp_path.glob("*.tar.gz"))
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
    tree = tmp_path / source.name.removesuffix(".tar.gz")
    run(sys.executable, *pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path, tree)
    wheel = next(tmp_path.glob("*.whl"))
    assert "-cp311-abi3-" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        files = archive.namelist()
    assert not [name for name in files if name.endswith((".c", ".h"))]
    assert "native/_engine.abi3.so" in files

    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    run(python, *pip, "install", "--constraint", HOME / "constraints.txt", f"{wheel}[web]")
    said = json.loads(run(python, "-c", CLEAN, *PACKAGES, "torch", "numpy"))
    assert said["owners"] == {**{name: ["gonode"] for name in PACKAGES}, "torch": None, "numpy": None}
    assert set(said["top"]) - {"..", *PACKAGES} == {
        f"{PROJECT['project']['name']}-{PROJECT['project']['version']}.dist-info"
    }
    run(python, "-c", IMPORT_ALL, "protocol", "native", "verification", "node")
    assert "Usage" in run(tmp_path / "env" / "bin" / "gonode", "--help")
