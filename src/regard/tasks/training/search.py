"""Which network to train: candidates are trained briefly on parts of the training examples, the better ones longer."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from regard.tasks.examples import as_pairs, spread
from regard.tasks.folds import folds_of
from regard.tasks.recipe import Recipe

__all__ = ["Round", "Searched", "plan_rounds", "search"]

_PARTS = 4
_LEAST_EXAMPLES = 40
_MOST_JUDGED = 500
_LEAST_BATCH = 64
_LEAST_EPOCHS = 3
_LEAST_SECONDS = 60.0
_SHARE = 0.1
_SECONDS_PER_ITEM, _SECONDS_PER_UPDATE = 1e-4, 0.02
"""What one core takes, about. They decide how much is tried, and are the same on every machine, so that the same
network is chosen on all of them."""


class Round(NamedTuple):
    """A round of the search.

    Args:
        candidates: the number of candidates in it.
        examples: how many examples each is trained on.
        epochs: for how many epochs, at most.
        batch_items: the most items in a batch: an epoch has about as many batches as one of all examples.
        seconds: how long it takes, about.
    """

    candidates: int
    examples: int
    epochs: int
    batch_items: int
    seconds: float


class Searched(NamedTuple):
    """What a search has found.

    Args:
        recipe: the recipe of the chosen candidate.
        chosen: its name.
        rounds: what each candidate lost in each round, by its name, with the number of examples and of epochs.
    """

    recipe: Recipe
    chosen: str
    rounds: Sequence[Mapping[str, Any]]

    def to_json(self) -> dict[str, Any]:
        """For the card."""
        return {"chosen": self.chosen, "rounds": [dict(each) for each in self.rounds]}


def plan_rounds(recipe: Recipe, candidates: int, count: int, length: float) -> tuple[Round, ...]:
    """Two rounds, of all candidates and of two, that take a minute, or a tenth of the training if that is longer.

    Args:
        recipe: the default recipe.
        candidates: the number of candidates.
        count: the number of training examples.
        length: the number of items of an example, in the mean.

    Returns:
        none, if there is nothing to choose, or too little could be tried.

    Example:
        >>> for each in plan_rounds(Recipe(epochs=10), 4, 800, 20.0):
        ...     print(each.candidates, each.examples, each.epochs)
        4 600 5
        2 600 10
    """
    if candidates < 2 or count < _LEAST_EXAMPLES:
        return ()

    def batch_items(examples: int) -> int:
        return min(recipe.batch_items, max(_LEAST_BATCH, recipe.batch_items * examples // count))

    def seconds(examples: int) -> float:
        """What an epoch of so many examples takes."""
        own = examples * length
        return own * _SECONDS_PER_ITEM + math.ceil(own / batch_items(examples)) * _SECONDS_PER_UPDATE

    budget = max(_LEAST_SECONDS, _SHARE * recipe.epochs * seconds(count))
    rounds: list[Round] = []
    for tried in (candidates, 2):
        each = budget / 2 / tried
        examples = count * (_PARTS - 1) // _PARTS
        least = min(_LEAST_EPOCHS, recipe.epochs)
        while examples >= _LEAST_EXAMPLES // 2 and seconds(examples) * least > each:
            examples //= 2
        if examples < _LEAST_EXAMPLES // 2:
            return ()
        epochs = max(least, min(recipe.epochs, int(each / seconds(examples))))
        rounds.append(Round(tried, examples, epochs, batch_items(examples), tried * epochs * seconds(examples)))
    return tuple(rounds)


def search(
    candidates: Mapping[str, Recipe],
    rounds: Sequence[Round],
    examples: Sequence[Any],
    loss_of: Callable[[str, Recipe, Sequence[Any], Sequence[Any]], float],
) -> Searched:
    """Choose among candidates on the training examples alone, so that dev stays new to the choice.

    In each round the candidates are trained on some of the examples, and judged on others, in the second round on other
    ones than in the first. The default takes part in both, and is left only for a candidate that was better in both.

    Args:
        candidates: the recipes by name, the default first.
        rounds: as `plan_rounds` gives them.
        examples: the training examples.
        loss_of: trains a recipe on examples, and returns what it loses on others, lower for a better one.

    Source: Jamieson and Talwalkar 2016 (arXiv 1502.07943): successive halving.

    Example:
        >>> pairs = [(f"a film {number}", "good" if number % 2 else "bad") for number in range(60)]
        >>> candidates = {"default": Recipe(), "one layer": Recipe(layers=1), "three": Recipe(layers=3)}
        >>> plan = plan_rounds(Recipe(), 3, 60, 3.0)
        >>> found = search(candidates, plan, pairs, lambda name, recipe, train, judged: recipe.layers)
        >>> found.chosen, [each["loss"] for each in found.rounds]
        ('one layer', [{'default': 2, 'one layer': 1, 'three': 3}, {'default': 2, 'one layer': 1}])
    """
    pairs = as_pairs(examples)
    default, *others = candidates
    seed = candidates[default].seed
    folds = folds_of([repr(source) for source, _ in pairs], [repr(to) for _, to in pairs], _PARTS, seed=seed)
    done: list[dict[str, Any]] = []
    for number, plan in enumerate(rounds):
        inside, outside = (
            [pair for pair, fold in zip(pairs, folds, strict=True) if (fold == number) is own] for own in (True, False)
        )
        train, judged = spread(outside, plan.examples), spread(inside, _MOST_JUDGED)
        losses = {}
        for name in (default, *others[: plan.candidates - 1]):
            short = {"epochs": plan.epochs, "patience": plan.epochs, "batch_items": plan.batch_items}
            # Without a temperature, a loss would tell of confidence.
            recipe = dataclasses.replace(candidates[name], best_by="loss", **short)
            loss = loss_of(name, recipe, train, judged)
            losses[name] = loss if math.isfinite(loss) else math.inf
        done.append({"examples": len(train), "judged": len(judged), "epochs": plan.epochs, "loss": losses})
        others.sort(key=lambda name: losses.get(name, math.inf))
        if losses[others[0]] >= losses[default]:
            others = []
            break
    chosen = others[0] if others else default
    return Searched(candidates[chosen], chosen, done)
