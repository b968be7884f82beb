"""`regard.attend`."""

from typing import Any

from torch import Tensor

from regard.attention import attend
from regard.inspection.call import AttentionCall

__all__ = ["FUNCTION", "read"]

FUNCTION = attend


def read(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    score: Any = "scaled_dot",
    weights: Any = "softmax",
    mask: Any = None,
    position: Any = None,
    dropout: float = 0.0,
    seed: int | None = None,
    engine: str = "auto",
) -> AttentionCall:
    """The call with these arguments."""
    return AttentionCall(
        "regard.attend",
        query,
        key,
        value,
        {"score": score, "weights": weights, "mask": mask, "position": position},
        dropout,
        returned=lambda outputs: outputs.to(query.dtype),
        outputs=lambda given, rows: given[:, :, rows],
    )
