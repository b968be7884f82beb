"""`torch.nn.attention.flex_attention.flex_attention`, by the operator that it calls."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.attention import Dot, Index, Position
from regard.attention.masks import Predicate
from regard.inspection.capture.call import AttentionCall

__all__ = ["FUNCTION", "ScoreMod", "read"]

FUNCTION = torch.ops.higher_order.flex_attention


@dataclass(frozen=True)
class ScoreMod(Position):
    """The `score_mod` of flex attention: a function (score, batch, head, query, key) of single numbers."""

    function: Callable[..., Tensor]
    others: tuple[Any, ...] = ()

    def scores(self, scores: Tensor, query: Tensor, key: Tensor, at: Index) -> Tensor:
        indices = (each.expand_as(scores) for each in (at.batch, at.head, at.query, at.key))
        flat = [each.flatten() for each in (scores, *indices)]
        return torch.vmap(lambda *one: self.function(*one, *self.others))(*flat).view_as(scores)


def read(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Callable[..., Tensor],
    block_mask: tuple[Any, ...],
    scale: float,
    kernel_options: dict[str, Any],
    score_mod_other_buffers: tuple[Any, ...] = (),
    mask_mod_other_buffers: tuple[Any, ...] = (),
) -> AttentionCall:
    """The call with these arguments."""
    mask_mod = block_mask[-1]
    return AttentionCall(
        "flex_attention",
        query,
        key,
        value,
        {
            "score": Dot(float(scale)),
            "mask": Predicate(_predicate(mask_mod, mask_mod_other_buffers)),
            "position": ScoreMod(score_mod, tuple(score_mod_other_buffers)),
        },
        0.0,
        returned=lambda outputs: (outputs.to(query.dtype), *_unknown(query)),
        outputs=lambda given, rows: given[0][:, :, rows],
    )


def _predicate(mask_mod: Callable[..., Tensor], others: tuple[Any, ...]) -> Callable[..., Tensor]:
    def allowed(*at: Tensor) -> Tensor:
        flat = [each.flatten() for each in torch.broadcast_tensors(*at)]
        shape = torch.broadcast_shapes(*(each.shape for each in at))
        return torch.vmap(lambda *one: mask_mod(*one, *others))(*flat).view(shape)

    return allowed


def _unknown(query: Tensor) -> tuple[Tensor, Tensor]:
    """The log-sums and maxima that the operator returns too; with changed outputs they are unknown."""
    empty = query.new_full(query.shape[:-1], torch.nan, dtype=torch.float32)
    return empty, empty
