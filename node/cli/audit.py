"""`gonode audit`: is a release what its run's rules make it? Line by line, with the reason."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from node.cli.main import NO

if TYPE_CHECKING:
    from node.cli.audit_screen import AuditScreen
    from verification.audit.audit import AuditOptions, AuditReport, Check


@click.command()
@click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="A directory with the run; with --ticket or --url: where the copy is kept.",
)
@click.option("--ticket", help="The run; without --url: copy it from its peers first.")
@click.option("--url", help="Copy the run first from static files that a web server shows here.")
@click.option("--release", help="The release's name; default: the newest.")
@click.option("--sample", type=click.IntRange(0), default=5, show_default=True, help="Games and pairs to replay.")
@click.option("--full", is_flag=True, help="Replay everything.")
@click.option("--again", is_flag=True, help="Replay also what earlier audits on this machine replayed.")
@click.option("--retrain", is_flag=True, help="Repeat a part of the training too; with --full its whole cycle.")
@click.option("--kernel", help="scalar, avx2, vnni, neon or neon-dot; default: the fastest of this machine.")
@click.option("--threads", type=click.IntRange(1, 1024), default=1, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def audit(
    directory: Path | None,
    ticket: str | None,
    url: str | None,
    release: str | None,
    sample: int,
    full: bool,
    again: bool,
    retrain: bool,
    kernel: str | None,
    threads: int,
    as_json: bool,
) -> int:
    """Audit a release back to release 0: log, signatures, gate, window, games."""
    from native.canary import verify_kernel
    from node.audits.replay_memory import ReplayMemory, memory_file
    from node.cli.options import parse_kernel
    from verification.audit.audit import AuditOptions

    if directory is None and ticket is None and url is None:
        raise click.UsageError("Say what to audit: --dir DIR, --ticket TICKET or --url URL.")
    repeat = None
    if retrain:
        from node.audits.retraining import Retraining
        from node.training.session import require_trainer

        require_trainer()
        repeat = Retraining()
    verify_kernel(parse_kernel(kernel))
    screen = None if as_json else _screen()
    with ReplayMemory(None if again else memory_file()) as memory:
        options = AuditOptions(
            release=release,
            sample=sample,
            full=full,
            repeat=repeat,
            kernel=parse_kernel(kernel),
            threads=threads,
            memory=memory,
        )
        try:
            found = _audited(directory, ticket, url, options, screen)
        finally:
            if screen is not None:
                screen.clear()
    if as_json:
        checks = [{"name": check.name, "ok": check.ok, "detail": check.detail} for check in found.checks]
        click.echo(json.dumps({"ok": found.ok, "release": found.release, "checks": checks}))
    else:
        click.echo(f"The audit of {found.release or 'this run'} {'passed' if found.ok else 'FAILED'}.")
    return 0 if found.ok else NO


def _audited(
    directory: Path | None, ticket: str | None, url: str | None, options: "AuditOptions", screen: "AuditScreen | None"
) -> "AuditReport":
    def report(check: "Check") -> None:
        if screen is not None:
            screen.clear()
            print_check(check)

    tell = nobody if screen is None else screen.hear
    if url is not None:
        from node.audits.url_copy import audit_url

        return audit_url(url, ticket, directory, options, report, tell)
    if ticket is not None:
        from node.audits.ticket_audit import audit_run

        return audit_run(ticket, directory, options, report, tell)
    from node.audits.folder_audit import audit_home
    from node.disk.home import Home

    assert directory is not None
    return audit_home(Home(directory), options, report, tell)


def _screen() -> "AuditScreen":
    from node.cli.audit_screen import Bar, Lines

    return Bar() if sys.stderr.isatty() else Lines()


def nobody(progress: object) -> None:
    """Progress that nobody hears of."""


def print_check(check: "Check") -> None:
    """One line: ok, FAIL or not run, the check's name, and why."""
    mark = {True: "ok", False: "FAIL", None: "--"}[check.ok]
    click.echo(f"{mark:<5} {check.name:<8} {check.detail}")
