"""Taggers that know a word only by its vector, not by its spelling."""

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

_DROPOUT = 0.2


def measure_word_tagger(setting: Mapping[str, Any], kind: str, seed: int) -> dict[str, float]:
    """Train a tagger that reads a vector for each word, and measure it.

    Args:
        setting: as in `regard.lab.texts.tagger`, and `size`, the size of the vectors; `input` is replaced.
        kind: "one_hot": a learned vector for each word that occurs at least twice in the labelled sentences;
            "counted": vectors that were counted from the sentences of train, without labels;
            "drawn": random vectors of the same words.
        seed: the seed.

    Returns:
        the accuracy; the accuracy on words that the labelled sentences don't have; the closeness of the vectors;
        and their closeness after the first layer.
    """
    size = setting["size"]
    setting = {name: value for name, value in setting.items() if name != "size"}
    examples, dev = (
        [(_lower(sentence.words), sentence.labels) for sentence in split] for split in tagger_data(setting)
    )
    if kind == "one_hot":
        input_settings = {
            "word_width": size,
            "affix_width": 0,
            "ngram_width": 0,
            "shape_width": 0,
            "embedding_dropout": 0.0,
        }
        input_settings |= {"word_dropout": _DROPOUT, "features": {"minimum_count": 2}}
        vectors = None
    else:
        input_settings = {"kind": "vectors", "item_dropout": _DROPOUT}
        vectors = _counted_vectors(size)
        if kind == "drawn":
            vectors = drawn_vectors(vectors.words, size, seed)
    recipe = tagger_recipe({**setting, "input": input_settings}, seed)
    tagger = train(_as_sources(vectors, examples), _as_sources(vectors, dev), recipe=recipe, progress="none")
    return {**_accuracies(tagger, vectors, examples, dev), **_closenesses(tagger, vectors, usual_labels(examples))}


@cache
def _counted_vectors(size: int) -> WordVectors:
    return counted_vectors([sentence.words for sentence in first_examples(DATA, "train")], size)


def _lower(words: Sequence[str]) -> list[str]:
    return [word.lower() for word in words]


def _as_sources(vectors: WordVectors | None, pairs: Sequence[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """The sentences as the tagger reads them."""
    return [(words if vectors is None else vectors.encode([words]).vectors[0], labels) for words, labels in pairs]


def _accuracies(
    tagger: Tagger, vectors: WordVectors | None, examples: Sequence[Any], dev: Sequence[Any]
) -> dict[str, float]:
    seen_words = {word for words, _ in examples for word in words}
    with without_warnings():
        tagged = tagger.tag([source for source, _ in _as_sources(vectors, dev)])
    results = [
        (word in seen_words, prediction.label == label)
        for (words, labels), row in zip(dev, tagged, strict=True)
        for word, label, prediction in zip(words, labels, row, strict=True)
    ]
    new = [correct for seen, correct in results if not seen]
    return {
        "accuracy": sum(correct for _, correct in results) / len(results),
        "accuracy on new words": sum(new) / len(new) if new else 0.0,
    }


def _closenesses(tagger: Tagger, vectors: WordVectors | None, labels: Mapping[str, str]) -> dict[str, float]:
    words = [word for word in labels if vectors is None or vectors.knows(word)]
    word_labels = [labels[word] for word in words]
    # One-hot vectors of distinct words are the rows of an identity matrix.
    before: Tensor = torch.eye(len(words)) if vectors is None else vectors.encode([words]).vectors[0]
    with torch.no_grad():
        batch = tagger.encode([words if vectors is None else before])
        after = tagger.network.embedding(batch.vectors)[0]
    return {
        "closeness": closeness(before, word_labels),
        "closeness after the first layer": closeness(after, word_labels),
    }
