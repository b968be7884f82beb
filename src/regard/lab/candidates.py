"""Candidates: the recipes of a grid, from the values that some fields may have, and a recipe with one part swapped."""

import dataclasses
import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from regard.attention import INPUT_POSITIONS, POSITIONS, SCORES, WEIGHTS
from regard.errors import ArgumentError, UnknownNameError, nearest
from regard.modules.projections import PROJECTIONS
from regard.tasks import TASKS, Recipe
from regard.tasks.architectures import NETWORK_FIELDS
from regard.tasks.architectures.approximate import Approximate
from regard.tasks.architectures.architecture import Architecture
from regard.tasks.sources import INPUTS

__all__ = [
    "changed",
    "check_vary",
    "describe_replaced",
    "field_of",
    "grid",
    "neutral_fields",
    "parse_vary",
    "swapped_recipe",
    "with_kept_fields",
]

MOST = 1000
"""More candidates than this are a mistake in typing."""


def parse_vary(options: Sequence[str]) -> dict[str, list[Any]]:
    """Read "FIELD=VALUE,VALUE" options; a value is a number, true, false, null, or a name.

    Raises:
        ArgumentError: an option has another form, or a field or a value is repeated.

    Example:
        >>> parse_vary(["score=additive,dot", "layers=1,2"])
        {'score': ['additive', 'dot'], 'layers': [1, 2]}
    """
    found: dict[str, list[Any]] = {}
    for option in options:
        name, equals, rest = option.partition("=")
        values = [_value(each.strip()) for each in rest.split(",")]
        if not equals or not name.strip() or "" in values:
            raise ArgumentError(
                f"`--vary` must be FIELD=VALUE,VALUE, such as score=dot,additive, but is {option!r:.60}."
            )
        if name.strip() in found:
            raise ArgumentError(f"`--vary` must name each field once, but names {name.strip()} twice. Join the values.")
        if len({json.dumps(each) for each in values}) < len(values):
            raise ArgumentError(f"`--vary` must name each value once, but is {option!r:.60}.")
        found[name.strip()] = values
    return found


def _value(text: str) -> Any:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, int | float | bool | str) or found is None else text


def check_vary(vary: Mapping[str, Sequence[Any]], task: str | None = None) -> None:
    """Check all of a grid that doesn't depend on the recipe, which may depend on the data.

    Args:
        vary: as in `grid`.
        task: the kind of the task; None: any.

    Raises:
        ArgumentError: no recipe has such a field, or the field can't have such a value.

    Example:
        >>> check_vary({"task.pooling": ["mean", "max"]})
        >>> check_vary({"score": ["doot"]})
        Traceback (most recent call last):
            ...
        regard.errors.ArgumentError: `vary` can't give score=doot: score must be one of ... Did you mean 'dot'?
    """
    _check_size(vary)
    tasks = [TASKS[task]] if task in TASKS else TASKS.values()
    sections = {"task": [each.settings for each in tasks], "input": [*INPUTS.values()]}
    checks = {entry.name: [entry.metadata["check"]] for entry in dataclasses.fields(Recipe)}
    for section, kinds in sections.items():
        for kind in kinds:
            for entry in dataclasses.fields(kind):
                checks.setdefault(f"{section}.{entry.name}", []).append(entry.metadata["check"])
    for name, values in vary.items():
        _check_known(name, checks)
        for value in values:
            errors = [error for check in checks[name] if (error := _refusal(check, name, value)) is not None]
            # Kinds of tasks and sources that share a field may differ in its values.
            if len(errors) == len(checks[name]):
                raise _impossible({name: value}, errors[0]) from errors[0]


def _refusal(check: Callable[[str, Any], Any], name: str, value: Any) -> ArgumentError | None:
    try:
        check(name.rpartition(".")[2], value)
    except ArgumentError as error:
        return error
    return None


def grid(recipe: Recipe, vary: Mapping[str, Sequence[Any]]) -> dict[str, dict[str, Any]]:
    """The candidates of a grid: what each changes, by a name that says so; the recipe itself comes first, as "default".

    Args:
        recipe: the default.
        vary: the values of each field. A field of a section has a dot in its name: "task.pooling", "input.edges".

    Raises:
        ArgumentError: there is no such field; a value that a field can't have; fields that don't go together, or that
            the comparison itself sets; too many candidates; or the default alone.

    Example:
        >>> grid(Recipe(), {"score": ["scaled_dot", "dot"], "layers": [2, 1]})["score=dot, layers=1"]
        {'score': 'dot', 'layers': 1}
        >>> list(grid(Recipe(), {"network": ["attention", "bidirectional"], "score": ["scaled_dot", "dot"]}))
        ['default', 'score=dot', 'network=bidirectional']
    """
    _check_size(vary)
    usual = {name: field_of(recipe, name) for name in vary}
    found: dict[str, dict[str, Any]] = {"default": {}}
    for values in itertools.product(*vary.values()):
        chosen = dict(zip(vary, values, strict=True))
        unread = _unread(recipe, chosen)
        own = {name: value for name, value in chosen.items() if value != usual[name] and name not in unread}
        if own:
            found[_named(own)] = own
    _check_approximations(recipe, found)
    for own in found.values():
        changed(recipe, own)
    if len(found) < 2:
        raise ArgumentError(
            "`vary` must name a value that differs from the default recipe's, but all candidates are the default."
        )
    return found


def _check_approximations(recipe: Recipe, candidates: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse approximations of attention whose recipes have what only exact attention has: all in one error."""
    found = {}
    for name, changes in candidates.items():
        values = _values(recipe, changes)
        try:
            exact = Recipe.from_json({**values, "approximation": "none"})
        except ArgumentError:
            continue  # `changed` says what is wrong
        for conflict in Approximate.read(values).conflicts(exact):
            found.setdefault(conflict.field, (name, conflict))
    if found:
        first = next(iter(found.values()))[0]
        problems = " ".join(conflict.problem for _, conflict in found.values())
        options = " ".join(f"--vary {field}={_written(conflict.value)}" for field, (_, conflict) in found.items())
        raise ArgumentError(
            f"`vary` can't give {first:.100}: {problems.replace('`', '')} For all candidates alike, use {options}."
        )


def _check_size(vary: Mapping[str, Sequence[Any]]) -> None:
    count = 1
    for name, values in vary.items():
        if why := _FIXED.get(name):
            raise ArgumentError(f"`vary` must not name {name}, {why}.")
        if not values:
            raise ArgumentError(f"`vary` must name values of {name}, but names none.")
        count *= len(values)
    if count > MOST:
        raise ArgumentError(
            f"`vary` must give up to {MOST:,} candidates, but gives {count:,}. Vary fewer fields at once."
        )


_FIXED = {
    "epochs": "which each round sets: the last one has the recipe's",
    "seed": "since every candidate is trained with the same seeds",
    "task": "since candidates of other tasks can't be compared",
    "task.kind": "since candidates of other tasks can't be compared",
}


def _unread(recipe: Recipe, chosen: Mapping[str, Any]) -> frozenset[str]:
    """The fields that the network of a candidate doesn't read, so that recipes that differ in them are the same."""
    kind = _kind(recipe, chosen)
    if kind is None:
        return frozenset()
    networks = recipe.task.architectures
    # What no network of the task can have is an error.
    return NETWORK_FIELDS - kind.read({**recipe.flat(), **chosen}).write().keys() - {networks.field, *networks.fixed}


def _kind(recipe: Recipe, changes: Mapping[str, Any]) -> type[Architecture] | None:
    """The kind of a candidate's network; None if there is none of that name, which the recipe refuses."""
    networks = recipe.task.architectures
    return networks.kinds.get(changes.get(networks.field, field_of(recipe, networks.field)))


def neutral_fields(recipe: Recipe, changes: Mapping[str, Any]) -> dict[str, tuple[Any, str]]:
    """The fields in which a candidate has a neutral value instead of the recipe's, since its network can't have that.

    Args:
        recipe: the default.
        changes: what the candidate changes.

    Returns:
        the neutral value of each field, and why.

    Example:
        >>> neutral_fields(Recipe(mask="causal"), {"network": "bidirectional"})
        {'mask': ('none', 'has no attention')}
    """
    kind = _kind(recipe, changes)
    fixed = {} if kind is None else kind.fixed
    return {name: (value, why) for name, (value, why) in fixed.items() if field_of(recipe, name) != value}


def describe_replaced(recipe: Recipe, candidates: Iterable[Mapping[str, Any]]) -> list[str]:
    """Sentences on the fields of the recipe that some candidates can't have: one for each network of theirs.

    Example:
        >>> describe_replaced(Recipe(mask="causal"), [{"network": "bidirectional"}])
        ['With network=bidirectional, mask is none instead of causal, because bidirectional has no attention.']
    """
    found, part = {}, recipe.task.architectures.field
    for changes in candidates:
        if fields := neutral_fields(recipe, changes):
            named = [
                f"{name} is {_written(value)} instead of {_written(field_of(recipe, name))}"
                for name, (value, _) in fields.items()
            ]
            reasons = " and ".join(dict.fromkeys(why for _, why in fields.values()))
            listed = " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
            found[changes[part]] = f"With {part}={changes[part]}, {listed}, because {changes[part]} {reasons}."
    return [*found.values()]


def field_of(recipe: Recipe, name: str) -> Any:
    """The value of a recipe's field, whose name has a dot if it is of a section.

    Raises:
        ArgumentError: there is no such field; names the nearest.

    Example:
        >>> field_of(Recipe(), "task.kind"), field_of(Recipe(), "layers")
        ('tagger', 2)
    """
    known = recipe.flat()
    _check_known(name, known)
    return known[name]


def _check_known(name: str, known: Iterable[str]) -> None:
    known = list(known)
    if name not in known:
        near = nearest(name, known, cutoff=0.6)
        hint = f" Did you mean {near}?" if near else f" It has {', '.join(known)}."
        raise ArgumentError(f"`vary` must name fields of the recipe, but {name!r:.60} is none.{hint}")


def changed(recipe: Recipe, changes: Mapping[str, Any]) -> Recipe:
    """The recipe with other values of some fields; a field that its network can't have gets its neutral value.

    Raises:
        ArgumentError: a value that a field can't have, or fields that don't go together; says which were changed.

    Example:
        >>> changed(Recipe(), {"input.word_width": 16, "layers": 1}).input.word_width
        16
    """
    try:
        return Recipe.from_json(_values(recipe, changes))
    except ArgumentError as error:
        raise _impossible(changes, error) from error


def _values(recipe: Recipe, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the recipe as JSON, with other values of some."""
    held = recipe.to_json()
    neutral = {name: value for name, (value, _) in neutral_fields(recipe, changes).items() if name not in changes}
    for name, value in {**neutral, **changes}.items():
        section, dot, inner = name.partition(".")
        if dot:
            held[section] = {**held[section], inner: value}
        else:
            held[name] = value
    return held


def _impossible(changes: Mapping[str, Any], error: ArgumentError) -> ArgumentError:
    # Without backticks: the fields in it are no arguments of the caller's.
    return ArgumentError(f"`vary` can't give {_named(changes):.100}: {str(error).replace('`', '')}")


def _named(changes: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_written(value)}" for name, value in changes.items())


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def swapped_recipe(recipe: Recipe, old: str, new: str) -> tuple[Recipe, str, str]:
    """The recipe with `old`, the field of which it is a value, and the value that replaces it.

    Args:
        recipe: the recipe.
        old, new: two values of one field; "rnn" is a bidirectional RNN, "cnn" a stack of convolutions. Of a seq2seq
            recipe, "rnn" is a recurrent architecture, and "attention" a transformer.

    Raises:
        ArgumentError: they aren't values of one field of this recipe.
        UnknownNameError: a name that is a value of no field.

    Example:
        >>> recipe, field, value = swapped_recipe(Recipe(), "rnn", "attention")
        >>> recipe.network, field, value
        ('bidirectional', 'network', 'attention')
    """
    fields = _choices(recipe)
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
    return (recipe if field_of(recipe, field) == first else changed(recipe, {field: first})), field, second


def with_kept_fields(recipe: Recipe, base: Recipe, field: str, value: str) -> tuple[dict[str, list[Any]], list[str]]:
    """What replaces a part of `base`, and sentences on the fields of `recipe` that one of the two can't have.

    Args:
        recipe: the recipe as it was given.
        base, field, value: as `swapped_recipe` returns them. A field that only the new part can have, such as the mask
            of attention in the place of an RNN, has the value of `recipe` with it.
    """
    old, new = {field: field_of(base, field)}, {field: value}
    lost = neutral_fields(recipe, new)
    kept = {name: [field_of(recipe, name)] for name in neutral_fields(recipe, old) if name not in lost}
    return {field: [value], **kept}, describe_replaced(recipe, [old, new])


def _choices(recipe: Recipe) -> dict[str, tuple[str, ...]]:
    """The fields that are chosen by name, with their values."""
    networks = recipe.task.architectures
    return {
        # Only one network can't be swapped.
        **({networks.field: names} if len(names := networks.replaceable) > 1 else {}),
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
