"""Scores: how well each key matches each query, before normalising.

A score is any callable `(query, key) -> scores`: (..., query, feature) and (..., key, feature) to (..., query, key).

Optional methods make it faster:

- `reduce(query, key) -> (score, query, key)`: a simpler score of other vectors with the same result, by work that grows
  with n rather than n x n. It is called once, before a request is divided into tiles, with (batch, head, length,
  feature).
- `reduce_vjp(grad_query, grad_key, *grads of its operands)`, of the package's own scores: the gradients of what
  `reduce` was given and of the operands, from those of what it returned. Without it, autograd finds them.
- `vjp(grad_scores, query, key) -> (grad_query, grad_key, *grads of its operands)`: a hand-written gradient. An
  operand's gradient has the operand's shape after `select`.
- `select(heads) -> score`: the score for these heads, (group,), if it has parameters for each head.
- `check(query_size, key_size, heads)`: raises ArgumentError if the sizes don't fit; by default they must be equal.

A class of the package declares what engines ask about its scores; a subclass doesn't inherit it (`parts.declares`):

- `inner_product`: they are an inner product of what `reduce` returns;
- `keeps_vectors`: `reduce` leaves query and key as they are;
- `activates`: each feature of each pair goes through an activation;
- `steps() -> formulas`: how a score comes about, from `q` and `k`, for `regard steps` (formulas.py).
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from regard.attention.compilation.traceable import is_traceable
from regard.attention.formulas import PRODUCTS, Formula, Given
from regard.attention.precision import wide_dtype
from regard.attention.validation import check_heads, check_number, check_per_head, check_tensor
from regard.errors import ArgumentError

__all__ = [
    "SCORES",
    "Additive",
    "Bilinear",
    "Cosine",
    "Dot",
    "LearnedAdditive",
    "LearnedBilinear",
    "LearnedCosine",
    "ScaledDot",
    "Score",
]

Score = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Dot:
    """The inner product, score_ij = scale q_i . k_j.

    Args:
        scale: the factor of every score.

    Source: the notes, 001 "Dot-product"; Luong et al. 2015 (arXiv 1508.04025), equation 8.

    Example:
        >>> import torch
        >>> Dot()(torch.tensor([[1.0, 0.0, 2.0]]), torch.tensor([[0.0, 1.0, 1.0], [4.0, 4.0, 0.0]]))
        tensor([[2., 4.]])
    """

    scale: float = 1.0

    inner_product: ClassVar[bool] = True
    keeps_vectors: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_number("scale", self.scale, "Train a scale by LearnedCosine, or a matrix by LearnedBilinear.")

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        # Scaling the query takes n x d operations; scaling the scores would take n x n.
        return (query if self.scale == 1.0 else query * self.scale) @ key.mT

    def vjp(self, grad_scores: Tensor, query: Tensor, key: Tensor) -> tuple[Tensor, ...]:
        if query.ndim != 3:
            return (grad_scores @ key) * self.scale, grad_scores.mT @ (query * self.scale)
        # As a factor of the product, the scale costs nothing.
        nothing = query.new_zeros(())
        return (
            torch.baddbmm(nothing, grad_scores, key, beta=0, alpha=self.scale),
            torch.baddbmm(nothing, grad_scores.mT, query, beta=0, alpha=self.scale),
        )

    def steps(self) -> tuple[Formula | Given, ...]:
        return *PRODUCTS, *_scaling(self.scale)


@dataclass(frozen=True)
class ScaledDot:
    """The inner product divided by the square root of the feature size, score_ij = q_i . k_j / sqrt(d).

    The variance of an inner product of d independent terms of unit variance is d; the division keeps softmax out of
    saturation for any head size.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), equation 1.
    """

    inner_product: ClassVar[bool] = True
    keeps_vectors: ClassVar[bool] = True

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return _scaled(query.shape[-1])(query, key)

    def reduce(self, query: Tensor, key: Tensor) -> tuple[Score, Tensor, Tensor]:
        return _scaled(query.shape[-1]), query, key

    def reduce_vjp(self, grad_query: Tensor, grad_key: Tensor) -> tuple[Tensor, Tensor]:
        return grad_query, grad_key

    def steps(self) -> tuple[Formula | Given, ...]:
        root = Given("d", "sqrt(d)", "sqrt(max(size, 1))")
        return *PRODUCTS, root, Formula("scale", "s_j", "{s} / {d}")


@functools.cache
def _scaled(size: int) -> Dot:
    return Dot(1.0 / math.sqrt(max(size, 1)))


@dataclass(frozen=True)
class Additive:
    """A hidden layer that sees query and key together, score_ij = u . act(q_i + k_j + b).

    Queries and keys are projected beforehand, as in every head, so the layer needs no matrices of its own. With tanh
    this is Bahdanau's attention; with leaky_relu it is that of GATv2, whose ranking of the keys depends on the query,
    unlike that of the first GAT.

    Args:
        vector: u, (feature,), or (head, feature) with a vector for each head.
        bias: b, of either form, or None for 0.
        activation: "tanh" or "leaky_relu".
        slope: the factor of negative numbers in leaky_relu.

    Raises:
        ArgumentError: the activation has another name, or a tensor another form.

    Source: Bahdanau et al. 2015 (arXiv 1409.0473), section A.1.2; Brody et al. 2022 (arXiv 2105.14491), equation 7.

    Example:
        >>> query, key = torch.tensor([[1.0, -2.0]]), torch.tensor([[0.0, 1.0], [-3.0, 2.0]])
        >>> Additive(torch.tensor([1.0, 10.0]), activation="leaky_relu")(query, key)
        tensor([[-1.0000, -0.4000]])
    """

    vector: Tensor
    bias: Tensor | None = None
    activation: str = "tanh"
    slope: float = 0.2

    activates: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.activation not in ("tanh", "leaky_relu"):
            raise ArgumentError(f"`activation` must be 'tanh' or 'leaky_relu', but is {self.activation!r}.")
        check_tensor("vector", self.vector, "(feature,) or (head, feature)", (1, 2))
        if self.bias is not None:
            check_tensor("bias", self.bias, "(feature,) or (head, feature)", (1, 2))
        check_number("slope", self.slope)

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        core, query, key = self.reduce(query, key)
        vector = core.vector.to(query.dtype)
        if is_traceable():
            added = query.unsqueeze(-2) + key.unsqueeze(-3)
            active = torch.tanh(added) if self.activation == "tanh" else nn.functional.leaky_relu(added, self.slope)
            return (active * vector[..., None, None, :]).sum(-1)
        if self.activation == "leaky_relu":
            return _AdditiveScores.apply(query, key, vector, self.slope)  # pyright: ignore[reportReturnType]
        # tanh(x) = 2 / (1 + exp(-2x)) - 1: the logistic function is ten times as fast, and the rest takes n x d work.
        scores: Tensor = _AdditiveScores.apply(2 * query, 2 * key, 2 * vector, None)  # pyright: ignore[reportAssignmentType]
        return scores - vector.sum(-1)[..., None, None]

    def reduce(self, query: Tensor, key: Tensor) -> tuple["Additive", Tensor, Tensor]:
        if self.bias is None:
            return self, query, key
        bias = self.bias.to(query.dtype).unsqueeze(-2)
        return Additive(self.vector, None, self.activation, self.slope), query + bias, key

    def reduce_vjp(self, grad_query: Tensor, grad_key: Tensor, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        if self.bias is None:
            return grad_query, grad_key, *grads
        return grad_query, grad_key, *grads, _summed_to(grad_query.sum(-2), self.bias)

    def vjp(self, grad_scores: Tensor, query: Tensor, key: Tensor) -> tuple[Tensor, ...]:
        core, query, key = self.reduce(query, key)
        vector = core.vector.to(query.dtype)
        if self.activation == "leaky_relu":
            grads = _AdditiveScoresVjp.forward(grad_scores, query, key, vector, self.slope)
        else:
            halves = _AdditiveScoresVjp.forward(grad_scores, 2 * query, 2 * key, 2 * vector, None)
            total = grad_scores.sum((-2, -1)).unsqueeze(-1)
            total = _summed_to(total.expand(*total.shape[:-1], vector.shape[-1]), vector)
            grads = 2 * halves[0], 2 * halves[1], 2 * halves[2] - total
        return grads if self.bias is None else (*grads, _summed_to(grads[0].sum(-2), self.bias))

    def select(self, heads: Tensor) -> "Additive":
        picked = {
            name: tensor[heads]
            for name, tensor in (("vector", self.vector), ("bias", self.bias))
            if tensor is not None and tensor.ndim == 2
        }
        return dataclasses.replace(self, **picked) if picked else self

    def check(self, query_size: int, key_size: int, heads: int) -> None:
        _check_equal(query_size, key_size)
        for name, tensor in (("vector", self.vector), ("bias", self.bias)):
            if tensor is not None and tuple(tensor.shape) not in ((query_size,), (heads, query_size)):
                raise ArgumentError(
                    f"`score` must have a {name} ({query_size},), or ({heads}, {query_size}) for one to each head, "
                    f"but its {name} is {tuple(tensor.shape)}."
                )

    def steps(self) -> tuple[Formula | Given, ...]:
        bias = () if self.bias is None else (Given("b", "b_f", self.bias),)
        sums = Formula("sums of vectors", "x_jf", "{q} + {k}" if self.bias is None else "{q} + {k} + {b}")
        if self.activation == "tanh":
            activation = (Formula("activation", "a_jf", "tanh({x})"),)
        else:
            slope = Given("m", "slope", self.slope)
            activation = slope, Formula("activation", "a_jf", "max({x}, 0) + {m} * min({x}, 0)")
        products, total = PRODUCTS
        vector = Given("u", "u_f", self.vector)
        return *bias, sums, *activation, vector, dataclasses.replace(products, text="{u} * {a}"), total


@dataclass(frozen=True)
class Bilinear:
    """An inner product through a learned matrix, score_ij = q_i W k_j. Queries and keys may differ in size.

    Args:
        matrix: W, (query_feature, key_feature), or (head, query_feature, key_feature) with a matrix for each head.

    Raises:
        ArgumentError: the matrix has another form.

    Source: Luong et al. 2015 (arXiv 1508.04025), equation 8, "general".

    Example:
        >>> Bilinear(torch.tensor([[0.0, 1.0, 2.0]]))(torch.tensor([[3.0]]), torch.tensor([[5.0, 1.0, 1.0]]))
        tensor([[9.]])
    """

    matrix: Tensor

    inner_product: ClassVar[bool] = True

    def __post_init__(self) -> None:
        form = "(query_feature, key_feature), or (head, query_feature, key_feature)"
        check_tensor("matrix", self.matrix, form, (2, 3))

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        core, query, key = self.reduce(query, key)
        return core(query, key)

    def reduce(self, query: Tensor, key: Tensor) -> tuple[Dot, Tensor, Tensor]:
        return Dot(), query @ self.matrix.to(query.dtype), key

    def select(self, heads: Tensor) -> "Bilinear":
        return dataclasses.replace(self, matrix=self.matrix[heads]) if self.matrix.ndim == 3 else self

    def check(self, query_size: int, key_size: int, heads: int) -> None:
        sizes = (query_size, key_size)
        if tuple(self.matrix.shape) not in (sizes, (heads, *sizes)):
            raise ArgumentError(
                f"`score` must have a matrix {sizes}, or {(heads, *sizes)} for one to each head, "
                f"but its matrix is {tuple(self.matrix.shape)}."
            )

    def steps(self) -> tuple[Formula | Given, ...]:
        projected = Formula("projected query", "q'_f", "{q} W", value="q @ W")
        return Given("W", "W", self.matrix), projected, *PRODUCTS


@dataclass(frozen=True)
class Cosine:
    """The cosine of the angle between query and key, score_ij = scale q_i . k_j / (|q_i| |k_j|).

    A vector of zeros has no angle: its scores are 0, and it gets no gradient. Cosines lie between -1 and 1, so without
    a scale the largest weight of a softmax over n keys is at most e^2 times the smallest.

    Args:
        scale: the factor of every score: a number, or a tensor, () or (head,).

    Raises:
        ArgumentError: the scale is a tensor of another form.

    Source: Henry et al. 2020 (arXiv 2010.04245), who train the scale.

    Example:
        >>> Cosine(scale=10.0)(torch.tensor([[3.0, 4.0]]), torch.tensor([[0.0, 9.0], [0.0, 0.0]]))
        tensor([[8., 0.]])
    """

    scale: float | Tensor = 1.0

    inner_product: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_per_head("scale", self.scale)

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        core, query, key = self.reduce(query, key)
        return core(query, key)

    def reduce(self, query: Tensor, key: Tensor) -> tuple[Dot, Tensor, Tensor]:
        query, key = _directions(query), _directions(key)
        if not isinstance(self.scale, Tensor):
            return Dot(float(self.scale)), query, key
        scale = self.scale.to(query.dtype)
        return Dot(), query * (scale if scale.ndim == 0 else scale[:, None, None]), key

    def select(self, heads: Tensor) -> "Cosine":
        if not isinstance(self.scale, Tensor) or not self.scale.ndim:
            return self
        return dataclasses.replace(self, scale=self.scale[heads])

    def check(self, query_size: int, key_size: int, heads: int) -> None:
        _check_equal(query_size, key_size)
        if isinstance(self.scale, Tensor) and tuple(self.scale.shape) not in ((), (heads,)):
            raise ArgumentError(
                f"`score` must have a scale (), or ({heads},) for one to each head, "
                f"but its scale is {tuple(self.scale.shape)}."
            )

    def steps(self) -> tuple[Formula | Given, ...]:
        return (
            Given("m", "|q|", "length(q)"),
            Formula("query direction", "q'_f", "{q} / {m}", value="direction(q)"),
            Given("n", "|k_j|", "length(k)"),
            Formula("key directions", "k'_jf", "{k} / {n}", value="direction(k)"),
            *PRODUCTS,
            *_scaling(self.scale),
        )


class LearnedAdditive(nn.Module):
    """Additive scores with a trained vector and bias.

    Args:
        head_size: the feature size of a head.
        heads: with a number, each head has its own vector and bias; otherwise all heads share them.
        bias: whether there is a bias.
        activation, slope: as in `Additive`.

    Source: Bahdanau et al. 2015 (arXiv 1409.0473), section A.1.2; Brody et al. 2022 (arXiv 2105.14491), equation 7.

    Example:
        >>> from regard import attend
        >>> x = torch.zeros(1, 2, 5, 8)
        >>> attend(x, x, x, score=LearnedAdditive(8)).shape
        torch.Size([1, 2, 5, 8])
    """

    def __init__(
        self,
        head_size: int,
        heads: int | None = None,
        *,
        bias: bool = True,
        activation: str = "tanh",
        slope: float = 0.2,
    ):
        super().__init__()
        check_heads(heads)
        shape = (head_size,) if heads is None else (heads, head_size)
        self.vector = nn.Parameter(torch.empty(shape))
        # The score sums head_size activations of about 1 each; this gives it a standard deviation of about 1.
        nn.init.normal_(self.vector, std=max(head_size, 1) ** -0.5)
        self.bias = nn.Parameter(torch.zeros(shape)) if bias else None
        self.activation, self.slope = activation, slope
        self.part()  # checks the activation

    def part(self) -> Additive:
        """The part for `attend`, with the vector and the bias as its operands."""
        return Additive(self.vector, self.bias, self.activation, self.slope)

    @staticmethod
    def plain(head_size: int) -> Additive:
        """The score without training, with a vector of ones, which `regard steps` shows."""
        return Additive(torch.ones(head_size, dtype=torch.float64, device="cpu"))


class LearnedBilinear(nn.Module):
    """Bilinear scores with a trained matrix.

    Args:
        head_size: the feature size of the queries.
        heads: with a number, each head has its own matrix; otherwise all heads share one.
        key_size: the feature size of the keys; by default that of the queries.

    Source: Luong et al. 2015 (arXiv 1508.04025), equation 8, "general".

    Example:
        >>> LearnedBilinear(5, heads=2, key_size=3).matrix.shape
        torch.Size([2, 5, 3])
    """

    def __init__(self, head_size: int, heads: int | None = None, *, key_size: int | None = None):
        super().__init__()
        check_heads(heads)
        sizes = (head_size, head_size if key_size is None else key_size)
        self.matrix = nn.Parameter(torch.empty(sizes if heads is None else (heads, *sizes)))
        # The score sums query_size x key_size products of unit variance; this gives it a standard deviation of about 1.
        nn.init.normal_(self.matrix, std=max(math.prod(sizes), 1) ** -0.5)

    def part(self) -> Bilinear:
        """The part for `attend`, with the matrix as its operand."""
        return Bilinear(self.matrix)


class LearnedCosine(nn.Module):
    """Cosine scores with a trained scale.

    Args:
        heads: with a number, each head has its own scale; otherwise all heads share one.
        scale: its initial value. Henry et al. suggest log2(n^2 - n), where n is the 97.5th percentile of the sequence
            lengths; for n = 128 that is about 14.

    Source: Henry et al. 2020 (arXiv 2010.04245).

    Example:
        >>> LearnedCosine(heads=2, scale=14.0).scale.tolist()
        [14.0, 14.0]
    """

    def __init__(self, heads: int | None = None, *, scale: float = 10.0):
        super().__init__()
        check_heads(heads)
        self.scale = nn.Parameter(torch.full(() if heads is None else (heads,), float(scale)))

    def part(self) -> Cosine:
        """The part for `attend`, with the scale as its operand."""
        return Cosine(self.scale)


def _scaling(scale: float | Tensor) -> tuple[Formula | Given, ...]:
    """The step of scaling; none where the scale is the number 1."""
    if not isinstance(scale, Tensor) and scale == 1.0:
        return ()
    return Given("c", "scale", scale), Formula("scale", "s_j", "{s} * {c}")


def _check_equal(query_size: int, key_size: int) -> None:
    if query_size != key_size:
        raise ArgumentError(f"`key` must have the feature size of `query`, {query_size}, but has {key_size}.")


def _directions(vectors: Tensor) -> Tensor:
    """Each vector divided by its norm; a vector of zeros stays zero."""
    wide = vectors.to(wide_dtype(vectors))
    # First divided by the largest entry, which keeps the squares from overflowing and doesn't change the direction, so
    # it can be treated as a constant. A vector of zeros is replaced before the square root, whose derivatives at 0 are
    # infinite.
    largest = wide.detach().abs().amax(-1, keepdim=True) if wide.shape[-1] else wide.sum(-1, keepdim=True)
    zero = largest == 0
    scaled = torch.where(zero, 1.0, wide / torch.where(zero, 1.0, largest))
    return torch.where(zero, 0.0, scaled / scaled.square().sum(-1, keepdim=True).sqrt()).to(vectors.dtype)


class _AdditiveScores(torch.autograd.Function):
    """u . act(q_i + k_j) in memory of the size of its result, as are its first and second derivatives.

    Autograd would save every feature of every pair. Here each feature is summed as soon as it is computed, and is
    recomputed for derivatives. `leak` is the slope of leaky_relu; None stands for the logistic function.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(query: Tensor, key: Tensor, vector: Tensor, leak: float | None) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        blocks = []
        for rows in _blocks(query, key):
            scores = None
            for _, sums, some in _features(rows, key, vector):
                scores = _added(scores, _activate(sums, leak), some)
            blocks.append(rows @ key.mT if scores is None else scores)
        return torch.cat(blocks, -2)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        query, key, vector, ctx.leak = inputs
        ctx.save_for_backward(query, key, vector)

    @staticmethod
    def backward(ctx: Any, grad_scores: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return *_AdditiveScoresVjp.apply(grad_scores, *ctx.saved_tensors, ctx.leak), None  # pyright: ignore[reportReturnType]


class _AdditiveScoresVjp(torch.autograd.Function):
    """The gradient of `_AdditiveScores`: with G = grad_scores and x = q_i + k_j,

    grad_q = u sum_j G act'(x), grad_k = u sum_i G act'(x), grad_u = sum_ij G act(x).
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(
        grad_scores: Tensor, query: Tensor, key: Tensor, vector: Tensor, leak: float | None
    ) -> tuple[Tensor, Tensor, Tensor]:  # pyright: ignore[reportIncompatibleMethodOverride]
        start, rows_grads, grad_key, grad_vector = 0, [], torch.zeros_like(key), torch.zeros_like(vector)
        for rows in _blocks(query, key):
            grad = grad_scores[..., start : start + rows.shape[-2], :].unsqueeze(-3)
            start += rows.shape[-2]
            to_rows, to_columns, to_vector = [], [], []
            for _, sums, some in _features(rows, key, vector):
                active = _activate(sums, leak)
                product = grad * active
                to_vector.append(_summed_to(product.sum((-2, -1)), some))
                # act (1 - act) is the derivative of the logistic function. A `where` by sign mispredicts half the time.
                change = (
                    torch.addcmul(product, product, active, value=-1)
                    if leak is None
                    else torch.ops.aten.leaky_relu_backward(grad, sums, leak, False)
                )
                to_rows.append(change.sum(-1) * some.unsqueeze(-1))
                to_columns.append(change.sum(-2) * some.unsqueeze(-1))
            if to_rows:
                rows_grads.append(torch.cat(to_rows, -2))
                grad_key = grad_key + torch.cat(to_columns, -2).mT
                grad_vector = grad_vector + torch.cat(to_vector, -1)
        return torch.cat(rows_grads, -1).mT if rows_grads else torch.zeros_like(query), grad_key, grad_vector

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        *tensors, ctx.leak = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, to_query: Tensor, to_key: Tensor, to_vector: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        # With h = to_query_i + to_key_j, the sum of G (u act'(x) h + to_vector act(x)) is differentiated.
        grad_scores, query, key, vector = ctx.saved_tensors
        grad = grad_scores.unsqueeze(-3)
        total, rows, columns, vectors = torch.zeros_like(grad_scores), [], [], []
        for where, sums, some in _features(query, key, vector):
            toward = to_query.mT[..., where, :, None] + to_key.mT[..., where, None, :]
            to_some = to_vector[..., where]
            active = _activate(sums, ctx.leak)
            if ctx.leak is None:
                slope = active * (1 - active)
            else:
                slope = torch.full_like(sums, ctx.leak).masked_fill_(sums > 0, 1.0)
            total = _added(_added(total, slope * toward, some), active, to_some)
            vectors.append(_summed_to((grad * slope * toward).sum((-2, -1)), some))
            change = slope * to_some[..., None, None]
            if ctx.leak is None:
                change = change + slope * (1 - 2 * active) * toward * some[..., None, None]
            rows.append((grad * change).sum(-1))
            columns.append((grad * change).sum(-2))
        if not rows:
            return torch.zeros_like(grad_scores), *(torch.zeros_like(t) for t in (query, key, vector)), None
        return total, torch.cat(rows, -2).mT, torch.cat(columns, -2).mT, torch.cat(vectors, -1), None


# How many numbers are processed at once: few enough to stay in a core's cache from one step to the next. On a GPU,
# a step of fewer numbers would take as long.
_ON_CPU, _ON_GPU = 2**17, 2**24


def _numbers_at_once(tensor: Tensor) -> int:
    return _ON_CPU if tensor.device.type == "cpu" else _ON_GPU


def _blocks(query: Tensor, key: Tensor) -> tuple[Tensor, ...]:
    """The query, divided into blocks of rows."""
    row = max(1, query.shape[:-2].numel() * key.shape[-2])
    return query.split(max(1, _numbers_at_once(query) // row), -2)


def _features(query: Tensor, key: Tensor, vector: Tensor) -> Iterator[tuple[slice, Tensor, Tensor]]:
    """Blocks of features: their slice, the sums q_if + k_jf as (..., feature, query, key), and u as (..., feature).

    A large tile is processed feature by feature, in memory of the tile's size; a small one in few steps of many
    features.
    """
    # Features come first, so that each block is contiguous in memory.
    queries, keys = query.mT.contiguous(), key.mT.contiguous()
    tile = max(1, query.shape[:-1].numel() * key.shape[-2])
    step = max(1, _numbers_at_once(query) // tile)
    for start in range(0, query.shape[-1], step):
        some = slice(start, start + step)
        yield some, queries[..., some, :, None] + keys[..., some, None, :], vector[..., some]


def _activate(sums: Tensor, leak: float | None) -> Tensor:
    return torch.sigmoid(sums) if leak is None else nn.functional.leaky_relu(sums, leak)


def _added(total: Tensor | None, active: Tensor, vector: Tensor) -> Tensor:
    """The total plus the features of `active`, weighted by the vector."""
    if active.shape[-3] > 1:
        term = (active * vector[..., None, None]).sum(-3)
        return term if total is None else total + term
    active, vector = active.squeeze(-3), vector.unsqueeze(-1)
    return active * vector if total is None else torch.addcmul(total, active, vector)


def _summed_to(tensor: Tensor, like: Tensor) -> Tensor:
    """The gradient of a tensor that was broadcast: summed over the broadcast axes."""
    return tensor.sum_to_size(like.shape) if tensor.shape != like.shape else tensor


SCORES: dict[str, Callable[..., Score | nn.Module]] = {
    "dot": Dot,
    "scaled_dot": ScaledDot,
    "additive": LearnedAdditive,
    "bilinear": LearnedBilinear,
    "cosine": Cosine,
}
