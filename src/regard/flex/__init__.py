"""PyTorch's flex_attention interface, on `attend`: change the import, and it trains on a CPU, in linear memory."""

from torch.nn.attention.flex_attention import (
    AuxOutput,
    AuxRequest,
    BlockMask,
    FlexKernelOptions,
    and_masks,
    noop_mask,
    or_masks,
)

from regard.flex.attention import flex_attention, plan
from regard.flex.block_masks import create_block_mask, create_mask

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "FlexKernelOptions",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
    "plan",
]
