"""The layers of a network file in their order, by the names of the spec and with their bytes: `layers`, `layer_at`.

Spec: docs/spec/network.md ("File"). A layer of the tower has its block behind its name, as `conv1[3]`. Everything follows
from the architecture.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from native.netfile import Architecture

FEATURE_PLANES: Final = 20
_TAPS: Final = 9


def layers(shape: Architecture) -> Iterator[tuple[str, int]]:
    """The name of each layer and how many bytes it has."""
    c, k, h = shape.channels, shape.head, shape.hidden
    yield "stem", _conv_bytes(FEATURE_PLANES, c, _TAPS)
    for block in range(shape.blocks):
        yield f"norm[{block}]", 4 * c
        yield f"conv1[{block}]", _conv_bytes(c, c, _TAPS)
        if shape.is_pooled(block):
            yield f"pool[{block}]", _pool_bytes(2 * c, c)
        yield f"conv2[{block}]", _conv_bytes(c, c, _TAPS)
    yield "tip", 4 * c
    yield "pool_conv", _conv_bytes(c, k, 1)
    yield "policy_conv", _conv_bytes(c, k, 1)
    yield "policy_pool", _pool_bytes(2 * k, k)
    yield "policy_point", k + 7
    yield "policy_pass", 2 * k + 7
    yield "value_conv", _conv_bytes(c, k, 1)
    yield "value_hidden", _conv_bytes(3 * k, h, 1)
    yield from ((name, h + 7) for name in ("value", "score_mean", "score_spread"))
    yield "ownership", k + 7


def body_bytes(shape: Architecture) -> int:
    """Length of the body of a network file."""
    return sum(length for _, length in layers(shape))


def layer_at(shape: Architecture, at: int) -> str:
    """The layer that has byte `at` of a body; raises ValueError behind the last one."""
    for name, length in layers(shape):
        if at < length:
            return name
        at -= length
    raise ValueError("The body has no such byte.")


def _conv_bytes(inputs: int, outputs: int, taps: int) -> int:
    return outputs * (inputs * taps + 7)


def _pool_bytes(inputs: int, outputs: int) -> int:
    return outputs * (inputs + 5)
