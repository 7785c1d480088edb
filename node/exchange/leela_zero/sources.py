"""Where games for training files come from: files of SGF, and the released batches of a run."""

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from node.exchange.errors import SgfError
from node.exchange.leela_zero.export import Source
from node.exchange.leela_zero.games import block_positions, record_positions, verify_size
from node.exchange.leela_zero.position import TrainingPosition
from node.exchange.sgf_reader import GameTree, parse_collection
from node.exchange.sgf_text import MAX_BYTES
from node.training.admitted import Admitted
from protocol.batch import unpack_batch
from protocol.game_block import GameBlock
from protocol.manifest import RulesSpec
from verification.setup import game_rules


def sgf_sources(paths: Iterable[Path]) -> Iterator[Source]:
    """The main line of each game in these files; raises OSError, or SgfError for a file that is no SGF."""
    for path in paths:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        try:
            trees = parse_collection(data)
        except SgfError as error:
            raise SgfError(f"{path}: {error}") from None
        for number, tree in enumerate(trees, start=1):
            name = f"{path} game {number}" if len(trees) > 1 else str(path)
            yield Source(name, partial(_of_tree, tree))


def run_sources(admitted: Admitted) -> Iterator[Source]:
    """The games of all released batches whose blobs are here, in log order; raises ProtocolError for a damaged blob."""
    rules = admitted.state.manifest.rules
    for info in admitted.state.batches.released:
        blob = admitted.blobs.get(info.header.blob_digest)
        if blob is None:
            continue
        for block in unpack_batch(blob, info.header.raw_len).games:
            yield Source(
                f"game {block.header.counter} of {info.header.peer.hex()[:16]}", partial(_of_block, block, rules)
            )


def _of_tree(tree: GameTree) -> list[TrainingPosition]:
    return record_positions(tree.record())


def _of_block(block: GameBlock, rules: RulesSpec) -> list[TrainingPosition]:
    verify_size(block.header.size, block.header.size)
    return block_positions(block, game_rules(rules, block.header.size, block.header.komi_half))
