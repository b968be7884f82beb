"""Efficient variants of attention for long sequences: masks, which are exact, and approximations."""

import typing
from collections.abc import MutableMapping

from regard import lazy

if typing.TYPE_CHECKING:
    from regard.modules.efficient.approximation import Approximation
    from regard.modules.efficient.bigbird import BigBird
    from regard.modules.efficient.linear import LinearAttention
    from regard.modules.efficient.linformer import LinformerAttention
    from regard.modules.efficient.longformer import Longformer
    from regard.modules.efficient.nystromformer import NystromAttention
    from regard.modules.efficient.performer import PerformerAttention
    from regard.modules.efficient.reformer import ReformerAttention
    from regard.modules.efficient.sinkhorn import SinkhornAttention
    from regard.modules.efficient.strided import Strided
    from regard.modules.efficient.synthesizer import SynthesizerAttention

__all__ = [
    "APPROXIMATIONS",
    "Approximation",
    "BigBird",
    "LinearAttention",
    "LinformerAttention",
    "Longformer",
    "NystromAttention",
    "PerformerAttention",
    "ReformerAttention",
    "SinkhornAttention",
    "Strided",
    "SynthesizerAttention",
]

lazy.export(
    __name__,
    {
        "approximation": "Approximation",
        "bigbird": "BigBird",
        "linear": "LinearAttention",
        "linformer": "LinformerAttention",
        "longformer": "Longformer",
        "nystromformer": "NystromAttention",
        "performer": "PerformerAttention",
        "reformer": "ReformerAttention",
        "sinkhorn": "SinkhornAttention",
        "strided": "Strided",
        "synthesizer": "SynthesizerAttention",
    },
)

APPROXIMATIONS: "MutableMapping[str, type[Approximation]]" = lazy.Table(
    __name__,
    {
        "linear": "LinearAttention",
        "performer": "PerformerAttention",
        "linformer": "LinformerAttention",
        "nystromformer": "NystromAttention",
        "reformer": "ReformerAttention",
        "sinkhorn": "SinkhornAttention",
        "synthesizer": "SynthesizerAttention",
    },
)
"""The approximations by name. Their constructors need `heads` and `head_size` at most; the rest has defaults."""
