"""A request: the arguments of `attend`, checked and with names resolved, as every engine receives them."""

import dataclasses
import functools
import math
from dataclasses import dataclass, field
from operator import attrgetter
from types import NoneType
from typing import Any

import torch
from torch import Tensor, nn

from regard.attention.known import FEW_TOKENS, Known, look_up, signature
from regard.attention.masks import Dense, Mask, as_mask
from regard.attention.pairs.csr import Csr
from regard.attention.pairs.spans import Spans
from regard.attention.parts import declares, map_operands, operands, optional_method, part_of, resolve
from regard.attention.positional_encodings import INPUT_POSITIONS, PositionalEncoding
from regard.attention.positions import POSITIONS, Position
from regard.attention.precision import WIDE, wide_dtype
from regard.attention.scores import SCORES
from regard.attention.sizes import Index, Sizes
from regard.attention.user_parts import UserNormaliser, UserPart, UserPosition, UserScore, unwrapped, wrapped
from regard.attention.weights import WEIGHTS, Softmax
from regard.errors import ArgumentError, RefusedError

__all__ = ["Parts", "Request"]


@dataclass(frozen=True)
class Parts:
    """The four parts of a request, as one part that flattens into one spec.

    Attributes:
        score: a `scores.Score`, with its optional methods.
        weights: a `weights.Normaliser`, likewise.
        log_sums: whether the result has the rows' log-sums as one more column, in float32 or wider (`log_sums.py`).
    """

    score: Any
    weights: Any
    mask: Mask
    position: Position
    log_sums: bool = False

    @property
    def without_position(self) -> "Parts":
        """The same parts without the position, for a request whose query and key it has changed already."""
        return Parts(self.score, self.weights, self.mask, _NO_POSITION, self.log_sums)

    @property
    def user_scores(self) -> bool:
        """Whether scores are computed by a part of the user's own."""
        return isinstance(self.score, UserPart) or isinstance(self.position, UserPart)

    def sizes(self, batch: int, queries: int, keys: int) -> Sizes:
        """The sizes of a request, with the items' lengths if the mask gives them."""
        return Sizes(batch, queries, keys, *self.mask.lengths(), origin=self.mask.origin)


@dataclass
class Request:
    """One call of `attend`.

    Shapes: query (batch, head, query, feature), key (batch, key_head, key, feature), value (batch, key_head, key,
    value). After `expanded`, key and value have as many heads as query.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    parts: Parts
    dropout: float
    seed: int
    known: Known = field(default_factory=Known, repr=False)

    @classmethod
    def of(
        cls,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *,
        score: Any,
        weights: Any,
        mask: Any,
        position: Any,
        dropout: float,
        seed: int,
        log_sums: bool = False,
    ) -> "Request":
        """Check the arguments of `attend` and resolve the names among them.

        Raises:
            ArgumentError: an argument can't be used.
        """
        if not _are_alike(query, key, value):
            _refuse_tensors(query, key, value)
        if not isinstance(dropout, int | float) or not 0.0 <= dropout <= 1.0:
            raise ArgumentError(f"`dropout` must be a share from 0 to 1, but is {dropout!r}.")
        if type(seed) is not int:
            raise ArgumentError(f"`seed` must be a whole number or None, but is {seed!r}.")
        if isinstance(score, nn.Module):
            score = part_of(score)
        if isinstance(weights, nn.Module):
            weights = part_of(weights)
        if isinstance(position, nn.Module):
            position = part_of(position)
        signed = signature(score, weights, mask, position)
        form = {} if signed is None else look_up(query, key, value, signed[0], dropout > 0, log_sums is not False)
        kept: Parts | None = form.get("parts")
        if kept is None:
            _check_shapes(query, key, value)
            if type(score) is type(weights) is str and type(mask) in (NoneType, str) and position is None:
                parts = _parts_by_name(score, weights, mask)
            else:
                parts = _parts(score, weights, _mask(mask, query, key), position)
            _check_sizes(query, key, parts)
            if signed is not None:
                constant = not signed[1]
                form["parts"] = parts if constant else _without_operands(parts)
                if constant or not operands(parts.mask):
                    form["constant_mask"] = True
                    if query.shape[2] + key.shape[2] <= FEW_TOKENS:
                        form["geometry"] = {}
        elif signed is None or not signed[1]:
            parts = kept
        else:
            parts = Parts(
                kept.score or score,
                kept.weights or weights,
                kept.mask or _mask(mask, query, key),
                kept.position or position,
            )
        if log_sums is not False:
            parts = _with_log_sums(parts, log_sums)
        return cls(query, key, value, parts, float(dropout), seed, Known({}, form.get("geometry", {}), form))

    @classmethod
    def traceable(
        cls, query: Tensor, key: Tensor, value: Tensor, score: Any, weights: Any, mask: Any, position: Any
    ) -> "Request":
        """The request of a call without dropout whose tensors have no numbers yet, so that none is checked."""
        score, weights, position = (
            part_of(part) if isinstance(part, nn.Module) else part for part in (score, weights, position)
        )
        parts = _parts(score, weights, as_mask(mask), position)
        _check_sizes(query, key, parts)
        # What is hidden is finite, so a weight of 0 hides it.
        return cls(query, key, value, parts, 0.0, 0, Known({"finite": True}, {"hides_nothing": True}, {}))

    @property
    def expanded(self) -> "Request":
        """The request with as many heads of key and value as of query, each repeated for the heads that share it."""
        repeat = self.query.shape[1] // max(self.key.shape[1], 1)
        if repeat <= 1:
            return self
        key, value = (tensor.repeat_interleave(repeat, dim=1) for tensor in (self.key, self.value))
        return dataclasses.replace(self, key=key, value=value)

    @property
    def differentiable(self) -> bool:
        """Whether a gradient may be needed."""
        if not torch.is_grad_enabled():
            return False
        if self.query.requires_grad or self.key.requires_grad or self.value.requires_grad:
            return True
        return any(map(attrgetter("requires_grad"), operands(self.parts)))

    @property
    def result_dtype(self) -> torch.dtype:
        """The dtype of what an engine gives: that of the query, but wide enough for log-sums if there are any."""
        return wide_dtype(self.query) if self.parts.log_sums else self.query.dtype

    @property
    def sizes(self) -> Sizes:
        """The sizes as masks see them."""
        found = self.known.geometry.get("sizes")
        if found is None:
            found = self.parts.sizes(self.query.shape[0], self.query.shape[2], self.key.shape[2])
            self.known.geometry["sizes"] = found
        return found

    @property
    def spans(self) -> Spans:
        """Between which keys the allowed keys of each query lie."""
        found = self.known.geometry.get("spans")
        if found is None:
            found = self.known.geometry["spans"] = self.parts.mask.spans(self.sizes)
        return found

    @property
    def edges(self) -> Csr | None:
        """The allowed pairs as sorted lists, if the mask lists them."""
        known = self.known
        if "edges" in known.geometry:
            return known.geometry["edges"]
        if "edges" not in known.numbers:
            found = self.parts.mask.edges(self.sizes)
            few = found is None or len(found.keys) <= FEW_TOKENS
            # Long lists live as long as the call.
            (known.geometry if few else known.numbers)["edges"] = found
            return found
        return known.numbers["edges"]

    @property
    def hides_nothing(self) -> bool:
        """Whether the mask is known to allow every pair."""
        found = self.known.geometry.get("hides_nothing")
        if found is None:
            found = type(self.parts.mask) is Dense or self.parts.mask.hides_nothing(self.sizes)
            self.known.geometry["hides_nothing"] = found
        return found

    @property
    def finite(self) -> bool:
        """Whether all numbers are finite, and small enough that neither a product of two nor a score overflows.

        If not, hidden pairs must be kept out of the products: 0 x NaN is NaN.
        """
        found = self.known.numbers.get("finite")
        if found is None:
            query, key, value = _norms(self.query, self.key, self.value)
            factor = self.known.form.get("factor")
            if factor is None:
                factor = max(1.0, _magnitude(self.parts.score, "scale") / _magnitude(self.parts.weights, "temperature"))
                self.known.form["factor"] = factor
            found = math.isfinite(value) and query * key * factor <= torch.finfo(wide_dtype(self.query)).max
            self.known.numbers["finite"] = found
        return found

    @property
    def finite_parts(self) -> bool:
        """Whether all numbers of the score and of the position are finite, as a bias of minus infinity isn't."""

        def look() -> bool:
            numbers = (each for each in operands((self.parts.score, self.parts.position)) if each.is_floating_point())
            return all(bool(torch.isfinite(each.detach().sum())) for each in numbers)

        return self.cached("finite_parts", look)

    @property
    def safe(self) -> bool:
        """Whether hidden values can't reach the output: nothing is hidden, or everything is finite."""
        return self.hides_nothing or self.finite

    def safe_with(self, grad_output: Tensor) -> bool:
        """Whether that holds for the gradient too: NaN for one query must not reach the keys hidden from it."""
        return self.hides_nothing or (self.finite and math.isfinite(_norms(grad_output)[0]))

    def index(self, groups: Tensor, rows: Tensor, keys: Tensor, *, tile: tuple[int, int] | None = None) -> Index:
        """The pairs of these groups, queries and keys, as (group, query, key). A group is one head of one item."""
        heads = max(self.query.shape[1], 1)
        group = groups.view(-1, 1, 1)
        return self.sizes.index(group // heads, group % heads, rows.view(1, -1, 1), keys.view(1, 1, -1), tile=tile)

    def reduced(self) -> "tuple[Request, tuple[Tensor, Tensor]]":
        """The request with the same scores from simpler parts, and query and key as the position's scores see them.

        The work that grows with n rather than n x n is done here, once, before the tiles: the position's change of
        query and key, and what the score computes from each query and key alone. The results are in float32 or wider,
        and the value too: rounding them to half precision again would change the scores.
        """
        parts = self.parts
        query, key = unreduced = (self.query, self.key) if type(parts.position) is Position else self.positioned()
        reduce = optional_method(parts.score, "reduce")
        if reduce is not None:
            if query.dtype not in WIDE and not declares(type(parts.score), "keeps_vectors"):
                query, key = unreduced = _wide(query), _wide(key)
            score, query, key = reduce(query, key)
            if score is not parts.score:
                parts = Parts(score, parts.weights, parts.mask, parts.position, parts.log_sums)
        value = self.value if self.value.dtype == query.dtype else self.value.to(query.dtype)
        return Request(query, key, value, parts, self.dropout, self.seed, self.known), unreduced

    def narrowed(self, whole: "Request") -> "Request":
        """This reduced request as a GPU takes it: in half precision again after a rotation of half precision.

        Rounding rotated vectors moves the scores by no more than the rounding of the vectors that were rotated did.

        Args:
            whole: the request before it was reduced.
        """
        dtype = whole.query.dtype
        if self.query.dtype == dtype or not declares(type(whole.parts.score), "keeps_vectors"):
            return self
        query, key, value = (tensor.to(dtype) for tensor in (self.query, self.key, self.value))
        return Request(query, key, value, self.parts, self.dropout, self.seed, self.known)

    def positioned(self) -> tuple[Tensor, Tensor]:
        """Query and key after the position's change, in float32 or wider; unchanged if the position makes none."""
        position = self.parts.position
        if not position.overrides("heads"):
            return self.query, self.key
        query, key = _wide(self.query), _wide(self.key)
        # Computed where they are used: lengths on a GPU aren't waited for.
        sizes = dataclasses.replace(self.sizes, device=self.query.device)
        return position.heads(query, key, sizes.positions.unsqueeze(1), sizes.columns.unsqueeze(1))

    def cached(self, name: str, compute: Any) -> Any:
        """What `compute` finds in the numbers of this call, shared by all requests derived from this one."""
        numbers = self.known.numbers
        if name not in numbers:
            numbers[name] = compute()
        return numbers[name]


def _parts(score: Any, weights: Any, mask: Mask, position: Any) -> Parts:
    return Parts(
        wrapped(UserScore, resolve("score", score, SCORES)),
        wrapped(UserNormaliser, resolve("weights", weights, WEIGHTS)),
        mask,
        _position(position),
    )


def _with_log_sums(parts: Parts, log_sums: Any) -> Parts:
    if log_sums is not True:
        raise ArgumentError(f"`log_sums` must be True or False, but is {log_sums!r}.")
    if type(parts.weights) is not Softmax:
        part = unwrapped(parts.weights)
        name = getattr(part, "__name__", type(part).__name__)
        raise ArgumentError(
            f"`log_sums` are those of softmax, but `weights` is {name}. Pass weights='softmax' or a Softmax, "
            "or leave log_sums out."
        )
    return dataclasses.replace(parts, log_sums=True)


@functools.lru_cache(maxsize=256)
def _parts_by_name(score: str, weights: str, mask: str | None) -> Parts:
    """In decoding, in which every call has one key more."""
    return _parts(score, weights, as_mask(mask), None)


def _without_operands(parts: Parts) -> Parts:
    """The parts, with None in place of those that hold tensors."""
    four = parts.score, parts.weights, parts.mask, parts.position
    kept: list[Any] = [None if operands(each) else each for each in four]
    return Parts(*kept)


def _wide(tensor: Tensor) -> Tensor:
    return tensor.to(wide_dtype(tensor))


def _norms(*tensors: Tensor) -> list[float]:
    """The Euclidean norm of each tensor; infinite where the squares overflow, NaN where there is NaN."""
    squares: list[Tensor] = []
    for tensor in tensors:
        # On a CPU the library's inner product is the fastest; neither makes a temporary.
        if tensor.is_cpu and tensor.dtype in WIDE and tensor.is_contiguous():
            flat = tensor.detach().view(-1)
            squares.append(torch.dot(flat, flat))
        else:
            norm = torch.linalg.vector_norm(tensor.detach(), dtype=wide_dtype(tensor))
            squares.append(norm.square())
    try:
        # From a GPU all at once: each transfer waits for what was queued before.
        numbers = map(Tensor.item, squares) if tensors[0].is_cpu else torch.stack(squares).tolist()
        return list(map(math.sqrt, numbers))
    except RuntimeError as error:
        raise RefusedError(
            "All weights at once (engine='dense', weigh) can't be computed under torch.vmap with a mask, because it "
            "must be checked whether the hidden values are finite. Use attend with engine='auto', or no mask."
        ) from error


def _magnitude(part: Any, name: str) -> float:
    """The absolute value of a number that a part may have; 1 if it has none, if it is 0, or if it is no number."""
    value = getattr(unwrapped(part), name, None)
    return (abs(value) or 1.0) if isinstance(value, int | float) else 1.0


def _mask(mask: Any, query: Tensor, key: Tensor) -> Mask:
    """The mask, checked against the sizes, with its tensors on the query's device."""
    if mask is None:
        return _NO_MASK
    mask = as_mask(mask)
    mask.check(Sizes(query.shape[0], query.shape[2], key.shape[2]))
    if any(tensor.device != query.device for tensor in operands(mask)):
        mask = map_operands(lambda tensor: tensor.to(query.device), mask)
    return mask


_NO_MASK = Dense()
_NO_POSITION = Position()


def _position(position: Any) -> Position:
    if position is None:
        return _NO_POSITION
    if isinstance(position, PositionalEncoding) or (isinstance(position, str) and position in INPUT_POSITIONS):
        raise ArgumentError(
            f"`position` {position!r} is added to the inputs, which attend never sees: "
            "apply the module to the vectors first, or give it to an Encoder."
        )
    part = resolve("position", position, POSITIONS, method="scores")
    if not isinstance(part, Position):
        raise ArgumentError(f"`position` must subclass regard.attention.Position, but is {part!r}.")
    return wrapped(UserPosition, part)


def _check_shapes(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Check the shapes of the three tensors against each other."""
    heads, key_heads = query.shape[1], key.shape[1]
    if key.shape[:3] != value.shape[:3] or key.shape[0] != query.shape[0]:
        _refuse_shapes(query, key, value)
    if heads != key_heads and (key_heads == 0 or heads % key_heads):
        raise ArgumentError(
            f"`query` must have a multiple of the {key_heads} heads of `key` (grouped queries), but has {heads}."
        )


def _check_sizes(query: Tensor, key: Tensor, parts: Parts) -> None:
    """Check the parts against the sizes, except for the mask."""
    check = optional_method(parts.score, "check") or _check_feature_sizes
    check(query.shape[-1], key.shape[-1], query.shape[1])
    fits = optional_method(parts.weights, "check")
    if fits is not None:
        fits(query.shape[1])
    if parts.position is not _NO_POSITION:
        # The tables of a slice are those of the whole.
        sizes = Sizes(query.shape[0], query.shape[2], key.shape[2], origin=parts.mask.origin)
        parts.position.check(query.shape[1], sizes.whole)


def _are_alike(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether all are what `query` must be. Asked at every call, so it is one expression."""
    if not (isinstance(query, Tensor) and isinstance(key, Tensor) and isinstance(value, Tensor)):
        return False
    if query.is_nested or key.is_nested or value.is_nested:
        return False
    return (
        query.ndim == key.ndim == value.ndim == 4
        and query.dtype == key.dtype == value.dtype
        and query.device == key.device == value.device
        and query.layout == key.layout == value.layout == torch.strided
        and query.dtype in _DTYPES
    )


# Narrower numbers, as of float8, PyTorch can't add.
_DTYPES = frozenset((torch.float32, torch.float64, torch.bfloat16, torch.float16))


def _refuse_tensors(query: Tensor, key: Tensor, value: Tensor) -> None:
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if isinstance(tensor, Tensor) and tensor.is_nested:
            raise ArgumentError(
                f"`{name}` must be a tensor (batch, head, length, size), but is a nested tensor. Pad it by "
                "torch.nested.to_padded_tensor and pass mask=Lengths(lengths); or put all sequences into one, with "
                "mask=Documents.of_lengths(lengths)."
            )
        if isinstance(tensor, Tensor) and tensor.layout != torch.strided:
            raise ArgumentError(f"`{name}` must be dense, but is {tensor.layout}. Convert it with .to_dense().")
        if not isinstance(tensor, Tensor) or tensor.ndim != 4:
            shape = tuple(tensor.shape) if isinstance(tensor, Tensor) else type(tensor).__name__
            raise ArgumentError(f"`{name}` must be a tensor (batch, head, length, size), but is {shape}.")
        if not tensor.is_floating_point():
            raise ArgumentError(f"`{name}` must hold real numbers, but is {tensor.dtype}. Convert it with .float().")
        if tensor.dtype not in _DTYPES:
            raise ArgumentError(
                f"`{name}` must be of float32, float64, bfloat16 or float16, but is of {tensor.dtype}, which PyTorch "
                "can't add. Convert it with .bfloat16(), and multiply it by its scale if it has one."
            )
        if tensor.dtype != query.dtype or tensor.device != query.device:
            raise ArgumentError(
                f"`{name}` must be {query.dtype} on {query.device} as `query` is, "
                f"but is {tensor.dtype} on {tensor.device}."
            )


def _refuse_shapes(query: Tensor, key: Tensor, value: Tensor) -> None:
    batch = query.shape[0]
    if key.shape[0] != batch or value.shape[0] != batch:
        raise ArgumentError(
            f"`key` and `value` must have the batch size of `query`, {batch}, "
            f"but have {key.shape[0]} and {value.shape[0]}."
        )
    raise ArgumentError(
        f"`value` must be (batch, head, key) = {tuple(key.shape[:3])} as `key` is, but is {tuple(value.shape[:3])}."
    )


def _check_feature_sizes(query_size: int, key_size: int, heads: int) -> None:
    if query_size != key_size:
        raise ArgumentError(f"`key` must have the feature size of `query`, {query_size}, but has {key_size}.")
