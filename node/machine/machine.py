"""What `gonode bench` found for this machine, in one small JSON file of the user's state folder.

Invariants: a record is believed only on the machine and by the engine that made it (processor, cores, version), and only
when every field is as `store_machine` writes it; anything else counts as no record, so that a moved or damaged file costs
a default and never an error. The file is not shared and not part of a run.
"""

import json
import os
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from pathlib import Path

from native.errors import EngineError
from native.network import Kernel
from node.disk.files import write_file
from node.machine.processor import cpu_model, usable_cores

FORMAT = "gonode/machine/1"
PATH_VARIABLE = "GONODE_MACHINE"
MOST = 1024
"""The most threads, and the most games in flight on a thread, that an engine takes."""

MOST_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Machine:
    """The settings that were fastest here, and what they were measured with. ValueError when a field is out of range.

    `threads` of the engine, `games` in flight on each, `kernel` by its name; `net` (such as b6c96) and `size` are the
    network and board that were measured. `cpu`, `cores` and `engine` say where it holds.
    """

    cpu: str
    cores: int
    engine: str
    kernel: str
    net: str
    size: int
    threads: int
    games: int

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if type(value) is not field.type:
                raise ValueError(f"{field.name} is {value!r}.")
        if not (1 <= self.threads <= MOST and 1 <= self.games <= MOST and self.cores >= 1 and 1 <= self.size <= 19):
            raise ValueError("A number of this machine is out of range.")

    @classmethod
    def here(cls, *, kernel: Kernel, net: str, size: int, threads: int, games: int) -> "Machine":
        """The record of settings measured on this machine by this engine."""
        return cls(cpu_model(), usable_cores(), engine_version(), kernel.encode(), net, size, threads, games)

    @property
    def is_here(self) -> bool:
        """This machine and this engine made the record, and the machine still runs its kernel."""
        place = self.cpu, self.cores, self.engine
        names = (kernel.encode() for kernel in Kernel.available())
        return place == (cpu_model(), usable_cores(), engine_version()) and self.kernel in names

    def encode(self) -> str:
        """The file's text."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=2, ensure_ascii=True) + "\n"

    @classmethod
    def parse(cls, text: str) -> "Machine":
        """Reads what `encode` wrote; ValueError for anything else."""
        found = json.loads(text)
        if not isinstance(found, dict) or found.pop("format", None) != FORMAT:
            raise ValueError("This is no record of a machine.")
        if set(found) != {field.name for field in fields(cls)}:
            raise ValueError("The record of a machine has other fields.")
        return cls(**found)


def engine_version() -> str:
    """The version of the engine that is installed."""
    return version("gonode")


def machine_path() -> Path:
    """Where the record lies: the variable GONODE_MACHINE, or the user's state folder (XDG Base Directory)."""
    if named := os.environ.get(PATH_VARIABLE):
        return Path(named)
    state = os.environ.get("XDG_STATE_HOME", "")
    folder = Path(state) if state.startswith("/") else Path("~/.local/state").expanduser()
    return folder / "gonode" / "machine.json"


def load_machine() -> Machine | None:
    """The record of this machine, or None when there is none that is to be believed."""
    try:
        path = machine_path()
        if not path.is_file():  # a pipe might never end
            return None
        with path.open("rb") as file:
            machine = Machine.parse(file.read(MOST_BYTES).decode("utf-8"))
        return machine if machine.is_here else None
    except (OSError, ValueError, RecursionError, RuntimeError, EngineError):  # RuntimeError: a user without a home
        return None


def store_machine(machine: Machine) -> Path:
    """Writes the record in one step and returns where; OSError when that cannot be."""
    path = machine_path()
    write_file(path, machine.encode().encode("utf-8"))
    return path
