"""A unit of systemd that runs one node: started again when it fails, ended in order, kept from what it does not need.

Invariants: stopping the unit is the first Ctrl-C, so that nothing is lost; bad input and a machine that computes wrongly
(statuses 2 and 1) are not tried again, for nothing changes by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass

STATE = "/var/lib/gonode"
"""The home of the account that systemd makes for a unit of the machine's."""

STOP_S = 600
RESTART_S = 60

WHAT = {
    "join": "contributes self-play games",
    "verify": "verifies and witnesses",
    "relay": "relays",
    "mirror": "keeps a copy of the run",
    "coordinate": "coordinates a run",
}

ALWAYS = (
    "NoNewPrivileges=yes",
    "LockPersonality=yes",
    "RestrictRealtime=yes",
    "RestrictSUIDSGID=yes",
    "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK",
    "SystemCallArchitectures=native",
    "UMask=0077",
)
"""What an account's own manager can do too."""

OF_THE_MACHINE = (
    "CapabilityBoundingSet=",
    "PrivateTmp=yes",
    "ProtectClock=yes",
    "ProtectControlGroups=yes",
    "ProtectHome=read-only",
    "ProtectHostname=yes",
    "ProtectKernelLogs=yes",
    "ProtectKernelModules=yes",
    "ProtectKernelTunables=yes",
    "ProtectSystem=strict",
    "RestrictNamespaces=yes",
    "SystemCallFilter=@system-service",
    "SystemCallErrorNumber=EPERM",
)


@dataclass(frozen=True, slots=True)
class Unit:
    """What a unit says: the program, the words behind it (the first is the command), and whose it is.

    A unit of the machine's runs under `account`, which owns `directory`, or, where both are None, under an account that
    systemd makes for it, whose home is STATE. ValueError for words with letters that no line can hold.
    """

    program: Sequence[str]
    words: Sequence[str]
    is_user: bool
    account: str | None = None
    directory: str | None = None

    def __post_init__(self) -> None:
        for word in (*self.program, *self.words):
            if not word.isprintable():
                raise ValueError(f"{word[:80]!r} cannot stand in a unit.")

    @property
    def environment_file(self) -> str:
        """Where variables such as GONODE_PASSPHRASE may stand, a line each."""
        return "%h/.gonode/environment" if self.is_user else "/etc/gonode/environment"

    def encode(self) -> str:
        """The unit's text."""
        return "\n".join(
            (
                "[Unit]",
                f"Description=gonode {self.words[0]}: {WHAT[self.words[0]]}",
                *(() if self.is_user else ("Wants=network-online.target", "After=network-online.target")),
                "StartLimitIntervalSec=0",
                "",
                "[Service]",
                "Type=exec",
                f"ExecStart={' '.join(map(quoted, (*self.program, *self.words)))}",
                f"EnvironmentFile=-{self.environment_file}",
                "Restart=on-failure",
                f"RestartSec={RESTART_S}",
                "RestartPreventExitStatus=1 2",
                "# As the first Ctrl-C: the node ends in order. Only its own process is told, and it ends its engine.",
                "KillSignal=SIGINT",
                "KillMode=mixed",
                f"TimeoutStopSec={STOP_S}",
                *([] if self.is_user else self._account()),
                *ALWAYS,
                *(() if self.is_user else OF_THE_MACHINE),
                *self._devices(),
                "",
                "[Install]",
                f"WantedBy={'default' if self.is_user else 'multi-user'}.target",
                "",
            )
        )

    def _account(self) -> list[str]:
        if self.account is None or self.directory is None:
            return ["DynamicUser=yes", "StateDirectory=gonode", f"Environment=HOME={STATE}"]
        return [f"User={self.account}", f"ReadWritePaths={quoted(self.directory)}"]

    def _devices(self) -> list[str]:
        """A GPU is a device that a node which plays or trains on it needs."""
        return [] if self.is_user or "cuda" in self.words else ["PrivateDevices=yes"]


def quoted(word: str) -> str:
    """A word as systemd reads it back from a line: quotes, backslashes, `%` and `$` mean themselves."""
    text = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    is_bare = word != "" and not any(letter.isspace() or letter in "'\"\\;" for letter in word)
    return text if is_bare else f'"{text}"'
