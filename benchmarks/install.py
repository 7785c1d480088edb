"""How long a contributor's part takes to install, and how large it is: `python -m benchmarks.install [--quick] [--json]`.

The wheel is built first, which does not count. Then, as whoever has never had gonode: an environment is made, and `pip
install` puts the wheel and its packages into it, from pip's cache or the index as pip is configured; what comes as source is
built. No extra: neither torch nor numpy nor pages. `packages alone` is what fetching and building these takes without
installing them, measured apart. `MB` are the bytes of all files in the environment, in 10^6, pip's own among them; `MB on
disk` is the room of their blocks. Three rounds (`--quick`: one); then, unless `--quick`, one without pip's cache.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks._run import Row, Summary, arguments, show_all

HERE = Path(__file__).parents[1]
PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet")
LARGEST = 8
_BLOCK = 512


@dataclass(frozen=True, slots=True)
class Install:
    """Seconds of the parts of an install, the size of the environment, and that of each folder of packages in it."""

    environment_s: float
    install_s: float
    packages_s: float | None
    mb: float
    disk_mb: float
    folders: dict[str, float]

    @property
    def seconds(self) -> float:
        """All that whoever installs waits for."""
        return self.environment_s + self.install_s


def run(*command: str | Path) -> float:
    """Seconds of a command outside this tree; SystemExit with what it said when it fails."""
    quiet = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    started = time.perf_counter()
    ended = subprocess.run(
        [str(word) for word in command], cwd="/", env=quiet, capture_output=True, text=True, check=False
    )
    if ended.returncode != 0:
        raise SystemExit(f"{ended.stderr}{' '.join(map(str, command))} ended with {ended.returncode}.")
    return time.perf_counter() - started


def built_wheel(folder: Path) -> Path:
    """This tree's wheel, made in `folder`; what an editable install builds in is left alone."""
    options = ("--no-deps", "--no-build-isolation", f"--config-settings=build-dir={folder / 'build'}")
    run(sys.executable, *PIP, "wheel", *options, "--wheel-dir", folder, HERE)
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(wheel: Path, is_cached: bool, is_quick: bool) -> Install:
    """Installs the wheel into an environment of its own, and tries the command."""
    with tempfile.TemporaryDirectory(prefix="gonode-install-") as name:
        environment = Path(name) / "env"
        environment_s = run(sys.executable, "-m", "venv", environment)
        pip = (environment / "bin" / "python", *PIP, *(() if is_cached else ("--no-cache-dir",)))
        packages_s = None if is_quick else run(*pip, "wheel", "--wheel-dir", Path(name) / "packages", wheel)
        install_s = run(*pip, "install", wheel)
        run(environment / "bin" / "gonode", "--version")
        (site,) = environment.glob("lib/python*/site-packages")
        folders = {folder.name: sizes_mb(folder)[0] for folder in site.iterdir() if folder.is_dir()}
        return Install(environment_s, install_s, packages_s, *sizes_mb(environment), folders)


def sizes_mb(folder: Path) -> tuple[float, float]:
    """The bytes of the files in a folder, and their room on the disk, links not followed; in 10^6."""
    found = [path.lstat() for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]
    return sum(each.st_size for each in found) / 1e6, sum(each.st_blocks for each in found) * _BLOCK / 1e6


def row(source: str, found: list[Install]) -> Row:
    """The medians of rounds."""
    seconds = Summary.of(each.seconds for each in found)
    packages = [each.packages_s for each in found if each.packages_s is not None]
    return {
        "packages from": source,
        "rounds": len(found),
        "environment s": Summary.of(each.environment_s for each in found).median,
        "install s": Summary.of(each.install_s for each in found).median,
        "s": seconds.median,
        "spread": seconds.spread,
        "packages alone s": Summary.of(packages).median if packages else "-",
        "MB": max(each.mb for each in found),
        "MB on disk": max(each.disk_mb for each in found),
    }


def room(found: Install) -> Iterator[Row]:
    """The largest folders, and the rest."""
    largest = sorted(found.folders.items(), key=lambda each: -each[1])[:LARGEST]
    for name, mb in largest:
        yield {"package": name, "MB": mb}
    yield {"package": "all else", "MB": found.mb - sum(mb for _, mb in largest)}


def main() -> None:
    """Measures and prints."""
    given = arguments(__doc__)
    with tempfile.TemporaryDirectory(prefix="gonode-wheel-") as name:
        wheel = built_wheel(Path(name))
        found = [install(wheel, True, given.quick) for _ in range(1 if given.quick else 3)]
        rows = [row("as pip is configured", found)]
        if not given.quick:
            rows.append(row("no cache", [install(wheel, False, given.quick)]))
    show_all({"a contributor's part": rows, "its room": room(found[-1])}, given.json)


if __name__ == "__main__":
    main()
