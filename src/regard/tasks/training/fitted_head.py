"""Solve the output layer of a network whose other parts aren't trained as a convex problem, for few examples."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.errors import ArgumentError
from regard.extras import require
from regard.tasks.examples import as_pairs
from regard.tasks.folds import folds_of
from regard.tasks.linear_part import JointFeatures, fitted_places, fitted_weights
from regard.tasks.network import Ensemble, SourceNetwork
from regard.tasks.recipe import Recipe
from regard.tasks.sources.static_defaults import examples_per_class
from regard.tasks.targets import Target
from regard.tasks.training.dataset import Dataset

__all__ = ["choose_strength", "describe_head", "fit_head"]

_STRENGTHS = tuple(10.0**power for power in np.arange(-1.0, 4.25, 0.5).tolist())
"""The values of C, the inverse of the penalty, to choose from; the total variance of the vectors is 1."""
_FOLDS = 5


def fit_head(network: SourceNetwork | Ensemble, recipe: Recipe, dataset: Dataset, answer: Target) -> float | None:
    """Fit the output layer of a network if its recipe says so; from then on nothing in the network is trained.

    The weights of a linear part, if it has one, are solved together with it.

    Args:
        network: the network.
        recipe: its recipe.
        dataset: the training examples.
        answer: the main target.

    Returns:
        the strength that cross-validation chose, as C of scikit-learn; None if the head is trained.

    Raises:
        ArgumentError: something before the output layer would have to be trained.
        MissingExtraError: scikit-learn is not installed.
    """
    if recipe.head != "fitted":
        return None
    member, (vectors, wanted, keys) = _only(network, recipe), ([], [], [])
    with torch.no_grad():
        for place in range(len(dataset.items)):
            batch = dataset.batch([place])
            vectors.append(member.eval().features(batch.sources).double().numpy())
            wanted.append(batch.targets[0])
            # The items of a source stay together, and so do equal sources.
            keys += [batch.sources.vectors.numpy().tobytes()] * len(vectors[-1])
    own, wanted = np.concatenate(vectors), torch.cat(wanted)
    mean, spread = own.mean(0), float(own.var(0).sum()) ** 0.5 or 1.0
    features, joint = (own - mean) / spread, _joint(network, recipe, dataset)
    if joint is not None:
        sparse = require("scipy.sparse", extra="train")
        features = sparse.hstack([sparse.csr_matrix(features), joint.matrix], format="csr")
    known = fitted_places(answer.known(wanted).numpy().nonzero()[0])
    weights, bias, strength = _solved(features[known], answer, wanted[known], [keys[place] for place in known], recipe)
    first, rest = np.split(weights, [own.shape[1]])
    with torch.no_grad():
        member.output.weight.copy_(torch.from_numpy(first.T / spread))
        member.output.bias.copy_(torch.from_numpy(bias - mean @ first / spread))
    if joint is not None:
        joint.assign(rest)
        dataset.read_by(replace(recipe.input, linear=False), torch.from_numpy(joint.matrix @ rest).float())
    network.requires_grad_(False)
    return strength


def describe_head(recipe: Recipe, examples: Sequence[Any]) -> str | None:
    """A sentence on a head that is fitted; None if it is trained.

    Example:
        >>> describe_head(Recipe(head="fitted"), [("good", "yes"), ("poor", "no"), ("bad", "no")])
        '1.5 examples a class: a head on frozen vectors is fitted, and nothing trained.'
    """
    if recipe.head != "fitted":
        return None
    known = f"{examples_per_class(as_pairs(examples)):,.1f}".removesuffix(".0")
    return f"{known} examples a class: a head on frozen vectors is fitted, and nothing trained."


def _solved(
    features: Any, answer: Target, wanted: Tensor, keys: Sequence[Hashable], recipe: Recipe
) -> tuple[Any, Any, float]:
    firsts = [repr(each) for each in wanted.tolist()]
    folds = folds_of(keys, firsts, min(_FOLDS, len({*keys})), seed=recipe.seed)
    strength = choose_strength(features, answer, wanted, folds)
    return *_weights(features, answer, wanted, strength), strength


def choose_strength(features: Any, answer: Target, wanted: Tensor, folds: Sequence[int]) -> float:
    """The strength with the least mean loss on each fold if the others are fitted to; of equal ones the smallest.

    Args:
        features: (example, feature), which may be sparse.
        answer: the target.
        wanted: the encoded targets, all known.
        folds: the fold of each example.

    Source: Stone 1974, Cross-Validatory Choice and Assessment of Statistical Predictions (Journal of the Royal
        Statistical Society B 36), for choosing by the loss on examples that are left out.

    Example:
        >>> from regard.tasks.targets import Label
        >>> features = np.array([[1.0], [-1.0]] * 8)
        >>> choose_strength(features, Label(("no", "yes")), torch.tensor([1, 0] * 8), [0, 0, 1, 1] * 4)
        10000.0
    """
    fold, losses = np.asarray(folds), []
    for strength in _STRENGTHS:
        outputs = torch.zeros(features.shape[0], answer.outputs)
        for own in {*folds}:
            rest = (fold != own).nonzero()[0]
            if len(rest):
                weights, bias = _weights(features[rest], answer, wanted[rest], strength)
                inside = (fold == own).nonzero()[0]
                outputs[inside] = torch.from_numpy(features[inside] @ weights + bias).float()
        losses.append(float(answer.loss(outputs, wanted, 0.0)[0]))
    return _STRENGTHS[int(np.argmin(losses))]


def _weights(features: Any, answer: Target, wanted: Tensor, strength: float) -> tuple[Any, Any]:
    return fitted_weights(features, answer, wanted.numpy(), alpha=1 / strength, C=strength, max_iter=300)


def _joint(network: SourceNetwork | Ensemble, recipe: Recipe, dataset: Dataset) -> JointFeatures | None:
    """The features of the linear part of a network, if it has one."""
    if network.linear is None:
        return None
    found = network.linear.joint(recipe.input.linear_inputs(dataset.encoder, dataset.items))
    if found is None:
        raise ArgumentError("`input.linear` must be false where `head` is 'fitted' for these sources, but is true.")
    return found


def _only(network: SourceNetwork | Ensemble, recipe: Recipe) -> SourceNetwork:
    """The only member of a network, after checking that nothing but its output layer has to be trained."""
    if len(network.members) > 1:
        raise ArgumentError(
            f"`members` must be 1 where `head` is 'fitted', as all of them would be the same, but is {recipe.members}."
        )
    (member,) = network.members
    solved = {id(each) for module in (member.output, member.linear) if module for each in module.parameters()}
    for name, each in member.named_parameters():
        if each.requires_grad and id(each) not in solved:
            raise ArgumentError(
                f"`head` can be 'fitted' only where nothing else is trained, but {name} is. Take the network "
                "'identity', a pooling without parameters such as 'mean', a `width` that is that of the vectors, and "
                "vectors that aren't trained; or the `head` 'trained'."
            )
    return member
