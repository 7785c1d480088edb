"""Writes the golden trees of the search: `python -m tests.vectors.search_generate`. A rerun changes nothing.

`search/<scenario>.json` is a short game: `input` gives rules, config, ids, evaluation ("uniform", or the first network
that `network_digest` draws) and the moves before the first search; `output` has a ply's record a search, each chosen
move being played. `visits` and `policy_target` are "move:number" for the numbers that are not 0. The example of
docs/spec/batch.md is written too. A change of any digest changes what every node must find: it needs a new
`semantics` id (docs/spec/search.md).
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from native.game import Game
from native.network import Kernel, Network
from native.pool import Job, Pool
from native.rules import End, Rules
from native.search import Player, Ply, Root, SearchConfig, search_ply

FOLDER = Path(__file__).parent / "search"
PAGE = Path(__file__).parents[2] / "docs" / "spec" / "batch.md"

PLAIN = SearchConfig(visits_full=50, visits_fast=50)
SELF_PLAY = SearchConfig(
    visits_full=64,
    visits_fast=16,
    full_share_ppm=500_000,
    root_fpu_reduction_micro=0,
    noise_weight_ppm=250_000,
    noise_alpha_micro=10_830_000,
    root_temperature_micro=1_200_000,
    forced_playouts_micro=2_000_000,
    score_utility_micro=100_000,
    temperature_start_micro=750_000,
    temperature_end_micro=150_000,
    temperature_halflife=7,
)
GUMBEL = replace(SELF_PLAY, root=Root.GUMBEL, visits_full=40, gumbel_considered=8, gumbel_noise_micro=1_000_000)
RULES = Rules(7, 7, 13, pass_alive=True, move_cap=147)


@dataclass(frozen=True, slots=True)
class Scenario:
    """One golden game; `network` is (blocks, channels) of a first network, None for uniform evaluation."""

    name: str
    description: str
    rules: Rules
    config: SearchConfig
    network: tuple[int, int] | None
    plies: int
    opening: tuple[int, ...] = ()


SCENARIOS = (
    Scenario("uniform-plain", "Uniform evaluation, no noise, the most visited move.", RULES, PLAIN, None, 3),
    Scenario(
        "uniform-self-play",
        "Uniform evaluation with all that self-play adds: noise, forced playouts, pruned targets, drawn moves.",
        RULES,
        replace(SELF_PLAY, full_share_ppm=1_000_000),
        None,
        5,
    ),
    Scenario("network-gate", "A first network searched as in a gate match.", RULES, PLAIN, (2, 16), 4, (24,)),
    Scenario("network-self-play", "A first network in self-play, full and fast plies.", RULES, SELF_PLAY, (2, 16), 8),
    Scenario(
        "network-no-symmetry",
        "The same network, every position evaluated as it stands.",
        RULES,
        replace(SELF_PLAY, symmetry=0),
        (2, 16),
        4,
    ),
    Scenario(
        "network-9x9",
        "A wider first network on 9x9 with simple ko and a strong score utility.",
        Rules(9, 9, 15, pass_alive=True, move_cap=243),
        replace(SELF_PLAY, score_utility_micro=500_000, full_share_ppm=1_000_000),
        (1, 32),
        3,
        (20, 60, 24),
    ),
    Scenario(
        "end-of-game",
        "A 3x3 board that black holds, white has passed: finished games in the tree count exactly, to the end.",
        Rules(3, 3, 1, move_cap=27),
        replace(PLAIN, visits_full=200, score_utility_micro=100_000),
        None,
        4,
        (4, 9, 1, 9, 3, 9, 5, 9, 7, 9),
    ),
    Scenario(
        "settled-end",
        "Games end as soon as pass-alive areas cover the board: such ends in the tree count exactly.",
        Rules(4, 4, 1, pass_alive=True, settled_end=True, move_cap=48),
        replace(PLAIN, visits_full=250),
        None,
        4,
        (5, 6, 9, 10, 1, 2, 13, 14),
    ),
    Scenario(
        "move-cap",
        "The cap is two moves away: the tree ends there and is scored as it stands.",
        Rules(5, 5, 1, move_cap=8),
        replace(PLAIN, visits_full=300),
        None,
        2,
        (12, 11, 7, 6, 17, 16),
    ),
    Scenario(
        "gumbel-uniform",
        "A Gumbel root, uniform evaluation: the noise alone chooses the moves that share the visits.",
        RULES,
        replace(GUMBEL, full_share_ppm=1_000_000),
        None,
        4,
    ),
    Scenario("gumbel-self-play", "A Gumbel root with a first network, full and fast plies.", RULES, GUMBEL, (2, 16), 8),
    Scenario(
        "gumbel-gate",
        "A Gumbel root without noise: the first logits are searched, the best move is played.",
        RULES,
        replace(PLAIN, root=Root.GUMBEL),
        (2, 16),
        4,
        (24,),
    ),
    Scenario(
        "gumbel-end-of-game",
        "A Gumbel root on a 3x3 board that black holds, white has passed: all five legal moves are considered.",
        Rules(3, 3, 1, move_cap=27),
        replace(GUMBEL, visits_full=200, full_share_ppm=1_000_000),
        None,
        4,
        (4, 9, 1, 9, 3, 9, 5, 9, 7, 9),
    ),
)


def digest_of(label: str) -> bytes:
    """32 bytes that a scenario uses for an id."""
    return hashlib.sha256(f"gonode/vectors/search {label}".encode()).digest()


def play(scenario: Scenario, kernel: Kernel = Kernel.BEST) -> list[Ply]:
    """The searched plies of a scenario; the same with any kernel."""
    network = None
    if scenario.network is not None:
        network = Network.load(Network.first(digest_of("network"), *scenario.network))
    player = Player(network, digest_of("release"))
    game = Game(scenario.rules)
    for move in scenario.opening:
        game.play(move)
    plies = []
    for _ in range(scenario.plies):
        if game.end != End.NONE:
            break
        ply = search_ply(player, kernel, scenario.config, digest_of("config"), digest_of(scenario.name), game)
        game.play(ply.move)
        plies.append(ply)
    return plies


def sparse(numbers: tuple[int, ...]) -> str:
    """ "move:number" for each number that is not 0."""
    return " ".join(f"{move}:{number}" for move, number in enumerate(numbers) if number)


def described(ply: Ply) -> dict[str, Any]:
    """A ply as the files have it."""
    return {
        "ply": ply.ply,
        "move": ply.move,
        "kind": ply.kind.name.lower(),
        "visits": sparse(ply.visits),
        "policy_target": sparse(ply.policy_target),
        "value": ply.value,
        "score": ply.score,
        "nodes": ply.nodes,
        "digest": ply.digest.hex(),
        "record": ply.record().hex(),
    }


def files(kernel: Kernel = Kernel.BEST) -> Iterator[tuple[str, str]]:
    """(name, text) of each file."""
    for scenario in SCENARIOS:
        network = scenario.network
        vector = {
            "description": scenario.description,
            "expect": "ok",
            "input": {
                "rules": {name: int(number) for name, number in asdict(scenario.rules).items()},
                "config": scenario.config.as_dict(),
                "config_digest": digest_of("config").hex(),
                "game_seed": digest_of(scenario.name).hex(),
                "release": digest_of("release").hex(),
                "evaluation": "uniform" if network is None else f"b{network[0]}c{network[1]}",
                "network_digest": None if network is None else digest_of("network").hex(),
                "moves": " ".join(map(str, scenario.opening)),
            },
            "output": [described(ply) for ply in play(scenario, kernel)],
        }
        yield f"{scenario.name}.json", json.dumps(vector, indent=2) + "\n"


def example_block() -> bytes:
    """The game block that docs/spec/batch.md shows."""
    config = SearchConfig(visits_full=4, visits_fast=4)
    player = Player(None, digest_of("release"))
    rules = Rules(2, 2, 1, move_cap=4)
    job = Job(0, 5, rules, config, digest_of("config"), digest_of("example"), player, player, 7, (0,))
    with Pool(1, Kernel.BEST) as pool:
        pool.play(job)
        done = pool.wait(60)
    assert done is not None
    return done.block


def page() -> str:
    """The text of docs/spec/batch.md with its example as it has to be."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split("<!-- example game-block -->")
    after = rest.split("<!-- end -->", 1)[1]
    data = example_block()
    lines = [data[at : at + 48].hex() for at in range(0, len(data), 48)]
    shown = "\n".join((f"{len(data)} bytes:", "```", *lines, "```"))
    return f"{before}<!-- example game-block -->\n{shown}\n<!-- end -->{after}"


def main() -> None:
    """Writes the files and the page's example, and removes files that no scenario makes any more."""
    made = dict(files())
    PAGE.write_text(page(), encoding="utf-8")
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.json"):
        if path.name not in made:
            path.unlink()
    for name, text in made.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
