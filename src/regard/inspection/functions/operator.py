"""`regard.attend`."""

from typing import Any

from torch import Tensor

from regard.attention import attend
from regard.inspection.call import AttentionCall

__all__ = ["FUNCTION", "read"]

FUNCTION = attend


def read(
    query: Tensor, key: Tensor, value: Tensor, *, dropout: float, seed: int | None, engine: str, **parts: Any
) -> AttentionCall:
    """The call with these arguments, of which the operator passes all to a mode."""
    return AttentionCall(
        "regard.attend",
        query,
        key,
        value,
        parts,
        dropout,
        returned=lambda outputs: outputs.to(query.dtype),
        outputs=lambda given, rows: given[:, :, rows],
    )
