"""What the examples choose before training: the network, by a search, and the epoch to keep, by cross-validation."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from regard.errors import ArgumentError, DivergedError
from regard.page.numbers import counted
from regard.progress import clock
from regard.tasks.defaults import candidate_recipes, some_sizes
from regard.tasks.recipe import Recipe
from regard.tasks.training.cross_validation import FOLDS, choose_epoch, needs_cross_validation
from regard.tasks.training.objective import TrainingData
from regard.tasks.training.progress import TrainingProgress
from regard.tasks.training.search import plan_rounds, search

__all__ = ["Choices", "Trial"]


_TAKES_DEFAULT = "--no-search (from Python, search=False) takes the default"


class Trial(Protocol):
    """Trains by a recipe on some of the examples, in silence; returns the log, in which others are dev."""

    def __call__(self, recipe: Recipe, train: Sequence[Any], judged: Sequence[Any]) -> list[dict[str, Any]]: ...


@dataclasses.dataclass(frozen=True)
class Choices:
    """Makes the choices that a recipe leaves to the examples.

    Args:
        checked: the examples.
        show: is told what is chosen, and how long it takes.
        trial: trains on some of the examples.
    """

    checked: TrainingData
    show: TrainingProgress
    trial: Trial

    def make(self, recipe: Recipe, begun: Recipe | None, *, searches: bool) -> tuple[Recipe, Mapping[str, Any] | None]:
        """The recipe after all choices, and a record of the search for the card.

        Args:
            recipe: the recipe.
            begun: the recipe of a run that is resumed, for which the choices were made.
            searches: whether to search for a network.
        """
        if begun is not None:
            possible = candidate_recipes(recipe).values() if searches else (recipe,)
            if any(_open(each) == _open(begun) for each in possible):
                return begun, None
        record = None
        if searches:
            recipe, record = self.network(recipe)
        return (self.epoch(_open(recipe)) if recipe.cross_validate else recipe), record

    @property
    def beside(self) -> Mapping[str, Any]:
        """The auxiliary targets."""
        return getattr(self.checked, "auxiliary", None) or {}

    def network(self, recipe: Recipe) -> tuple[Recipe, Mapping[str, Any] | None]:
        """The recipe of the candidate that is best on parts of the training examples, and a record for the card.

        The candidates are tried without auxiliary targets.

        Args:
            recipe: the default recipe.
        """
        candidates, examples = candidate_recipes(recipe), self.checked.examples
        sizes = some_sizes(recipe, examples) if len(candidates) > 1 else [0]
        rounds = plan_rounds(recipe, len(candidates), len(examples), sum(sizes) / len(sizes))
        if not rounds:
            return recipe, None
        takes = clock(sum(each.seconds for each in rounds))
        self.show.note(
            f"Networks to choose from: {', '.join(candidates)}. Trying them on parts of the training examples takes "
            f"about {takes}. {_TAKES_DEFAULT}."
        )

        def loss_of(name: str, tried: Recipe, train: Sequence[Any], judged: Sequence[Any]) -> float:
            if self.beside:
                tried = dataclasses.replace(tried, task=dataclasses.replace(tried.task, auxiliary={}))
            try:
                log = self.trial(tried, train, judged)
            except (ArgumentError, DivergedError) as error:
                self.show.note(f"{name} can't be tried: {error}")
                return math.inf
            loss = min(row["dev_loss"] for row in log)
            self.show.note(f"{name}: loss {loss:.4f} after {counted(len(log), 'epoch')} on {len(train):,} examples.")
            return loss

        found = search(candidates, rounds, examples, loss_of)
        attends = "" if found.recipe.architecture.attends else f", which has no attention to show. {_TAKES_DEFAULT}"
        self.show.note(f"The network: {found.chosen}{attends}.")
        return found.recipe, found.to_json()

    def epoch(self, recipe: Recipe) -> Recipe:
        """The recipe with the epoch to keep, if cross-validation is to choose it."""
        checked, show = self.checked, self.show
        if not needs_cross_validation(recipe, checked.examples, checked.dev):
            return recipe
        if self.beside:
            show.note(f"{self._few(recipe)}, but with auxiliary targets nothing else does: dev chooses.")
            return recipe
        trained = 0

        def log_of(train: Sequence[Any], judged: Sequence[Any]) -> list[dict[str, Any]]:
            nonlocal trained
            trained += 1
            show.note(f"Cross-validation: training {trained} of {FOLDS}.")
            return self.trial(recipe, train, judged)

        show.note(f"{self._few(recipe)}: cross-validation on the training examples chooses it.")
        try:
            found = choose_epoch(recipe, checked.examples, log_of)
        except (ArgumentError, DivergedError) as error:
            show.note(f"Cross-validation isn't possible, so dev chooses: {error}")
            return recipe
        kept = f"Cross-validation keeps epoch {found.keep_epoch}."
        show.note(kept if found.keep_epoch else "Dev chooses: no loss is finite.")
        return found

    def leave(self, recipe: Recipe, *, searches: bool) -> None:
        """Say which choices aren't made under torchrun."""
        if searches and len(candidate_recipes(recipe)) > 1:
            self.show.note("Under torchrun no network is chosen: the default is taken.")
        if needs_cross_validation(recipe, self.checked.examples, self.checked.dev):
            self.show.note(f"{self._few(recipe)}, but under torchrun nothing else does: dev chooses.")

    def _few(self, recipe: Recipe) -> str:
        return f"Dev has {counted(len(self.checked.dev), recipe.input.source_noun)}, too few to choose an epoch by"


def _open(recipe: Recipe) -> Recipe:
    """The recipe before cross-validation chooses an epoch."""
    return dataclasses.replace(recipe, keep_epoch=None) if recipe.cross_validate else recipe
