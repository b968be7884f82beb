"""Word segmentation of text without spaces, by a tagger that labels where words begin."""

from collections.abc import Iterable
from itertools import accumulate, chain
from typing import TYPE_CHECKING

from regard.errors import ArgumentError
from regard.inputs import as_list, longest_match, trigrams

if TYPE_CHECKING:
    from regard.tasks.tagger.model import Tagger

__all__ = ["segment"]

# The label of `datasets.segmented`, which isn't imported for prediction.
_BEGINS = "B"


def segment(segmenter: "Tagger", texts: Iterable[str]) -> list[list[str]]:
    """Split texts into words.

    Args:
        segmenter: a tagger whose labels are those of a treebank's "segmentation".
        texts: sentences; words also end at spaces.

    Raises:
        ArgumentError: `segmenter` has other labels, or `texts` isn't a list of texts.

    Example:
        >>> import regard
        >>> segment(regard.load("chinese-segmentation"), ["他在看书。"])
        [['他', '在', '看书', '。']]
    """
    if _BEGINS not in segmenter.labels:
        raise ArgumentError(
            f"`segmenter` must be a tagger with the label {_BEGINS}, where words begin, but {segmenter.name} has "
            f"{', '.join(segmenter.labels[:8])}."
        )
    chunks = [[longest_match(chunk, ()) for chunk in text.split()] for text in as_list("texts", texts, "texts")]
    units = [[*chain.from_iterable(own)] for own in chunks]
    found: list[list[str]] = []
    for own, parts, items in zip(chunks, units, segmenter.tag(map(trigrams, units)), strict=True):
        begins = {0, *accumulate(map(len, own))}
        words: list[str] = []
        for place, (part, item) in enumerate(zip(parts, items, strict=True)):
            if place in begins or item.label == _BEGINS:
                words.append(part)
            else:
                words[-1] += part
        found.append(words)
    return found
