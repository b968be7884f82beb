"""Predictions: a model's prediction for a source as a value, as JSON, as rows of a table and as text."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.page.numbers import probability
from regard.page.visible import visible

__all__ = ["Prediction"]

_CUT = "(cut: it had not ended at the longest that is allowed)"


@dataclass(frozen=True)
class Prediction:
    """A model's prediction for a source; `str` formats it for people.

    Args:
        source: the source that was passed to `predict`.
        value: the result of the model's own method (`tag`, `classify`, `write` or `say`) for it. For an empty source it
            is None, or for a tagger an empty list.
        columns: the columns of a table of such predictions, without the source.
        missing: the columns that are null in JSON if there is no value; the others are left out.

    Example:
        >>> found = Prediction("a warm film", ("positive", 0.875), columns=("label", "score"))
        >>> found.to_json()
        {'source': 'a warm film', 'label': 'positive', 'score': 0.875}
        >>> str(found)
        '        positive     88%  a warm film'
    """

    source: Any
    value: Any
    columns: tuple[str, ...]
    missing: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The prediction as plain values; `source` is null unless it is a text, a path or a list of words."""
        return {"source": self._plain_source, **self._fields}

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of a table: one for each item from a tagger, else one. An empty source has one row too."""
        fields = self._fields
        rows = fields["items"] or [{}] if isinstance(self.value, list) else [fields]
        return [{"source": self._plain_source, **row} for row in rows]

    def __str__(self) -> str:
        source = self._plain_source
        shown = visible(source if isinstance(source, str) else " ".join(source or ()))
        match self.value:
            case None if self.missing == ("text",):
                # A generated text is printed without its source, one line for each source.
                return ""
            case None | []:
                return f"{'nothing':>24}  {shown}"
            case list() as items:
                pairs = [(visible(text), _formatted(value)) for text, value, *_ in items]
                # Names and labels that contain blanks would be ambiguous on one line.
                if any(" " in each for text, value, *_ in items for each in (text, str(value))):
                    return "\n".join(map("\t".join, pairs))
                return " ".join(map("/".join, pairs))
            case dict() as answers:
                return "\n".join(
                    [shown, *(f"  {probability(share):>6}  {visible(name)}" for name, share in answers.items())]
                )
            case (str() as text, float(), bool() as ended):
                return visible(text) + ("" if ended else f" ... {_CUT}")
            case (sound, bool() as ended, tuple()):
                return f"{sound.seconds:>10.2f} s  {shown}" + ("" if ended else f" {_CUT}")
            case (label, share):
                return f"{visible(label):>16}  {probability(share):>6}  {shown}"
            case number:
                return f"{number:>12.4f}  {shown}"

    @property
    def _fields(self) -> Mapping[str, Any]:
        """The value as a mapping from names to plain values."""
        match self.value:
            case None:
                return dict.fromkeys(self.missing)
            case list() as items:
                return {"items": [item._asdict() for item in items]}
            case dict() as answers:
                return answers
            case (sound, bool() as ended, tuple() as begins):
                parts: Any = (sound.seconds, ended, list(begins))
            case tuple() as parts:
                pass
            case number:
                return {self.columns[0]: number}
        rounded = (round(part, 6) if isinstance(part, float) else part for part in parts)
        return dict(zip(self.columns, rounded, strict=True))

    @property
    def _plain_source(self) -> Any:
        """The source if it is a text, a path or a list of words; None for an array, a sound or a graph."""
        match self.source:
            case str():
                return self.source
            case Path():
                return str(self.source)
            case list() | tuple() if all(isinstance(item, str) for item in self.source):
                return list(self.source)
        return None


def _formatted(value: Any) -> str:
    return visible(value) if isinstance(value, str) else f"{value:.4g}"
