"""The command group, lazily loaded, and the one place where errors become a sentence and an exit status."""

import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from node.cli.examples import FIRST_STEPS, add_examples, epilog
from node.cli.setting import name_variables

NO = 1
BAD_INPUT = 2
UNREACHABLE = 3
INTERRUPTED = 130

MOST_CHARACTERS = 1000
"""The longest sentence that is printed of an error."""

COMMANDS = {
    "run": "node.cli.run",
    "config": "node.cli.config",
    "setup": "node.cli.setup",
    "doctor": "node.cli.doctor",
    "service": "node.cli.service",
    "completion": "node.cli.completion",
    "join": "node.cli.join",
    "verify": "node.cli.verify",
    "coordinate": "node.cli.coordinate",
    "relay": "node.cli.relay",
    "local": "node.cli.local",
    "train": "node.cli.train",
    "bench": "node.cli.bench",
    "audit": "node.cli.audit",
    "mirror": "node.cli.mirror",
    "match": "node.cli.match",
    "export": "node.cli.export",
    "gtp": "node.cli.gtp",
    "analysis": "node.cli.analysis",
    "analyze": "node.cli.analyze",
    "report": "node.cli.report",
    "web": "node.cli.web",
    "ratings": "node.cli.ratings",
    "proof": "node.cli.proof",
    "invite": "node.cli.keys",
    "root": "node.cli.root",
    "keys": "node.cli.keys",
    "status": "node.cli.control",
    "stop": "node.cli.control",
    "drain": "node.cli.control",
    "pause": "node.cli.control",
    "resume": "node.cli.control",
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
        name_variables((name,), command)
        add_examples((name,), command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As in the base; the settings of the command that is meant are judged, and the file's are its defaults."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and command is not None and not ctx.resilient_parsing:
            from node.cli.given import apply_settings

            apply_settings(ctx, name, command, rest)
        return name, command, rest

    def invoke(self, ctx: click.Context) -> object:
        """As in the base, but a closed pipe is an error of this command line, not click's exit status 1."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise OutputClosed from None


class OutputClosed(Exception):
    """Whoever read standard output is gone."""


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=epilog(FIRST_STEPS, "First steps:"),
)
@click.version_option(package_name="gonode", prog_name="gonode")
def gonode() -> None:
    """A decentralised network that trains Go-playing networks by repeatable self-play."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs the command line (`arguments`, or the process's) and exits with its status."""
    _open_streams()
    try:
        status = gonode.main(arguments, prog_name="gonode", standalone_mode=False) or 0
        sys.stdout.flush()
        sys.exit(status)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.ctx.get_help() if error.ctx else error.format_message(), file=sys.stderr)
        sys.exit(BAD_INPUT)
    except click.ClickException as error:
        _leave(error.format_message(), BAD_INPUT)
    except click.exceptions.Abort:
        sys.exit(INTERRUPTED)
    except (BrokenPipeError, OutputClosed):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains when it flushes at its end
        _leave("Nobody reads this command's output any more.", BAD_INPUT)
    except (Exception, KeyboardInterrupt, BaseExceptionGroup) as error:
        status = status_of(error)
        if status is None:
            raise
        if status == INTERRUPTED:
            sys.exit(status)
        _leave(sentence_of(error), status)


def _open_streams() -> None:
    """What was closed by whoever started this (`>&-`) is the null device, so that nothing else gets its number."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115


def _leave(sentence: str, status: int) -> NoReturn:
    """Prints one line on standard error and exits."""
    line = "".join(letter if letter.isprintable() else " " for letter in sentence)
    print(f"gonode: {' '.join(line.split())[:MOST_CHARACTERS]}", file=sys.stderr)
    sys.exit(status)


def status_of(error: BaseException) -> int | None:
    """The exit status of an error that is the user's or the world's, None for a fault of the program."""
    from node.refusals import NO_ERRORS, REFUSALS, UNREACHABLE_ERRORS
    from node.training.errors import TrainingFailed

    if isinstance(error, BaseExceptionGroup):
        found = [status_of(inner) for inner in error.exceptions]
        return None if None in found else found[0]
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, TrainingFailed):
        return error.exit_status
    if isinstance(error, UNREACHABLE_ERRORS):
        return UNREACHABLE
    if isinstance(error, NO_ERRORS):
        return NO
    return BAD_INPUT if isinstance(error, REFUSALS) else None


def sentence_of(error: BaseException) -> str:
    """The first sentence inside an error or a group of them."""
    import sqlite3

    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename is not None else f"{error.strerror}."
    if isinstance(error, sqlite3.Error):
        return f"The node's store (node.db) cannot be used: {error}."
    return str(error) or type(error).__name__
