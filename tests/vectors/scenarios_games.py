"""Scenarios of what games are made from and stored as: seeds and draws, game batches."""

import random
from collections.abc import Callable, Mapping
from hashlib import sha256

from protocol import batch, seeds
from protocol.game_block import BLACK_WINS, END_PASSES, GameHeader
from tests.vectors.scenario import Json, Runner, Scenario, unhex

_BY_NAME: dict[str, Callable[..., Json]] = {
    "run_id": seeds.run_id,
    "log_origin": seeds.log_origin,
    "beacon_share": seeds.beacon_share,
    "join_nonce": seeds.join_nonce,
    "slot_rank": seeds.slot_rank,
    "fill_rank": seeds.fill_rank,
    "game_seed": seeds.game_seed,
    "gate_seed": seeds.gate_seed,
    "setup_draw": seeds.setup_draw,
    "philox_key": seeds.philox_key,
    "first_net_key": seeds.first_net_key,
    "epoch_hash": seeds.epoch_hash,
    "drawn_games": seeds.drawn_games,
    "verifier_rank": seeds.verifier_rank,
    "is_second_assigned": seeds.is_second_assigned,
    "is_picked": seeds.is_picked,
    "beacon": seeds.beacon,
    "work": seeds.work,
}
_TEXT = {"what", "purpose"}


def run_seeds(given: Mapping[str, Json]) -> Json:
    """The formula named `of`, over the other inputs in the order of the file."""

    def bytes_of(name: str, value: Json) -> Json:
        if isinstance(value, dict):
            return {unhex(key): unhex(each) for key, each in value.items()}
        if isinstance(value, list):
            return [unhex(each) if isinstance(each, str) else each for each in value]
        return unhex(value) if isinstance(value, str) and name not in _TEXT else value

    arguments = {name: bytes_of(name, value) for name, value in given.items() if name != "of"}
    result = _BY_NAME[given["of"]](**arguments)
    if isinstance(result, bytes):
        return result.hex()
    return list(result) if isinstance(result, tuple) else result


def run_batch(given: Mapping[str, Json]) -> Json:
    """Parses the batch `raw`; or checks, against a batch's `root`, a game `leaf` with its `path` and a ply `record` with
    its `ply_path`."""
    if "raw" in given:
        found = batch.parse_batch(unhex(given["raw"]), batch.BatchLimits(**given.get("limits", {})))
        leaves = [leaf.hex() for leaf in found.leaves]
        counters = [game.header.counter for game in found.games]
        return {"counters": counters, "plies": found.plies, "leaves": leaves, "root": batch.batch_root(found).hex()}
    path = tuple(unhex(step) for step in given["path"])
    game = batch.verify_game(unhex(given["leaf"]), given["index"], given["games"], path, unhex(given["root"]))
    if "record" not in given:
        return {"counter": game.header.counter, "moves": list(game.moves)}
    ply = batch.verify_ply(unhex(given["record"]), tuple(unhex(step) for step in given["ply_path"]), game)
    return {"ply": ply.ply, "move": ply.move, "kind": ply.kind, "visits": list(ply.visits), "value": ply.value}


RUNNERS: dict[str, Runner] = {"seeds": run_seeds, "batch": run_batch}


def _id(name: str) -> str:
    return sha256(name.encode()).hexdigest()


def _seeds() -> list[Scenario]:
    run, peer, beacon = _id("run"), _id("peer"), _id("beacon")
    header, secret, seed = _id("header"), _id("secret"), _id("seed")

    def case(name: str, description: str, of: str, expect: str = "ok", /, **given: Json) -> Scenario:
        return Scenario("seeds", name, description, expect, {"of": of, **given})

    def draw(q_ppm: int) -> dict[str, Json]:
        return {
            "secret": secret,
            "header_digest": header,
            "log_index": 1234,
            "beacon": beacon,
            "games": 32,
            "q_ppm": q_ppm,
        }

    def setup(what: str, weights: list[int]) -> dict[str, Json]:
        return {"game_seed": seed, "what": what, "weights": weights}

    game: dict[str, Json] = {
        "run": run,
        "release": _id("release"),
        "config": _id("config"),
        "peer": peer,
        "join_nonce": _id("nonce"),
    }
    shares = {_id("verifier b"): _id("share b"), _id("verifier a"): _id("share a")}
    tree: dict[str, Json] = {"run": run, "size": 300, "root": _id("root")}
    gate: dict[str, Json] = {
        "run": run,
        "candidate": _id("candidate"),
        "base": _id("base"),
        "beacon": beacon,
        "pair": 7,
    }
    return [
        case("run-id", "A run's id.", "run_id", root_payload="80", manifest_payload="81a16101"),
        case("log-origin", "The origin of a run's log.", "log_origin", run=run),
        case("beacon-share", "A verifier's share.", "beacon_share", secret=secret, **tree),
        case("beacon", "The beacon of two shares, given out of order.", "beacon", **tree, shares=shares),
        case("beacon-short-share", "A share of 31 bytes.", "beacon", "parse error", **tree, shares={peer: "00" * 31}),
        case("join-nonce", "A registration's nonce.", "join_nonce", run=run, peer=peer, beacon=beacon),
        case(
            "slot-rank", "A waiting registration's rank.", "slot_rank", beacon=beacon, registration=_id("registration")
        ),
        case(
            "fill-rank",
            "A player's rank for a fill.",
            "fill_rank",
            beacon=beacon,
            owner=peer,
            release=_id("release"),
            first_counter=64,
            player=_id("player"),
        ),
        case("game-seed-0", "The first game's seed.", "game_seed", **game, counter=0),
        case("game-seed-last", "The last counter.", "game_seed", **game, counter=2**64 - 1),
        case("game-seed-counter", "A counter of 2^64.", "game_seed", "parse error", **game, counter=2**64),
        case(
            "game-seed-run",
            "A run id of 31 bytes.",
            "game_seed",
            "parse error",
            **{**game, "run": "00" * 31},
            counter=0,
        ),
        case("gate-seed", "A gate pair's seed.", "gate_seed", **gate),
        case("setup-size", "A size's index.", "setup_draw", **setup("size", [3, 1])),
        case("setup-komi", "A komi's index.", "setup_draw", **setup("komi", [1, 1, 1, 1])),
        case("setup-opening", "One of 500 openings.", "setup_draw", **setup("opening", [1] * 500)),
        case("setup-zero-weight", "A weight of 0 is never drawn.", "setup_draw", **setup("size", [0, 5, 0])),
        case("setup-no-weight", "No weight at all.", "setup_draw", "parse error", **setup("size", [0, 0])),
        case("setup-negative", "A negative weight.", "setup_draw", "parse error", **setup("size", [2, -1])),
        case("setup-other-word", "A word that is not drawn.", "setup_draw", "parse error", **setup("colour", [1])),
        case("philox-key", "A seed as the key of random numbers.", "philox_key", seed=seed),
        case("first-net-key", "The key of the first network.", "first_net_key", manifest_digest=_id("manifest")),
        case("epoch-hash", "A logged epoch hash.", "epoch_hash", run=run, verifier=peer, epoch=3, secret=secret),
        case("draw-none", "Nothing is drawn at q = 0.", "drawn_games", **draw(0)),
        case("draw-5-percent", "Games drawn at 5 %.", "drawn_games", **draw(50_000)),
        case("draw-half", "Games drawn at one half.", "drawn_games", **draw(500_000)),
        case("draw-all", "All games at q = 10^6.", "drawn_games", **draw(1_000_000)),
        case("draw-over", "A share over 10^6.", "drawn_games", "parse error", **draw(1_000_001)),
        case("rank", "A verifier's rank.", "verifier_rank", beacon=beacon, header_digest=header, key=peer),
        case("second", "Whether a second verifier checks.", "is_second_assigned", beacon=beacon, header_digest=header),
        case(
            "pick",
            "Whether a gate pair is replayed.",
            "is_picked",
            purpose="gate-replay",
            beacon=beacon,
            subject="07" + "00" * 7,
            share_ppm=500_000,
        ),
        case(
            "work",
            "The work of two replayed plies.",
            "work",
            run=run,
            verifier=peer,
            header_digest=header,
            digests=[_id("one"), _id("two")],
        ),
        case("work-none", "The work of no replay.", "work", run=run, verifier=peer, header_digest=header, digests=[]),
    ]


def example_block(counter: int, size: int = 2, opening: int = 1, plies: int = 3) -> bytes:
    """A block with the form of a game; its numbers are arbitrary and repeatable."""
    rng = random.Random(1000 * size + counter)
    header = GameHeader(counter, size, END_PASSES, BLACK_WINS, opening, 15, 4, 31, opening + plies)
    points = header.points
    moves = b"".join(rng.randrange(points).to_bytes(2, "little") for _ in range(header.moves))
    kinds = bytes(rng.randrange(2) for _ in range(plies))
    return header.encode() + moves + kinds + rng.randbytes(plies * (4 * points + 8 + 32))


def _batch() -> list[Scenario]:
    blocks = [example_block(counter) for counter in (7, 8, 9)]
    raw = batch.encode_batch(blocks)
    games = batch.parse_batch(raw)
    root = batch.batch_root(games)

    def case(name: str, expect: str, description: str, data: bytes, /, **more: Json) -> Scenario:
        return Scenario("batch", name, description, expect, {"raw": data.hex(), **more})

    def edited(at: int, value: bytes, block: bytes = blocks[0]) -> bytes:
        return batch.encode_batch([block[:at] + value + block[at + len(value) :]])

    def proof(name: str, expect: str, description: str, number: int, ply: int, /, **change: Json) -> Scenario:
        game = games.games[number]
        given = {
            "root": root.hex(),
            "games": 3,
            "index": number,
            "leaf": games.leaves[number].hex(),
            "path": [step.hex() for step in batch.game_path(games, number)],
            "record": game.record(ply).hex(),
            "ply_path": [step.hex() for step in batch.ply_path(game, ply)],
        }
        return Scenario("batch", name, description, expect, {**given, **change})

    record = games.games[1].record(2)
    forged = games.leaves[1][:-32] + bytes(32)
    moves_at, kind_at = 24, 24 + 2 * 4
    return [
        case("three-games", "ok", "Three games on 2x2.", raw),
        case("empty", "ok", "The batch without games that a `final` header may name.", batch.encode_batch([])),
        case("size-19", "ok", "A game of one ply on 19x19.", batch.encode_batch([example_block(0, 19, 0, 1)])),
        case("size-1", "ok", "A game on 1x1.", batch.encode_batch([example_block(0, 1, 0, 2)])),
        case("too-many-games", "too large", "More games than the reader takes.", raw, limits={"max_games": 2}),
        case("too-long", "too large", "More bytes than the reader takes.", raw, limits={"max_raw_bytes": len(raw) - 1}),
        case("claims-many-games", "too large", "2^32 - 1 games.", raw[:8] + b"\xff" * 4 + raw[12:]),
        case("magic", "parse error", "Another magic.", b"GONODEB2" + raw[8:]),
        case("nothing", "parse error", "No bytes.", b""),
        case("cut-in-head", "parse error", "15 bytes.", raw[:15]),
        case("cut-in-header", "parse error", "A game's header is cut.", raw[:30]),
        case("cut-in-block", "parse error", "The last byte is missing.", raw[:-1]),
        case("trailing-byte", "parse error", "A byte follows the last game.", raw + b"\0"),
        case("one-game-less", "parse error", "Says two games and holds three.", raw[:8] + b"\2\0\0\0" + raw[12:]),
        case("gap", "parse error", "A counter is skipped.", batch.encode_batch([blocks[0], blocks[2]])),
        case("same-counter", "parse error", "A counter twice.", batch.encode_batch([blocks[0], blocks[0]])),
        case("size-0", "parse error", "Board size 0.", edited(8, b"\0")),
        case("size-20", "parse error", "Board size 20.", edited(8, b"\x14")),
        case("end-0", "parse error", "A game that has not ended.", edited(9, b"\0")),
        case("end-4", "parse error", "An unknown end reason.", edited(9, b"\4")),
        case("result-3", "parse error", "An unknown result.", edited(10, b"\3")),
        case("opening-only", "parse error", "A game with no searched move.", edited(11, b"\4")),
        case("move-outside", "parse error", "A move past the pass.", edited(moves_at, b"\5\0")),
        case("kind-2", "parse error", "An unknown kind of search.", edited(kind_at, b"\2")),
        case("reserved", "not canonical", "Reserved bytes of the batch.", raw[:12] + b"\1" + raw[13:]),
        case("padding", "not canonical", "Reserved bytes of a game.", edited(22, b"\1")),
        proof("proof", "ok", "A ply's record and its game, both shown to be in the batch.", 1, 2),
        proof("proof-last", "ok", "The last ply of the last game.", 2, 3),
        proof("proof-other-game", "bad proof", "The leaf as another game of the batch.", 1, 2, index=0),
        proof("proof-other-root", "bad proof", "Another batch.", 1, 2, root="00" * 32),
        proof("proof-forged-leaf", "bad proof", "A leaf with another ply root.", 1, 2, leaf=forged.hex()),
        proof(
            "proof-other-ply", "bad proof", "The record says another ply.", 1, 2, record=(b"\1\0" + record[2:]).hex()
        ),
        proof("proof-in-opening", "bad proof", "A ply of the opening.", 1, 2, record=(b"\0\0" + record[2:]).hex()),
        proof("proof-past-end", "bad proof", "A ply past the end.", 1, 2, record=(b"\xff\0" + record[2:]).hex()),
        proof(
            "proof-visits",
            "bad proof",
            "A visit count is changed.",
            1,
            2,
            record=(record[:5] + bytes([record[5] ^ 1]) + record[6:]).hex(),
        ),
        proof("proof-short-record", "parse error", "A byte less.", 1, 2, record=record[:-1].hex()),
    ]


SCENARIOS: list[Scenario] = [*_seeds(), *_batch()]
