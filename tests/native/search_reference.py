"""docs/spec/search.md in plain Python: one searched ply, written for reading, to judge the engine by.

Rules and planes come from `native.game`, network outputs from `Network.evaluate`, which have references of their own;
everything that the page adds to them is here or in `numbers_reference`.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from native.game import Game
from native.network import Kernel, Network
from native.rules import Colour, End
from native.search import Kind, Ply, Root, SearchConfig
from tests.native.numbers_reference import (
    Purpose,
    dirichlet,
    exact_exp,
    exact_log,
    fix,
    gumbel,
    mean,
    pairs,
    softmax,
    sum_in_order,
    tanh,
    words,
)

ONE = 10**6
ROOT_MOVE, NO_PARENT = 65535, 2**32 - 1


@dataclass(eq=False, slots=True)
class Node:
    """A position of the tree. `priors` and `logits` are of its legal moves; `children` are in order of creation."""

    game: Game
    parent: Node | None
    move: int
    sign: int  # +1 if the side to move at the root is to move here
    priors: dict[int, float] = field(default_factory=dict)
    logits: dict[int, float] = field(default_factory=dict)
    children: dict[int, Node] = field(default_factory=dict)
    visits: int = 0
    value_sum: int = 0
    score_sum: int = 0

    @property
    def mass(self) -> float:
        return sum_in_order([self.priors[move] for move in self.children])


class Search:
    """The tree of one ply; `run` grows it and says what it found."""

    def __init__(self, network: Network | None, config: SearchConfig, seed: bytes, game: Game) -> None:
        self.network, self.config, self.seed = network, config, seed
        self.ply = game.num_moves
        word = next(words(seed, self.ply, Purpose.KIND))[0]
        self.full = word * ONE // 2**32 < config.full_share_ppm
        self.visits = config.visits_full if self.full else config.visits_fast
        self.noisy = self.full and config.root == Root.PUCT  # what only full searches of a PUCT root have
        self.forced = config.forced_playouts_micro / ONE if self.noisy else 0.0
        self.nodes: list[Node] = []
        self.root = self.add(game.copy(), None, ROOT_MOVE)
        self.first_utility = self.utility(self.root)
        self.base = {
            move: config.gumbel_noise_micro / ONE * gumbel(seed, self.ply, move) + logit
            for move, logit in self.root.logits.items()
        }
        self.levels = levels(min(config.gumbel_considered, len(self.base)), self.visits - 1)

    def run(self, release: bytes, config_digest: bytes) -> Ply:
        while self.root.visits < self.visits:
            self.visit()
        root, width = self.root, self.root.game.rules.points + 1
        weights = self.gumbel_weights() if self.config.root == Root.GUMBEL else self.puct_weights()
        return Ply(
            ply=self.ply,
            move=self.best_child().move if self.config.root == Root.GUMBEL else self.draw_move(weights),
            kind=Kind.FULL if self.full else Kind.FAST,
            visits=tuple(root.children[move].visits if move in root.children else 0 for move in range(width)),
            policy_target=shares([weights.get(move, 0) for move in range(width)]) if self.full else (0,) * width,
            value=mean(root.value_sum, root.visits),
            score=mean(root.score_sum, root.visits),
            nodes=len(self.nodes),
            digest=self.digest(release, config_digest),
        )

    # ---- growth ----------------------------------------------------------------------------------------------

    def visit(self) -> None:
        node = self.root
        while node.game.end == End.NONE:
            move = self.select(node)
            if move not in node.children:
                game = node.game.copy()
                game.play(move)
                self.add(game, node, move)
                return
            node = node.children[move]
        self.back_up(node, *self.judge(node))

    def add(self, game: Game, parent: Node | None, move: int) -> Node:
        node = Node(game, parent, move, 1 if parent is None else -parent.sign)
        self.nodes.append(node)
        if parent is not None:
            parent.children[move] = node
        self.back_up(node, *(self.judge(node) if game.end != End.NONE else self.evaluate(node)))
        return node

    def back_up(self, node: Node | None, value: int, score: int) -> None:
        while node is not None:
            node.visits += 1
            node.value_sum += value
            node.score_sum += score
            node = node.parent

    def judge(self, node: Node) -> tuple[int, int]:
        """Value and score of a finished game in the root's view."""
        black = 1 if self.nodes[0].game.to_move == Colour.BLACK else -1
        half = black * node.game.score_half()
        return ((half > 0) - (half < 0)) * 2**24, half * 2048

    def evaluate(self, node: Node) -> tuple[int, int]:
        """Gives the node its priors; value and score in the root's view."""
        moves = [move for move, legal in enumerate(node.game.legal()) if legal]
        if self.network is None:
            node.priors = {move: 1 / len(moves) for move in moves}
            node.logits = dict.fromkeys(moves, 0.0)
            value = score = 0
        else:
            policy, value, score = self.ask(self.network, node.game)
            logits = [policy[move] for move in moves]
            heat = self.config.root_temperature_micro
            if node.parent is None and self.full and heat != ONE:
                logits = [(logit * ONE + heat // 2) // heat for logit in logits]
            node.priors = dict(zip(moves, softmax(logits), strict=True))
            node.logits = {move: logit / 4096 for move, logit in zip(moves, logits, strict=True)}
        weight = self.config.noise_weight_ppm / ONE
        if node.parent is None and self.noisy and weight > 0:
            noise = dirichlet(self.seed, self.ply, self.config.noise_alpha_micro / ONE / len(moves), moves)
            for move, each in zip(moves, noise, strict=True):
                node.priors[move] = (1 - weight) * node.priors[move] + weight * each
        return node.sign * value, node.sign * score

    def ask(self, network: Network, game: Game) -> tuple[list[int], int, int]:
        """Logits a move, value in 2^-24 and score of the side to move, through the drawn symmetry."""
        size, planes = game.rules.rows, game.features()
        points = size * size
        k = hashlib.sha256(self.seed + planes).digest()[0] & 7 if self.config.symmetry else 0
        to = [image(k, point, size) for point in range(points)]
        turned = bytearray(len(planes))
        for start in range(0, len(planes), points):
            for point in range(points):
                turned[start + to[point]] = planes[start + point]
        out = network.evaluate(Kernel.SCALAR, size, size, bytes(turned))[0]
        policy = [out.policy[to[point]] for point in range(points)] + [out.policy[points]]
        return policy, fix(tanh(out.value), 24), out.score_mean

    # ---- selection -------------------------------------------------------------------------------------------

    def utility(self, node: Node) -> float:
        q = node.value_sum / node.visits * 2.0**-24
        weight = self.config.score_utility_micro / ONE
        if weight > 0:
            x = node.score_sum / node.visits * 2.0**-12
            q = q + weight * (x / math.sqrt(x * x + 4 * node.game.rules.points))
        return q

    def select(self, node: Node) -> int:
        if node is self.root and self.config.root == Root.GUMBEL:
            level = self.levels[node.visits - 1]
            if level == 0:
                return best({move: base for move, base in self.base.items() if move not in node.children})
            return best({move: self.score(move) for move, child in node.children.items() if child.visits == level})
        if node is self.root and self.forced > 0:
            forced = [
                move
                for move, child in node.children.items()
                if child.visits * child.visits < self.forced * node.priors[move] * (node.visits - 1)
            ]
            if forced:
                return min(forced)
        chances = {move: self.puct(node, move, child.visits) for move, child in node.children.items()}
        new = {move: prior for move, prior in node.priors.items() if move not in node.children}
        if new:
            move = best(new)
            at_root = node is self.root and self.full
            reduction = self.config.root_fpu_reduction_micro if at_root else self.config.fpu_reduction_micro
            first = node.sign * self.utility(node) - reduction / ONE * math.sqrt(node.mass)
            chances[move] = first + self.scale(node) * new[move]
        return best(chances)

    def scale(self, node: Node) -> float:
        return self.config.cpuct_micro / ONE * math.sqrt(node.visits - 1 + 0.01)

    def puct(self, node: Node, move: int, visits: int) -> float:
        return node.sign * self.utility(node.children[move]) + self.scale(node) * node.priors[move] / (1 + visits)

    # ---- PUCT root: result -----------------------------------------------------------------------------------

    def puct_weights(self) -> dict[int, int]:
        root, weights = self.root, {move: child.visits for move, child in self.root.children.items()}
        most = best(weights)
        limit = self.puct(root, most, weights[most])
        for move in weights:
            if self.forced == 0 or move == most:
                continue
            taken = 0
            while (
                weights[move]
                and taken * taken < self.forced * root.priors[move] * (root.visits - 1)
                and self.puct(root, move, weights[move] - 1) < limit
            ):
                weights[move] -= 1
                taken += 1
            if taken and weights[move] == 1:
                weights[move] = 0
        return weights

    def draw_move(self, weights: dict[int, int]) -> int:
        config, heaviest = self.config, best(weights)
        start, end = config.temperature_start_micro / ONE, config.temperature_end_micro / ONE
        fade = exact_exp(self.ply / config.temperature_halflife * -float.fromhex("0x1.62e42fefa39efp-1"))
        heat = end + (start - end) * fade
        if heat == 0:
            return heaviest
        moves = sorted(move for move in weights if weights[move])
        chances = [exact_exp(exact_log(weights[move] / weights[heaviest]) / heat) for move in moves]
        u = next(pairs(self.seed, self.ply, Purpose.MOVE))[0]
        limit, running = u * sum_in_order(chances), 0.0
        for move, chance in zip(moves, chances, strict=True):
            running += chance
            if running > limit:
                return move
        return max(move for move, chance in zip(moves, chances, strict=True) if chance > 0)  # by rounding alone

    # ---- Gumbel root: score and result -----------------------------------------------------------------------

    def sigma(self, utility: float) -> float:
        most = max(child.visits for child in self.root.children.values())
        c_visit, c_scale = self.config.gumbel_c_visit_micro / ONE, self.config.gumbel_c_scale_micro / ONE
        return ((c_visit + most) * c_scale) * utility

    def score(self, move: int) -> float:
        return self.base[move] + self.sigma(self.utility(self.root.children[move]))

    def best_child(self) -> Node:
        children = self.root.children
        most = max(child.visits for child in children.values())
        return children[best({move: self.score(move) for move, child in children.items() if child.visits == most})]

    def gumbel_weights(self) -> dict[int, int]:
        root, n = self.root, self.root.visits - 1
        valued = {move: self.utility(child) for move, child in root.children.items()}
        unvisited = self.first_utility
        if root.mass > 0:
            total = sum_in_order([root.priors[move] * each for move, each in valued.items()])
            unvisited = (self.first_utility + n * (total / root.mass)) / (1 + n)
        improved = {move: logit + self.sigma(valued.get(move, unvisited)) for move, logit in root.logits.items()}
        most = max(improved.values())
        return {move: fix(exact_exp(each - most), 30) for move, each in improved.items()}

    # ---- trace -----------------------------------------------------------------------------------------------

    def digest(self, release: bytes, config_digest: bytes) -> bytes:
        number = {id(node): i for i, node in enumerate(self.nodes)}
        data = (
            b"gonode/trace/v1\0" + release + config_digest + self.seed + struct.pack("<2I", self.ply, len(self.nodes))
        )
        for node in self.nodes:
            parent = NO_PARENT if node.parent is None else number[id(node.parent)]
            data += struct.pack("<IHIqq", parent, node.move, node.visits, node.value_sum, node.score_sum)
        return hashlib.sha256(data).digest()


def best(numbers: dict[int, float] | dict[int, int]) -> int:
    """The move of the highest number, the lowest among equals."""
    return min(numbers, key=lambda move: (-numbers[move], move))


def shares(weights: Sequence[int]) -> tuple[int, ...]:
    running = [sum(weights[:i]) * 65535 // sum(weights) for i in range(len(weights) + 1)]
    return tuple(after - before for before, after in itertools.pairwise(running))


def levels(considered: int, count: int) -> list[int]:
    """The visits that each of `count` next moves has to have, for `considered` moves: sequential halving."""
    log2 = max(1, (considered - 1).bit_length())
    written: list[int] = []
    width, level = considered, 0
    while len(written) < count:
        for _ in range(max(1, count // (log2 * width))):
            written += [level] * width
            level += 1
        width = max(min(2, considered), width // 2)
    return written[:count]


def image(symmetry: int, point: int, size: int) -> int:
    """Where a symmetry takes a point."""
    row, col = divmod(point, size)
    if symmetry & 4:
        row, col = col, row
    row = size - 1 - row if symmetry & 1 else row
    col = size - 1 - col if symmetry & 2 else col
    return row * size + col


def search_reference(
    network: Network | None, config: SearchConfig, release: bytes, config_digest: bytes, seed: bytes, game: Game
) -> Ply:
    """What `native.search.search_ply` has to give."""
    return Search(network, config, seed, game).run(release, config_digest)
