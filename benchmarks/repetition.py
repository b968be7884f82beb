"""How often translations repeat themselves, with the search settings of the model and with common ones.

    python benchmarks/repetition.py --choose    BLEU and repetition on dev for each setting
    python benchmarks/repetition.py             dev and dev in pairs, before and after
    python benchmarks/repetition.py --final     test too: once, when all choices are made

An output repeats itself if a trigram occurs in it twice. The words are those that BLEU compares (sacrebleu's 13a),
lower-cased. The fraction with a repeated bigram is reported too. The settings of the recipes were chosen by the first
command: the largest size of n-grams with which less than 2 % of the outputs for German repeat a trigram, which is also
used for Chinese; then the length penalty with the best BLEU. Dev in pairs joins two sentences of dev to one source,
which is longer than those in training. Test was not used for any choice. Nothing is random, so there is no seed.
"""

import argparse
import json
import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from measuring import RESULTS, conditions, paired
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

import regard
from regard import datasets
from regard.errors import UnreliablePrediction
from regard.files import write_json
from regard.tasks import NAMED_RECIPES, Seq2SeqModel
from regard.tasks.seq2seq.evaluation import evaluate_texts
from regard.tasks.seq2seq.model import grouped
from regard.tasks.seq2seq.settings import Seq2SeqSettings

MODELS = ("german-english", "chinese-english")
FILE = RESULTS / "repetition.json"
SETTINGS = ("no_repeat_ngram_size", "length_penalty")
USUAL = {name: getattr(Seq2SeqSettings(), name) for name in SETTINGS}
SIZES = (0, 2, 3, 4, 5)
LENGTH_PENALTIES = (0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.2, 2.4)
CHOSEN_SIZE = 3
TIMED = 200

tokenize = Tokenizer13a()


class Known(NamedTuple):
    """A source with all its right texts."""

    source: str
    right: tuple[str, ...]


def words(text: str) -> list[str]:
    return tokenize(text.lower()).split()


def repeats(text: str, size: int) -> bool:
    """Whether an n-gram of this size occurs twice."""
    found = words(text)
    ngrams = [tuple(found[place : place + size]) for place in range(len(found) - size + 1)]
    return len(set(ngrams)) < len(ngrams)


def examples(name: str, split: str) -> list[Known]:
    """The examples of a split of a model's data; those of "dev in pairs" are each two neighbours of dev."""
    named = NAMED_RECIPES[name]
    read = datasets.read(named.data, "dev" if split == "dev in pairs" else split, named.label)
    known = [Known(*each) for each in grouped((each.source, each.target) for each in read)]
    if split != "dev in pairs":
        return known
    return [
        Known(
            f"{sentence(one.source)} {sentence(other.source)}",
            (f"{sentence(one.right[0])} {sentence(other.right[0])}",),
        )
        for one, other in list(pairwise(known))[::2]
    ]


def sentence(text: str) -> str:
    """The text, with a full stop if it has no final punctuation."""
    text = text.strip()
    return text if text.endswith((".", "!", "?", "。", "！", "？", '"')) else f"{text}."


def written(model: Seq2SeqModel, known: Sequence[Known], settings: dict[str, Any]) -> list[str]:
    """The outputs of the model."""
    with warnings.catch_warnings():
        # Ignore the warning of longer sources than in training, which dev in pairs has.
        warnings.simplefilter("ignore", UnreliablePrediction)
        found = model.write([each.source for each in known], **settings)
    return ["" if each is None else each.text for each in found]


def figures(model: Seq2SeqModel, known: Sequence[Known], texts: Sequence[str]) -> dict[str, float]:
    """BLEU, the fractions of texts that repeat themselves, and their length relative to the first reference."""
    right = [each.right for each in known]
    return {
        "bleu": evaluate_texts(model.recipe.task, texts, right).score,
        **repetition(texts),
        "length": sum(len(words(text)) for text in texts) / sum(len(words(each[0])) for each in right),
    }


def repetition(texts: Sequence[str]) -> dict[str, float]:
    """The fractions of texts with a repeated trigram, and with a repeated bigram."""
    return {
        name: sum(repeats(text, size) for text in texts) / len(texts)
        for name, size in (("trigrams", 3), ("bigrams", 2))
    }


def choose(model: Seq2SeqModel) -> list[dict[str, Any]]:
    """Each setting with its figures on dev."""
    known = examples(model.name, "dev")
    asked = [{**USUAL, "no_repeat_ngram_size": size} for size in SIZES]
    asked += [{"no_repeat_ngram_size": CHOSEN_SIZE, "length_penalty": penalty} for penalty in LENGTH_PENALTIES]
    found = []
    for settings in asked:
        found.append({**settings, **figures(model, known, written(model, known, settings))})
        print(model.name, found[-1], flush=True)
    return found


def compare(model: Seq2SeqModel, splits: Sequence[str]) -> dict[str, Any]:
    """The figures of each split before and after, and the slowdown of the search."""
    settings = {name: getattr(model.recipe.task, name) for name in SETTINGS}
    found: dict[str, Any] = {"before": USUAL, "after": settings, "splits": {}}
    for split in splits:
        known = examples(model.name, split)
        found["splits"][split] = {
            "sources": len(known),
            "references": repetition([each.right[0] for each in known]),
            "before": figures(model, known, written(model, known, USUAL)),
            "after": figures(model, known, written(model, known, settings)),
        }
        print(model.name, split, found["splits"][split], flush=True)
    known = examples(model.name, "dev")[:TIMED]
    blocking = {**USUAL, "no_repeat_ngram_size": settings["no_repeat_ngram_size"]}
    for name, asked in (("seconds", settings), ("seconds of blocking alone", blocking)):
        timed = paired(lambda: written(model, known, USUAL), lambda asked=asked: written(model, known, asked))
        found[name] = {"sources": len(known), "before": timed.ours, "after": timed.theirs, "ratio": timed.ratio}
        found[name] |= {"low": timed.low, "high": timed.high, "rounds": timed.rounds}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--choose", action="store_true", help="measure each setting on dev")
    parser.add_argument("--final", action="store_true", help="read test: once, when all choices are made")
    given = parser.parse_args()
    torch.set_num_threads(1)
    held: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {"models": {}}
    for name in MODELS:
        model = regard.load(name)
        assert isinstance(model, Seq2SeqModel)
        entry = held["models"].setdefault(name, {})
        if given.choose:
            entry["choice"] = choose(model)
        else:
            found = compare(model, ("dev", "dev in pairs", *(["test"] if given.final else [])))
            if entry.get("after") == found["after"]:
                found["splits"] = {**entry["splits"], **found["splits"]}
            entry |= {**found, "test_reads": entry.get("test_reads", 0) + given.final}
    held["conditions"] = conditions("regard", "sacrebleu", threads=1)
    write_json(FILE, held)


if __name__ == "__main__":
    main()
