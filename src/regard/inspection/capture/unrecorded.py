"""Attention that no record can hold, because of the dtypes of its tensors."""

from torch import Tensor

from regard.inspection.capture.by_hand.multiplied import DTYPES
from regard.inspection.capture.call import AttentionCall

__all__ = ["why_unrecorded"]


def why_unrecorded(call: AttentionCall) -> str:
    """Why a call can't be recorded, as the end of a sentence; "" if it can."""
    tensors: tuple[Tensor, ...] = call.query, call.key, call.value
    dtypes = {str(each.dtype).removeprefix("torch."): each.dtype in DTYPES for each in tensors}
    if len(dtypes) == 1 and all(dtypes.values()):
        return ""
    return f"its queries, keys and values are of {' and '.join(dtypes)}"
