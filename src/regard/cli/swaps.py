"""Which field of a recipe two names are values of, for `regard replace`."""

import dataclasses
from typing import Any

from regard.attention import INPUT_POSITIONS, POSITIONS, SCORES, WEIGHTS
from regard.cli.training import choose_recipe
from regard.errors import ArgumentError, UnknownNameError
from regard.lab.candidates import changed, describe_replaced, field_of, neutral_fields
from regard.modules.projections import PROJECTIONS
from regard.tasks import Recipe

__all__ = ["swapped_recipe", "with_kept_fields"]


def swapped_recipe(named: str, old: str, new: str, epochs: int | None = None) -> tuple[Recipe, str, str]:
    """The recipe with `old`, the field of which it is a value, and the value that replaces it.

    Args:
        named: a recipe's name or file.
        old, new: two values of one field; "rnn" is a bidirectional RNN, "cnn" a stack of convolutions. Of a seq2seq
            recipe, "rnn" is a recurrent architecture, and "attention" a transformer.
        epochs: instead of the recipe's.

    Raises:
        ArgumentError: they aren't values of one field of this recipe.
        UnknownNameError: a name that is a value of no field.

    Example:
        >>> recipe, field, value = swapped_recipe("english-pos", "rnn", "attention")
        >>> recipe.network, field, value
        ('bidirectional', 'network', 'attention')
    """
    recipe = choose_recipe(named, None, Recipe())
    fields = _values(recipe)
    aliases = recipe.task.architectures.aliases
    first, second = (aliases.get(each, each) if each not in _all(fields) else each for each in (old, new))
    for name, given, value, other in (("OLD", old, first, second), ("NEW", new, second, first)):
        if value not in _all(fields):
            # Only what the other name can be swapped for, if that is known.
            suited = {field: values for field, values in fields.items() if other in values} or fields
            known = [*(each for each, meant in aliases.items() if meant in _all(suited)), *_all(suited)]
            raise UnknownNameError(name, given, dict.fromkeys(known), see="regard replace --help")
    if first == second:
        raise ArgumentError(f"`NEW` must be another part than `OLD`, but {old} and {new} are the same.")
    field = next((field for field, values in fields.items() if first in values and second in values), None)
    if field is None:
        own, other = _field_with(fields, first), _field_with(fields, second)
        raise ArgumentError(
            f"`NEW` must be a {own}, as {old} is, but {new} is one of {other}. Take one of {', '.join(fields[own])}."
        )
    if epochs is not None:
        recipe = dataclasses.replace(recipe, epochs=epochs)
    return (recipe if field_of(recipe, field) == first else changed(recipe, {field: first})), field, second


def with_kept_fields(named: str, base: Recipe, field: str, value: str) -> tuple[dict[str, list[Any]], list[str]]:
    """What replaces a part of `base`, and sentences on the fields of the named recipe that one of the two can't have.

    Args:
        named: a recipe's name or file.
        base, field, value: as `swapped_recipe` returns them. A field that only the new part can have, such as the mask
            of attention in the place of an RNN, has the named recipe's value with it.
    """
    recipe = choose_recipe(named, None, Recipe())
    old, new = {field: field_of(base, field)}, {field: value}
    lost = neutral_fields(recipe, new)
    kept = {name: [field_of(recipe, name)] for name in neutral_fields(recipe, old) if name not in lost}
    return {field: [value], **kept}, describe_replaced(recipe, [old, new])


def _values(recipe: Recipe) -> dict[str, tuple[str, ...]]:
    """The fields that are chosen by name, with their values."""
    networks = recipe.task.architectures
    return {
        # Only one network can't be swapped.
        **({networks.field: tuple(networks.kinds)} if len(networks.kinds) > 1 else {}),
        "score": tuple(SCORES),
        "weights": tuple(WEIGHTS),
        "position": (*POSITIONS, *INPUT_POSITIONS, "none"),
        "projections": ("usual", *PROJECTIONS),
        "cell": ("gru", "lstm"),
    }


def _all(fields: dict[str, tuple[str, ...]]) -> list[str]:
    return [value for values in fields.values() for value in values]


def _field_with(fields: dict[str, tuple[str, ...]], value: str) -> str:
    return next(field for field, values in fields.items() if value in values)
