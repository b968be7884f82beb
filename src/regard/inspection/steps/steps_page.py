"""The page of the steps of one row of attention, and of a worked example."""

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.attention.weights import Hard, Softmax
from regard.inspection.record.numbered import numbered
from regard.inspection.steps.examples import WorkedExample
from regard.inspection.steps.matrices import Matrices
from regard.inspection.steps.numbers import adds_up, number, vector, worked
from regard.inspection.steps.phrases import phrase
from regard.inspection.steps.steps import Steps, steps
from regard.page import Block, Heading, Page, Prose, Table

__all__ = ["example_page", "matrices_blocks", "steps_page"]

# Nobody reads the numbers of thousands of keys, and a terminal can't show them.
_MOST_ROWS = 24

# Hard is the limit for 0, and with a temperature like the last all weights are equal to the last bit.
_TEMPERATURES = (0.0, 0.25, 0.5, 1.0, 2.0, 8.0, 1e300)


def steps_page(
    walk: Steps,
    language: str = "en",
    *,
    title: str = "",
    items: Sequence[str] = (),
    query_item: str = "",
) -> Page:
    """The steps of one row: written out for one key, then for all keys, then to the output.

    Of many keys those with the largest weights are shown, and the page says how many aren't.

    Args:
        walk: what `steps` gave.
        language: "en" or "zh".
        title: the title of the page.
        items: the names of the keys; by default their numbers.
        query_item: the name of the query; by default its number.

    Raises:
        UnknownNameError: there is no such language.
    """

    def say(name: str, **fields: object) -> str:
        return phrase(name, language, **fields)

    names = numbered(items) if items else tuple(map(str, range(1, len(walk.allowed) + 1)))
    query = query_item or say("query number", number=walk.row + 1)

    blocks: list[Block] = []
    if not walk.allowed.any():
        blocks.append(Prose(say("nothing", query=query)))
    elif names:
        rows = tuple(
            (say(each.name), each.formula, worked(each, walk.column)) for each in walk.steps if "value" not in each.axes
        )
        key = names[walk.column] if items else say("key number", number=walk.column + 1)
        blocks.append(Heading(say("pair", query=query, key=key)))
        blocks.append(Table((say("step"), say("formula"), say("numbers")), rows))
    along = [each for each in walk.steps if each.axes == ("key",)]
    shown = _shown_keys(walk)
    if names and along:
        table = tuple((names[j], *(number(float(each.values[j])) for each in along)) for j in shown)
        blocks.append(Heading(say("row", query=query)))
        head = (say("key"), *(say(each.name) for each in along))
        blocks.append(Table(head, table, ("left", *("right" for _ in along))))
        if others := len(names) - len(shown):
            rest = float(walk.weights.sum() - walk.weights[shown].sum())
            counts = {"shown": len(shown), "count": f"{len(names):,}", "others": f"{others:,}", "sum": number(rest)}
            blocks.append(Prose(say("other keys", **counts)))
    weighted = walk["weighted values"]
    table = [(names[j], number(float(walk.weights[j])), vector(walk.value[j]), vector(weighted[j])) for j in shown]
    table += [(say(each.name), "", each.formula, vector(each.values)) for each in walk.steps if each.axes == ("value",)]
    blocks.append(Heading(say("outputs", query=query)))
    blocks.append(Table(tuple(map(say, ("key", "weight", "value", "weight x value"))), tuple(table)))
    if not all(adds_up(each, walk.column) for each in walk.steps):
        blocks.append(Prose(say("last digits")))
    return Page(title, tuple(blocks))


def _shown_keys(walk: Steps) -> list[int]:
    """The keys whose numbers are shown: all, or those with the largest weights and the one that is written out."""
    if len(walk.weights) <= _MOST_ROWS:
        return list(range(len(walk.weights)))
    largest = walk.weights.argsort(descending=True, stable=True).tolist()
    return sorted([walk.column, *(j for j in largest if j != walk.column)][:_MOST_ROWS])


def matrices_blocks(matrices: Matrices, language: str, *, whole: bool = False) -> tuple[Block, ...]:
    """The matrices, a row for each item.

    Of many items the first ones are shown, with how many aren't; with `whole`, all of them, to compute with.
    """
    rows = []
    alike = matrices.items == matrices.query_items
    for i, name in enumerate(matrices.items):
        query = vector(matrices.query[i]) if alike else ""
        rows.append((name, query, vector(matrices.key[i]), vector(matrices.value[i])))
    if not alike:
        rows = [*((name, vector(matrices.query[i]), "", "") for i, name in enumerate(matrices.query_items)), *rows]
    columns = phrase("item", language), "query", "key", "value"
    shown = rows if whole else rows[:_MOST_ROWS]
    drawn = Heading(phrase("matrices", language)), Table(columns, tuple(shown))
    if len(shown) == len(rows):
        return drawn
    counts = {"shown": len(shown), "count": f"{len(rows):,}", "others": f"{len(rows) - len(shown):,}"}
    return *drawn, Prose(phrase("other rows", language, **counts))


def example_page(example: WorkedExample, walk: Steps, language: str = "en") -> Page:
    """The page of a worked example: what it is, its matrices, the steps, and what the note prints of it.

    Args:
        example: the example.
        walk: the steps of one of its queries.
        language: "en" or "zh".

    Raises:
        UnknownNameError: there is no such language.
    """
    matrices, row = example.matrices, walk.row
    query = matrices.query_items[row]
    blocks: list[Block] = [Prose(example.about[language])]
    blocks += matrices_blocks(matrices, language)
    for name, projection in example.projections.items():
        vectors = [torch.tensor(each, dtype=torch.float64) for each in projection]
        terms = [f"{number(x)} x {vector(v)}" for x, v in zip(example.inputs[row], vectors, strict=True)]
        result = vector(getattr(matrices, name)[row])
        numbers = f"{' + '.join(terms)} = {result}"
        blocks.append(Prose(phrase("projecting", language, letter=name, item=query, numbers=numbers)))
    blocks += steps_page(walk, language, items=matrices.items, query_item=query).blocks
    # The note and the comparisons have no mask.
    if not walk.allowed.all():
        return Page(example.title[language], tuple(blocks))
    if example.printed and row == 0:
        blocks += _beside_the_note(example, language)
    if example.compares == "scale":
        blocks += _with_and_without(matrices, row, language)
    if example.compares == "temperature":
        blocks += _temperatures(matrices, row, language)
    return Page(example.title[language], tuple(blocks))


def _beside_the_note(example: WorkedExample, language: str) -> list[Block]:
    walk = steps(*example.matrices.tensors, score=example.score)
    rows, gap = [], 0.0
    for name, printed in example.printed.items():
        note = torch.tensor(printed, dtype=torch.float64)
        rows.append((phrase(name, language), vector(note), vector(walk[name])))
        gap = max(gap, float((note - walk[name]).abs().max())) if name == "output" else gap
    said = phrase("rounded", language, gap=number(gap)) if gap > 1e-9 else phrase("equal", language)
    columns = tuple(phrase(name, language) for name in ("step", "note", "ours"))
    return [Heading(phrase("printed", language)), Table(columns, tuple(rows)), Prose(said)]


def _with_and_without(matrices: Matrices, row: int, language: str) -> list[Block]:
    rows = []
    for name, score in (("without", "dot"), ("with", "scaled_dot")):
        walk = steps(*matrices.tensors, score=score, row=row)
        rows.append((phrase(name, language), vector(walk.weights), vector(walk.output)))
    columns = "", phrase("weights", language), phrase("output", language)
    return [Heading(phrase("with and without", language)), Table(columns, tuple(rows))]


def _temperatures(matrices: Matrices, row: int, language: str) -> list[Block]:
    rows = []
    for temperature in _TEMPERATURES:
        walk = steps(*matrices.tensors, weights=Softmax(temperature) if temperature else Hard(), row=row)
        name = {0.0: phrase("hard", language), 1e300: phrase("uniform", language)}.get(temperature, number(temperature))
        rows.append((name, _rounded(walk.weights), vector(walk.output)))
    columns = tuple(phrase(name, language) for name in ("T", "weights", "output"))
    return [Heading(phrase("temperatures", language)), Table(columns, tuple(rows))]


def _rounded(weights: Tensor) -> str:
    return f"[{', '.join(f'{float(weight):.2f}' for weight in weights)}]"
