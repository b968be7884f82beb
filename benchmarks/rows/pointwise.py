"""Normalisers that look at one score at a time, relu and sigmoid: plain PyTorch, and x-transformers' sigmoid."""

import math

import torch
from torch import Tensor

from rows.row import Bench, Case, Maker, Row, Work, backward, part

__all__ = ["ROWS"]


def _weigh(name: str, length: int, scores: Tensor) -> Tensor:
    """In place, which autograd allows here: the quickest that plain PyTorch can do."""
    if name == "relu":
        return scores.relu_()
    return scores.sub_(math.log(length)).sigmoid_()


def _plain(bench: Bench, name: str, peers: str = "plain") -> Case:
    query, key, value = inputs = bench.heads(bench.size(8192), training=True)
    length = query.shape[2]
    # relu's 1 / n goes into the value, where it is n x d work.
    share = 1 / length if name == "relu" else 1.0

    def ours():
        from regard import attend

        weights = name if name == "relu" else part("Sigmoid", bias=-math.log(length))
        return backward(lambda: attend(query, key, value, weights=weights), inputs)

    def whole() -> Tensor:
        return _weigh(name, length, (query * 0.125) @ key.mT) @ (value * share)

    def by_head() -> Tensor:
        found = [
            _weigh(name, length, (query[:, head] * 0.125) @ key[:, head].mT) @ (value[:, head] * share)
            for head in range(query.shape[1])
        ]
        return torch.stack(found, 1)

    def out_of_place() -> Tensor:
        scores = (query @ key.mT) * 0.125
        weights = torch.relu(scores) / length if name == "relu" else torch.sigmoid(scores - math.log(length))
        return weights @ value

    def compiled():
        return backward(torch.compile(out_of_place, dynamic=False), inputs)

    sides: dict[str, dict[str, Maker]] = {
        "plain": {
            "all heads at once, in place": lambda: backward(whole, inputs),
            "head by head, in place": lambda: backward(by_head, inputs),
        },
        "compiled": {"torch.compile": compiled},
    }
    return Case(ours, sides[peers], Work.of(8 * length**2, 64, training=True))


def _package(bench: Bench) -> Case:
    """x-transformers' sigmoid has no bias, so neither has ours here."""
    query, key, value = inputs = bench.heads(bench.size(4096), training=True)

    def ours():
        from regard import attend

        weights = part("Sigmoid", bias=0.0)
        return backward(lambda: attend(query, key, value, weights=weights), inputs)

    def theirs():
        from x_transformers.attend import Attend

        layer = Attend(sigmoid=True, heads=8).to(bench.device)
        return backward(lambda: layer(query, key, value)[0], inputs)

    return Case(ours, {"sigmoid=True": theirs}, Work.of(8 * query.shape[2] ** 2, 64, training=True))


def _row(name: str, weights: str, peer: str, which: str, prediction: float, why: str, least: float | None) -> Row:
    return Row(
        name,
        f"{weights}, n = 8192, forward + backward",
        peer,
        ("torch",),
        prediction,
        why,
        lambda bench: _plain(bench, weights, which),
        least=least,
        seconds=20,
    )


ROWS = (
    _row(
        "relu-training",
        "relu",
        "plain PyTorch",
        "plain",
        1.7,
        "no exponential: the products alone bind us, while the peer moves 2 GiB matrices through memory five times",
        1.5,
    ),
    _row(
        "sigmoid-training",
        "sigmoid",
        "plain PyTorch",
        "plain",
        1.6,
        "as relu, with one exponential a pair and direction",
        1.5,
    ),
    _row("relu-compiled", "relu", "torch.compile", "compiled", 1.5, "it fuses what stands between the products", None),
    _row("sigmoid-compiled", "sigmoid", "torch.compile", "compiled", 1.4, "as relu", None),
    Row(
        "sigmoid-package",
        "sigmoid, n = 4096, forward + backward",
        "x-transformers Attend",
        ("x-transformers",),
        2.0,
        "it keeps scores, scaled scores and weights of n x n",
        _package,
    ),
)
