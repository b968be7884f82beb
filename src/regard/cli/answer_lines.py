"""Answers as lines: of text, of JSON, or of CSV."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from regard.cli.options import Written
from regard.page.numbers import probability
from regard.page.visible import visible
from regard.tasks import GeneratedText

__all__ = ["LINES", "plain_answer"]


def plain_answer(answer: Any, nothing: Sequence[str] = ("label",)) -> dict[str, Any]:
    """An answer as names and plain values; `nothing` are the names of what isn't there where there is no answer.

    Example:
        >>> plain_answer(("positive", 0.875)), plain_answer(1.5), plain_answer(None)
        ({'label': 'positive', 'score': 0.875}, {'number': 1.5}, {'label': None})
    """
    if answer is None:
        return {"items": []} if nothing == ("items",) else dict.fromkeys(nothing)
    if isinstance(answer, dict):
        return dict(answer)
    if isinstance(answer, GeneratedText):
        return {"text": answer.text, "score": round(answer.score, 6), "ended": answer.ended}
    if isinstance(answer, list):
        return {"items": [item._asdict() for item in answer]}
    return {"number": answer} if isinstance(answer, float) else {"label": answer[0], "score": round(answer[1], 6)}


_CUT = " ... (cut: it had not ended at the longest that is allowed)"


def _json(model: Any, source: str, answer: Any, *, first: bool) -> Iterator[str]:
    yield json.dumps({"source": source, **plain_answer(answer, model.missing)}, ensure_ascii=False)


def _csv(model: Any, source: str, answer: Any, *, first: bool) -> Iterator[str]:
    plain = plain_answer(answer, model.missing)
    # A source without items has a row too: none is passed over.
    rows = [{"source": source, **row} for row in plain.get("items", [plain]) or [{}]]
    for place, row in enumerate(rows):
        held = io.StringIO()
        writer = csv.DictWriter(held, ["source", *model.columns], lineterminator="", restval="")
        if first and place == 0:
            writer.writeheader()
            yield held.getvalue()
            held.seek(0)
            held.truncate()
        writer.writerow(row)
        yield held.getvalue()


def _text(model: Any, source: str, answer: Any, *, first: bool) -> Iterator[str]:
    shown = visible(source)
    if answer is None and model.missing == ("text",):
        # What is written stands line by line beside its sources.
        yield ""
    elif answer is None or answer == []:
        yield f"{'nothing':>24}  {shown}"
    elif isinstance(answer, dict):
        yield shown
        for question, share in answer.items():
            yield f"  {probability(share):>6}  {visible(question)}"
    elif isinstance(answer, list) and any(" " in each for item in answer for each in (item.text, str(item[1]))):
        # Side by side, names and labels with blanks couldn't be told apart.
        yield from (f"{visible(item.text)}\t{_said(item[1])}" for item in answer)
    elif isinstance(answer, list):
        yield " ".join(f"{visible(item.text)}/{_said(item[1])}" for item in answer)
    elif isinstance(answer, GeneratedText):
        yield visible(answer.text) + ("" if answer.ended else _CUT)
    elif isinstance(answer, float):
        yield f"{answer:>12.4f}  {shown}"
    else:
        yield f"{visible(answer[0]):>16}  {probability(answer[1]):>6}  {shown}"


def _said(value: Any) -> str:
    return visible(value) if isinstance(value, str) else f"{value:.4g}"


LINES: dict[Written, Callable[..., Iterator[str]]] = {Written.text: _text, Written.json: _json, Written.csv: _csv}
"""The lines of an answer, by how it is written: (model, source, answer, first=whether it is the first)."""
