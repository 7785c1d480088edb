"""`gonode audit`: is a release what its run's rules make it? Line by line, with the reason."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from node.cli.main import NO

if TYPE_CHECKING:
    from verification.audit.audit import Check


@click.command()
@click.option("--dir", "directory", type=click.Path(path_type=Path, file_okay=False), help="A directory with the run.")
@click.option("--ticket", help="Audit over the network: copy the run from its peers first.")
@click.option("--release", help="The release's name; default: the newest.")
@click.option("--sample", type=click.IntRange(0), default=5, show_default=True, help="Games and pairs to replay.")
@click.option("--full", is_flag=True, help="Replay everything.")
@click.option("--retrain", is_flag=True, help="Repeat a part of the training too; with --full its whole cycle.")
@click.option("--kernel", help="scalar, avx2, vnni, neon or neon-dot; default: the fastest of this machine.")
@click.option("--threads", type=click.IntRange(1, 1024), default=1, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def audit(
    directory: Path | None,
    ticket: str | None,
    release: str | None,
    sample: int,
    full: bool,
    retrain: bool,
    kernel: str | None,
    threads: int,
    as_json: bool,
) -> int:
    """Audit a release back to release 0: log, signatures, gate, window, games."""
    from native.canary import verify_kernel
    from node.audits.folder_audit import audit_home
    from node.cli.roles import parse_kernel
    from node.disk.home import Home
    from verification.audit.audit import AuditOptions

    if (directory is None) == (ticket is None):
        raise click.UsageError("Say what to audit: either --dir DIR or --ticket TICKET.")
    repeat = None
    if retrain:
        from node.audits.retraining import Retraining
        from node.training.session import require_trainer

        require_trainer()
        repeat = Retraining()
    options = AuditOptions(
        release=release, sample=sample, full=full, repeat=repeat, kernel=parse_kernel(kernel), threads=threads
    )
    verify_kernel(options.kernel)
    report = None if as_json else print_check
    if directory is not None:
        found = audit_home(Home(directory), options, report)
    else:
        from node.audits.mirror import audit_run

        found = audit_run(ticket or "", options, report)
    if as_json:
        checks = [{"name": check.name, "ok": check.ok, "detail": check.detail} for check in found.checks]
        click.echo(json.dumps({"ok": found.ok, "release": found.release, "checks": checks}))
    else:
        click.echo(f"The audit of {found.release or 'this run'} {'passed' if found.ok else 'FAILED'}.")
    return 0 if found.ok else NO


def print_check(check: "Check") -> None:
    """One line: ok, FAIL or not run, the check's name, and why."""
    mark = {True: "ok", False: "FAIL", None: "--"}[check.ok]
    click.echo(f"{mark:<5} {check.name:<8} {check.detail}")
