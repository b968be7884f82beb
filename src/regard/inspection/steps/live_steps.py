"""The page of the steps whose numbers can be edited: inputs, matrices, mask and temperature; the rest follows."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from regard.attention.formulas import Given
from regard.attention.masks import Dense, as_mask
from regard.attention.scores import SCORES
from regard.attention.weights import WEIGHTS
from regard.errors import ArgumentError, UnknownNameError
from regard.files import write_text
from regard.inspection.record.numbered import numbered
from regard.inspection.steps.evaluation import as_json
from regard.inspection.steps.examples import WorkedExample
from regard.inspection.steps.matrices import Matrices
from regard.inspection.steps.named_parts import STEP_SCORES, named_parts
from regard.inspection.steps.numbers import number
from regard.inspection.steps.phrases import LANGUAGES, phrase, phrases
from regard.inspection.steps.quantity import Step
from regard.inspection.steps.steps import Steps, steps
from regard.inspection.steps.steps_page import example_page, matrices_blocks, steps_page
from regard.page import Block, Heading, Page, Prose, Table
from regard.page.scripted import as_worked_html
from regard.page.visible import visible

__all__ = ["formulas_json", "is_editable", "live_steps", "save_steps"]

# The page shows every number in a table of its own; nobody edits more.
_MOST_ROWS = 24
# The script computes products of products of what is edited, which must not overflow.
_LARGEST = 1e100
_LETTERS = {"query": "Wq", "key": "Wk", "value": "Wv"}


def is_editable(matrices: Matrices) -> bool:
    """Whether `live_steps` can show these matrices: of up to 24 rows and columns, and no number beyond 1e100.

    Example:
        >>> [is_editable(Matrices.of([[1]], [[1]] * keys, [[1]] * keys)) for keys in (24, 25)]
        [True, False]
    """
    each = (matrices.query, matrices.key, matrices.value)
    return all(min(m.shape) > 0 and max(m.shape) <= _MOST_ROWS and float(m.abs().max()) <= _LARGEST for m in each)


def live_steps(
    worked: WorkedExample | Matrices,
    *,
    title: str = "",
    row: int = 0,
    column: int | None = None,
    language: str = "en",
    **parts: Any,
) -> str:
    """The page of a worked example, or of one's own matrices, on which every number can be edited: one offline file.

    Each edit is computed through to the outputs. The address of the page holds what was edited. Without a script the
    page is tables of the numbers as they are given.

    Args:
        worked: the example, or the matrices.
        title: the title of the page of matrices; an example has its own.
        row, column: the indices of the query and of the key that are written out first; by default the key with the
            largest weight.
        language: the language that the page begins in, "en" or "zh".
        parts: `score`, `weights`, `temperature` and `mask` of `named_parts`; the score is that of the example, or
            "scaled_dot".

    Raises:
        ArgumentError: a part can't be used, there is no such row or column, or the matrices are larger than the page
            can show.
        UnknownNameError: there is no such score, normaliser or language.

    Example:
        >>> text = live_steps(Matrices.of([[1, 0]], [[1, 1], [0, 2]], [[2], [3]]), title="mine", score="dot")
        >>> text.startswith("<!doctype html>"), "default-src &#x27;none&#x27;" in text, "connect-src" in text
        (True, True, False)
    """
    example = worked if isinstance(worked, WorkedExample) else None
    matrices = worked.matrices if isinstance(worked, WorkedExample) else worked
    if language not in LANGUAGES:
        raise UnknownNameError("language", language, LANGUAGES)
    if not is_editable(matrices):
        raise ArgumentError(
            f"`worked` must be matrices of 1 to {_MOST_ROWS} rows and columns, with numbers up to {_LARGEST:g}, but "
            "isn't. Choose some rows, or use `steps_page`."
        )
    names: dict[str, Any] = {"score": example.score if example else "scaled_dot", **parts}
    used = named_parts(matrices, **names)
    walks = [steps(*matrices.tensors, **used, row=i) for i in range(len(matrices.query))]
    walk = steps(*matrices.tensors, **used, row=row, column=column)
    titles: Mapping[str, str] = example.title if example else dict.fromkeys(LANGUAGES, visible(title) or "regard")
    still = _still(example, matrices, walk, walks, titles, language)
    data = {
        "lang": language,
        "title": titles,
        "about": example.about if example else None,
        **_matrices(example, matrices),
        "items": _names(matrices.items),
        "queryItems": _names(matrices.query_items),
        **_chosen(**names),
        "steps": formulas_json(matrices.query.shape[1]),
        "allowed": [each.allowed.tolist() for each in walks],
        "masked": type(as_mask(used["mask"])) is not Dense,
        "row": walk.row,
        "column": walk.column,
        "printed": {name: list(values) for name, values in example.printed.items()} if example else {},
        "phrases": {each: phrases(each) for each in LANGUAGES},
    }
    return as_worked_html(still, data, language=language)


def save_steps(worked: WorkedExample | Matrices, path: str | Path, **options: Any) -> None:
    """Write the page of `live_steps` to a file, which any browser opens, without a network.

    Args:
        worked: the example, or the matrices.
        path: the file, such as "steps.html"; an old one is replaced, in one step.
        options: those of `live_steps`.

    Raises:
        ArgumentError, UnknownNameError: as in `live_steps`.
        OSError: the disk is full, or the folder isn't writable.

    Example:
        >>> import tempfile
        >>> from regard.inspection.steps import EXAMPLES
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_steps(EXAMPLES["002"], f"{folder}/steps.html", language="zh")
        ...     Path(f"{folder}/steps.html").stat().st_size < 200_000
        True
    """
    write_text(path, live_steps(worked, **options))


def _matrices(example: WorkedExample | None, matrices: Matrices) -> dict[str, Any]:
    """What can be edited: inputs and projections; one matrix that is all three; or query, key and value."""
    if example is not None and example.inputs:
        projections = {_LETTERS[name]: rows for name, rows in example.projections.items()}
        return {"form": "projected", "matrices": {"X": example.inputs, **projections}}
    query, key, value = matrices.query, matrices.key, matrices.value
    if torch.equal(query, key) and torch.equal(key, value) and matrices.items == matrices.query_items:
        return {"form": "same", "matrices": {"X": query.tolist()}}
    return {"form": "given", "matrices": {"Q": query.tolist(), "K": key.tolist(), "V": value.tolist()}}


def formulas_json(size: int) -> dict[str, dict[str, Any]]:
    """The formulas of the scores and normalisers that can be chosen, by their names, for vectors of this size."""
    scores = {name: getattr(SCORES[name], "plain", None) for name in STEP_SCORES}
    parts: dict[str, dict[str, Any]] = {
        "score": {name: SCORES[name]() if plain is None else plain(size) for name, plain in scores.items()},
        "weights": {name: made() for name, made in WEIGHTS.items()},
    }
    return {kind: {name: as_json(part.steps()) for name, part in of.items()} for kind, of in parts.items()}


def _chosen(score: str, weights: str = "softmax", temperature: float = 1.0, mask: Any = None) -> dict[str, Any]:
    """The names of the parts, and the number that the normaliser takes; JSON has no infinity."""
    steps_of: Any = WEIGHTS[weights]()
    parameter = next((each.value for each in steps_of.steps() if isinstance(each, Given) and each.limits), None)
    if temperature != 1:
        parameter = "inf" if math.isinf(temperature) else temperature
    return {"score": score, "weights": weights, "parameter": parameter}


def _names(items: Sequence[str]) -> list[str]:
    return [visible(name).strip() or str(i) for i, name in enumerate(numbered(items), start=1)]


def _still(
    example: WorkedExample | None,
    matrices: Matrices,
    walk: Steps,
    walks: Sequence[Steps],
    titles: Mapping[str, str],
    language: str,
) -> Page:
    """What is there without a script: the steps of one row, as the terminal shows them, and the numbers of all rows."""
    if example is not None:
        page = example_page(example, walk, language)
    else:
        query_item = matrices.query_items[walk.row]
        shown = steps_page(walk, language, items=matrices.items, query_item=query_item)
        page = Page("", (*matrices_blocks(matrices, language), *shown.blocks))
    blocks: list[Block] = [*page.blocks]
    if example is not None and example.inputs:
        blocks.append(Heading(phrase("inputs", language)))
        for name, rows in {"X": example.inputs, **{_LETTERS[k]: v for k, v in example.projections.items()}}.items():
            names = matrices.items if name == "X" else tuple(str(i) for i in range(1, len(rows) + 1))
            blocks.append(_table(name, names, tuple(str(i) for i in range(1, len(rows[0]) + 1)), rows))
    seeing = next((each for each in walks if each.allowed.any()), None)
    blocks.append(Heading(phrase("all rows", language)))
    items, queries = _names(matrices.items), _names(matrices.query_items)
    for step in seeing.steps if seeing else ():
        if step.axes == ("key",):
            rows = [each[step.name].tolist() if step.name in each else None for each in walks]
            blocks += [Prose(_titled(step, language)), _table("", queries, items, rows)]
    last = walk.steps[-1]
    features = [str(i) for i in range(1, len(last.values) + 1)]
    outputs = [each.output.tolist() for each in walks]
    blocks += [Prose(_titled(last, language)), _table("", queries, features, outputs)]
    return Page(titles[language], tuple(blocks))


def _titled(step: Step, language: str) -> str:
    return phrase("named formula", language, name=phrase(step.name, language), formula=step.formula)


def _table(corner: str, names: Sequence[str], columns: Sequence[str], rows: Sequence[Sequence[float] | None]) -> Table:
    cells = (tuple(map(number, row)) if row is not None else ("",) * len(columns) for row in rows)
    shown = tuple((name, *each) for name, each in zip(names, cells, strict=True))
    return Table((corner, *columns), shown, ("left", *("right" for _ in columns)))
