"""Whether the heads of a layer specialise: whether removing one hurts other labels than removing another does."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.nn.functional import cross_entropy

from regard.inspection.explain.effects import effects
from regard.inspection.explain.head_changes import RemoveHead
from regard.lab.texts.tagger import without_warnings
from regard.tasks import Tagger

__all__ = ["head_damage", "specialisation", "specialisation_by_chance"]

_BATCH = 100


def head_damage(
    tagger: Tagger, sentences: Sequence[Any], layer: int = 1
) -> tuple[Float[Tensor, "head word"], Int64[Tensor, " word"]]:
    """By how much the loss of each word rises when each head is removed, and the number of the word's label."""
    with without_warnings():
        words = [tagger.read(sentence.words) for sentence in sentences]
    labels = torch.cat([tagger.target.tensor(sentence.labels) for sentence in sentences])

    def losses() -> Tensor:
        batches = [words[first : first + _BATCH] for first in range(0, len(words), _BATCH)]
        numbers = torch.cat([outputs for batch in batches for outputs in tagger.numbers(batch)])
        return cross_entropy(numbers, labels.clamp(min=0), reduction="none")

    heads = [RemoveHead(layer, head) for head in range(1, tagger.recipe.heads + 1)]
    removed = effects(tagger.network, losses, lambda lost: lost, heads)
    known = labels >= 0
    return torch.stack([torch.as_tensor(effect.difference).float()[known] for effect in removed]), labels[known]


def specialisation(damage: Float[Tensor, "head word"], labels: Int64[Tensor, " word"]) -> float:
    """How far heads differ in the labels that they serve: the share of damage by which each differs from their mean.

    The damage of a head to a label is the sum over its words, or 0 if the words gain; its shares sum to 1 over the
    labels. The result is the mean, over the heads, of the total variation distance between a head's shares and the
    mean of all heads' shares: 0 if all heads serve the same labels, and 1 - 1 / heads if no two serve the same one.
    Heads that hurt nothing are left out.

    Example:
        >>> labels = torch.tensor([0, 0, 1])
        >>> specialisation(torch.tensor([[1.0, 1.0, 2.0], [2.0, 2.0, 4.0]]), labels)
        0.0
        >>> specialisation(torch.tensor([[1.0, 1.0, 0.0], [0.0, 0.0, 4.0]]), labels)
        0.5
    """
    by_label = damage.new_zeros(len(damage), int(labels.max()) + 1).index_add_(1, labels, damage).clamp(min=0)
    by_label = by_label[by_label.sum(1) > 0]
    if not len(by_label):
        return 0.0
    shares = by_label / by_label.sum(1, keepdim=True)
    return float((shares - shares.mean(0)).abs().sum(1).mean() / 2)


def specialisation_by_chance(
    damage: Float[Tensor, "head word"], labels: Int64[Tensor, " word"], seed: int, draws: int = 20
) -> float:
    """The specialisation that chance alone gives: its mean when heads swap their damage at random, word by word.

    Before, each head's damage is divided by its sum, since heads that hurt more aren't others.

    Example:
        >>> labels = torch.tensor([0, 0, 1])
        >>> specialisation_by_chance(torch.tensor([[1.0, 1.0, 2.0], [2.0, 2.0, 4.0]]), labels, seed=0)
        0.0
    """
    drawn = torch.Generator().manual_seed(seed)
    damage = damage / damage.sum(1, keepdim=True).abs().clamp(min=1e-12)
    total = 0.0
    for _ in range(draws):
        order = torch.rand(damage.shape, generator=drawn).argsort(0)
        total += specialisation(damage.gather(0, order), labels)
    return total / draws
