"""`flex_attention` as PyTorch has it, computed by `attend`: on a CPU as on a GPU, with gradients, in linear memory."""

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, overload

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.attention.flex_attention import AuxOutput, AuxRequest, BlockMask

from regard import attention
from regard.attention import Dot, Plan, attend
from regard.attention.compilation.call_spec import untraced
from regard.attention.precision import wide_dtype
from regard.errors import ArgumentError
from regard.flex.block_masks import WHOLE, rule_of
from regard.flex.mods import SCORE, Mod
from regard.flex.score import ScoreMod

__all__ = ["flex_attention", "plan"]

_ScoreMod = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


@overload
def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: _ScoreMod | None = ...,
    block_mask: BlockMask | None = ...,
    scale: float | None = ...,
    enable_gqa: bool = ...,
    return_lse: Literal[False] = ...,
    kernel_options: Any = ...,
    *,
    return_aux: None = ...,
) -> Tensor: ...


@overload
def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: _ScoreMod | None = ...,
    block_mask: BlockMask | None = ...,
    scale: float | None = ...,
    enable_gqa: bool = ...,
    *,
    return_lse: Literal[True],
    kernel_options: Any = ...,
    return_aux: None = ...,
) -> tuple[Tensor, Tensor]: ...


@overload
def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: _ScoreMod | None = ...,
    block_mask: BlockMask | None = ...,
    scale: float | None = ...,
    enable_gqa: bool = ...,
    return_lse: bool = ...,
    kernel_options: Any = ...,
    *,
    return_aux: AuxRequest,
) -> tuple[Tensor, AuxOutput]: ...


@untraced
def flex_attention(
    query: Float[Tensor, "batch head query feature"],
    key: Float[Tensor, "key_batch key_head key feature"],
    value: Float[Tensor, "key_batch key_head key value"],
    score_mod: _ScoreMod | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: AuxRequest | None = None,
) -> (
    Float[Tensor, "batch head query value"]
    | tuple[Float[Tensor, "batch head query value"], Float[Tensor, "batch head query"]]
    | tuple[Float[Tensor, "batch head query value"], AuxOutput]
):
    """PyTorch's `flex_attention`, computed by `regard.attend`: O_i = sum_j softmax_j(score_mod(scale q_i . k_j)) v_j.

    Unlike PyTorch's, it has gradients on a CPU, to the second order, also of the tensors that `score_mod` captures; and
    it needs linear memory without being compiled.

    Args:
        query: (batch, head, query, feature).
        key, value: (batch, key_head, key, feature) and (batch, key_head, key, value). With a `block_mask` for all items
            their batch may be 1, as in paged attention.
        score_mod: a function (score, b, h, q_idx, kv_idx) of five tensors () -> the changed score, a tensor (); None
            leaves scores as they are.
        block_mask: which pairs may attend, by `create_block_mask` of this module or of PyTorch; None: all.
        scale: the factor of q . k; None: 1 / sqrt(feature).
        enable_gqa: whether several heads of queries may share one of keys.
        return_lse: whether to return the log-sums of the scores, too.
        kernel_options: for PyTorch's kernels; ignored, with a warning.
        return_aux: which of `lse` and `max_scores` to return, as PyTorch's AuxRequest. The latter has no gradient.

    Returns:
        The outputs; a query that may attend to nothing gets zeros. With `return_lse` a pair: the outputs, and log sum_j
        exp(score_ij), (batch, head, query), in float32 or wider, minus infinity for such a query. With `return_aux` the
        outputs and an AuxOutput.

    Raises:
        ArgumentError: an argument can't be used; for example a mod that decides by a number that it gets (if, and, or).

    Source: PyTorch's torch.nn.attention.flex_attention; Dong et al. 2024 (arXiv 2412.05496).

    Example:
        >>> import torch
        >>> slopes = torch.tensor([1.0, 0.5], requires_grad=True)
        >>> x = torch.ones(1, 2, 3, 4)
        >>> output = flex_attention(x, x, x, score_mod=lambda score, b, h, i, j: score - slopes[h] * (i - j).abs())
        >>> output.sum().backward()
        >>> output.shape, slopes.grad.shape
        (torch.Size([1, 2, 3, 4]), torch.Size([2]))
    """
    call = _Call.of((query, key, value), score_mod, block_mask, scale, enable_gqa)
    if return_lse and return_aux is not None:
        raise ArgumentError("`return_lse` must not be given beside `return_aux`: pass return_aux=AuxRequest(lse=True).")
    if kernel_options:
        _warn_of_kernel_options()
    output, lse = call.output(log_sums=return_lse or (return_aux is not None and return_aux.lse))
    if return_aux is not None:
        return output, AuxOutput(lse, call.highest_scores() if return_aux.max_scores else None)
    return output if lse is None else (output, lse)


def plan(
    query: Float[Tensor, "batch head query feature"],
    key: Float[Tensor, "key_batch key_head key feature"],
    value: Float[Tensor, "key_batch key_head key value"],
    score_mod: _ScoreMod | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Plan:
    """Say what `flex_attention` would do with the same arguments: the engine, and what the mods became.

    Raises:
        ArgumentError: an argument can't be used.

    Example:
        >>> import torch
        >>> from regard.flex import create_block_mask
        >>> x = torch.zeros(1, 2, 512, 16)
        >>> near = create_block_mask(lambda b, h, i, j: (i - j).abs() < 50, None, None, 512, 512, device="cpu")
        >>> found = plan(x, x, x, block_mask=near)
        >>> found.engine, found.parts["mask"]
        ('banded', 'KeyIntervals(1 for each of 512 queries)')
    """
    call = _Call.of((query, key, value), score_mod, block_mask, scale, enable_gqa)
    return attention.plan(call.query, call.key, call.value, **call.parts)


@dataclass(frozen=True)
class _Call:
    """A call of `flex_attention` as one of `attend`."""

    query: Tensor
    key: Tensor
    value: Tensor
    parts: dict[str, Any]

    @classmethod
    def of(
        cls, three: tuple[Tensor, Tensor, Tensor], score_mod: Any, block_mask: Any, scale: Any, enable_gqa: bool
    ) -> "_Call":
        query, key, value = three
        _check_tensors(query, key, value, enable_gqa)
        if block_mask is not None:
            _check_block_mask(query, key, block_mask)
        batch = query.shape[0]
        if key.shape[0] != batch:
            # As in paged attention, where all items have their keys in one.
            if block_mask is None or len(key) != 1 or len(block_mask.kv_num_blocks) != batch:
                raise ArgumentError(
                    f"`key` must have the batch size of `query`, {batch}, or 1 where `block_mask` is for {batch}, but "
                    f"has {key.shape[0]}."
                )
            key, value = (tensor.expand(batch, -1, -1, -1) for tensor in (key, value))
        mask = None if block_mask is None else rule_of(block_mask, batch, query.shape[2], key.shape[2])
        position = None
        if score_mod is not None and 0 not in (*query.shape[:3], key.shape[2]):
            mod = Mod(SCORE, score_mod, query.device, wide_dtype(query))
            position = ScoreMod(mod, mod.trained)
        score = "scaled_dot" if scale is None else Dot(scale)
        return cls(query, key, value, {"score": score, "mask": mask, "position": position})

    def output(self, *, log_sums: bool) -> tuple[Tensor, Tensor | None]:
        """The output, and if they are asked for its log-sums."""
        if log_sums:
            return attend(self.query, self.key, self.value, **self.parts, log_sums=True)
        return attend(self.query, self.key, self.value, **self.parts), None

    def highest_scores(self) -> Tensor:
        """The highest score of each query, (batch, head, query); minus infinity if it may attend to nothing."""
        with torch.no_grad():
            ones = self.key.new_ones(()).expand(*self.key.shape[:3], 1)
            query, key, ones = (tensor.to(wide_dtype(tensor)) for tensor in (self.query, self.key, ones))
            highest = attend(query, key, ones, weights=_of_highest, **self.parts).squeeze(-1)
            _, found = attend(query, key, ones, **self.parts, log_sums=True)
            return highest.masked_fill(found == -torch.inf, -torch.inf)


def _of_highest(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """Weights whose sum is the highest score."""
    highest, place = scores.max(-1, keepdim=True)
    return torch.zeros_like(scores).scatter(-1, place, highest)


def _check_tensors(query: Any, key: Any, value: Any, enable_gqa: bool) -> None:
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if isinstance(tensor, Tensor) and tensor.is_nested:
            raise ArgumentError(
                f"`{name}` must not be a nested tensor. Put the sequences one after the other into one, and keep them "
                "apart by a mask_mod: documents[q_idx] == documents[kv_idx]."
            )
        if not isinstance(tensor, Tensor) or tensor.ndim != 4:
            found = tuple(tensor.shape) if isinstance(tensor, Tensor) else type(tensor).__name__
            raise ArgumentError(f"`{name}` must be a tensor (batch, head, length, size), but is {found}.")
    heads, key_heads = query.shape[1], key.shape[1]
    if heads != key_heads and not enable_gqa:
        raise ArgumentError(
            f"`key` must have as many heads as `query`, {heads}, but has {key_heads}. Pass enable_gqa=True if heads of "
            "queries share those of keys."
        )


def _check_block_mask(query: Tensor, key: Tensor, block_mask: Any) -> None:
    if not isinstance(block_mask, BlockMask):
        raise ArgumentError(
            f"`block_mask` must be a BlockMask, but is {type(block_mask).__name__}. Make one by create_block_mask."
        )
    lengths, wanted = tuple(block_mask.seq_lengths), (query.shape[2], key.shape[2])
    if lengths != wanted and block_mask.BLOCK_SIZE != (WHOLE, WHOLE):
        raise ArgumentError(
            f"`block_mask` must be for {wanted[0]} queries and {wanted[1]} keys, as `query` and `key` have, but is for "
            f"{lengths[0]} and {lengths[1]}. Make another by create_block_mask."
        )
    items, heads = block_mask.kv_indices.shape[-4:-2]
    if items not in (1, query.shape[0]) or heads not in (1, query.shape[1]):
        raise ArgumentError(
            f"`block_mask` must be for {query.shape[0]} items and {query.shape[1]} heads, as `query` has, or for any "
            f"(None), but is for {items} and {heads}."
        )
    if block_mask.kv_indices.device != query.device:
        raise ArgumentError(
            f"`block_mask` must be on {query.device} as `query` is, but is on {block_mask.kv_indices.device}. Move it "
            "by .to(), or pass `device` to create_block_mask."
        )


@functools.cache
def _warn_of_kernel_options() -> None:
    """Warn once in a process."""
    warnings.warn("`kernel_options` are for PyTorch's kernels; regard.flex ignores them.", UserWarning, stacklevel=4)
