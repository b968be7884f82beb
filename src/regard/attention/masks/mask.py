"""The base class of masks, their combinations, and the masks without arguments. True = may attend.

A mask must define `allows`, which says of each pair whether it is allowed. The other methods are optional: the base
class answers that nothing is known. `And` and `Or` combine the answers of their masks; `Not` has the opposite spans.

    spans          between which keys the allowed ones of each query lie    to plan tiles, for windows and costs
    columns        which keys at least one query of a block may see         to plan tiles of scattered keys
    edges          all allowed pairs as sorted lists                        for the kernel along edges, and costs
    hides_nothing  whether every pair is allowed                            for every engine, before all else
    lengths        the items' own lengths                                   to count positions
    check          whether the mask fits the request                        where the request is made
    check_growing  whether pairs stay allowed or hidden as keys are added   where a cache grows
    arguments      how an equal mask is made, where fields don't say it     to save it
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from regard.attention.pairs.csr import Csr
from regard.attention.pairs.spans import Spans
from regard.attention.parts import is_builtin, operands
from regard.attention.sizes import Index, ItemLengths, Origin, Sizes
from regard.attention.validation import check_takes
from regard.errors import ArgumentError, nearest

__all__ = [
    "And",
    "Causal",
    "Dense",
    "Mask",
    "NoSelf",
    "Not",
    "Or",
    "Predicate",
    "allows",
    "as_mask",
    "conjuncts",
    "know_names",
    "spans_of",
]


class Mask:
    """A mask: subclass it as a frozen dataclass and write `allows`; write `spans` too if whole ranges are hidden.

    A mask that allows scattered keys should also write `columns`, and if there are few for each query, `edges`.

    Attributes:
        origin: where the queries and keys lie in a larger request, of a `Slice`; None otherwise.
    """

    origin: ClassVar[Origin | None] = None

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        # A method that was written for another `allows` doesn't apply to this one.
        if "allows" in vars(cls):
            for name in ("spans", "columns", "edges", "hides_nothing", "check_growing"):
                if name not in vars(cls):
                    setattr(cls, name, getattr(Mask, name))

    def allows(self, at: Index) -> Tensor:
        """Whether each pair is allowed: a bool tensor that broadcasts against the index."""
        raise NotImplementedError(f"{type(self).__name__} must define allows(at)")

    def spans(self, sizes: Sizes) -> Spans:
        """Between which keys the allowed keys of each query lie."""
        return Spans.unknown(sizes)

    def columns(self, sizes: Sizes, rows: slice) -> Tensor | None:
        """The keys that any of these queries may see in any item, sorted, on the CPU; None if `spans` says enough."""
        return None

    def edges(self, sizes: Sizes) -> Csr | None:
        """The allowed pairs as sorted lists, if they are few and the same for every head; otherwise None."""
        return None

    def hides_nothing(self, sizes: Sizes) -> bool:
        """Whether the mask is known to allow every pair."""
        return self.spans(sizes).covers(sizes.keys)

    def lengths(self) -> ItemLengths:
        """The items' lengths, if the mask gives them; positions are then counted from the end of each item."""
        return ItemLengths()

    def check(self, sizes: Sizes) -> None:
        """Check that the mask fits a request of these sizes.

        Raises:
            ArgumentError: it doesn't.
        """

    def check_growing(self) -> None:
        """Check that a pair stays allowed or hidden when further keys are added, as a cache that grows needs.

        Raises:
            ArgumentError: it doesn't.
        """

    def __and__(self, other: Any) -> "Mask":
        other = as_mask(other)
        # A slice has the mask of the whole, to which this one belongs then.
        return And(self, other) if other.origin is None else other & self

    __rand__ = __and__

    def __or__(self, other: Any) -> "Mask":
        other = as_mask(other)
        return Or(self, other) if other.origin is None else other | self

    __ror__ = __or__

    def __invert__(self) -> "Mask":
        return Not(self)


@dataclass(frozen=True)
class Dense(Mask):
    """Every query may attend to every key: no mask at all.

    Source: the notes, 001: every vector considers the whole sequence.
    """

    def allows(self, at: Index) -> Tensor:
        return torch.ones_like(at.key, dtype=torch.bool)

    def spans(self, sizes: Sizes) -> Spans:
        start = torch.zeros_like(sizes.rows)
        return Spans.only(start, start + sizes.keys, sizes.keys)

    def hides_nothing(self, sizes: Sizes) -> bool:
        return True


@dataclass(frozen=True)
class Causal(Mask):
    """A query may attend to its own position and those before it. Aligned at the end, as decoding with a cache needs.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.3.

    Example:
        >>> from regard.attention import weigh
        >>> import torch
        >>> weigh(torch.zeros(1, 1, 2, 4), torch.zeros(1, 1, 3, 4), mask=Causal())[0, 0]
        tensor([[0.5000, 0.5000, 0.0000],
                [0.3333, 0.3333, 0.3333]])
    """

    def allows(self, at: Index) -> Tensor:
        return at.key <= at.position

    def spans(self, sizes: Sizes) -> Spans:
        positions = sizes.positions
        return Spans.only(torch.zeros_like(positions), positions + 1, sizes.keys)

    def hides_nothing(self, sizes: Sizes) -> bool:
        if sizes.ragged:
            return super().hides_nothing(sizes)
        return sizes.queries <= 1 or sizes.keys == 0


@dataclass(frozen=True)
class NoSelf(Mask):
    """A query may attend to every key except the one at its own position.

    Source: the notes, 001, which ask whether attention to oneself matters.
    """

    def allows(self, at: Index) -> Tensor:
        return at.key != at.position

    def spans(self, sizes: Sizes) -> Spans:
        positions = sizes.positions
        return Spans.only(positions, positions + 1, sizes.keys).complement(sizes)


@dataclass(frozen=True, repr=False)
class Predicate(Mask):
    """A user's function (batch, head, query, key) -> bool tensor; each argument is an index tensor."""

    function: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]

    def allows(self, at: Index) -> Tensor:
        return self.function(at.batch, at.head, at.query, at.key)

    def __repr__(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))


@dataclass(frozen=True)
class And(Mask):
    """A pair is allowed if both masks allow it."""

    left: Mask
    right: Mask

    def allows(self, at: Index) -> Tensor:
        return allows(self.left, at) & allows(self.right, at)

    def spans(self, sizes: Sizes) -> Spans:
        return spans_of(self.left, sizes) & spans_of(self.right, sizes)

    def columns(self, sizes: Sizes, rows: slice) -> Tensor | None:
        left, right = self.left.columns(sizes, rows), self.right.columns(sizes, rows)
        if left is None or right is None:
            return right if left is None else left
        return left[torch.isin(left, right, assume_unique=True)]

    def edges(self, sizes: Sizes) -> Csr | None:
        pairs, other = self.left.edges(sizes), self.right
        if pairs is None:
            pairs, other = self.right.edges(sizes), self.left
        if pairs is None:
            return None
        # A mask without tensors lists its edges on the CPU, wherever the tensors of the other mask are.
        device = next((tensor.device for tensor in operands(other)), pairs.keys.device)
        keys, counts = pairs.keys.to(device), pairs.starts.diff().to(device)
        query = torch.arange(sizes.queries, device=device).repeat_interleave(counts)
        # Evaluated with two items and two heads, so that the shape of the result shows whether it depends on them.
        item, head = (query.new_zeros(shape) for shape in ((min(sizes.batch, 2), 1, 1), (1, 2, 1)))
        kept = allows(other, sizes.index(item, head, query.view(1, 1, -1), keys.view(1, 1, -1)))
        if kept.ndim != 3 or kept.shape[:2] != (1, 1):
            return None
        return pairs.only(kept.expand(1, 1, len(query)).flatten().to(pairs.keys.device))

    def hides_nothing(self, sizes: Sizes) -> bool:
        return self.left.hides_nothing(sizes) and self.right.hides_nothing(sizes)

    def lengths(self) -> ItemLengths:
        return ItemLengths(*map(_shorter, self.left.lengths(), self.right.lengths()))

    def check(self, sizes: Sizes) -> None:
        self.left.check(sizes)
        self.right.check(sizes)

    def check_growing(self) -> None:
        self.left.check_growing()
        self.right.check_growing()


@dataclass(frozen=True)
class Or(Mask):
    """A pair is allowed if at least one of the masks allows it."""

    left: Mask
    right: Mask

    def allows(self, at: Index) -> Tensor:
        return allows(self.left, at) | allows(self.right, at)

    def spans(self, sizes: Sizes) -> Spans:
        return spans_of(self.left, sizes) | spans_of(self.right, sizes)

    def columns(self, sizes: Sizes, rows: slice) -> Tensor | None:
        left, right = self.left.columns(sizes, rows), self.right.columns(sizes, rows)
        if left is None and right is None:
            return None
        left = self.left.spans(sizes).columns(rows) if left is None else left
        right = self.right.spans(sizes).columns(rows) if right is None else right
        return torch.cat([left, right]).unique()

    def hides_nothing(self, sizes: Sizes) -> bool:
        # The two may also allow every pair together, but first the cheaper question whether one does alone.
        return self.left.hides_nothing(sizes) or self.right.hides_nothing(sizes) or super().hides_nothing(sizes)

    def lengths(self) -> ItemLengths:
        # A side without lengths allows rows of any length, and then so do both together.
        return ItemLengths(*map(_longer, self.left.lengths(), self.right.lengths()))

    def check(self, sizes: Sizes) -> None:
        self.left.check(sizes)
        self.right.check(sizes)

    def check_growing(self) -> None:
        self.left.check_growing()
        self.right.check_growing()


@dataclass(frozen=True)
class Not(Mask):
    """A pair is allowed if the mask hides it."""

    mask: Mask

    def allows(self, at: Index) -> Tensor:
        return ~allows(self.mask, at)

    def spans(self, sizes: Sizes) -> Spans:
        return spans_of(self.mask, sizes).complement(sizes)

    def lengths(self) -> ItemLengths:
        return self.mask.lengths()

    def check(self, sizes: Sizes) -> None:
        self.mask.check(sizes)

    def check_growing(self) -> None:
        self.mask.check_growing()


def _shorter(left: Tensor | None, right: Tensor | None) -> Tensor | None:
    if left is None or right is None:
        return right if left is None else left
    return torch.minimum(left, right)


def _longer(left: Tensor | None, right: Tensor | None) -> Tensor | None:
    return None if left is None or right is None else torch.maximum(left, right)


def allows(mask: Mask, at: Index) -> Tensor:
    """Which of these pairs a mask allows, (1 or group, 1 or query, 1 or key).

    Raises:
        ArgumentError: the mask is a user's own, and returned something else.
    """
    if is_builtin(mask) and type(mask) is not Predicate:
        return mask.allows(at)
    try:
        allowed: Any = mask.allows(at)
    except RuntimeError as error:
        if "Boolean value of Tensor" not in str(error):
            raise
        raise ArgumentError(
            f"`mask` {mask!r} must combine tensors by & | ~ and bracketed comparisons; and, or, not, if and a < b < c "
            "need a single bool, but here there is one for each pair."
        ) from error
    except TypeError:
        if type(mask) is Predicate:
            check_takes("mask", mask.function, (at.batch, at.head, at.query, at.key), "(batch, head, query, key)")
        raise
    if not isinstance(allowed, Tensor) or allowed.dtype != torch.bool:
        found = allowed.dtype if isinstance(allowed, Tensor) else type(allowed).__name__
        raise ArgumentError(f"`mask` {mask!r} must return a bool tensor, True = may attend, but returned {found}.")
    pairs = torch.broadcast_shapes(*(axis.shape for axis in (at.batch, at.head, at.query, at.key)))
    if any(size not in (1, most) for size, most in zip(reversed(allowed.shape), reversed(pairs), strict=False)):
        raise ArgumentError(
            f"`mask` {mask!r} must return a bool for each pair that it is given, broadcastable to {tuple(pairs)}, but "
            f"returned {tuple(allowed.shape)}. Look a table up by the indices: table[query, key]."
        )
    return allowed


def spans_of(mask: Mask, sizes: Sizes) -> Spans:
    """The spans of a mask, on the device of the sizes even if it is a user's own and makes them on the CPU."""
    spans = mask.spans(sizes)
    return spans if is_builtin(mask) else spans.on(sizes.device)


def as_mask(mask: Any) -> Mask:
    """A mask from what a user may pass: None, a mask, its name, or a function of four indices.

    Raises:
        ArgumentError: it is none of these, for example a tensor.
    """
    if mask is None:
        return Dense()
    if isinstance(mask, Mask):
        return mask
    if isinstance(mask, str):
        if mask in _BY_NAME:
            return _BY_NAME[mask]()
        near = nearest(mask, [*_BY_NAME, *_WITH_ARGUMENTS])
        hint = f" Did you mean {_WITH_ARGUMENTS.get(near, repr(near))}?" if near else ""
        if mask in _WITH_ARGUMENTS:
            hint = f" It needs arguments: pass {_WITH_ARGUMENTS[mask]}."
        raise ArgumentError(
            f"`mask` must be one of {', '.join(_BY_NAME)} by name, or a mask such as Window(2, 2), but is {mask!r}."
            + hint
        )
    if isinstance(mask, Tensor):
        raise ArgumentError(
            "`mask` must be a rule, not a tensor (a tensor of all pairs takes quadratic memory). Write a function: "
            "lambda batch, head, query, key: table[query, key]; or, for an existing bool table, "
            "regard.modules.Pairs(table)."
        )
    if callable(mask) and not isinstance(mask, type):
        return Predicate(mask)  # pyright: ignore[reportArgumentType]
    hint = f" Did you mean {mask.__name__}(...)?" if isinstance(mask, type) and issubclass(mask, Mask) else ""
    raise ArgumentError(f"`mask` must be a mask or a function of (batch, head, query, key), but is {mask!r}.{hint}")


def conjuncts(mask: Mask) -> list[Mask]:
    """The masks that are joined by &; a mask that isn't joined, alone."""
    return [*conjuncts(mask.left), *conjuncts(mask.right)] if type(mask) is And else [mask]


# Masks without arguments, and how the others are made: as text, because those in other rooms can't be imported here.
_BY_NAME: dict[str, type[Mask]] = {}
_WITH_ARGUMENTS = {
    "strided": "regard.modules.Strided(stride)",
    "longformer": "regard.modules.Longformer(window)",
    "bigbird": "regard.modules.BigBird(block)",
}


def know_names(masks: Mapping[str, type[Mask]]) -> None:
    """Tell `as_mask` the names of the masks of this folder, whose other files it can't import."""
    for name, kind in masks.items():
        parameters = inspect.signature(kind).parameters.values()
        needed = [each.name for each in parameters if each.default is each.empty]
        if not parameters:
            _BY_NAME[name] = kind
        else:
            # Where none is needed, as of lengths, the first is called by the name of the mask.
            _WITH_ARGUMENTS[name] = f"regard.attention.{kind.__name__}({', '.join(needed) or name})"
