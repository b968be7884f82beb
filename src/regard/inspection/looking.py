"""Tagging sentences while watching: one record a sentence."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from torch import Tensor, nn

from regard.inspection.observe import observed
from regard.inspection.record import LayerRecord, Record

__all__ = ["MOST_WORDS", "look"]

# A record holds every weight, n x n of them a head: 2 000 words are 64 MB a layer of four heads.
MOST_WORDS = 2000
# As many weights a head and layer at a time as one sentence of 500 words has.
_MOST_WEIGHTS = 500 * 500


class _Labeller(Protocol):
    """What a tagger must offer to be watched (room `tasks` has one)."""

    @property
    def name(self) -> str: ...
    @property
    def labels(self) -> Sequence[str]: ...
    @property
    def network(self) -> nn.Module: ...
    def encode(self, sources: Sequence[Sequence[str]]) -> Any: ...
    def score(self, batch: Any) -> Tensor: ...


def look(tagger: _Labeller, sentences: Iterable[Sequence[str]]) -> Iterator[Record]:
    """Tag sentences and keep what each word looked at.

    Sentences go through together where they are short. One of more than 2 000 words (`MOST_WORDS`) is tagged too, in
    linear memory, but its record holds no layers: its weights alone would fill the memory.

    Args:
        tagger: a tagger, such as `regard.load` gives.
        sentences: each a sequence of words.

    Yields:
        a record for each sentence, in the order given.

    Example:
        >>> import regard
        >>> (record,) = look(regard.load("english-pos"), [["I", "saw", "it"]])
        >>> record.labels, len(record.layers), record.layers[0].weights.shape
        (('PRON', 'VERB', 'PRON'), 2, torch.Size([4, 3, 3]))
    """
    group: list[Sequence[str]] = []
    longest = 0
    for words in sentences:
        if group and (len(group) + 1) * max(longest, len(words)) ** 2 > _MOST_WEIGHTS:
            yield from _look(tagger, group)
            group, longest = [], 0
        group.append(words)
        longest = max(longest, len(words))
    if group:
        yield from _look(tagger, group)


def _look(tagger: _Labeller, group: Sequence[Sequence[str]]) -> Iterator[Record]:
    batch = tagger.encode(group)
    if max(map(len, group)) > MOST_WORDS:
        scores, sightings = tagger.score(batch), []
    else:
        with observed(tagger.network) as sightings:
            scores = tagger.score(batch)
    best = scores.softmax(-1).max(-1)
    labels: list[list[int]] = best.indices.tolist()
    shares: list[list[float]] = best.values.tolist()
    for index, words in enumerate(group):
        count = len(words)
        layers = tuple(
            LayerRecord(f"layer {number}", seen.weights[index, :, :count, :count], seen.source, seen.normaliser)
            for number, seen in enumerate(sightings, start=1)
        )
        yield Record(
            tuple(words),
            tuple(tagger.labels[label] for label in labels[index][:count]),
            tuple(shares[index][:count]),
            layers,
            tagger.name,
        )
