"""The audit of a run by its ticket: its peers are asked for a copy, which is then audited as a folder.

Spec: `docs/spec/audit.md` ("Copies").
"""

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import trio

from node.audits.folder_audit import audit_home
from node.disk.home import Home, read_ticket
from node.disk.keyring import load_or_create_key
from node.events import silent
from node.launch import open_member
from node.mirror import Mirror, check_home
from verification.audit.audit import AuditOptions, AuditReport, Check
from verification.audit.folder import Tell


async def mirror_once(ticket: str, home: Home, tell: Tell | None = None) -> None:
    """Makes `home`'s public folder a copy of the run as its newest cosigned head shows it; raises Unreachable."""
    from node.peering.libp2p.opening import open_libp2p

    check_home(home)
    parsed = read_ticket(ticket)
    home.store_ticket(parsed)
    secret = load_or_create_key(home.key("host"))
    here = ["/ip4/127.0.0.1/tcp/0"]
    async with open_member(home, parsed, secret, open_libp2p, silent, here, await_log=False) as member:
        await Mirror(member, tell).take_once()


def audit_run(
    ticket: str,
    directory: Path | None,
    options: AuditOptions,
    report: Callable[[Check], None] | None,
    tell: Tell | None = None,
) -> AuditReport:
    """Copies the run of a ticket to `directory`, or to a temporary folder, and audits it there.

    Raises AuditInputError, HomeError, StoreError, TransportError.
    """
    with ExitStack() as stack:
        if directory is None:
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gonode-audit-")))
        home = Home(directory)
        trio.run(mirror_once, ticket, home, tell)
        return audit_home(home, options, report, tell, is_copy=True)
