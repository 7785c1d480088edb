"""Where metrics are served: an address of this machine and a port, as `--metrics` takes them."""

import ipaddress
from dataclasses import dataclass
from typing import Final, Self

LOOPBACK: Final = "127.0.0.1"
_MOST: Final = 65_535


class MetricsFault(Exception):
    """One sentence: why metrics cannot be served."""


@dataclass(frozen=True, slots=True)
class MetricsAddress:
    """An IP address of this machine and a port; port 0 takes a free one. Raises MetricsFault."""

    host: str
    port: int

    def __post_init__(self) -> None:
        try:
            ipaddress.ip_address(self.host)
        except ValueError:
            raise MetricsFault(f"{self.host!r} is no IP address of this machine, such as {LOOPBACK}.") from None
        if not 0 <= self.port <= _MOST:
            raise MetricsFault(f"Port {self.port} is out of range; ports are 1 to {_MOST}.")

    @classmethod
    def parse(cls, text: str) -> Self:
        """`PORT` (of loopback), `ADDRESS:PORT` or `[ADDRESS]:PORT`; raises MetricsFault."""
        host, colon, port = text.rpartition(":")
        if not (port.isascii() and port.isdigit() and len(port) <= len(str(_MOST))) or (colon and not host):
            raise MetricsFault(f"{text!r} is no place to serve metrics at: give PORT or ADDRESS:PORT, such as 9100.")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        return cls(host or LOOPBACK, int(port))

    def encode(self) -> str:
        """As `parse` takes it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
