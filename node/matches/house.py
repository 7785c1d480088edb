"""Whose rules, boards and search a match has: those of the run in a node's directory, or of the default run where none is
needed. `House`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from node.disk.home import Home
from node.founding.manifest_file import load_manifest
from node.matches.gtp_player import PREFIX
from node.matches.opponent import Gallery
from protocol.manifest import Manifest


@dataclass(frozen=True, slots=True)
class House:
    """`gallery` and `run`, its id in hex, are None where there is no run; `steps` are the newest release's."""

    manifest: Manifest
    steps: int
    run: str | None
    gallery: Gallery | None


def open_house(directory: Path, players: Sequence[str]) -> House:
    """The run in `directory`; the default run's ways where there is none and no player is a release.

    Raises OpponentError, HomeError, StoreError or LogFault.
    """
    home = Home(directory)
    if not home.ticket.is_file() and all(map(is_alone, players)):
        return House(load_manifest(None), 0, None, None)
    gallery = Gallery(home)
    return House(gallery.manifest, gallery.state.release.steps, gallery.state.run.hex(), gallery)


def is_alone(player: str) -> bool:
    """Whether a player needs no run: a file, an engine, or random moves."""
    return player == "random" or player.startswith(PREFIX) or Path(player).is_file()
