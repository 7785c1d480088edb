"""Several processes of one cycle on this machine: `launch`, with torch's elastic agent (what `torchrun` runs) inside.

Spec: docs/spec/train-state.md ("More processes"). The processes meet through files in a private folder and talk over the
loopback interface, so that no port is open to others. One that dies takes the others with it, and the agent starts all
again from the last state; one that ends by itself, well or badly, ends the cycle with the status it would have alone.
"""

from __future__ import annotations

import atexit
import logging
import os
import signal
import socket
import sys
import traceback
import uuid
from collections.abc import Callable
from multiprocessing import parent_process
from pathlib import Path
from threading import Event, Thread
from types import FrameType
from typing import Final, NoReturn

from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from trainer.errors import Interrupted, PeerLost
from trainer.meeting import meeting_place, stay
from trainer.process import work

MOST_RESTARTS: Final = 5
SAVE_WITHIN_S: Final = 15
_ENDED: Final = "ended"


def launch(job: Path, processes: int) -> int:
    """Trains the job in a file by so many processes; gives the exit status of a process alone, or that of PeerLost when
    they died too often."""
    logging.disable(logging.ERROR)  # the agent's; what a person has to know is one sentence
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)  # until the agent has its own
    with meeting_place() as folder:
        config = LaunchConfig(
            min_nodes=1,
            max_nodes=1,
            nproc_per_node=processes,
            run_id=uuid.uuid4().hex,
            rdzv_backend="c10d",
            rdzv_endpoint=f"{folder}/rendezvous",
            rdzv_configs={"store_type": "file"},
            local_addr="127.0.0.1",
            max_restarts=MOST_RESTARTS,
            logs_specs=DefaultLogsSpecs(log_dir=str(folder)),
            shutdown_timeout=SAVE_WITHIN_S,
        )
        try:
            statuses: dict[int, int] = elastic_launch(config, _work)(str(job), str(folder))
        except (SignalException, KeyboardInterrupt):
            return 130
        except ChildFailedError:
            sys.stderr.write(f"Processes of the training died {MOST_RESTARTS + 1} times; the same job goes on.\n")
            return PeerLost.exit_status
    return max(statuses.values())


def _work(job: str, folder: str) -> int:
    """One of the processes, started by the agent. It gives its status, or dies and is started again with the others."""
    stay(Path(folder))
    ended = Path(folder, _ENDED)
    if ended.exists():  # the others only died of it
        return int(ended.read_text())
    stopping, done = False, Event()

    def stop(*_: object) -> None:  # no lock: a signal may arrive while another one is handled
        nonlocal stopping
        stopping = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    Thread(target=_end_without_agent, args=(stop, done), daemon=True).start()
    loopback = next((name for _, name in socket.if_nameindex() if name.startswith("lo")), None)
    if loopback is not None:
        os.environ |= {"GLOO_SOCKET_IFNAME": loopback, "NCCL_SOCKET_IFNAME": loopback}
    life = Path(folder, f"life-{os.environ['TORCHELASTIC_RESTART_COUNT']}")
    life.mkdir(exist_ok=True)
    try:
        status = work(Path(job), lambda: stopping, life)
    except Exception:  # as it would end alone
        traceback.print_exc()
        status = 1
    if status == PeerLost.exit_status:
        sys.exit(status)
    if status:
        ended.write_text(str(status))
    if status == Interrupted.exit_status:
        os._exit(status)  # the agent that told it to only waits for its end
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)  # it only waits for the others now
    atexit.register(os._exit, 0)  # threads of torch that still wind down may abort a process at its end
    done.set()
    return status


def _end_without_agent(stop: Callable[[], None], done: Event) -> None:
    """Saves and ends this process when the agent is gone, for whom it would wait for ever."""
    agent = parent_process()
    if agent is not None:
        agent.join()
        stop()
        done.wait()
        os._exit(Interrupted.exit_status)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
