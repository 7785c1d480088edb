"""`gonode web`: pages about a run; for now the audit page, as static files."""

from pathlib import Path

import click


@click.command()
@click.option(
    "--static",
    "out",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Where the page's files go; any web server may serve them.",
)
@click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="A node's directory: its log is copied beside the page.",
)
@click.option("--folder", help="Where the page finds the run's public folder: a path or URL; default: public/.")
@click.option("--ticket", help="A ticket of the run that the page is for, or a file with it.")
def web(out: Path, directory: Path | None, folder: str | None, ticket: str | None) -> int:
    """Write the audit page, which checks a run in its visitor's browser."""
    from node.disk.home import Home, HomeError, read_ticket
    from node.web.site import FOLDER, Site, log_files, run_of, write_site
    from protocol.words import counted

    if directory is not None and folder is not None:
        raise click.UsageError("Say where the public folder is, or have it copied: --folder or --dir.")
    log = {} if directory is None else log_files(Home(directory))
    run = run_of(log) if log else None
    if ticket is not None:
        expected = read_ticket(ticket).run
        if run not in (None, expected):
            raise HomeError(f"{directory}: run {run_of(log).hex()[:16]} is here, not {expected.hex()[:16]}.")
        run = expected
    written = write_site(out, Site(folder or FOLDER, run), log)
    what = "the page and the run's log" if log else f"the page; it reads the run's public folder at {folder or FOLDER}"
    click.echo(f"{out}: {counted(written, 'file')}, {what}.")
    return 0
