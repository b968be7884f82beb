"""The operator: any score, any normaliser, any mask, any position scheme; and the engines that compute it."""

from regard.attention.attend import attend, weigh
from regard.attention.frames import Frame, Index, Spans
from regard.attention.masks import (
    MASKS,
    Causal,
    Dense,
    Lengths,
    Mask,
    NoSelf,
    Window,
)
from regard.attention.plan import Plan, plan
from regard.attention.positions import (
    INPUT_POSITIONS,
    POSITIONS,
    Learned,
    Position,
    Relative,
    Sinusoidal,
)
from regard.attention.scores import SCORES, Dot, ScaledDot
from regard.attention.weights import WEIGHTS, Relu, Softmax

__all__ = [
    "INPUT_POSITIONS",
    "MASKS",
    "POSITIONS",
    "SCORES",
    "WEIGHTS",
    "Causal",
    "Dense",
    "Dot",
    "Frame",
    "Index",
    "Learned",
    "Lengths",
    "Mask",
    "NoSelf",
    "Plan",
    "Position",
    "Relative",
    "Relu",
    "ScaledDot",
    "Sinusoidal",
    "Softmax",
    "Spans",
    "Window",
    "attend",
    "plan",
    "weigh",
]
