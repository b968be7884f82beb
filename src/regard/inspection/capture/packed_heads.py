"""Heads that share keys: as queries, as Hugging Face's models call attention while they generate, and as repeated keys.

A step of generation has one query. If it also has a mask, the query's heads that share a head of keys are put in the
place of the queries, since kernels don't take a mask with grouped keys. The first pass repeats the keys instead.
"""

import sys

import torch
from torch import Tensor

from regard.inspection.capture.module_names import MODULE_CALL

__all__ = ["distinct_heads", "packed_heads"]

# The function of transformers that packs heads.
_PACKS = "sdpa_attention_forward"


def packed_heads(query: Tensor) -> int:
    """How many heads stand in the place of the queries, in a call that is being made; 0 if none do.

    The call itself doesn't show it. The function that makes it knows how many queries there are.

    Args:
        query: (batch, group, head, feature) or (batch, head, query, feature), as the call has it.
    """
    # Looking through the stack is left out where nothing can be found.
    frame = sys._getframe(1) if "transformers.integrations.sdpa_attention" in sys.modules else None
    while frame is not None and frame.f_code is not MODULE_CALL:
        if frame.f_code.co_name == _PACKS:
            own = frame.f_locals
            together = getattr(own.get("module"), "num_key_value_groups", 1)
            is_packed = query.ndim == 4 and own.get("q_length") == 1 < query.shape[2] == together
            return query.shape[2] if is_packed else 0
        frame = frame.f_back
    return 0


def distinct_heads(keys: Tensor, heads: int) -> Tensor:
    """The keys, or values, of so many heads, if they are those heads repeated; otherwise as they are."""
    own = keys.shape[1]
    if own == heads or not heads or own % heads:
        return keys
    grouped = keys.unflatten(1, (heads, own // heads))
    return grouped[:, :, 0] if torch.equal(grouped, grouped[:, :, :1].expand_as(grouped)) else keys
