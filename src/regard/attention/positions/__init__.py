"""Position schemes inside the operator: they tell attention, which by itself ignores order, where items are.

A scheme has up to three hooks (on query and key, on the scores, on the outputs), and schemes can be added. Positional
encodings that are added to the inputs are modules in another file, positional_encodings.py.
"""

from collections.abc import Callable

from torch import nn

from regard.attention.positions.alibi import Alibi, Slopes
from regard.attention.positions.bias import Bias
from regard.attention.positions.bucketed import Bucketed, Buckets
from regard.attention.positions.guided import GuidedBias
from regard.attention.positions.offset_bias import OffsetBias
from regard.attention.positions.position import Both, Position, PositionModule
from regard.attention.positions.relative import Relative, RelativeKeys, RelativeValues
from regard.attention.positions.rotary import Rotary

__all__ = [
    "POSITIONS",
    "Alibi",
    "Bias",
    "Both",
    "Bucketed",
    "Buckets",
    "GuidedBias",
    "OffsetBias",
    "Position",
    "PositionModule",
    "Relative",
    "RelativeKeys",
    "RelativeValues",
    "Rotary",
    "Slopes",
]

POSITIONS: dict[str, Callable[..., Position | nn.Module]] = {
    "relative": Relative,
    "rotary": Rotary,
    "bucketed": Bucketed,
    "alibi": Alibi,
}
