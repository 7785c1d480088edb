"""`gonode web`: the pages of a run, served from a node's directory; or its audit page, as static files."""

from pathlib import Path
from typing import Final

import click

HOST: Final = "127.0.0.1"
PORT: Final = 8080


@click.command()
@click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="The directory of a node that has the run, running or not; default: the one below ~/.gonode.",
)
@click.option("--host", help=f"The address to serve at; default: {HOST}, this machine alone.")
@click.option("--port", type=click.IntRange(0, 65535), help=f"The port; default: {PORT}; 0: one that is free.")
@click.option(
    "--proxy",
    "proxies",
    multiple=True,
    help="The address of a web server before this one, whose X-Forwarded-For is believed; repeatable.",
)
@click.option(
    "--static",
    "out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write the audit page's files there instead, for any web server; with --dir, the run's log beside them.",
)
@click.option(
    "--folder", help="With --static: where the page finds the run's public folder, a path or URL; default: public/."
)
@click.option("--ticket", help="With --static: a ticket of the run that the page is for, or a file with it.")
def web(
    directory: Path | None,
    host: str | None,
    port: int | None,
    proxies: tuple[str, ...],
    out: Path | None,
    folder: str | None,
    ticket: str | None,
) -> int:
    """Show a run in a browser: releases, contributors, verification, bans, network."""
    if out is not None:
        if host is not None or port is not None or proxies:
            raise click.UsageError("--host, --port and --proxy are for the server: use them without --static.")
        return _write(out, directory, folder, ticket)
    if folder is not None or ticket is not None:
        raise click.UsageError("--folder and --ticket are for the audit page: use them with --static.")
    return _serve(directory, host or HOST, PORT if port is None else port, proxies)


def _serve(directory: Path | None, host: str, port: int, proxies: tuple[str, ...]) -> int:
    import ipaddress

    import trio

    from node.disk.home import HOMES, Home, HomeError

    for proxy in proxies:
        try:
            ipaddress.ip_address(proxy)
        except ValueError as error:
            raise click.UsageError(f"--proxy wants an IP address, not {proxy[:80]!r}.") from error
    if directory is None:
        found = sorted(path.parent for path in HOMES.expanduser().glob("*/ticket"))
        if len(found) != 1:
            what = (
                f"Several runs are below {HOMES} ({', '.join(each.name for each in found)})"
                if found
                else f"No run is below {HOMES}"
            )
            raise HomeError(f"{what}; say which directory: --dir DIR.")
        directory = found[0]
    try:
        from node.web.serving import serve_pages
    except ModuleNotFoundError as error:
        raise HomeError(f"The pages need {error.name}: install gonode with its extra, `gonode[web]`.") from error
    trio.run(serve_pages, Home(directory), host, port, click.echo, proxies)
    return 0


def _write(out: Path, directory: Path | None, folder: str | None, ticket: str | None) -> int:
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
