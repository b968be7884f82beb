"""Warnings about a seq2seq model that was just trained: it writes nothing, or the same for every source."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from regard.errors import UnreliablePrediction
from regard.tasks.examples import as_pairs

__all__ = ["text_warnings"]

_SOURCES = 50


def text_warnings(model: Any, dev: Sequence[Any]) -> Iterator[str]:
    """Warnings about the texts that the model writes for some sources of dev."""
    pairs = as_pairs(dev[:_SOURCES])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliablePrediction)
        written = model.write([source for source, _ in pairs])
    texts = {"" if each is None else each.text for each in written}
    if texts == {""}:
        yield "It writes nothing for any source of dev."
    elif len(texts) == 1 and len({target for _, target in pairs}) > 1:
        yield f"It writes the same for every source of dev: {texts.pop()!r:.60}."
