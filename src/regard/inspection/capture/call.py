"""One call of attention as it was intercepted, in the terms of `regard.attend`, whatever function was called."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from regard.inspection.capture.by_hand.product import DTYPES
from regard.inspection.record.effective import Gated

__all__ = ["AttentionCall"]


@dataclass
class AttentionCall:
    """A call of attention.

    Attributes:
        function: the name of the function that was called.
        query: (batch, head, query, feature), as it was multiplied: after projection and rotation.
        key, value: (batch, key_head, key, feature).
        parts: score, weights, mask and position, as arguments of `regard.attend`.
        dropout: the fraction of the weights that the function sets to 0.
        returned: what the function returns for outputs of the heads, (batch, head, query, feature).
        outputs: the rows (batch, head, row, feature) of what the function returned, given that and the row numbers;
            with a projection, (batch, row, width).
        projection: weight and bias of a linear map that the function applies to the joined heads.
        after: what the function does to the outputs of the heads where they are those of a state-space layer.
        notes: sentences about what is special.
        module: the name of the module that made the call; "" until changes are applied to it.
        turn: how many calls that module made before.
    """

    function: str
    query: Tensor
    key: Tensor
    value: Tensor
    parts: dict[str, Any]
    dropout: float
    returned: Callable[[Tensor], Any]
    outputs: Callable[[Any, Tensor], Tensor]
    projection: tuple[Tensor, Tensor | None] | None = None
    after: Gated | None = None
    notes: list[str] = field(default_factory=list)
    module: str = ""
    turn: int = 0

    @property
    def why_unrecorded(self) -> str:
        """Why the dtypes of its tensors keep it out of a record, as the end of a sentence; "" if they don't."""
        tensors = self.query, self.key, self.value
        dtypes = {str(each.dtype).removeprefix("torch."): each.dtype in DTYPES for each in tensors}
        if len(dtypes) == 1 and all(dtypes.values()):
            return ""
        return f"its queries, keys and values are of {' and '.join(dtypes)}"
