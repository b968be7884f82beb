"""`regard.attend`."""

from typing import Any

from torch import Tensor

from regard.attention import attend
from regard.inspection.capture.call import AttentionCall

__all__ = ["FUNCTION", "read"]

FUNCTION = attend


def read(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    dropout: float,
    seed: int | None,
    engine: str,
    log_sums: bool,
    **parts: Any,
) -> AttentionCall:
    """The call with these arguments, of which the operator passes all to a mode."""

    def returned(outputs: Tensor) -> Any:
        outputs = outputs.to(query.dtype)
        # A change may have changed the parts.
        return (outputs, attend(query, key, value, **parts, log_sums=True)[1]) if log_sums else outputs

    return AttentionCall(
        "regard.attend",
        query,
        key,
        value,
        parts,
        dropout,
        returned=returned,
        outputs=lambda given, rows: (given[0] if log_sums else given)[:, :, rows],
    )
