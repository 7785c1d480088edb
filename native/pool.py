"""Many games at once on the engine's own threads: self-play and gate games, and replays of their blocks.

Spec: docs/spec/search.md, docs/spec/batch.md. Invariants: the bytes of a game depend on its `Job` alone, not on the
number of threads, the order of jobs or the kernel; every job given comes back once from `wait`, also after `stop`.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from native._engine import ffi, lib
from native.errors import EngineError, sentence_of, verify_status
from native.network import Kernel
from native.rules import Rules, Scoring
from native.search import DIGEST_BYTES, Player, SearchConfig, search_ids

if TYPE_CHECKING:
    from native._engine import CData

MAX_OPENING_MOVES = 64


@dataclass(frozen=True, slots=True)
class Job:
    """One game to play or to replay. Raises EngineError for what a pool cannot play: a board that is not square,
    territory scoring, no move cap, an opening that is too long.

    `id` is the caller's and comes back in `Done`; two jobs under way need different ones. `counter` and `opening`
    (the opening's index) go into the block; `opening_moves` are played without a search. In self-play `black` and
    `white` are the same player.
    """

    id: int
    counter: int
    rules: Rules
    config: SearchConfig
    config_digest: bytes
    game_seed: bytes
    black: Player
    white: Player
    opening: int = 0
    opening_moves: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        search_ids(self.config_digest, self.game_seed)
        if not (0 <= self.id < 2**64 and 0 <= self.counter < 2**64 and 0 <= self.opening < 2**16):
            raise EngineError("A job's id, counter or opening is out of range.")
        rules = self.rules
        if rules.rows != rules.cols or rules.scoring != Scoring.AREA or rules.move_cap == 0:
            raise EngineError("A pool plays square boards under area scoring with a move cap.")
        if len(self.opening_moves) > MAX_OPENING_MOVES or len(self.opening_moves) >= rules.move_cap:
            raise EngineError(f"An opening of {len(self.opening_moves)} moves is too long.")
        if not all(0 <= move <= rules.points for move in self.opening_moves):
            raise EngineError("An opening move is not on the board.")

    def to_c(self) -> CData:
        """A new `go_job *`; the players' networks must outlive its use."""
        return ffi.new(
            "go_job *",
            {
                "id": self.id,
                "counter": self.counter,
                "rules": self.rules.to_c()[0],
                "config": self.config.as_dict(),
                "ids": search_ids(self.config_digest, self.game_seed),
                "black": self.black.as_dict(),
                "white": self.white.as_dict(),
                "opening": self.opening,
                "opening_len": len(self.opening_moves),
                "opening_moves": self.opening_moves,
            },
        )


@dataclass(frozen=True, slots=True)
class Done:
    """A finished job.

    `status` is GO_OK (0); or GO_ERR_MISMATCH for a replay that differs at absolute ply `bad_ply`, or outside the plies
    (counter, size, komi, opening, end, result, score) when that is -2; GO_ERR_FORMAT for a replay of bytes that are no
    block; GO_ERR_STOPPED; or why the job could not be played. `plies` searched, `visits` and network `evaluations`
    done. `block` is the played game's, b"" for a replay; `digests` are the D of the searched plies, up to and with the
    first mismatch.
    """

    id: int
    status: int
    bad_ply: int
    plies: int
    visits: int
    evaluations: int
    block: bytes
    digests: tuple[bytes, ...]

    @property
    def is_ok(self) -> bool:
        """The game was played to its end, or replayed without a difference."""
        return self.status == lib.GO_OK

    @property
    def is_mismatch(self) -> bool:
        """A replay found another game than the block's, or no block at all."""
        return self.status in (lib.GO_ERR_MISMATCH, lib.GO_ERR_FORMAT)

    @property
    def is_stopped(self) -> bool:
        """`stop` came before the end."""
        return self.status == lib.GO_ERR_STOPPED

    @property
    def sentence(self) -> str:
        """One sentence for the status."""
        if self.status == lib.GO_ERR_MISMATCH and self.bad_ply >= 0:
            return f"The replay differs from the block at ply {self.bad_ply}."
        if self.status == lib.GO_ERR_MISMATCH:
            return "The replay differs from the block in its header."
        return sentence_of(self.status)


class Pool:
    """Threads of the engine that play whole games. All methods may be called from any thread; `wait` blocks without
    the GIL. A context manager: leaving it stops what runs and joins the threads."""

    def __init__(self, threads: int, kernel: Kernel) -> None:
        """Starts `threads` threads (1 to 1024). Raises EngineError for a kernel this machine does not have."""
        out = ffi.new("go_pool **")
        verify_status(lib.go_pool_new(threads, int(kernel), out))
        self._handle: CData = ffi.gc(out[0], lib.go_pool_free)
        self._jobs: dict[int, Job] = {}  # keeps the networks alive

    def play(self, job: Job) -> None:
        """Queues a game to play. Raises EngineError when its id is under way or the pool was stopped."""
        handle = self._open()
        self._hold(job)
        self._submit(job, lib.go_pool_play(handle, job.to_c()))

    def replay(self, job: Job, block: bytes) -> None:
        """Queues a replay of `block` as `job` would have played it, whole, up to the first mismatch."""
        handle = self._open()
        self._hold(job)
        self._submit(job, lib.go_pool_replay(handle, job.to_c(), block, len(block)))

    def wait(self, timeout_s: float) -> Done | None:
        """The next finished job, in the order of finishing; None when none finishes within `timeout_s`."""
        done, got = ffi.new("go_done *"), ffi.new("int32_t *")
        handle = self._open()
        verify_status(lib.go_pool_wait(handle, max(0, min(round(timeout_s * 1000), 2**31 - 1)), done, got))
        if not got[0]:
            return None
        block, digests = bytearray(done.block_len), bytearray(DIGEST_BYTES * done.plies)
        if block or digests:
            into = ffi.from_buffer("uint8_t[]", block), ffi.from_buffer("uint8_t[]", digests)
            verify_status(lib.go_pool_take(handle, done.id, into[0], len(block), into[1], len(digests)))
        self._jobs.pop(done.id, None)
        return Done(
            id=done.id,
            status=done.status,
            bad_ply=done.bad_ply,
            plies=done.plies,
            visits=done.visits,
            evaluations=done.evaluations,
            block=bytes(block),
            digests=tuple(bytes(digests[at : at + DIGEST_BYTES]) for at in range(0, len(digests), DIGEST_BYTES)),
        )

    @property
    def pending(self) -> int:
        """Jobs given and not yet returned by `wait`."""
        return lib.go_pool_pending(self._open())

    def stop(self) -> None:
        """Ends what runs and what is queued soon, as stopped; nothing new is taken. `wait` still returns every job."""
        lib.go_pool_stop(self._open())

    def close(self) -> None:
        """Stops and joins the threads; unfetched results are lost. Not while another thread is in `wait`."""
        handle, self._handle = self._handle, None
        if handle is not None:
            ffi.gc(handle, None)
            lib.go_pool_free(handle)
            self._jobs.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open(self) -> CData:
        if self._handle is None:
            raise EngineError("The pool is closed.")
        return self._handle

    def _hold(self, job: Job) -> None:
        if job.id in self._jobs:
            raise EngineError(f"A job with id {job.id} is under way.")
        self._jobs[job.id] = job

    def _submit(self, job: Job, status: int) -> None:
        if status != lib.GO_OK:
            self._jobs.pop(job.id, None)
        verify_status(status)
