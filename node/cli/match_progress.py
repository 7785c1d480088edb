"""The score of a match so far, on standard error: `Progress`."""

import time

import click

from node.matches.match_result import MatchResult

LINE_EVERY_S = 10.0


class Progress:
    """One line that is renewed on a terminal, else a line each ten seconds."""

    def __init__(self, is_terminal: bool) -> None:
        self._is_terminal = is_terminal
        self._next_s = time.monotonic() + LINE_EVERY_S
        self._is_open = False

    def show(self, result: MatchResult) -> None:
        """Says how it stands, if it is time to."""
        score = result.total
        line = f"{score.games} games: +{score.wins} ={score.draws} -{score.losses}"
        if self._is_terminal:
            click.echo(f"\r{line}", nl=False, err=True)
            self._is_open = True
        elif time.monotonic() >= self._next_s:
            click.echo(line, err=True)
            self._next_s = time.monotonic() + LINE_EVERY_S

    def end(self) -> None:
        """Leaves the renewed line as it stands."""
        if self._is_open:
            click.echo(err=True)
