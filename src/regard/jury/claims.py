"""What an attention function says that it can do, in its own argument names: stated, or found by trying."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.errors import ArgumentError
from regard.jury import oracle

__all__ = ["Claims", "first_tensor", "found_claims"]

_ALIGNMENTS = ("end", "start")
_LAYOUTS = ("head first", "length first")
DTYPES = ("float64", "float32", "bfloat16", "float16")


@dataclass(frozen=True)
class Claims:
    """What a function offers: for each ability the name of its keyword argument, or None where it has none.

    Args:
        causal: takes True: a query attends to no later key.
        mask: takes a boolean tensor (batch, head, query, key), True = may attend, unless `hides`.
        bias: takes a tensor (batch, head, query, key) that is added to the scores.
        scale: takes the number that products are multiplied by; its default must be 1 / sqrt(feature).
        dropout: takes the fraction of weights that is set to zero.
        seed: takes the seed of dropout; without one, PyTorch's generator decides.
        grouped: True, or the name of an argument that must be True, if keys may have fewer heads than queries.
        hides: whether True in a mask means hidden.
        alignment: with unlike lengths, whether causal lays the last query beside the last key ("end", as a cache needs
            it) or the first beside the first ("start").
        layout: "head first", (batch, head, item, feature), or "length first", (batch, item, head, feature); of query,
            key, value and output.
        value_size: whether values may have another size than queries.
        gradients, second_order, forward_mode: whether it claims derivatives of the first order, of the second, and in
            forward mode. Where it claims one and raises an error, the verdict is "not offered".
        dtypes: in which it may be called.

    Raises:
        ArgumentError: `alignment`, `layout` or a dtype is unknown.

    Example:
        >>> Claims(causal="is_causal", mask="attn_mask").offers("mask")
        True
    """

    causal: str | None = None
    mask: str | None = None
    bias: str | None = None
    scale: str | None = None
    dropout: str | None = None
    seed: str | None = None
    grouped: str | bool = False
    hides: bool = False
    alignment: str = "end"
    layout: str = "head first"
    value_size: bool = False
    gradients: bool = True
    second_order: bool = True
    forward_mode: bool = True
    dtypes: tuple[str, ...] = DTYPES

    def __post_init__(self) -> None:
        for name, known in (("alignment", _ALIGNMENTS), ("layout", _LAYOUTS)):
            if getattr(self, name) not in known:
                raise ArgumentError(f"`{name}` must be one of {', '.join(known)}, but is {getattr(self, name)!r}.")
        for dtype in self.dtypes:
            if dtype not in DTYPES:
                raise ArgumentError(f"`dtypes` must be of {', '.join(DTYPES)}, but one is {dtype!r}.")
        if not self.dtypes:
            raise ArgumentError("`dtypes` must name a dtype, but is empty.")

    def offers(self, ability: str) -> bool:
        """Whether there is an ability, by the name of its field."""
        return bool(getattr(self, ability))

    @property
    def precise(self) -> str:
        """The widest dtype that is offered."""
        return next(dtype for dtype in DTYPES if dtype in self.dtypes)

    @property
    def usual(self) -> str:
        """The dtype in which most laws are judged: float32 where it is offered."""
        return "float32" if "float32" in self.dtypes else self.precise


_NAMES = {
    "mask": ("attn_mask", "mask", "attention_mask"),
    "bias": ("bias", "attn_bias", "attn_mask", "mask", "attention_mask"),
    "causal": ("is_causal", "causal"),
    "scale": ("scale", "softmax_scale", "sm_scale", "scaling"),
    "dropout": ("dropout_p", "dropout"),
}


def found_claims(function: Callable[..., Any], device: str = "cpu") -> Claims:
    """Find what a function offers by calling it with the usual argument names on a few small numbers.

    An argument counts where the call is accepted and the output changes, as a function may take any `**options` and
    read none. Whether True in a mask means hidden is seen from which key matters; the layout from which of the two
    gives the definition's output.

    Raises:
        ArgumentError: a call with query, key and value alone raises an error.

    Example:
        >>> found_claims(torch.nn.functional.scaled_dot_product_attention).mask
        'attn_mask'
    """
    generator = torch.Generator("cpu").manual_seed(5)
    # Sizes that differ, so that no axis passes for another.
    query, key, value = (torch.randn(1, 2, 3, 4, generator=generator, device="cpu").to(device) for _ in range(3))
    plain, layout, dtype = _plain(function, query, key, value)
    query, key, value = (tensor.to(dtype) for tensor in (query, key, value))

    def tried(name: str, given: Any, *three: Tensor) -> Tensor | None:
        laid = three or (query, key, value)
        if layout == "length first":
            laid = tuple(tensor.transpose(1, 2) for tensor in laid)
        try:
            output = first_tensor(function(*laid, **({name: given} if name else {})))
        except Exception:
            return None
        return output.transpose(1, 2) if layout == "length first" else output

    def changes(name: str, given: Any) -> bool:
        output = tried(name, given)
        return output is not None and output.shape == plain.shape and not torch.equal(output, plain)

    parameters = _parameters(function)

    def first(ability: str, given: Any) -> str | None:
        known = [name for name in _NAMES[ability] if parameters is None or name in parameters]
        return next((name for name in known if changes(name, given)), None)

    one = torch.zeros(1, 2, 3, 3, dtype=torch.bool, device=device)
    one[..., 1] = True
    mask = first("mask", one)
    hides = False
    if mask is not None and (shown := tried(mask, one)) is not None:
        hides = not torch.allclose(shown.float(), value[:, :, 1:2].expand_as(shown).float(), atol=0.05)
    bias = first("bias", torch.randn(1, 2, 3, 3, generator=generator, device="cpu").to(device, dtype))
    # Two heads of keys, as one would be broadcast by a function that knows nothing of groups.
    many = torch.cat([query, query], 1)
    grouped: str | bool = False
    if tried("", None, many, key, value) is not None:
        grouped = True
    elif tried("enable_gqa", True, many, key, value) is not None:
        grouped = "enable_gqa"
    wide = tried("", None, query, key, torch.cat([value, value], -1))
    return Claims(
        causal=first("causal", True),
        mask=mask,
        bias=bias,
        scale=first("scale", 0.1),
        dropout=first("dropout", 0.5),
        seed="seed" if parameters is not None and "seed" in parameters and tried("seed", 1) is not None else None,
        grouped=grouped,
        hides=hides,
        layout=layout,
        value_size=wide is not None and wide.shape[-1] == 2 * value.shape[-1],
        dtypes=tuple(each for each in DTYPES if _takes(function, each, query, key, value)),
    )


def _plain(function: Callable[..., Any], query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, str, torch.dtype]:
    """The output of the function alone, the layout, and the first dtype that it takes."""
    wanted = oracle.attend(query, key, value).float()
    problem: Exception | None = None
    for dtype in (torch.float32, torch.float16, torch.float64):
        three = tuple(tensor.to(dtype) for tensor in (query, key, value))
        found: dict[str, Tensor] = {}
        for layout in _LAYOUTS:
            swapped = three if layout == "head first" else tuple(tensor.transpose(1, 2) for tensor in three)
            try:
                output = first_tensor(function(*swapped))
            except Exception as error:
                problem = problem or error
                continue
            output = output if layout == "head first" else output.transpose(1, 2)
            found[layout] = output
            if output.shape == wanted.shape and torch.allclose(output.cpu().float(), wanted, atol=0.05):
                return output, layout, dtype
        if found:
            layout, output = next(iter(found.items()))
            return output, layout, dtype
    raise ArgumentError(
        "`function` must take (query, key, value) of shape (batch, head, item, feature) and return the output, but a "
        f"call raised {type(problem).__name__}: {problem}. Wrap it in a function that does."
    )


def _takes(function: Callable[..., Any], dtype: str, *three: Tensor) -> bool:
    try:
        function(*(tensor.to(getattr(torch, dtype)) for tensor in three))
    except Exception:
        return False
    return True


def first_tensor(output: Any) -> Tensor:
    """The output of a function, the first where it returns several.

    Raises:
        TypeError: it is no tensor.
    """
    first = output[0] if isinstance(output, tuple | list) and output else output
    if not isinstance(first, Tensor):
        raise TypeError(f"it returned {type(first).__name__}, not a tensor")
    return first


def _parameters(function: Callable[..., Any]) -> set[str] | None:
    """The names of a function's arguments; None where they can't be read, or where it takes any."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values()):
        return None
    return set(parameters)
