"""`regard.attend` inside Hugging Face's models: registered once, then chosen by name.

A model asks two functions. The first makes the mask of a forward pass: here a rule, from the lengths in the model's
2-D `attention_mask`, not a table of all pairs. The second attends.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard.attention import Causal, Dense, Dot, Index, Lengths, Mask, Sizes, Spans, Window, attend, weigh
from regard.attention.masks import as_mask
from regard.attention.positions import Bias
from regard.errors import RefusedError
from regard.extras import require
from regard.modules.extra_keys import BesideExtra
from regard.modules.pairs import Pairs

__all__ = ["Between", "Rule", "SoftCapped", "register"]

# What models hand on to every layer that can't change what the layer computes, or that the mask holds already.
_HARMLESS = {
    "cache_position",
    "cu_seq_lens_k",
    "cu_seq_lens_q",
    "cu_seqlens",
    "hidden_states",
    "input_ids",
    "max_length_k",
    "max_length_q",
    "num_items_in_batch",
    "position_ids",
    "token_type_ids",
}
_DECLINED = {
    "block_indices": "attention to picked blocks",
    "cache": "a paged cache",
    "indices": "attention to picked keys",
    "sinks": "sinks of this form (s_aux, one number for each head, is known)",
}


def register(name: str = "regard") -> None:
    """Make `attn_implementation="regard"` known to Hugging Face's transformers, for every model that lets one choose.

    Causal, bidirectional and sliding-window models, padding on either side, grouped queries, soft-capped scores, sinks
    (`s_aux`), position biases, caches and `generate` work; outputs where nothing is padded, and gradients, are those of
    `attn_implementation="eager"` up to rounding. Masks are rules in linear memory, but for three cases in which the
    model brings a table of all pairs or a rule that takes one: a 4-D mask, a position bias, a static cache. What can't
    be done is refused, never passed over.

    Args:
        name: the name to register it by.

    Raises:
        MissingExtraError: transformers is not installed.

    Example:
        >>> import regard                                        # doctest: +SKIP
        >>> regard.huggingface.register()                        # doctest: +SKIP
        >>> model.set_attn_implementation("regard")              # doctest: +SKIP
    """
    # Both before either: a version of transformers that lacks one must not be left with half.
    attention = require("transformers", extra="huggingface").AttentionInterface
    masks = require("transformers.masking_utils", extra="huggingface").AttentionMaskInterface
    attention.register(name, _attend)
    masks.register(name, _mask)


@dataclass(frozen=True)
class Rule:
    """A mask on its way from where a model has it made to where its layers attend.

    Transformers takes it for a finished 4-D mask and hands it on; whatever else a model would do to a tensor raises.
    """

    mask: Mask
    shape: tuple[int, int, int, int]
    ndim = 4

    def contiguous(self) -> "Rule":
        """`generate` asks for this before each step with a static cache."""
        return self


@dataclass(frozen=True)
class Between(Mask):
    """Each item has its keys from `start` up to, not including, `stop`: padding on the left, or on both sides.

    Unlike `Lengths`, it doesn't move the places that causal masks and positions count by.

    Args:
        start, stop: (batch,) whole numbers.
    """

    start: Tensor
    stop: Tensor

    def allows(self, at: Index) -> Tensor:
        return (at.key >= self.start[at.batch]) & (at.key < self.stop[at.batch])

    def spans(self, sizes: Sizes) -> Spans:
        start, stop = (bound.cpu().unsqueeze(1).expand(-1, sizes.queries) for bound in (self.start, self.stop))
        return Spans.only(start, stop, sizes.keys)


@dataclass(frozen=True)
class SoftCapped:
    """score_ij = cap tanh(scale q_i . k_j / cap): never beyond the cap, and the inner product where it is small.

    Source: Gemma Team 2024, Gemma 2 (arXiv 2408.00118), section 2, logit soft-capping.

    Example:
        >>> SoftCapped(1.0, 2.0)(torch.tensor([[1.0, 100.0]]), torch.tensor([[0.1, 0.0], [0.0, 9.0]]))
        tensor([[0.0999, 2.0000]])
    """

    scale: float
    cap: float

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return self.cap * torch.tanh((query * (self.scale / self.cap)) @ key.mT)


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Any,
    scaling: float | None = None,
    dropout: float = 0.0,
    is_causal: bool | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    position_bias: Tensor | None = None,
    output_attentions: bool | None = None,
    **others: Any,
) -> tuple[Tensor, Tensor | None]:
    """What a layer calls: (batch, head, length, size) in, (batch, query, head, size) out, and the weights if asked."""
    _refuse_others(others)
    mask, bias = _received(attention_mask)
    if mask is None and bias is None:
        if sliding_window is not None or others.get("cu_seq_lens_q") is not None:
            raise RefusedError(
                "`regard` takes windows and packed sequences from the mask, but this layer came without one. "
                "Let the model make its mask, or use attn_implementation='eager'."
            )
        mask = _of_flag(getattr(module, "is_causal", True) if is_causal is None else is_causal, query, key)
    scale = query.shape[-1] ** -0.5 if scaling is None else float(scaling)
    if position_bias is not None:
        bias = position_bias if bias is None else bias + position_bias
    if s_aux is not None:
        if softcap is not None or bias is not None:
            raise RefusedError("`regard` can't put sinks beside soft-capped scores or a bias. Use 'eager'.")
        query, key, value = _with_sinks(query, key, value, s_aux, scale)
        mask = None if mask is None else BesideExtra(mask, 1)
    parts: dict[str, Any] = {
        "score": Dot(scale) if softcap is None else SoftCapped(scale, softcap),
        "mask": mask,
        "position": None if bias is None else Bias(bias),
    }
    output = attend(query, key, value, **parts, dropout=dropout)
    weights = weigh(query, key, **parts)[..., 0 if s_aux is None else 1 :] if output_attentions else None
    # (batch head query value) -> (batch query head value)
    return output.transpose(1, 2).contiguous(), weights


def _mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: Any = 0,
    kv_offset: int = 0,
    mask_function: Callable[..., Tensor] | None = None,
    attention_mask: Any = None,
    use_vmap: bool = False,
    **others: Any,
) -> Rule | Tensor:
    """What a model calls once a pass: the rule, its padding included.

    Args:
        batch_size, q_length, kv_length: the sizes.
        q_offset, kv_offset: the places of the first query and key, where some are in a cache or have left it.
        mask_function: (batch, head, query place, key place) -> bool.
        attention_mask: (batch, key) 2-D, True = no padding; or a rule that is finished.
        use_vmap: whether the function can't be asked with broadcast indices.
    """
    if isinstance(attention_mask, Rule):
        return attention_mask
    masking = require("transformers.masking_utils", extra="huggingface")
    function = masking.causal_mask_function if mask_function is None else mask_function
    if use_vmap or isinstance(q_offset, Tensor):
        # A function that takes one pair at a time, or a static cache, whose length only the device knows: a table, as
        # transformers makes for its own implementations.
        return masking.sdpa_mask(
            batch_size,
            q_length,
            kv_length,
            q_offset,
            kv_offset,
            function,
            attention_mask,
            use_vmap=use_vmap,
            allow_is_causal_skip=False,
            allow_is_bidirectional_skip=False,
            device=others.get("device", "cpu"),
        )
    aligned = q_offset - kv_offset == kv_length - q_length
    rule = _translated(function) if aligned else None
    if rule is None:
        rule = as_mask(_Shifted(function, q_offset, kv_offset))
    if isinstance(rule, Causal) and q_length == 1:
        # One new token sees all: said so, a step needs no mask at all.
        rule = Dense()
    shape = (batch_size, 1, q_length, kv_length)
    padding = masking.prepare_padding_mask(attention_mask, kv_length, kv_offset)
    shown = None if padding is None else padding[:, kv_offset : kv_offset + kv_length].bool()
    if shown is None or bool(shown.all()):
        return Rule(rule, shape)
    hidden = _padding(shown, may_be_lengths=isinstance(rule, Dense))
    return Rule(hidden if isinstance(rule, Dense) else rule & hidden, shape)


@dataclass(frozen=True, eq=False)
class _Shifted:
    """A mask function of places, asked with indices."""

    function: Callable[..., Tensor]
    query: int
    key: int

    def __call__(self, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return self.function(batch, head, query + self.query, key + self.key)


def _translated(function: Callable[..., Tensor]) -> Mask | None:
    """The mask that says the same as one of transformers' functions and knows what it may skip; None if there is none.

    Only the functions that transformers itself makes are known; each carries its numbers in its closure.
    """
    masking = require("transformers.masking_utils", extra="huggingface")
    if function is masking.causal_mask_function:
        return Causal()
    if function is masking.bidirectional_mask_function:
        return Dense()
    if getattr(function, "__module__", None) != masking.__name__:
        return None
    held = inspect.getclosurevars(function).nonlocals
    maker = function.__qualname__.split(".")[0]
    if maker == "and_masks":
        both = [_translated(part) for part in held.get("mask_functions", ())]
        if len(both) != 2 or None in both:
            return None
        first, second = both
        return first if isinstance(second, Dense) else first & second  # pyright: ignore[reportOptionalOperand]
    size = held.get("sliding_window")
    if maker == "sliding_window_overlay" and isinstance(size, int) and size >= 1:
        # key > query - size, and whatever lies ahead: `&` with causal bounds that side.
        return Window(size - 1, 2**31)
    if maker == "sliding_window_bidirectional_overlay" and isinstance(size, int):
        return Window(size, size)
    return None


def _padding(shown: Tensor, *, may_be_lengths: bool) -> Mask:
    """The mask of a 2-D table of what is no padding."""
    keys = shown.shape[1]
    count = shown.sum(1)
    start = shown.long().argmax(1)
    stop = torch.where(count > 0, keys - shown.flip(1).long().argmax(1), start)
    if bool((count < stop - start).any()):
        return as_mask(lambda batch, head, query, key: shown[batch, key])
    if may_be_lengths and not bool(start.any()):
        return Lengths(key=count)
    return Between(start, stop)


def _received(mask: Any) -> tuple[Mask | None, Tensor | None]:
    """The mask that a layer was handed, as a mask, or as a table of numbers to add."""
    if mask is None:
        return None, None
    if isinstance(mask, Rule):
        return mask.mask, None
    if not isinstance(mask, Tensor) or mask.ndim != 4:
        found = tuple(mask.shape) if isinstance(mask, Tensor) else type(mask).__name__
        raise RefusedError(
            f"`attention_mask` of a layer must be a rule made for regard or a 4-D tensor, but is {found}. "
            "This model makes its mask by itself: use attn_implementation='eager'."
        )
    if mask.dtype == torch.bool:
        return Pairs(mask), None
    # The lowest number stands for minus infinity in such tables: it means hidden, and is not to be added.
    hidden = mask <= torch.finfo(mask.dtype).min
    return Pairs(~hidden), None if bool((mask.masked_fill(hidden, 0.0) == 0).all()) else mask.masked_fill(hidden, 0.0)


def _of_flag(is_causal: bool, query: Tensor, key: Tensor) -> Mask | None:
    """The mask where a model made none, and says by a flag whether it is causal; a single query then sees all."""
    if not is_causal or query.shape[2] == 1:
        return None
    if query.shape[2] != key.shape[2]:
        raise RefusedError(
            f"`regard` can't tell where {query.shape[2]} queries stand among {key.shape[2]} keys: this layer is causal "
            "but came without a mask. Use attn_implementation='eager'."
        )
    return Causal()


def _with_sinks(
    query: Tensor, key: Tensor, value: Tensor, sinks: Tensor, scale: float
) -> tuple[Tensor, Tensor, Tensor]:
    """A sink as a key in front whose score is a number of the head's own, and whose value is zero.

    One feature more does it: 1 in every query, the number in the sink, 0 in every other key.

    Source: OpenAI 2025, gpt-oss model card (arXiv 2508.10925), section 2, a learned bias in the softmax's denominator.
    """
    batch, heads, rows, size = query.shape
    # The number belongs to the query's head: keys that several heads share have to be told apart.
    repeat = heads // key.shape[1]
    key, value = (tensor.repeat_interleave(repeat, dim=1) for tensor in (key, value))
    sink = torch.cat([key.new_zeros(heads, size), (sinks.reshape(heads, 1) / scale).to(key.dtype)], dim=1)
    query = torch.cat([query, query.new_ones(batch, heads, rows, 1)], dim=3)
    key = torch.cat([key, key.new_zeros(*key.shape[:3], 1)], dim=3)
    key = torch.cat([sink.view(1, heads, 1, size + 1).expand(batch, -1, -1, -1), key], dim=2)
    return query, key, torch.cat([value.new_zeros(batch, heads, 1, value.shape[3]), value], dim=2)


def _refuse_others(others: dict[str, Any]) -> None:
    """Refuse what would change the result and isn't known here."""
    for name, what in others.items():
        if what is None or name in _HARMLESS:
            continue
        if name in _DECLINED or isinstance(what, Tensor):
            raise RefusedError(
                f"`{name}` asks for {_DECLINED.get(name, 'what regard does not know')}, which attn_implementation="
                "'regard' can't do. Use 'eager' for this model."
            )
