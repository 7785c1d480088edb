"""The run whose rules, boards and search a match has: the one in a node's directory, or the default run where none is
needed. `MatchRun`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from node.disk.home import Home
from node.founding.manifest_file import load_manifest
from node.matches.gtp_player import PREFIX
from node.matches.opponent import Gallery
from protocol.manifest import Manifest


@dataclass(frozen=True, slots=True)
class MatchRun:
    """`steps` are the newest release's; `run_id`, in hex, and `gallery` are None for the default run, which has no log."""

    manifest: Manifest
    steps: int
    run_id: str | None
    gallery: Gallery | None


def find_match_run(directory: Path, players: Sequence[str]) -> MatchRun:
    """The run in `directory`; the default run where there is none and no player is a release.

    Raises OpponentError, HomeError, StoreError or LogFault.
    """
    home = Home(directory)
    if not home.ticket.is_file() and not any(map(is_release, players)):
        return MatchRun(load_manifest(None), 0, None, None)
    gallery = Gallery(home)
    return MatchRun(gallery.manifest, gallery.state.release.steps, gallery.state.run.hex(), gallery)


def is_release(player: str) -> bool:
    """Whether a player is called as a release is: it is no file, no engine and not `random`."""
    return player != "random" and not player.startswith(PREFIX) and not Path(player).is_file()
