"""What a command of the server is: a function of the session and the request that gives its answer."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from node.gtp.line import Request
from node.gtp.session import Session


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer that comes line by line; `until_input`: it ends with the next input, at the earliest after one line."""

    lines: Iterator[str]
    until_input: bool


Answer = str | Stream
Command = Callable[[Session, Request], Answer]
