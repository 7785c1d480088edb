"""`gonode verify`: be one of the trusted members of a run."""

import json
from pathlib import Path
from typing import Any

import click

from node.cli.options import engine_of, role_of, role_options


@click.command()
@role_options
@click.option("--request", is_flag=True, help="Print this verifier's key for the root's holder, and end.")
def verify(
    ticket: str,
    directory: Path | None,
    kernel: str | None,
    threads: int | None,
    in_flight: int | None,
    output: Any,
    request: bool,
    **peering: Any,
) -> int:
    """Verify and witness the run of TICKET, as one of its trusted members."""
    options = role_of(engine_of(kernel, threads, in_flight), ticket, directory, output, peering)
    if request:
        from node.disk.keyring import load_or_create_key

        key = load_or_create_key(options.home.key("verifier")).public.hex()
        click.echo(json.dumps({"event": "request", "key": key}) if output.as_json else key)
        return 0
    from node.roles import run_verifier

    return run_verifier(options)
