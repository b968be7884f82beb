"""Longformer's attention, as transformers computes it: in chunks, and with other projections for global tokens.

LED's encoder has the same. What the layer multiplies in pieces is read as one call, by the numbers of the tokens. The
model fills its inputs up to whole chunks; what is hidden at the end of all items is left out of the call.
"""

import inspect
import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.attention import Dot
from regard.inspection.capture.call import AttentionCall
from regard.inspection.capture.layers.window_with_globals import GlobalProjections, window_rule

__all__ = ["READERS", "read"]


def read(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> AttentionCall:
    """The call that a layer was, of its inputs and of what it returned."""
    given = inspect.signature(module.forward).bind(*args, **kwargs).arguments
    vectors, marks = given["hidden_states"], given["attention_mask"]
    # Below 0 a token is hidden, above 0 it is global; the layer is told so by flags, too.
    shown, chosen = ~given["is_index_masked"], given["is_index_global_attn"]
    if not torch.equal(shown, marks >= 0):
        raise NotImplementedError("`attention_mask` hides other tokens than `is_index_masked`")
    count = _last(shown) + 1
    vectors, shown, chosen = (each[:, :count] for each in (vectors, shown, chosen))
    scale = 1 / math.sqrt(module.head_dim)

    def heads(linear: nn.Module) -> Tensor:
        # (batch length (head feature)) -> (batch head length feature)
        return linear(vectors).unflatten(-1, (module.num_heads, module.head_dim)).transpose(1, 2)

    value, position = heads(module.value), None
    if given["is_global_attn"]:
        shift = heads(module.value_global) - value
        position = GlobalProjections(heads(module.query_global) * scale, heads(module.key_global), shift, chosen)
    else:
        chosen = torch.zeros_like(shown)
    mask = window_rule(module.one_sided_attn_window_size, chosen, shown)

    def returned(outputs: Tensor) -> Any:
        joined = outputs.transpose(1, 2).flatten(2).to(result[0].dtype)
        return (functional.pad(joined, (0, 0, 0, result[0].shape[1] - count)), *result[1:])

    def outputs(given: Any, rows: Tensor) -> Tensor:
        return given[0][:, rows].unflatten(-1, (module.num_heads, module.head_dim)).transpose(1, 2)

    return AttentionCall(
        type(module).__name__,
        heads(module.query),
        heads(module.key),
        value,
        {"score": Dot(scale), "weights": "softmax", "mask": mask, "position": position},
        float(module.dropout) if module.training else 0.0,
        returned,
        outputs,
    )


def _last(shown: Tensor) -> int:
    """The number of the last token that is shown in any item; that of the last token, if none is."""
    found = shown.any(0).nonzero()
    return int(found[-1]) if len(found) else shown.shape[1] - 1


READERS = {
    ("transformers.models.longformer.modeling_longformer", "LongformerSelfAttention"): read,
    ("transformers.models.led.modeling_led", "LEDEncoderSelfAttention"): read,
}
