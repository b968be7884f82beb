"""Taggers that know words by a vector of each, and nothing of their spelling."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor

from regard.inputs import WordVectors
from regard.lab.texts.tagger import DATA, tagger_data, tagger_recipe, without_warnings
from regard.lab.texts.word_meanings import closeness, counted_vectors, drawn_vectors, usual_labels
from regard.lab.training import first_examples
from regard.tasks import Tagger, train

__all__ = ["measure_word_tagger"]

_DROPPED = 0.2


def measure_word_tagger(setting: Mapping[str, Any], kind: str, seed: int) -> dict[str, float]:
    """Train a tagger of words by their vectors, and measure it.

    Args:
        setting: as in `regard.lab.texts.tagger`, and `size`, the size of the vectors; `input` is replaced.
        kind: "one_hot": a learned row for each word that occurs twice in the labelled sentences; "counted": vectors
            that were counted from the sentences of train without labels; "drawn": random vectors of the same words.
        seed: the seed.

    Returns:
        the accuracy; the accuracy on words that the labelled sentences don't have; the closeness of the vectors; and
        that of what the first layer makes of them.
    """
    size = setting["size"]
    setting = {name: value for name, value in setting.items() if name != "size"}
    examples, dev = ([(_lower(sentence.words), sentence.labels) for sentence in part] for part in tagger_data(setting))
    if kind == "one_hot":
        given = {"word_width": size, "affix_width": 0, "ngram_width": 0, "shape_width": 0, "embedding_dropout": 0.0}
        given |= {"word_dropout": _DROPPED, "features": {"minimum_count": 2}}
        vectors = None
    else:
        given = {"kind": "vectors", "item_dropout": _DROPPED}
        vectors = _counted(size)
        if kind == "drawn":
            vectors = drawn_vectors(vectors.words, size, seed)
    recipe = tagger_recipe({**setting, "input": given}, seed)
    tagger = train(_as(vectors, examples), _as(vectors, dev), recipe=recipe, progress="none")
    return {**_accuracies(tagger, vectors, examples, dev), **_closenesses(tagger, vectors, usual_labels(examples))}


@cache
def _counted(size: int) -> WordVectors:
    return counted_vectors([sentence.words for sentence in first_examples(DATA, "train")], size)


def _lower(words: Sequence[str]) -> list[str]:
    return [word.lower() for word in words]


def _as(vectors: WordVectors | None, pairs: Sequence[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """The sentences as the tagger reads them."""
    return [(words if vectors is None else vectors.encode([words]).vectors[0], labels) for words, labels in pairs]


def _accuracies(
    tagger: Tagger, vectors: WordVectors | None, examples: Sequence[Any], dev: Sequence[Any]
) -> dict[str, float]:
    known = {word for words, _ in examples for word in words}
    with without_warnings():
        tagged = tagger.tag([source for source, _ in _as(vectors, dev)])
    right = [
        (word in known, said.label == label)
        for (words, labels), row in zip(dev, tagged, strict=True)
        for word, label, said in zip(words, labels, row, strict=True)
    ]
    new = [correct for known, correct in right if not known]
    return {
        "accuracy": sum(correct for _, correct in right) / len(right),
        "accuracy on new words": sum(new) / len(new) if new else 0.0,
    }


def _closenesses(tagger: Tagger, vectors: WordVectors | None, labels: Mapping[str, str]) -> dict[str, float]:
    words = [word for word in labels if vectors is None or vectors.knows(word)]
    usual = [labels[word] for word in words]
    # One-hot vectors of distinct words are the rows of an identity matrix.
    given: Tensor = torch.eye(len(words)) if vectors is None else vectors.encode([words]).vectors[0]
    with torch.no_grad():
        batch = tagger.encode([words if vectors is None else given])
        after = tagger.network.embedding(batch.vectors)[0]
    return {"closeness": closeness(given, usual), "closeness after the first layer": closeness(after, usual)}
