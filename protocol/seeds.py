"""Seeds, nonces and draws: every number that decides what is played, checked or gated.

Spec: docs/spec/seeds.md. All are pure functions of logged bytes (draws also of a verifier's epoch secret), so nobody
chooses them and everybody recomputes them. `lp(x)` is the length (u64) and the bytes; integers are little-endian;
digests, keys, nonces and seeds are 32 bytes.
"""

import hmac
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import accumulate
from typing import Final

from protocol.errors import ParseError

PPM: Final = 1_000_000
SETUP_DRAWS: Final = ("size", "komi", "opening")
_SECOND_VERIFIER_PPM: Final = 100_000


def lp(data: bytes) -> bytes:
    """Length-prefixed: u64 length, then the bytes."""
    return len(data).to_bytes(8, "little") + data


def u64(number: int) -> bytes:
    """Eight bytes, little-endian; ParseError outside 0 to 2^64 - 1."""
    if not 0 <= number < 1 << 64:
        raise ParseError("A counter or index lies outside 0 to 2^64 - 1.")
    return number.to_bytes(8, "little")


def first_u64(digest: bytes) -> int:
    """The number in the first eight bytes."""
    return int.from_bytes(digest[:8], "little")


def run_id(root_payload: bytes, manifest_payload: bytes) -> bytes:
    """The run's identity, from the payloads of root version 1 and manifest version 1."""
    return _hash(b"gonode/run/v1\0", lp(root_payload), lp(manifest_payload))


def log_origin(run: bytes) -> str:
    """The origin of the run's log, which is also the name of the key that signs its checkpoints."""
    return f"gonode/{_digest(run).hex()}"


# ---- beacon and registration


def beacon_share(secret: bytes, run: bytes, size: int, root: bytes) -> bytes:
    """A verifier's share of the beacon over the tree (size, root): HMAC under its epoch secret."""
    return hmac.digest(_digest(secret), b"gonode/beacon/v1\0" + _digest(run) + u64(size) + _digest(root), "sha256")


def beacon(run: bytes, size: int, root: bytes, shares: Mapping[bytes, bytes]) -> bytes:
    """The beacon that a share set gives; `shares` maps verifier keys to shares, hashed in key order."""
    ordered = b"".join(_digest(shares[key]) for key in sorted(shares))
    return _hash(b"gonode/beacon/v1\0", _digest(run), u64(size), _digest(root), ordered)


def join_nonce(run: bytes, peer: bytes, beacon: bytes) -> bytes:
    """The nonce in all seeds of a registration; `beacon` is that of the registration's log index."""
    return _hash(b"gonode/join/v1\0", _digest(run), _digest(peer), _digest(beacon))


# ---- games


def game_seed(run: bytes, release: bytes, config: bytes, peer: bytes, join_nonce: bytes, counter: int) -> bytes:
    """The seed of the self-play game number `counter` of (peer, release)."""
    parts = (run, release, config, peer, join_nonce)
    return _hash(b"gonode/seed/v1\0", *(lp(_digest(part)) for part in parts), u64(counter))


def gate_seed(run: bytes, candidate: bytes, base: bytes, beacon: bytes, pair: int) -> bytes:
    """The seed of both games of gate pair number `pair`; `candidate` and `base` are digests."""
    parts = (run, candidate, base, beacon)
    return _hash(b"gonode/gate/v1\0", *(_digest(part) for part in parts), u64(pair))


def setup_draw(game_seed: bytes, what: str, weights: Sequence[int]) -> int:
    """The index that a game draws among `weights` for its "size", "komi" or "opening".

    Raises ParseError for another word, a negative weight, or a total outside 1 to 2^64 - 1.
    """
    if what not in SETUP_DRAWS:
        raise ParseError(f"A game draws its size, komi and opening, not {what!r}.")
    total = sum(weights)
    if min(weights, default=-1) < 0 or not 0 < total < 1 << 64:
        raise ParseError(f"The weights for the {what} do not add up to a positive number.")
    number = first_u64(_hash(b"gonode/setup/v1\0", _digest(game_seed), what.encode())) % total
    return bisect_right(list(accumulate(weights)), number)


def philox_key(seed: bytes) -> tuple[int, int]:
    """The two words that key a game's random numbers: the first eight bytes of its seed."""
    return int.from_bytes(seed[:4], "little"), int.from_bytes(seed[4:8], "little")


def first_net_key(manifest_digest: bytes) -> bytes:
    """What keys the random integers of a run's first network."""
    return _hash(b"gonode/init/v1\0", _digest(manifest_digest))


# ---- verification


def epoch_hash(run: bytes, verifier: bytes, epoch: int, secret: bytes) -> bytes:
    """What a verifier logs before epoch number `epoch` begins, to reveal the 32-byte secret after its end."""
    return _hash(b"gonode/epoch/v1\0", _digest(run), _digest(verifier), u64(epoch), _digest(secret))


def draw_threshold(q_ppm: int) -> int:
    """A u64 below this is drawn: floor(q_ppm 2^64 / 10^6); ParseError outside 0 to 10^6."""
    if not 0 <= q_ppm <= PPM:
        raise ParseError("A share in parts per million is from 0 to 1,000,000.")
    return (q_ppm << 64) // PPM


def is_drawn(secret: bytes, header_digest: bytes, log_index: int, beacon: bytes, game: int, q_ppm: int) -> bool:
    """Whether game number `game` of a batch is replayed; always at q_ppm = 10^6."""
    if not 0 <= game < 1 << 32:
        raise ParseError("A game's number in its batch lies outside 0 to 2^32 - 1.")
    message = _digest(header_digest) + u64(log_index) + _digest(beacon) + game.to_bytes(4, "little")
    return first_u64(hmac.digest(_digest(secret), b"gonode/draw/v1\0" + message, "sha256")) < draw_threshold(q_ppm)


def drawn_games(
    secret: bytes, header_digest: bytes, log_index: int, beacon: bytes, games: int, q_ppm: int
) -> tuple[int, ...]:
    """The numbers of the games drawn from a batch of `games`, in order."""
    return tuple(game for game in range(games) if is_drawn(secret, header_digest, log_index, beacon, game, q_ppm))


def verifier_rank(beacon: bytes, header_digest: bytes, key: bytes) -> bytes:
    """What verifiers are sorted by for a batch; the lowest is assigned."""
    return _hash(_digest(beacon), _digest(header_digest), _digest(key))


def is_second_assigned(beacon: bytes, header_digest: bytes) -> bool:
    """Whether the second-ranked verifier checks the batch too (one in ten)."""
    digest = _hash(b"gonode/second/v1\0", _digest(beacon), _digest(header_digest))
    return first_u64(digest) < draw_threshold(_SECOND_VERIFIER_PPM)


def is_picked(purpose: str, beacon: bytes, subject: bytes, share_ppm: int) -> bool:
    """Whether the beacon picks `subject` for `purpose` (such as "gate-replay"), for a share of all subjects."""
    digest = _hash(b"gonode/pick/v1\0", lp(purpose.encode()), _digest(beacon), lp(subject))
    return first_u64(digest) < draw_threshold(share_ppm)


def slot_rank(beacon: bytes, registration: bytes) -> bytes:
    """What waiting registrations are sorted by; the lowest get the slots. `beacon` is that of the slot list's log index."""
    return _hash(b"gonode/slot/v1\0", _digest(beacon), _digest(registration))


def fill_rank(beacon: bytes, owner: bytes, release: bytes, first_counter: int, player: bytes) -> bytes:
    """What players are sorted by who may fill games of (owner, release) from a counter on; the lowest is asked first."""
    parts = (_digest(beacon), _digest(owner), _digest(release), u64(first_counter), _digest(player))
    return _hash(b"gonode/fill/v1\0", *parts)


def ringer_commitment(run: bytes, header_digest: bytes, game: int, ply: int, salt: bytes) -> bytes:
    """What the coordinator logs before a header whose game is wrong at an absolute ply on purpose."""
    return _hash(b"gonode/ringer/v1\0", _digest(run), _digest(header_digest), u64(game), u64(ply), _digest(salt))


def work(run: bytes, verifier: bytes, header_digest: bytes, digests: Iterable[bytes]) -> bytes:
    """What a verdict says of its replays: a hash over the trace digests D (32 bytes each) of the drawn games."""
    parts = (_digest(run), _digest(verifier), _digest(header_digest))
    return _hash(b"gonode/work/v1\0", *parts, *(_digest(digest) for digest in digests))


def _hash(*parts: bytes) -> bytes:
    return sha256(b"".join(parts)).digest()


def _digest(data: bytes) -> bytes:
    """`data` if it has 32 bytes: parts without a length before them must not run into each other."""
    if len(data) != 32:
        raise ParseError(f"A digest, key or seed has 32 bytes, not {len(data)}.")
    return data
