"""Looking up: one head of attention has to find the item whose noisy copy it is given, among others."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, one_hot

from regard.attention import SCORES

__all__ = ["Lookup", "Start", "lookup_loss", "lookup_start", "lookups", "measure_lookup"]

_WIDTH, _ITEMS, _LABELS, _BATCH, _NOISE = 32, 16, 8, 32, 0.5


@dataclass(frozen=True)
class Lookup:
    """A batch of tasks: find the item that the query was made of, and tell its label.

    Args:
        query: a copy of one item, with noise.
        items: vectors of unit variance.
        labels: the label of each item.
        wanted: the label of the item that was copied.
    """

    query: Float[Tensor, "batch width"]
    items: Float[Tensor, "batch item width"]
    labels: Int64[Tensor, "batch item"]
    wanted: Int64[Tensor, " batch"]


def lookups(seed: int) -> Iterator[Lookup]:
    """Endless batches.

    Example:
        >>> batch = next(lookups(0))
        >>> batch.items.shape, batch.wanted.shape
        (torch.Size([32, 16, 32]), torch.Size([32]))
    """
    drawn = torch.Generator().manual_seed(seed)
    rows = torch.arange(_BATCH)
    while True:
        items = torch.randn(_BATCH, _ITEMS, _WIDTH, generator=drawn)
        labels = torch.randint(_LABELS, (_BATCH, _ITEMS), generator=drawn)
        copied = torch.randint(_ITEMS, (_BATCH,), generator=drawn)
        noise = _NOISE * torch.randn(_BATCH, _WIDTH, generator=drawn)
        yield Lookup(items[rows, copied] + noise, items, labels, labels[rows, copied])


class _Head(nn.Module):
    """Queries and keys of size `size`; the values are the labels, and the weights their predicted probabilities."""

    def __init__(self, score: str, size: int):
        super().__init__()
        self.query, self.key = nn.Linear(_WIDTH, size), nn.Linear(_WIDTH, size)
        self.score = SCORES[score]()

    def scores(self, batch: Lookup) -> Tensor:
        return self.score(self.query(batch.query)[:, None], self.key(batch.items))[:, 0]

    def loss(self, scores: Tensor, batch: Lookup) -> Tensor:
        shares = (torch.softmax(scores, -1)[..., None] * one_hot(batch.labels, _LABELS)).sum(1)
        # A floor under each probability, because a weight may be rounded to 0.
        return cross_entropy((shares + 1e-4).log(), batch.wanted)


def lookup_loss(score: str, size: int, seed: int, *, steps: int, learning_rate: float) -> float:
    """Train a head whose queries and keys have `size` numbers, and return its mean loss on batches it didn't see.

    Example:
        >>> lookup_loss("scaled_dot", 16, 0, steps=100, learning_rate=0.01) < 1
        True
    """
    head = _drawn(score, size, seed)
    optimiser = torch.optim.Adam(head.parameters(), lr=learning_rate)
    for batch in islice(lookups(seed), steps):
        optimiser.zero_grad()
        head.loss(head.scores(batch), batch).backward()
        optimiser.step()
    with torch.no_grad():
        return statistics.fmean(float(head.loss(head.scores(batch), batch)) for batch in _unseen(seed))


@dataclass(frozen=True)
class Start:
    """A head before training, over 20 batches.

    Args:
        largest: the mean of a query's largest weight.
        gradient: the mean norm of the gradient of a query's loss by its scores.
        spread: the standard deviation of the norm of the gradient of all parameters, divided by its mean.
    """

    largest: float
    gradient: float
    spread: float


def lookup_start(score: str, size: int, seed: int) -> Start:
    """The head that `lookup_loss` begins with.

    Example:
        >>> lookup_start("dot", 1024, 0).largest > lookup_start("scaled_dot", 1024, 0).largest
        True
    """
    head, largest, gradients, norms = _drawn(score, size, seed), [], [], []
    for batch in _unseen(seed):
        scores = head.scores(batch)
        # The loss is a mean over the batch.
        by_score = torch.autograd.grad(head.loss(scores, batch), scores, retain_graph=True)[0] * len(scores)
        gradients.append(float(by_score.norm(dim=-1).mean()))
        largest.append(float(torch.softmax(scores.detach(), -1).amax(-1).mean()))
        by_parameter = torch.autograd.grad(head.loss(scores, batch), [*head.parameters()])
        norms.append(float(torch.cat([grad.flatten() for grad in by_parameter]).norm()))
    return Start(
        statistics.fmean(largest), statistics.fmean(gradients), statistics.stdev(norms) / statistics.fmean(norms)
    )


def measure_lookup(score: str, size: int, seed: int, *, steps: int, rates: Sequence[float]) -> dict[str, float]:
    """By name: the best loss of several learning rates, its rate, the loss at the last rate, and `lookup_start`."""
    losses = [lookup_loss(score, size, seed, steps=steps, learning_rate=rate) for rate in rates]
    start = lookup_start(score, size, seed)
    return {
        "loss": min(losses),
        "best learning rate": rates[losses.index(min(losses))],
        "loss at the largest rate": losses[-1],
        "largest weight": start.largest,
        "gradient by scores": start.gradient,
        "spread of gradients": start.spread,
    }


def _drawn(score: str, size: int, seed: int) -> _Head:
    torch.manual_seed(seed)
    return _Head(score, size)


def _unseen(seed: int) -> Iterator[Lookup]:
    """Batches that no training with the same seed sees."""
    return islice(lookups(seed + 1_000_000), 20)
