"""Errors of the engine's Python face: each carries the engine's status and one sentence for a person."""

from __future__ import annotations

from enum import StrEnum

from native._engine import ffi, lib


class EngineError(ValueError):
    """Base of all errors of `native`: `status` is a GO_ERR_* number, the text is one sentence."""

    def __init__(self, sentence: str, status: int = lib.GO_ERR_ARGUMENT) -> None:
        super().__init__(sentence)
        self.status = status


class NetworkError(EngineError):
    """Bytes or numbers that are not a network."""

    def __init__(self, sentence: str, status: int = lib.GO_ERR_FORMAT) -> None:
        super().__init__(sentence, status)


class Reason(StrEnum):
    """Why a move is illegal."""

    OCCUPIED = "occupied"
    KO = "ko"
    SUPERKO = "superko"
    SUICIDE = "suicide"
    TURN = "turn"
    FINISHED = "finished"


REASONS = {
    lib.GO_ERR_OCCUPIED: Reason.OCCUPIED,
    lib.GO_ERR_KO: Reason.KO,
    lib.GO_ERR_SUPERKO: Reason.SUPERKO,
    lib.GO_ERR_SUICIDE: Reason.SUICIDE,
    lib.GO_ERR_TURN: Reason.TURN,
    lib.GO_ERR_FINISHED: Reason.FINISHED,
}


class IllegalMove(EngineError):
    """A move that the rules forbid; `reason` says why."""

    def __init__(self, status: int) -> None:
        super().__init__(sentence_of(status), status)
        self.reason = REASONS[status]


class BlockError(EngineError):
    """A game block that the rules contradict: `ply` is the absolute ply of the first fault, None outside the plies."""

    def __init__(self, sentence: str, status: int, ply: int | None) -> None:
        super().__init__(sentence, status)
        self.ply = ply


def sentence_of(status: int) -> str:
    """The engine's sentence for a status."""
    return str(ffi.string(lib.go_status_text(status)).decode("ascii"))


def verify_status(status: int) -> None:
    """Raises for any status but GO_OK: IllegalMove, MemoryError, or EngineError for the rest."""
    if status == lib.GO_OK:
        return
    if status in REASONS:
        raise IllegalMove(status)
    if status == lib.GO_ERR_MEMORY:
        raise MemoryError(sentence_of(status))
    raise EngineError(sentence_of(status), status)
