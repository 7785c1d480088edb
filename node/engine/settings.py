"""What the command line and the machine's record say about the engine, and the command that starts it."""

import sys
from dataclasses import dataclass

from native.network import Kernel
from node.machine import load_machine
from node.machine.processor import usable_cores

CPU = "cpu"
CUDA = "cuda"
DEVICES = (CPU, CUDA)

CUDA_GAMES = 128
"""Games in flight on each thread for a GPU, which is fed by large batches; not measured, for want of a device."""


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Which device plays, with how many threads and games in flight on each; the kernel is a CPU's."""

    kernel: Kernel
    threads: int
    games: int
    device: str = CPU
    nice: int = 0

    @property
    def seats(self) -> int:
        """Games that are under way at once."""
        return self.threads * self.games

    def command(self) -> list[str]:
        """The engine's command line. -P: a folder called `native` where the user stands is not ours."""
        numbers = ["--threads", str(self.threads), "--games", str(self.games), "--nice", str(self.nice)]
        if self.device == CUDA:
            return [sys.executable, "-P", "-m", "trainer.serving.serve", "--device", CUDA, *numbers]
        return [sys.executable, "-P", "-m", "native.serve", "--kernel", self.kernel.encode(), *numbers]


def engine_settings(
    kernel: Kernel,
    threads: int | None,
    games: int | None,
    device: str = CPU,
    nice: int = 0,
    cores: int | None = None,
) -> EngineSettings:
    """Settings with what `gonode bench` found for this machine where nothing is given, else a thread a core.

    `cores` is the most threads that play where their number is not given.

    The bench measures the processor: a GPU gets `CUDA_GAMES`.
    """
    machine = load_machine()
    usual = machine.threads if machine else usable_cores()
    on_cpu = machine.games if machine else 1
    return EngineSettings(
        kernel=kernel,
        threads=threads or min(usual, cores or usual),
        games=games or (on_cpu if device == CPU else CUDA_GAMES),
        device=device,
        nice=nice,
    )
