"""`regard.attend` inside Hugging Face's models: registered once, then selected by name.

A model calls two functions. The mask function makes the mask of a forward pass, here without a table of all pairs, from
the lengths in the model's 2-D `attention_mask`. The attention function attends.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard.attention import Causal, Dense, Dot, Lengths, Mask, Window, attend, weigh
from regard.attention.formulas import PRODUCTS, Formula, Given
from regard.attention.masks import ExtraKeysMask, KeyRange, Pairs, as_mask
from regard.attention.pieces import ScorePiece
from regard.attention.positions import Bias
from regard.errors import RefusedError
from regard.extras import require

__all__ = ["MaskHandle", "SoftCapped", "register"]

# Arguments that models pass to every layer and that don't change its result, or that are in the mask already.
_IGNORED = {
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
_UNSUPPORTED = {
    "block_indices": "attention to selected blocks",
    "cache": "a paged cache",
    "indices": "attention to selected keys",
    "sinks": "sinks of this form (s_aux, one number for each head, is known)",
}


def register(name: str = "regard") -> None:
    """Register `attn_implementation="regard"` in Hugging Face's transformers, for all models that support the choice.

    Supported are causal, bidirectional and sliding-window models, padding on either side, grouped queries, soft-capped
    scores, sinks (`s_aux`), position biases, caches and `generate`. Gradients, and outputs at real tokens, equal those
    of `attn_implementation="eager"` up to rounding. Masks take linear memory, except in three cases in which the model
    itself makes a table of all pairs or needs one: a 4-D mask, a position bias, and a static cache. What isn't
    supported is refused, never ignored.

    Args:
        name: the name to register.

    Raises:
        MissingExtraError: transformers is not installed.

    Example:
        >>> import regard                                        # doctest: +SKIP
        >>> regard.huggingface.register()                        # doctest: +SKIP
        >>> model.set_attn_implementation("regard")              # doctest: +SKIP
    """
    # Both are looked up before either is registered: a version of transformers may lack one.
    attention = require("transformers", extra="huggingface").AttentionInterface
    masks = require("transformers.masking_utils", extra="huggingface").AttentionMaskInterface
    attention.register(name, _attend)
    masks.register(name, _mask)


@dataclass(frozen=True)
class MaskHandle:
    """A mask on its way from the mask function of a model to its layers.

    Transformers takes it for a finished 4-D mask and passes it on; any other operation on a tensor raises an error.
    """

    mask: Mask
    shape: tuple[int, int, int, int]
    ndim = 4

    def contiguous(self) -> "MaskHandle":
        """`generate` calls this before each step with a static cache."""
        return self


@dataclass(frozen=True)
class SoftCapped:
    """score_ij = cap tanh(scale q_i . k_j / cap): bounded by the cap, and nearly the scaled product if that is small.

    Source: Gemma Team 2024, Gemma 2 (arXiv 2408.00118), section 2, logit soft-capping.

    Example:
        >>> SoftCapped(1.0, 2.0)(torch.tensor([[1.0, 100.0]]), torch.tensor([[0.1, 0.0], [0.0, 9.0]]))
        tensor([[0.0999, 2.0000]])
    """

    scale: float
    cap: float

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return self.cap * torch.tanh((query * (self.scale / self.cap)) @ key.mT)

    def steps(self) -> tuple[Formula | Given, ...]:
        return (
            *PRODUCTS,
            Given("c", "scale", self.scale),
            Formula("scale", "s_j", "{s} * {c}"),
            Given("m", "cap", self.cap),
            Formula("soft cap", "s_j", "{m} * tanh({s} / {m})"),
        )

    def piece(self) -> ScorePiece:
        """The score inside of the Triton kernels."""
        # Imported here, since it imports Triton, which most machines lack.
        from regard.attention.engines.triton.scores import of_soft_cap, soft_cap

        return ScorePiece(soft_cap, of_soft_cap, self.scale, (self.cap,))


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Any,
    *,
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
    """The attention function of a layer: (batch, head, length, size) in, (batch, query, head, size) and weights out."""
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
        mask = None if mask is None else ExtraKeysMask(mask, 1)
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
    *,
    attention_mask: Any = None,
    use_vmap: bool = False,
    **others: Any,
) -> MaskHandle | Tensor:
    """The mask function of a model, called once for each forward pass; it includes the padding.

    Args:
        batch_size, q_length, kv_length: the sizes.
        q_offset, kv_offset: the positions of the first query and key, where earlier ones are in a cache or have left
            it.
        mask_function: (batch, head, query position, key position) -> bool.
        attention_mask: (batch, key) 2-D, True = no padding; or a finished `MaskHandle`.
        use_vmap: whether the mask function doesn't accept broadcast indices.
    """
    if isinstance(attention_mask, MaskHandle):
        return attention_mask
    masking = require("transformers.masking_utils", extra="huggingface")
    function = masking.causal_mask_function if mask_function is None else mask_function
    if use_vmap or isinstance(q_offset, Tensor):
        # The function takes one pair at a time, or the cache is static and its length is on the device: make a table of
        # all pairs, as transformers does for its own implementations.
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
        rule = as_mask(_WithOffsets(function, q_offset, kv_offset))
    if isinstance(rule, Causal) and q_length == 1:
        # One new token attends to all keys: without a mask the step is faster.
        rule = Dense()
    shape = (batch_size, 1, q_length, kv_length)
    padding = masking.prepare_padding_mask(attention_mask, kv_length, kv_offset)
    shown = None if padding is None else padding[:, kv_offset : kv_offset + kv_length].bool()
    if shown is None or bool(shown.all()):
        return MaskHandle(rule, shape)
    hidden = _padding(shown, may_be_lengths=isinstance(rule, Dense))
    return MaskHandle(hidden if isinstance(rule, Dense) else rule & hidden, shape)


@dataclass(frozen=True, eq=False)
class _WithOffsets:
    """A mask function of positions, called with indices."""

    function: Callable[..., Tensor]
    query: int
    key: int

    def __call__(self, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return self.function(batch, head, query + self.query, key + self.key)


def _translated(function: Callable[..., Tensor]) -> Mask | None:
    """The mask class that equals one of transformers' mask functions, and can skip blocks; None if there is none.

    Only functions made by transformers are recognised; their parameters are in their closures.
    """
    masking = require("transformers.masking_utils", extra="huggingface")
    if function is masking.causal_mask_function:
        return Causal()
    if function is masking.bidirectional_mask_function:
        return Dense()
    if getattr(function, "__module__", None) != masking.__name__:
        return None
    closure = inspect.getclosurevars(function).nonlocals
    maker = function.__qualname__.split(".")[0]
    if maker == "and_masks":
        both = [_translated(part) for part in closure.get("mask_functions", ())]
        if len(both) != 2 or None in both:
            return None
        first, second = both
        return first if isinstance(second, Dense) else first & second  # pyright: ignore[reportOptionalOperand]
    size = closure.get("sliding_window")
    if maker == "sliding_window_overlay" and isinstance(size, int) and size >= 1:
        # The function is key > query - size; `&` with a causal mask bounds the other side.
        return Window(size - 1, 2**31)
    if maker == "sliding_window_bidirectional_overlay" and isinstance(size, int):
        return Window(size, size)
    return None


def _padding(shown: Tensor, *, may_be_lengths: bool) -> Mask:
    """The mask of a 2-D table that is True at real keys."""
    keys = shown.shape[1]
    count = shown.sum(1)
    start = shown.long().argmax(1)
    stop = torch.where(count > 0, keys - shown.flip(1).long().argmax(1), start)
    if bool((count < stop - start).any()):
        return as_mask(lambda batch, head, query, key: shown[batch, key])
    if may_be_lengths and not bool(start.any()):
        return Lengths(key=count)
    return KeyRange(start, stop)


def _received(mask: Any) -> tuple[Mask | None, Tensor | None]:
    """The mask that a layer received, as a mask and as a bias to add to the scores."""
    if mask is None:
        return None, None
    if isinstance(mask, MaskHandle):
        return mask.mask, None
    if not isinstance(mask, Tensor) or mask.ndim != 4:
        found = tuple(mask.shape) if isinstance(mask, Tensor) else type(mask).__name__
        raise RefusedError(
            f"`attention_mask` of a layer must be a mask made by regard or a 4-D tensor, but is {found}. "
            "This model makes its own mask: use attn_implementation='eager'."
        )
    if mask.dtype == torch.bool:
        return Pairs(mask), None
    # In such tables the lowest finite number stands for minus infinity: it hides a pair.
    hidden = mask <= torch.finfo(mask.dtype).min
    return Pairs(~hidden), None if bool((mask.masked_fill(hidden, 0.0) == 0).all()) else mask.masked_fill(hidden, 0.0)


def _of_flag(is_causal: bool, query: Tensor, key: Tensor) -> Mask | None:
    """The mask of a model that passes a flag for causal attention instead of a mask; a single query attends to all."""
    if not is_causal or query.shape[2] == 1:
        return None
    if query.shape[2] != key.shape[2]:
        raise RefusedError(
            f"`regard` can't tell the positions of {query.shape[2]} queries among {key.shape[2]} keys: this layer is "
            "causal but got no mask. Use attn_implementation='eager'."
        )
    return Causal()


def _with_sinks(
    query: Tensor, key: Tensor, value: Tensor, sinks: Tensor, scale: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Prepend a sink: a key whose score is a learned number for each head, and whose value is zero.

    It takes one more feature: 1 in every query, the number in the sink's key, and 0 in every other key.

    Source: OpenAI 2025, gpt-oss model card (arXiv 2508.10925), section 2, a learned bias in the softmax's denominator.
    """
    batch, heads, rows, size = query.shape
    # The number differs between query heads, so keys that several query heads share are repeated.
    repeat = heads // key.shape[1]
    key, value = (tensor.repeat_interleave(repeat, dim=1) for tensor in (key, value))
    sink = torch.cat([key.new_zeros(heads, size), (sinks.reshape(heads, 1) / scale).to(key.dtype)], dim=1)
    query = torch.cat([query, query.new_ones(batch, heads, rows, 1)], dim=3)
    key = torch.cat([key, key.new_zeros(*key.shape[:3], 1)], dim=3)
    key = torch.cat([sink.view(1, heads, 1, size + 1).expand(batch, -1, -1, -1), key], dim=2)
    return query, key, torch.cat([value.new_zeros(batch, heads, 1, value.shape[3]), value], dim=2)


def _refuse_others(others: dict[str, Any]) -> None:
    """Refuse arguments that would change the result and aren't supported."""
    for name, what in others.items():
        if what is None or name in _IGNORED:
            continue
        if name in _UNSUPPORTED or isinstance(what, Tensor):
            raise RefusedError(
                f"`{name}` asks for {_UNSUPPORTED.get(name, 'what regard does not know')}, which attn_implementation="
                "'regard' can't do. Use 'eager' for this model."
            )
