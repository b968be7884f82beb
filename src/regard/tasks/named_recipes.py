"""The recipes that come with the package, each with the data that it was tuned on: JSON files in recipes/."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from regard.errors import ArgumentError
from regard.tasks.recipe import Recipe

__all__ = ["NAMED_RECIPES", "RECIPES", "NamedRecipe", "recipe_for"]


@dataclass(frozen=True)
class NamedRecipe:
    """A recipe, and the data that it was tuned on.

    Args:
        name: the name of the recipe.
        data: the name of the data set.
        label: the label that is predicted.
        recipe: the recipe.
        note: the reasons for unusual settings.

    Raises:
        ArgumentError: a name isn't a text.
    """

    name: str
    data: str
    label: str
    recipe: Recipe
    note: str = ""

    def __post_init__(self) -> None:
        for field in ("name", "data", "label", "note"):
            value = getattr(self, field)
            if not isinstance(value, str) or not (value or field == "note"):
                raise ArgumentError(f"`{field}` must be a text, but is {value!r:.60}.")

    @property
    def command(self) -> tuple[str, ...]:
        """The command that trains with it, as words, without --out.

        Example:
            >>> " ".join(NAMED_RECIPES["english-pos"].command)
            'regard train tagger --data ud-english-ewt --label upos'
        """
        task = self.recipe.task.kind
        words = ("regard", "train", task, "--data", self.data, "--label", self.label)
        # The first recipe for a data set is the default; the others have to be named.
        return words if recipe_for(self.data, self.label, task) == self else (*words, "--recipe", self.name)

    @classmethod
    def read(cls, path: Path) -> "NamedRecipe":
        """Read NAME.json: an object with data, label, recipe (the settings that differ from the default), maybe a note.

        Raises:
            ArgumentError: the file has another content.
            OSError: it can't be read.
        """
        try:
            held = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(held, dict) or not {"data", "label", "recipe"} <= held.keys() <= _KEYS:
                raise ArgumentError(f"it must be an object of {', '.join(sorted(_KEYS))}, but is {held!r:.60}.")
            return cls(path.stem, **{**held, "recipe": Recipe.from_json(held["recipe"])})
        except ValueError as error:
            raise ArgumentError(f"{path}: {error}") from error


_KEYS = {"data", "label", "recipe", "note"}

_FILES = Path(__file__).with_name("recipes").glob("*.json")

NAMED_RECIPES: Mapping[str, NamedRecipe] = MappingProxyType(
    # Sorted by name without the suffix, so that a name comes before longer ones that begin with it: it is the default.
    {path.stem: NamedRecipe.read(path) for path in sorted(_FILES, key=lambda path: path.stem)}
)
"""The recipes by name, with their data."""

RECIPES: Mapping[str, Recipe] = MappingProxyType({name: named.recipe for name, named in NAMED_RECIPES.items()})
"""The recipes by name."""


def recipe_for(data: str, label: str, task: str) -> NamedRecipe | None:
    """The default recipe for a data set, a label and a kind of task; None if there is none.

    Example:
        >>> recipe_for("ud-english-ewt", "upos", "tagger").name
        'english-pos'
        >>> recipe_for("ud-english-ewt", "upos", "classifier")
    """
    fitting = (
        each for each in NAMED_RECIPES.values() if (each.data, each.label, each.recipe.task.kind) == (data, label, task)
    )
    return next(fitting, None)
