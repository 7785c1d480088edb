"""Checks that a node could listen where it is told to."""

import errno
import socket
from collections.abc import Sequence

from node.doctor.finding import Finding, ok, wrong
from node.founding.listening import check_address


def check_ports(listen: Sequence[str], is_running: bool) -> list[Finding]:
    """A finding for each address; a node that runs has its ports already, and holds them."""
    if is_running:
        return [ok("listen", "The running node listens.")]
    return [check_port(address) for address in listen] or [ok("listen", "It listens nowhere, as it is told to.")]


def check_port(listen: str) -> Finding:
    """Whether an address of this machine is there and its port is free."""
    address, port = check_address(listen)
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address, port))
    except OSError as error:
        return wrong("listen", f"{listen}: {error.strerror}.", _mend(error.errno, address, port))
    return ok("listen", f"{listen} can be listened at.")


def _mend(number: int | None, address: str, port: int) -> str:
    if number == errno.EADDRINUSE:
        return f"Another program has port {port}: end it, or name another port with --listen."
    if number == errno.EADDRNOTAVAIL:
        return (
            f"{address} is no address of this machine: listen at 0.0.0.0 and tell others the address with --announce."
        )
    if number == errno.EACCES:
        return f"Ports below 1024, as {port}, are the system's: name one from 1024 to 65535 with --listen."
    return "Name another address or port with --listen."
