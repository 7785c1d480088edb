"""The command group, lazily loaded, and the one place where errors become a sentence and an exit status."""

import importlib
import sys

import click

NO = 1
BAD_INPUT = 2
UNREACHABLE = 3
INTERRUPTED = 130

COMMANDS = {
    "run": "node.cli.run",
    "join": "node.cli.roles",
    "verify": "node.cli.roles",
    "coordinate": "node.cli.roles",
    "local": "node.cli.local",
    "audit": "node.cli.audit",
    "match": "node.cli.match",
    "proof": "node.cli.proof",
    "invite": "node.cli.keys",
    "root": "node.cli.keys",
    "status": "node.cli.control",
    "stop": "node.cli.control",
    "drain": "node.cli.control",
}


class LazyGroup(click.Group):
    """Imports a command's module when it is called for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        module = COMMANDS.get(name)
        if module is None:
            return None
        command = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        return command


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="gonode", prog_name="gonode")
def gonode() -> None:
    """A decentralised network that trains Go-playing networks by repeatable self-play."""


def main() -> None:
    """Runs the command line and exits with its status."""
    try:
        sys.exit(gonode.main(prog_name="gonode", standalone_mode=False) or 0)
    except click.exceptions.Abort:
        sys.exit(INTERRUPTED)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.ctx.get_help() if error.ctx else error.format_message())
        sys.exit(BAD_INPUT)
    except click.ClickException as error:
        print(f"gonode: {error.format_message()}", file=sys.stderr)
        sys.exit(error.exit_code if error.exit_code != 1 else BAD_INPUT)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:
        status = status_of(error)
        if status is None:
            raise
        print(f"gonode: {sentence_of(error)}", file=sys.stderr)
        sys.exit(status)


def status_of(error: BaseException) -> int | None:
    """The exit status of an error that is the user's or the world's, None for a fault of the program."""
    from node.refusals import REFUSALS, UNREACHABLE_ERRORS

    if isinstance(error, BaseExceptionGroup):
        found = [status_of(inner) for inner in error.exceptions]
        return None if None in found else found[0]
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, UNREACHABLE_ERRORS):
        return UNREACHABLE
    return BAD_INPUT if isinstance(error, REFUSALS) else None


def sentence_of(error: BaseException) -> str:
    """The first sentence inside an error or a group of them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__
