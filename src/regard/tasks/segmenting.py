"""Words of a text without spaces, by a tagger that learned where they begin."""

from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING

from regard.errors import ArgumentError
from regard.inputs import as_list, longest_match

if TYPE_CHECKING:
    from regard.tasks.tagger import Tagger

__all__ = ["segment"]

# As `datasets.segmented` has it, which isn't needed to answer.
_BEGINS = "B"


def segment(segmenter: "Tagger", texts: Iterable[str]) -> list[list[str]]:
    """Split texts into words.

    Args:
        segmenter: a tagger whose labels are those of a treebank's "segmentation".
        texts: each a sentence; where there are spaces, words end, too.

    Raises:
        ArgumentError: another tagger, or no list of texts.

    Example:
        >>> import regard
        >>> segment(regard.load("chinese-segmentation"), ["他在看书。"])
        [['他', '在', '看', '书', '。']]
    """
    if _BEGINS not in segmenter.labels:
        raise ArgumentError(
            f"`segmenter` must be a tagger with the label {_BEGINS}, where words begin, but {segmenter.name} has "
            f"{', '.join(segmenter.labels[:8])}."
        )
    chunks = [[longest_match(chunk, ()) for chunk in text.split()] for text in as_list("texts", texts, "texts")]
    tagged = segmenter.tag([[*chain.from_iterable(own)] for own in chunks])
    found: list[list[str]] = []
    for own, items in zip(chunks, tagged, strict=True):
        begins = {0}
        for chunk in own:
            begins.add(max(begins) + len(chunk))
        words: list[str] = []
        for place, item in enumerate(items):
            if place in begins or item.label == _BEGINS:
                words.append(item.text)
            else:
                words[-1] += item.text
        found.append(words)
    return found
