"""The recipes of the cases of kind "model", followed with both kinds of network file: ours and Leela Zero's weights.

Ours is not compressed and holds integers alone: the recipes' container is its header and digest, and a NaN is the bytes of
one where weights are.
"""

from __future__ import annotations

import gzip
import hashlib
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from native.netfile import NetworkFile
from tests.cases.case import Case
from tests.node.cli.gonode import gonode
from tests.node.play.players import small_network
from trainer.errors import BadWeights
from trainer.network.leela_zero import LeelaZeroNet
from trainer.network.leela_zero_weights import LeelaZeroWeights

HEADER, DIGEST = NetworkFile.HEADER_BYTES, NetworkFile.DIGEST_BYTES
LENGTH_AT: Final = 20
"""Where the header has the length of the body."""
NAN: Final = struct.pack("<f", float("nan"))
TEXT: Final = b"This is the text of a letter, which somebody gave another name.\n" * 40
CONV2: Final = "the weights of convolution 2 of block 1"


def run_model(case: Case, folder: Path) -> None:
    """Each format refuses what the recipe makes, and says what the case wants to be said; nothing is left behind."""
    recipe = RECIPES[case.id]
    assert (recipe.words, recipe.message) == (case.data["input"]["recipe"], case.expected["message"])
    assert case.expected["exit"] == "non-zero"
    for name, make, said in (
        ("small.net", recipe.ours, recipe.ours_say),
        ("small.txt.gz", recipe.weights, recipe.weights_say),
    ):
        path = folder / name
        path.write_bytes(make())
        before = path.read_bytes()
        is_ours = name.endswith(".net")
        sentence = gonode("gtp", path, "--dir", folder / "none").refusal() if is_ours else weights_refusal(path)
        assert sentence.startswith(f"{path}: ")
        assert said in sentence, sentence
        assert path.read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == ["small.net", "small.txt.gz"]


def weights_refusal(path: Path) -> str:
    """Why our loader reads no Leela Zero weights there."""
    with pytest.raises(BadWeights) as caught:
        LeelaZeroWeights.load(path)
    return str(caught.value)


class Recipe:
    """A recipe in the case's words, the files that it makes, and what is said of each; `message`: what the case wants."""

    def __init__(
        self, words: str, message: str, ours: Callable[[], bytes], ours_say: str, weights: Callable[[], bytes], say: str
    ) -> None:
        self.words, self.message = words, message
        self.ours, self.ours_say = ours, ours_say
        self.weights, self.weights_say = weights, say


def third() -> bytes:
    file = small_network().file
    return file[: len(file) // 3]


def with_nan() -> bytes:
    """In the weights of the first convolution."""
    file = bytearray(small_network().file)
    file[HEADER + 100 : HEADER + 104] = NAN
    return resealed(file)


def half() -> bytes:
    """Half of the body in a header that says so."""
    file = small_network().file
    held = (len(file) - HEADER - DIGEST) // 2
    short = bytearray(file[: HEADER + held] + bytes(DIGEST))
    struct.pack_into("<I", short, LENGTH_AT, held)
    return resealed(short)


def resealed(file: bytearray) -> bytes:
    return bytes(file[:-DIGEST]) + hashlib.sha256(file[:-DIGEST]).digest()


def weights_text() -> bytes:
    return LeelaZeroNet.seeded(1, 128, 3).weights().encode()


def third_of_weights() -> bytes:
    packed = gzip.compress(weights_text(), 1)
    return packed[: len(packed) // 3]


def weights_with_nan() -> bytes:
    lines = weights_text().split(b"\n")
    lines[9] = b"nan " + lines[9].partition(b" ")[2]
    return gzip.compress(b"\n".join(lines), 1)


def half_of_weights() -> bytes:
    text = weights_text()
    return gzip.compress(text[: len(text) // 2], 1)


RECIPES: Final = {
    "I-model-trunc": Recipe(
        "cut a valid compressed network file to its first third",
        "names the file and says it ends early",
        third,
        "The network file ends early, in layer conv1[0]: it has ",
        third_of_weights,
        "The weights file is damaged: it ends early, ",
    ),
    "I-model-text": Recipe(
        "a text file renamed to the network suffix",
        "says the format is wrong",
        lambda: TEXT,
        "This is not a network file.",
        lambda: TEXT,
        "The file does not begin with the line 1, so it holds no Leela Zero weights.",
    ),
    "I-model-nan": Recipe(
        "overwrite one weight with a NaN and fix the checksum",
        "names the layer, says the weight is not finite",
        with_nan,
        "Layer stem: The convolution weights are -64 to 64, not 127.",
        weights_with_nan,
        f"Line 10 of the weights file, {CONV2}, has something other than decimal numbers, all of them finite.",
    ),
    "I-model-short": Recipe(
        "cut the uncompressed data in half and compress it again",
        "names the layer that is short",
        half,
        "does not fit b1c16: it ends in layer conv2[0].",
        half_of_weights,
        f"Line 10 of the weights file, {CONV2}, has ",
    ),
}
