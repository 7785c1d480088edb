"""Network namespaces with narrow uplinks on one bridge, where this machine allows them (root, `ip`, `tc`)."""

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

_CLONE_NEWNET = 0x40000000


class NotHere(Exception):
    """This machine makes no namespaces; the message says why."""


@contextmanager
def uplinks(count: int, rate: str) -> Iterator[list[tuple[str, str]]]:
    """So many namespaces: (name, IPv4 address) each; what leaves one is held to `rate`, such as 20mbit.

    Raises NotHere.
    """
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "tc"))):
        raise NotHere("namespaces take root, ip and tc")
    bridge = f"gb{os.getpid()}"
    with ExitStack() as made:
        try:
            _run(f"ip link add {bridge} type bridge")
            made.callback(_run, f"ip link del {bridge}")
            _run(f"ip link set {bridge} up")
            places = []
            for number in range(count):
                name, outer, address = (
                    f"{bridge}-{number}",
                    f"{bridge}v{number}",
                    f"10.213.{number // 250}.{number % 250 + 1}",
                )
                _run(f"ip netns add {name}")
                made.callback(_run, f"ip netns del {name}")
                _run(f"ip link add {outer} type veth peer name up0 netns {name}")
                _run(f"ip link set {outer} master {bridge}")
                _run(f"ip link set {outer} up")
                _run(f"ip -n {name} addr add {address}/16 dev up0")
                _run(f"ip -n {name} link set up0 up")
                _run(f"ip -n {name} link set lo up")
                _run(f"tc -n {name} qdisc add dev up0 root tbf rate {rate} burst 64kb latency 300ms")
                places.append((name, address))
        except subprocess.CalledProcessError as error:
            raise NotHere(f"{' '.join(error.cmd)}: {error.stderr.decode().strip()}") from error
        yield places


def enter(name: str) -> None:
    """Moves this process, which has one thread, into a namespace; OSError."""
    descriptor = os.open(f"/run/netns/{name}", os.O_RDONLY)
    try:
        if ctypes.CDLL(None, use_errno=True).setns(descriptor, _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"namespace {name} cannot be entered")
    finally:
        os.close(descriptor)


def _run(command: str) -> None:
    subprocess.run(command.split(), check=True, capture_output=True)
