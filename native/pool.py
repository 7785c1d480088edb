"""Many games at once on the engine's own threads: self-play and gate games, and replays of their blocks.

Spec: docs/spec/search.md, docs/spec/batch.md. Invariants: the bytes of a game depend on its `Job` alone, not on threads,
games in flight, the order of jobs, or what evaluates; every job given comes back once from `wait`, also after `stop`.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from native._engine import ffi, lib
from native.errors import EngineError, sentence_of, verify_status
from native.network import MAX_SIDE, Kernel, Network
from native.rules import Rules, Scoring
from native.search import DIGEST_BYTES, Player, SearchConfig, search_ids

if TYPE_CHECKING:
    from native._engine import CData

MAX_OPENING_MOVES = 64
PULL_MAX = 1024
"""Most positions of a `Pull`."""


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
    done, those of a ply that was stopped included. What the thread's cache still holds of a game is not evaluated again,
    so evaluations (and nothing else) may grow when many games with long searches share a cache. `block` is the played
    game's, b"" for a replay; of a stopped game it is `begun`. `plies` and `visits` count those that
    it was begun with, and `digests` are the D of all, up to and with the first mismatch of a replay.
    """

    id: int
    status: int
    bad_ply: int
    plies: int
    visits: int
    evaluations: int
    block: bytes
    digests: tuple[bytes, ...]

    @classmethod
    def stopped(cls, number: int) -> Self:
        """A game that was stopped before its first ply."""
        return cls(number, lib.GO_ERR_STOPPED, -1, 0, 0, 0, b"", ())

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
    def begun(self) -> bytes:
        """The searched plies of a game that was stopped, from which `Pool.play` goes on; b"" when there are none."""
        return self.block if self.is_stopped else b""

    @property
    def sentence(self) -> str:
        """One sentence for the status."""
        if self.status == lib.GO_ERR_MISMATCH and self.bad_ply >= 0:
            return f"The replay differs from the block at ply {self.bad_ply}."
        if self.status == lib.GO_ERR_MISMATCH:
            return "The replay differs from the block in its header."
        return sentence_of(self.status)


@dataclass(frozen=True, slots=True)
class Pull:
    """Positions to evaluate outside: `count` of them for one network on `size` by `size` points, each u8 planes
    [20][size][size] as an `Evaluator` takes them. `ticket` is the pool's name for it."""

    ticket: int
    network: Network
    size: int
    count: int
    planes: bytearray


class Pool:
    """Threads of the engine that play whole games. All methods may be called from any thread; `wait`, `pull` and `push`
    run without the GIL. A context manager: leaving it stops what runs and joins the threads."""

    def __init__(self, threads: int, kernel: Kernel, games: int = 1) -> None:
        """Starts `threads` threads (1 to 1024) with `games` (1 to 1024) in flight on each, whose positions are evaluated
        together. Raises EngineError for a kernel this machine does not have."""
        self._start(threads, games, int(kernel))

    @classmethod
    def outside(cls, threads: int, games: int) -> Self:
        """A pool whose positions are evaluated by whoever calls `pull` and `push`. Each thread has two halves of its
        games, so that it goes on with one while the other is away."""
        pool = cls.__new__(cls)
        pool._start(threads, games, lib.GO_KERNEL_OUTSIDE)
        return pool

    def _start(self, threads: int, games: int, kernel: int) -> None:
        self._handle: CData = None
        out = ffi.new("go_pool **")
        status = lib.go_pool_new(threads, games, kernel, out)
        if status == lib.GO_ERR_ARGUMENT:
            raise EngineError(f"A pool has 1 to 1024 threads and games in flight, not {threads} and {games}.", status)
        verify_status(status)
        self._handle = ffi.gc(out[0], lib.go_pool_free)
        self._jobs: dict[int, Job] = {}  # keeps the networks alive
        self._most = min(threads * games, PULL_MAX) * lib.GO_FEATURE_PLANES * MAX_SIDE**2
        self._spare: list[bytearray] = []  # of `_most` bytes, each for one call of `pull`

    def play(self, job: Job, begun: bytes = b"") -> None:
        """Queues a game to play, on from the plies of `Done.begun` if there are any. Raises EngineError when its id is under
        way or the pool was stopped. What is no begun game of this job comes back as a mismatch."""
        handle = self._open()
        self._hold(job)
        if begun:
            self._submit(job, lib.go_pool_play_on(handle, job.to_c(), begun, len(begun)))
        else:
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
        verify_status(lib.go_pool_wait(handle, _milliseconds(timeout_s), done, got))
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

    def pull(self, timeout_s: float) -> Pull | None:
        """Positions that wait for evaluation outside, as many as go together; None when there are none within
        `timeout_s`. Every pull is to be pushed. Raises EngineError for a pool that evaluates by itself."""
        handle = self._open()
        pull, got = ffi.new("go_pull *"), ffi.new("int32_t *")
        spare = self._spare_buffer()
        status = lib.go_pool_pull(
            handle, _milliseconds(timeout_s), pull, ffi.from_buffer("uint8_t[]", spare), self._most, got
        )
        if status == lib.GO_ERR_ARGUMENT:
            raise EngineError("This pool evaluates by itself: nothing is to be pulled.", status)
        verify_status(status)
        planes = bytearray(memoryview(spare)[: pull.count * lib.GO_FEATURE_PLANES * pull.size**2])
        self._spare.append(spare)
        network = self._network(pull.net) if got[0] else None
        return None if network is None else Pull(pull.ticket, network, pull.size, pull.count, planes)

    def push(self, pull: Pull, outputs: object) -> None:
        """The outputs of a pull, once: a C-contiguous buffer of one `go_output` a position, which is int32[count][726] in
        the order policy [362], value, score_mean, score_spread, ownership [361]; the first three are used. After `stop`
        they are dropped. Raises EngineError for another size, or a pull that is not out."""
        handle = self._open()
        data = ffi.from_buffer("uint8_t[]", outputs)
        if len(data) != pull.count * ffi.sizeof("go_output"):
            raise EngineError(f"{len(data)} bytes of outputs are not those of {pull.count} positions.")
        status = lib.go_pool_push(handle, pull.ticket, ffi.cast("go_output *", data), pull.count)
        if status == lib.GO_ERR_ARGUMENT:
            raise EngineError("A pull's outputs are pushed once, to the pool that it came from.", status)
        verify_status(status)

    @property
    def pending(self) -> int:
        """Jobs given and not yet returned by `wait`."""
        return lib.go_pool_pending(self._open())

    def stop(self) -> None:
        """Ends what runs and what is queued soon, as stopped; nothing new is taken. `wait` still returns every job."""
        lib.go_pool_stop(self._open())

    def close(self) -> None:
        """Stops and joins the threads; unfetched results are lost. Not while another thread is in `wait` or
        `pull`."""
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

    def _spare_buffer(self) -> bytearray:
        try:
            return self._spare.pop()
        except IndexError:  # a look before would not help: another thread may take the last one in between
            return bytearray(self._most)

    def _network(self, handle: CData) -> Network | None:
        """The network of a job under way; None when its jobs were stopped and fetched meanwhile."""
        for job in list(self._jobs.values()):
            for player in (job.black, job.white):
                if player.network is not None and player.network.handle == handle:
                    return player.network
        return None

    def _hold(self, job: Job) -> None:
        if job.id in self._jobs:
            raise EngineError(f"A job with id {job.id} is under way.")
        self._jobs[job.id] = job

    def _submit(self, job: Job, status: int) -> None:
        if status != lib.GO_OK:
            self._jobs.pop(job.id, None)
        verify_status(status)


def _milliseconds(timeout_s: float) -> int:
    return max(0, min(round(timeout_s * 1000), 2**31 - 1))
