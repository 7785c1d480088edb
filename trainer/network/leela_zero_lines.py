"""What each line of a Leela Zero weights file is, as far as it was read: `line_name`, `tower_convolutions`.

How many blocks a file has no line says; it follows from the lines' sizes, for a convolution of the tower has more weights
than that of the policy head, which comes next. So a file that ends early or is wrong in one line can be told where.
"""

from collections.abc import Sequence
from typing import Final

_CONV: Final = ("weights", "biases", "means", "variances")
_PER_CONV: Final = len(_CONV)
_POLICY_MAPS: Final = 2
_HEADS: Final = (
    *(f"the {part} of the policy head's convolution" for part in _CONV),
    *(f"the {part} of the policy head's last layer" for part in _CONV[:2]),
    *(f"the {part} of the value head's convolution" for part in _CONV),
    *(f"the {part} of the value head's hidden layer" for part in _CONV[:2]),
    *(f"the {part} of the value head's last layer" for part in _CONV[:2]),
)


def tower_convolutions(sizes: Sequence[int]) -> int:
    """How many convolutions of the tower are begun in a file whose lines after the version have so many numbers."""
    found = 0
    for size in sizes[_PER_CONV::_PER_CONV]:
        if size <= _POLICY_MAPS * sizes[1] and found % 2 == 0:
            break
        found += 1
    return found


def line_name(sizes: Sequence[int]) -> str:
    """What the last of these lines is; one that is short may be taken for the first of the policy head."""
    index, convs = len(sizes) - 1, tower_convolutions(sizes)
    if index < _PER_CONV:
        return f"the {_CONV[index]} of the input convolution"
    conv, part = divmod(index - _PER_CONV, _PER_CONV)
    if conv < convs:
        return f"the {_CONV[part]} of convolution {conv % 2 + 1} of block {conv // 2 + 1}"
    head = index - _PER_CONV * (1 + convs)
    return _HEADS[head] if head < len(_HEADS) else "which is after the value head"
