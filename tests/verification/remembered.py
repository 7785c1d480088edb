"""What many nodes, or audits, in one process would compute alike is computed once: pure functions, remembered. For tests."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from protocol import ed25519, entries
from verification import state

MOST = 1 << 17


@contextmanager
def remembered() -> Iterator[None]:
    """Signature checks and parsed entries, which are frozen, are remembered; so are refusals, which raise each time."""
    with (
        patch.object(ed25519, "verify", _remembering(ed25519.verify)),
        patch.object(state, "parse_entry", _remembering(entries.parse_entry)),
    ):
        yield


def _remembering(function: Callable[..., Any]) -> Callable[..., Any]:
    answers: dict[tuple[Any, ...], tuple[Any, Exception | None]] = {}

    def ask(*arguments: Any, **options: Any) -> Any:
        asked = (*arguments, *sorted(options.items()))
        if asked not in answers:
            if len(answers) >= MOST:
                answers.clear()
            try:
                answers[asked] = function(*arguments, **options), None
            except Exception as error:
                answers[asked] = None, error
        answer, error = answers[asked]
        if error is not None:
            raise error
        return answer

    return ask
