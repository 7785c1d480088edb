"""`gonode completion`: the script by which a shell completes commands and flags; click's, which asks gonode itself."""

import click

VARIABLE = "_GONODE_COMPLETE"
"""What the script sets when it asks; the name that click derives from the program's."""

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> int:
    """Print the script by which SHELL completes gonode's commands and flags."""
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None
    script = found(context.find_root().command, {}, "gonode", VARIABLE)
    click.echo(script.source_template % script.source_vars(), nl=False)
    return 0
