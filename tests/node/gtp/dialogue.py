"""Dialogues with the server in this process: input in, answers out, and what every answer has to look like."""

from __future__ import annotations

import io
import re

from native.rules import Rules
from node.gtp.feed import Feed
from node.gtp.server import serve
from node.gtp.session import Limits, Session
from node.play.player import AnyPlayer
from tests.node.play.players import small_network, small_searcher

VISITS = 8
FORM = re.compile(r"[=?][0-9]*(?: [^\n]*)?(?:\n[^\n]+)*")


def small_session(player: AnyPlayer | None = None, size: int = 19) -> Session:
    """A controller's game with that player, or with the small network."""
    rules = Rules(size, size, 15, pass_alive=True, settled_end=True)
    return Session(player or small_searcher(small_network()), rules, Limits(VISITS))


def dialogue(text: str | bytes, session: Session | None = None) -> list[str]:
    """The answers to all lines, without the blank line at their ends."""
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    out = io.StringIO()
    serve(session or small_session(), Feed(io.BytesIO(data)), out)
    said = out.getvalue()
    if not said:
        return []
    assert said.endswith("\n\n")
    return said[:-2].split("\n\n")


def ask(session: Session, *lines: str) -> list[str]:
    """The answers to lines, of a game that goes on."""
    return dialogue("".join(f"{line}\n" for line in lines), session)


def verify_form(answer: str) -> None:
    """Raises AssertionError unless this is an answer by the protocol; a failure says why, in one line."""
    assert FORM.fullmatch(answer), answer
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", answer)
    if answer.startswith("?"):
        assert "\n" not in answer
        assert len(answer.partition(" ")[2]) > 3
