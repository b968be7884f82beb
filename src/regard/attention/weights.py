"""Normalisers: how the scores of a row become weights.

A normaliser is any callable `(scores, allowed) -> weights`, both (..., query, key). `allowed` is a bool tensor of that
shape, or None where everything is allowed. Hidden scores are passed as minus infinity. In a row without a score, which
sees no key or only keys whose scores are minus infinity, all are passed as 0. The engine then sets the weights of
hidden pairs, and those of such a row, to exactly 0, whatever the normaliser returns for them. A tile may leave out
columns that are hidden from all its rows, so a normaliser must not depend on their number.

Optional methods make it faster:

- `vjp(grad_weights, weights, allowed) -> (grad_scores, *grads of its operands)`: a hand-written gradient. The weights
  are 0 where hidden; `grad_weights` may be overwritten.
- `normalise_(scores, allowed) -> weights`: the same weights where no gradient is needed, computed in place.
- `select(heads) -> normaliser`: the normaliser for these heads, (group,), if it has parameters for each head.
- `check(heads)`: raises ArgumentError if its parameters don't fit that number of heads.

A class of the package declares its cost, which a subclass doesn't inherit (`parts.declares`): `passes`, how many times
a tile's scores are read and written, 1 by default, and `compiled_passes`, how many times compiled code does it. Its
`steps() -> formulas` say how a weight comes about, from the scores `s`, for `regard steps` (formulas.py).
"""

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from regard.attention.capped_simplex import capped_simplex, capped_simplex_vjp
from regard.attention.compilation.traceable import is_traceable
from regard.attention.entmax import entmax, entmax_alpha_vjp, entmax_vjp
from regard.attention.formulas import Formula, Given
from regard.attention.validation import check_count, check_heads, check_number, check_per_head
from regard.errors import ArgumentError

__all__ = [
    "WEIGHTS",
    "Budget",
    "Entmax",
    "Hard",
    "LearnedEntmax",
    "LearnedSigmoid",
    "LearnedSoftmax",
    "Normaliser",
    "Relu",
    "Sigmoid",
    "Softmax",
    "Sparsemax",
    "TopK",
]

Normaliser = Callable[[Tensor, Tensor | None], Tensor]

_SHORT = 16  # PyTorch's softmax on a CPU doesn't vectorise shorter rows, which makes it seven times as slow


# Softmax after the maximum is subtracted: the weights are the same, and the exponentials can't overflow.
_SHARES = (
    Formula("maximum", "m", "{s}", reduces="max"),
    Formula("exp", "e_j", "exp({s} - {m})"),
    Formula("total", "Z", "{e}", reduces="sum"),
    Formula("normalise", "w_j", "{e} / {Z}"),
)


@dataclass(frozen=True)
class Softmax:
    """w_ij = exp(s_ij / T) / sum_k exp(s_ik / T), over the allowed keys.

    Args:
        temperature: T, above 0: a number, or a tensor, () or (head,). Below 1 it sharpens the weights, above 1 it
            flattens them.

    Raises:
        ArgumentError: the temperature is a number that isn't above 0, or a tensor of another form.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), equation 1; with temperature: Hinton et al. 2015 (arXiv 1503.02531),
    equation 1.

    Example:
        >>> Softmax()(torch.tensor([[2.0, 4.0, 4.0]]), None)
        tensor([[0.0634, 0.4683, 0.4683]])
    """

    temperature: float | Tensor = 1.0

    passes: ClassVar[float] = 2.0

    def __post_init__(self) -> None:
        check_per_head("temperature", self.temperature)
        if not isinstance(self.temperature, Tensor) and not 0.0 < self.temperature < math.inf:
            raise ArgumentError(f"`temperature` must be above 0, but is {self.temperature!r}. For 0, use Hard().")

    def __call__(self, scores: Tensor, allowed: Tensor | None) -> Tensor:
        return torch.softmax(self._scaled(scores), dim=-1)

    def normalise_(self, scores: Tensor, allowed: Tensor | None) -> Tensor:
        scores = self._scaled(scores)
        if scores.device.type == "cpu" and 0 < scores.shape[-1] < _SHORT:
            scores = scores.sub_(scores.amax(-1, keepdim=True)).exp_()
            return scores.div_(scores.sum(-1, keepdim=True))
        # Only the CPU's kernel is known to read a whole row before it writes. In place it is slower unless rows are
        # long.
        in_place = scores.device.type == "cpu" and scores.shape[-1] >= 4 * _SHORT
        return torch.softmax(scores, -1, out=scores) if in_place else torch.softmax(scores, -1)

    def vjp(self, grad_weights: Tensor, weights: Tensor, allowed: Tensor | None) -> tuple[Tensor, ...]:
        # ds = w (dw - sum w dw), computed in place: a temporary of n x n costs more than a product.
        sums = grad_weights.mul_(weights).sum(-1, keepdim=True)
        grad_scores = grad_weights.addcmul_(weights, sums, value=-1)
        if not isinstance(self.temperature, Tensor):
            return (grad_scores if self.temperature == 1.0 else grad_scores.div_(self.temperature),)
        # dT = -sum ds s / T^2, before ds is divided by T; since ds sums to 0, log w can replace s / T.
        logarithms = weights.clamp(min=torch.finfo(weights.dtype).tiny).log_().mul_(grad_scores)
        grad_temperature = _summed(logarithms, self.temperature) / -self.temperature
        return grad_scores.div_(_by_head(self.temperature, weights)), grad_temperature

    def log_sums(self, scores: Tensor) -> Tensor:
        """log sum_j exp(s_ij / T), (..., query)."""
        return torch.logsumexp(self._scaled(scores), -1)

    def log_sums_vjp(self, grad_log_sums: Tensor, weights: Tensor, scores: Tensor) -> tuple[Tensor, ...]:
        """The gradients of the scores, and of the temperature if it is a tensor, given that of the log-sums."""
        grad_scores = weights * grad_log_sums.unsqueeze(-1)
        if not isinstance(self.temperature, Tensor):
            return (grad_scores if self.temperature == 1.0 else grad_scores.div_(self.temperature),)
        grad_scores.div_(_by_head(self.temperature, weights))
        # dT = -dL sum_j w_j s_j / T^2; hidden scores are minus infinity.
        products = grad_scores * torch.where(weights == 0, 0.0, scores)
        return grad_scores, _summed(products, self.temperature) / -self.temperature

    def select(self, heads: Tensor) -> "Softmax":
        if not isinstance(self.temperature, Tensor):
            return self
        chosen = _selected(self.temperature, heads)
        return self if chosen is self.temperature else dataclasses.replace(self, temperature=chosen)

    def check(self, heads: int) -> None:
        _check_heads("temperature", self.temperature, heads)

    def _scaled(self, scores: Tensor) -> Tensor:
        if not isinstance(self.temperature, Tensor):
            return scores if self.temperature == 1.0 else scores / self.temperature
        # The temperature's gradient is a product with the scores, which must be finite: hidden ones are replaced by 0
        # before the division, and in fully masked rows stay so.
        hidden = scores == -torch.inf
        scaled = torch.where(hidden, 0.0, scores) / _by_head(self.temperature, scores)
        return scaled.masked_fill(hidden & ~hidden.all(-1, keepdim=True), -torch.inf)

    def steps(self) -> tuple[Formula | Given, ...]:
        temperature = Given("T", "T", self.temperature, limits=(1e-6, 1e6))
        return temperature, Formula("temperature", "z_j", "{s} / {T}", to="s", unless=("T", 1.0)), *_SHARES


@dataclass(frozen=True)
class Relu:
    """w_ij = max(s_ij, 0) / n_i, where n_i is how many keys query i is allowed to see. Rows need not sum to 1.

    Dividing by the number of allowed keys, not of all keys, makes a masked row equal to the row without hidden keys.

    Args:
        divisor: a number to divide every row by instead, such as the length of the sequence under a causal mask; then
            early rows, which see few keys, have small weights.

    Raises:
        ArgumentError: the divisor isn't above 0.

    Source: Wortsman et al. 2023 (arXiv 2309.08586), section 3, with alpha = 1.

    Example:
        >>> Relu()(torch.tensor([[-1.0, 2.0, 4.0]]), torch.tensor([[True, True, False]]))
        tensor([[0., 1., 2.]])
    """

    divisor: float | None = None

    def __post_init__(self) -> None:
        if self.divisor is not None:
            check_number("divisor", self.divisor, "To train a factor, add a linear layer after the attention.")
        if self.divisor is not None and not self.divisor > 0:
            raise ArgumentError(f"`divisor` must be above 0, or None to count the keys, but is {self.divisor!r}.")

    def __call__(self, scores: Tensor, allowed: Tensor | None) -> Tensor:
        return torch.relu(scores) / self._count(scores, allowed)

    def normalise_(self, scores: Tensor, allowed: Tensor | None) -> Tensor:
        return scores.relu_().div_(self._count(scores, allowed))

    def vjp(self, grad_weights: Tensor, weights: Tensor, allowed: Tensor | None) -> tuple[Tensor, ...]:
        # Selects where the weight is above 0, which is many times faster than multiplying by a bool tensor.
        grad_scores = torch.ops.aten.threshold_backward(grad_weights, weights, 0.0)
        return (grad_scores.div_(self._count(weights, allowed)),)

    def _count(self, scores: Tensor, allowed: Tensor | None) -> Tensor | float:
        return self.divisor if self.divisor is not None else _count(scores, allowed)

    def steps(self) -> tuple[Formula | Given, ...]:
        return (
            Formula("positive part", "r_j", "max({s}, 0)"),
            Given("n", "n", "count" if self.divisor is None else self.divisor),
            Formula("normalise", "w_j", "{r} / {n}"),
        )


@dataclass(frozen=True)
class Sigmoid:
    """w_ij = 1 / (1 + exp(-(s_ij + b))), independently for each key. Rows need not sum to 1.

    Args:
        bias: b: a number, or a tensor, () or (head,). None is -log(n_i), where n_i is how many keys query i is allowed
            to see; with scores around 0, rows then sum to about 1.

    Raises:
        ArgumentError: the bias is a tensor of another form.

    Source: Ramapuram et al. 2024 (arXiv 2409.04431), who find that training needs -log n.

    Example:
        >>> Sigmoid()(torch.tensor([[0.0, 0.0, 0.0, 9.0]]), torch.tensor([[True, True, True, False]]))[:, :3]
        tensor([[0.2500, 0.2500, 0.2500]])
    """

    bias: float | Tensor | None = None

    def __post_init__(self) -> None:
        if self.bias is not None:
            check_per_head("bias", self.bias)

    def __call__(self, scores: Tensor, allowed: Tensor | None) -> Tensor:
        return torch.sigmoid(scores + self._bias(scores, allowed))

    def normalise_(self, scores: Tensor, allowed: Tensor | None) -> Tensor:
        return scores.add_(self._bias(scores, allowed)).sigmoid_()

    def vjp(self, grad_weights: Tensor, weights: Tensor, allowed: Tensor | None) -> tuple[Tensor, ...]:
        # ds = dw w (1 - w), without a temporary.
        grad_scores = grad_weights.mul_(weights).addcmul_(grad_weights, weights, value=-1)
        if not isinstance(self.bias, Tensor):
            return (grad_scores,)
        return grad_scores, _summed(grad_scores, self.bias)

    def select(self, heads: Tensor) -> "Sigmoid":
        chosen = None if self.bias is None else _selected(self.bias, heads)
        return self if chosen is self.bias else dataclasses.replace(self, bias=chosen)

    def check(self, heads: int) -> None:
        _check_heads("bias", self.bias, heads)

    def _bias(self, scores: Tensor, allowed: Tensor | None) -> Tensor | float:
        if self.bias is not None:
            return _by_head(self.bias, scores)
        count = _count(scores, allowed)
        return -count.log() if isinstance(count, Tensor) else -math.log(count)

    def steps(self) -> tuple[Formula | Given, ...]:
        return (
            Given("b", "(-log(n))", "-log(count)") if self.bias is None else Given("b", "b", self.bias),
            Formula("bias", "z_j", "{s} + {b}"),
            Formula("normalise", "w_j", "1 / (1 + exp(-{z}))", value="sigmoid(z)"),
        )


@dataclass(frozen=True)
class Entmax:
    """w_ij = max((alpha - 1) s_ij - t_i, 0)^(1 / (alpha - 1)), with the t_i for which the row sums to 1.

    Keys with low scores get weights of exactly 0, the more of them the larger alpha; as alpha approaches 1, it becomes
    softmax. For alpha 1.5 and 2 the thresholds t are exact, otherwise exact to rounding. Above 2 the derivative is
    unbounded where a weight reaches 0, and rounding errors there are magnified: for training use at most 2.

    Args:
        alpha: above 1: a number, or a tensor, () or (head,), which may be trained. Where a tensor holds 1 or less, the
            weights are NaN.

    Raises:
        ArgumentError: alpha is a number that isn't above 1, or a tensor of another form.

    Source: Peters et al. 2019 (arXiv 1905.05702), section 3; trained: Correia et al. 2019 (arXiv 1909.00015).

    Example:
        >>> Entmax(1.5)(torch.tensor([[1.0, 1.0, -2.0]]), None)
        tensor([[0.5000, 0.5000, 0.0000]])
    """

    alpha: float | Tensor = 1.5

    passes: ClassVar[float] = 24.0
    compiled_passes: ClassVar[float] = 2.0

    def __post_init__(self) -> None:
        check_per_head("alpha", self.alpha)
        if not isinstance(self.alpha, Tensor) and not 1.0 < self.alpha < math.inf:
            raise ArgumentError(f"`alpha` must be above 1, but is {self.alpha!r}. For 1, use Softmax().")

    def __call__(self, scores: Tensor, allowed: Tensor | None) -> Tensor:
        return entmax(scores, self._alpha(scores))

    def vjp(self, grad_weights: Tensor, weights: Tensor, allowed: Tensor | None) -> tuple[Tensor, ...]:
        alpha = self._alpha(weights)
        if not isinstance(alpha, Tensor) or not isinstance(self.alpha, Tensor):
            return (entmax_vjp(grad_weights, weights, alpha),)
        grad_alpha = entmax_alpha_vjp(grad_weights, weights, alpha).view(self.alpha.shape)
        return entmax_vjp(grad_weights, weights, alpha), grad_alpha

    def select(self, heads: Tensor) -> "Entmax":
        chosen = _selected(self.alpha, heads)
        return self if chosen is self.alpha else dataclasses.replace(self, alpha=chosen)

    def check(self, heads: int) -> None:
        _check_heads("alpha", self.alpha, heads)

    def _alpha(self, scores: Tensor) -> float | Tensor:
        """A number, or a tensor with as many axes as the scores that broadcasts against them."""
        if not isinstance(self.alpha, Tensor):
            return float(self.alpha)
        alpha: Any = _by_head(self.alpha, scores)
        return alpha.view(*[1] * (scores.ndim - alpha.ndim), *alpha.shape)

    def steps(self) -> tuple[Formula | Given, ...]:
        return (
            Given("a", "alpha", self.alpha, limits=(1.05, 20.0)),
            Formula("scaled scores", "z_j", "({a} - 1) * {s}"),
            _threshold("threshold(z, 1, w ** (a - 1))"),
            Formula("normalise", "w_j", "max({z} - {t}, 0) ** (1 / ({a} - 1))"),
        )


@dataclass(frozen=True)
class Sparsemax:
    """w_ij = max(s_ij - t_i, 0), with the t_i for which the row sums to 1: the scores' projection onto the simplex.

    The same as `Entmax(2.0)`. A key whose score is 1 or more below the maximum has a weight of exactly 0.

    Source: Martins & Astudillo 2016 (arXiv 1602.02068), equation 2 and proposition 1.

    Example:
        >>> Sparsemax()(torch.tensor([[1.0, 0.5, -1.0]]), None)
        tensor([[0.7500, 0.2500, 0.0000]])
    """

    passes: ClassVar[float] = 24.0
    compiled_passes: ClassVar[float] = 2.0

    def __call__(self, scores: Tensor, allowed: Tensor | None) -> Tensor:
        return entmax(scores, 2.0)

    def vjp(self, grad_weights: Tensor, weights: Tensor, allowed: Tensor | None) -> tuple[Tensor, ...]:
        return (entmax_vjp(grad_weights, weights, 2.0),)

    def steps(self) -> tuple[Formula | Given, ...]:
        return _threshold("threshold(s, 1, w)"), Formula("normalise", "w_j", "max({s} - {t}, 0)")


@dataclass(frozen=True)
class Hard:
    """w_ij = 1 for the key with the highest score, the first of equals, and 0 for the others.

    The gradient of the scores is 0: only the values can be trained through it, not the choice of keys.

    Source: the limit of softmax as its temperature goes to 0.

    Example:
        >>> Hard()(torch.tensor([[2.0, 4.0, 4.0]]), None)
        tensor([[0., 1., 0.]])
    """

    def __call__(self, scores: Tensor, allowed: Tensor | None) -> Tensor:
        if scores.shape[-1] == 0:
            return torch.zeros_like(scores)
        scores = scores.detach()
        best = scores.argmax(-1, keepdim=True)
        weights = torch.zeros_like(scores).scatter(-1, best, 1.0)
        highest = scores.gather(-1, best)
        weights = torch.where(highest == -torch.inf, 0.0, weights)
        return torch.where(highest.isnan(), torch.nan, weights)

    def vjp(self, grad_weights: Tensor, weights: Tensor, allowed: Tensor | None) -> tuple[Tensor, ...]:
        return (grad_weights.zero_(),)

    def steps(self) -> tuple[Formula | Given, ...]:
        maximum, *_ = _SHARES
        # Without a score there is no weight; NaN shows.
        value = "0 if m == -inf else 1 if first(s == m) else 0 if m == m else m"
        return maximum, Formula("normalise", "w_j", "1 if first({s} == {m}) else 0", value=value)


@dataclass(frozen=True)
class Budget:
    """w_ij = max(0, min(s_ij - t_i, 1)), with the t_i for which the row sums to the budget.

    It chooses that many keys, softly: no weight exceeds 1. With a budget of 1 it is sparsemax; if a query may see no
    more keys than the budget, all its weights are 1. The thresholds are exact, and so is the gradient, which passes
    through the weights strictly between 0 and 1.

    Args:
        budget: what a row sums to, above 0; it needn't be an integer.

    Raises:
        ArgumentError: the budget isn't a number above 0.

    Source: Malaviya et al. 2018 (arXiv 1805.08241), constrained sparsemax, with a bound of 1 for every key.

    Example:
        >>> Budget(2.0)(torch.tensor([[3.0, 1.0, 0.8, -1.0]]), None)
        tensor([[1.0000, 0.6000, 0.4000, 0.0000]])
    """

    budget: float = 2.0

    passes: ClassVar[float] = 24.0
    compiled_passes: ClassVar[float] = 2.0
    searches: ClassVar[str] = "searches a threshold for each query: some 15 times the time of softmax"

    def __post_init__(self) -> None:
        check_number("budget", self.budget)
        if not 0.0 < self.budget < math.inf:
            raise ArgumentError(f"`budget` must be above 0, but is {self.budget!r}.")

    def __call__(self, scores: Tensor, allowed: Tensor | None) -> Tensor:
        return capped_simplex(scores, float(self.budget))

    def vjp(self, grad_weights: Tensor, weights: Tensor, allowed: Tensor | None) -> tuple[Tensor, ...]:
        return (capped_simplex_vjp(grad_weights, weights),)

    def steps(self) -> tuple[Formula | Given, ...]:
        return (
            Given("n", "budget", self.budget, limits=(0.01, 1000.0)),
            _threshold("threshold(s, n, w)"),
            Formula("normalise", "w_j", "min(max({s} - {t}, 0), 1)"),
        )


@dataclass(frozen=True)
class TopK:
    """Softmax over the k keys with the highest scores, the first ones among equals; other weights are exactly 0.

    The gradient is that of softmax over those keys. Their choice is discontinuous, and passes no gradient.

    Args:
        keys: k, how many keys a query attends to at most.

    Raises:
        ArgumentError: `keys` isn't an integer above 0.

    Source: Gupta et al. 2021 (arXiv 2106.06899).

    Example:
        >>> TopK(2)(torch.tensor([[2.0, 4.0, 4.0, 4.0]]), None)
        tensor([[0.0000, 0.5000, 0.5000, 0.0000]])
    """

    keys: int = 8

    passes: ClassVar[float] = 8.0
    searches: ClassVar[str] = "searches the highest scores of each query: some 12 times the time of softmax"

    def __post_init__(self) -> None:
        check_count("keys", self.keys, "how many keys a query attends to at most")

    def __call__(self, scores: Tensor, allowed: Tensor | None) -> Tensor:
        return torch.softmax(torch.where(self._largest(scores.detach()), scores, -torch.inf), dim=-1)

    def vjp(self, grad_weights: Tensor, weights: Tensor, allowed: Tensor | None) -> tuple[Tensor, ...]:
        # All weights are 0 except those of the chosen keys.
        return Softmax().vjp(grad_weights, weights, allowed)

    def _largest(self, scores: Tensor) -> Tensor:
        if is_traceable():
            # Whether there are so many keys isn't known yet.
            least = torch.nn.functional.pad(scores, (0, self.keys), value=-torch.inf).topk(self.keys).values[..., -1:]
        elif scores.shape[-1] <= self.keys:
            return torch.ones_like(scores, dtype=torch.bool)
        else:
            least = scores.topk(self.keys, dim=-1).values[..., -1:]
        above, equal = scores > least, scores == least
        room = self.keys - above.sum(-1, keepdim=True)
        # NaN compares as False, but must propagate.
        return above | (equal & (equal.cumsum(-1, dtype=torch.int32) <= room)) | torch.isnan(scores)

    def steps(self) -> tuple[Formula | Given, ...]:
        text, value = "{s} if among_the_largest({k}) else -inf", "s if among_the_largest(s, k) else -inf"
        return (
            Given("k", "k", self.keys, limits=(1, 1000)),
            Formula("largest", "z_j", text, value=value, to="s"),
            *_SHARES,
        )


class LearnedSoftmax(nn.Module):
    """Softmax with a trained temperature. The parameter is its logarithm, so that it stays above 0.

    Args:
        heads: with a number, each head has its own temperature; otherwise all heads share one.
        temperature: its initial value.

    Raises:
        ArgumentError: the temperature isn't above 0.

    Example:
        >>> from regard import attend
        >>> x = torch.zeros(1, 2, 5, 8)
        >>> attend(x, x, x, weights=LearnedSoftmax(heads=2)).shape
        torch.Size([1, 2, 5, 8])
    """

    def __init__(self, heads: int | None = None, *, temperature: float = 1.0):
        super().__init__()
        check_heads(heads)
        Softmax(temperature)  # checks the temperature
        self.log_temperature = nn.Parameter(torch.full(() if heads is None else (heads,), math.log(temperature)))

    def part(self) -> Softmax:
        """The part for `attend`, with the temperature as its operand."""
        return Softmax(self.log_temperature.exp())


class LearnedEntmax(nn.Module):
    """Entmax with a trained alpha between 1.01 and 2, so that the sparsity of the attention is learned.

    Args:
        heads: with a number, each head has its own alpha; otherwise all heads share one.
        alpha: its initial value.

    Raises:
        ArgumentError: alpha doesn't lie between 1.01 and 2.

    Source: Correia et al. 2019 (arXiv 1909.00015), section 3, where alpha is 1 + sigmoid(parameter). Here it is
        1.01 + 0.99 sigmoid(parameter), since the gradient of alpha divides by (alpha - 1)^2.

    Example:
        >>> LearnedEntmax(heads=2).part().alpha
        tensor([1.5000, 1.5000], grad_fn=<AddBackward0>)
    """

    def __init__(self, heads: int | None = None, *, alpha: float = 1.5):
        super().__init__()
        check_heads(heads)
        check_number("alpha", alpha)
        if not _LEAST_ALPHA < alpha < 2.0:
            raise ArgumentError(f"`alpha` must lie between {_LEAST_ALPHA} and 2, but is {alpha!r}.")
        fraction = (alpha - _LEAST_ALPHA) / (2.0 - _LEAST_ALPHA)
        self.logit = nn.Parameter(torch.full(() if heads is None else (heads,), math.log(fraction / (1.0 - fraction))))

    def part(self) -> Entmax:
        """The part for `attend`, with alpha as its operand."""
        return Entmax(_LEAST_ALPHA + (2.0 - _LEAST_ALPHA) * self.logit.sigmoid())


_LEAST_ALPHA = 1.01


class LearnedSigmoid(nn.Module):
    """Sigmoid with a trained bias.

    Args:
        length: how many keys a query typically sees; the bias is initialised to -log(length), so that rows sum to
            about 1.
        heads: with a number, each head has its own bias; otherwise all heads share one.

    Raises:
        ArgumentError: the length is below 1.

    Source: Ramapuram et al. 2024 (arXiv 2409.04431), who initialise it to -log n.

    Example:
        >>> LearnedSigmoid(128, heads=2).bias
        Parameter containing:
        tensor([-4.8520, -4.8520], requires_grad=True)
    """

    def __init__(self, length: int, heads: int | None = None):
        super().__init__()
        check_heads(heads)
        check_count("length", length, "how many keys a query typically sees")
        self.bias = nn.Parameter(torch.full(() if heads is None else (heads,), -math.log(length)))

    def part(self) -> Sigmoid:
        """The part for `attend`, with the bias as its operand."""
        return Sigmoid(self.bias)


def _threshold(value: str) -> Formula:
    return Formula("threshold", "t", "the t for which the weights have their sum", value=value)


def _count(scores: Tensor, allowed: Tensor | None) -> Tensor | float:
    """How many keys each query may see, (..., query, 1); 1 for fully masked rows, to avoid division by 0."""
    if allowed is None:
        return float(max(scores.shape[-1], 1))
    # Summed as floats, which is many times faster than summing integers.
    return allowed.expand(scores.shape).sum(-1, keepdim=True, dtype=scores.dtype).clamp(min=1)


def _check_heads(name: str, parameter: float | Tensor | None, heads: int) -> None:
    if isinstance(parameter, Tensor) and tuple(parameter.shape) not in ((), (heads,)):
        raise ArgumentError(
            f"`{name}` of the weights must be (), or ({heads},) for one to each head, but is {tuple(parameter.shape)}."
        )


def _by_head(parameter: float | Tensor, scores: Tensor) -> float | Tensor:
    """The parameter in a shape that broadcasts against (..., head or group, query, key)."""
    if not isinstance(parameter, Tensor):
        return parameter
    parameter = parameter.to(scores.dtype)
    return parameter if parameter.ndim == 0 else parameter[:, None, None]


def _selected(parameter: float | Tensor, heads: Tensor) -> float | Tensor:
    return parameter[heads] if isinstance(parameter, Tensor) and parameter.ndim == 1 else parameter


def _summed(values: Tensor, parameter: Tensor) -> Tensor:
    """Values (..., group, query, key) summed to the parameter's shape, which gives its gradient."""
    return values.sum() if parameter.ndim == 0 else values.sum((-2, -1)).sum_to_size(parameter.shape)


WEIGHTS: dict[str, Callable[[], Normaliser]] = {
    "softmax": Softmax,
    "relu": Relu,
    "sigmoid": Sigmoid,
    "sparsemax": Sparsemax,
    "entmax": Entmax,
    "budget": Budget,
    "top_k": TopK,
    "hard": Hard,
}
