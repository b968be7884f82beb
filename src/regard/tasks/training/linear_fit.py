"""Fit the linear part of a network to the training examples, before the network is trained."""

from dataclasses import replace

import torch
from torch import Tensor

from regard.tasks.folds import folds_of
from regard.tasks.linear_part import fitted_places
from regard.tasks.network import Ensemble, SourceNetwork
from regard.tasks.recipe import Recipe
from regard.tasks.targets import Target
from regard.tasks.training.dataset import Dataset

__all__ = ["fit_linear_part"]


def fit_linear_part(
    network: SourceNetwork | Ensemble, recipe: Recipe, dataset: Dataset, answer: Target
) -> Tensor | None:
    """Fit the linear part of a network, if it has one.

    From then on the batches of the data set have no features for it. Where the network learns what the part leaves,
    they have offsets instead: what the part says of each source if it is fitted to others.

    Args:
        network: the network.
        recipe: its recipe.
        dataset: the training examples.
        answer: the main target.

    Returns:
        what the part says of each source or item if it is fitted to the others; where the network doesn't learn what it
        leaves, only of those that it was fitted to. None without a linear part, or where it is solved with the head.
    """
    part, source, items = network.linear, recipe.input, dataset.items
    if part is None or recipe.head == "fitted":
        return None
    wanted = [dataset.batch([place]).targets[0] for place in range(len(items))]
    if not part.leaves:
        # The features of all sources could take gigabytes.
        places = fitted_places(answer.known(torch.cat(wanted)).numpy().nonzero()[0])
        items, wanted = [items[place] for place in places], [wanted[place] for place in places]
    keys = [source.linear_key(dataset.encoder, item) for item in items]
    firsts = [own.tolist()[0] for own in wanted]
    folds = folds_of(keys, firsts, min(part.most_folds, len(items)), seed=recipe.seed)
    held_out = part.fit(source.linear_inputs(dataset.encoder, items), answer, torch.cat(wanted), folds)
    dataset.read_by(replace(source, linear=False), held_out if part.leaves else None)
    return held_out
