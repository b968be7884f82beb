"""The floor of each text classifier: a linear model of tf-idf on the splits of its row. Every run is recorded.

    python benchmarks/linear.py ROW... [--final] [--again]

A row is one of tasks.json whose recipe classifies texts. The features are n-grams of one to three words, of one to
three characters, or both, folded and put into lower case as the recipe does; words are what the recipe takes for words.
The model is logistic regression. The features, the strength of regularisation and, if a data
set has phrases, whether to learn from them too, are chosen on dev; `--final` then reads test with these settings. Rows
on the same data share their result.
"""

import argparse
import dataclasses
import importlib.metadata
import json
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from training import test_reads

import tasks
from regard import datasets
from regard.files import write_text
from regard.inputs import FOLDINGS
from regard.lab.measurement import processor
from regard.tasks import NAMED_RECIPES, Recipe
from regard.tasks.judging.intervals import wilson
from regard.tasks.sources.word_source import CUTS

LINES = Path(__file__).parent / "results" / "linear.jsonl"
UNITS = {"words and characters": ("words", "characters"), "words": ("words",), "characters": ("characters",)}
"""The units of n-grams, which are chosen on dev."""
STRENGTHS = (0.5, 2.0, 8.0, 32.0, 128.0)
"""The inverse strengths of regularisation, which are chosen on dev: `C` of scikit-learn."""
SENTENCES = {"sst2-phrases": "sst2"}
"""Data sets whose training examples include phrases, and the data set with only the sentences."""


def is_text_classifier(row: str) -> bool:
    """Whether a row is a classifier of texts."""
    named = NAMED_RECIPES[row]
    known = datasets.DATASETS.get(named.data)
    return known is not None and (known.modality, named.recipe.task.kind) == ("text", "classifier")


ROWS = tuple(row for row in tasks.ROWS if is_text_classifier(row))
"""The rows that have a linear model."""


def reading(recipe: Recipe) -> tuple[Callable[[str], str], Callable[[str], Sequence[str]]]:
    """How a recipe normalises a text, and how it splits it into words."""
    features = recipe.input.features
    fold = FOLDINGS[features.fold]

    def written(text: str) -> str:
        return fold(text.lower() if features.case == "lower" else text)

    return written, CUTS[recipe.input.cut]


def features_of(recipe: Recipe, units: str) -> FeatureUnion:
    """An unfitted tf-idf of a text's n-grams.

    Args:
        recipe: the recipe of the row.
        units: one of `UNITS`.
    """
    written, cut = reading(recipe)
    ngrams: dict[str, Any] = {"ngram_range": (1, 3), "sublinear_tf": True, "preprocessor": written}
    kinds = {
        "words": TfidfVectorizer(tokenizer=cut, token_pattern=None, **ngrams),
        "characters": TfidfVectorizer(analyzer="char", **ngrams),
    }
    return FeatureUnion([(each, kinds[each]) for each in UNITS[units]])


def labelled(examples: Iterable[Any]) -> tuple[list[str], list[str]]:
    """The texts that have a label, and their labels."""
    known = [each for each in examples if each.target is not None]
    return [each.source for each in known], [each.target for each in known]


def right(model: Any, vectors: Any, labels: Sequence[str]) -> int:
    """The number of texts that a fitted model gets right."""
    return sum(given == wanted for given, wanted in zip(model.predict(vectors), labels, strict=True))


@dataclasses.dataclass(frozen=True)
class Chosen:
    """The pipeline that is best on dev, fitted.

    Attributes:
        fitted: the pipeline.
        dev: its accuracy on dev.
        trained_on: the data set of its training examples.
        units: the units of its n-grams.
        strength: its `C`.
        examples, features: the numbers of training examples and features.
    """

    fitted: Pipeline
    dev: float
    trained_on: str
    units: str
    strength: float
    examples: int
    features: int


def choose(row: str, seed: int) -> Chosen:
    """Fit a row's linear models on train, and choose the best on dev, the first among equals."""
    named = NAMED_RECIPES[row]
    texts, wanted = labelled(datasets.read(named.data, "dev", named.label))
    found: list[Chosen] = []
    for data in filter(None, (named.data, SENTENCES.get(named.data))):
        train, labels = labelled(datasets.read(data, "train", named.label))
        for units in UNITS:
            features = features_of(named.recipe, units)
            vectors = features.fit_transform(train)
            dev = features.transform(texts)
            for strength in STRENGTHS:
                model = LogisticRegression(C=strength, solver="liblinear", random_state=seed, max_iter=1000)
                share = right(model.fit(vectors, labels), dev, wanted) / len(wanted)
                print(f"{row}, trained on {data}, {units}, C {strength:g}: dev {share:.4f}", flush=True)
                fitted = make_pipeline(features, model)
                found.append(Chosen(fitted, share, data, units, strength, len(train), vectors.shape[1]))
    return max(found, key=lambda each: each.dev)


def lines() -> list[dict[str, Any]]:
    """The recorded runs."""
    return [json.loads(line) for line in LINES.read_text(encoding="utf-8").splitlines()] if LINES.exists() else []


def run(row: str, *, seed: int = 0, final: bool = False, again: bool = False) -> None:
    """Run a row's linear model and record it, unless it is recorded.

    Args:
        row: the row.
        seed: the seed of scikit-learn's solver.
        final: read test, with the settings that were chosen on dev.
        again: run it even if it is recorded; the last record counts.
    """
    named = NAMED_RECIPES[row]
    known = [line for line in lines() if (line["data"], line["label"]) == (named.data, named.label)]
    if not again and any(line["test"] is not None or not final for line in known):
        return
    started = time.perf_counter()
    chosen = choose(row, seed)
    test, interval = None, None
    if final:
        texts, wanted = labelled(datasets.read(named.data, "test", named.label))
        count = right(chosen.fitted, texts, wanted)
        test = count / len(wanted)
        interval = wilson(test, len(wanted))
    line = {
        "row": row,
        "data": named.data,
        "label": named.label,
        "seed": seed,
        "trained_on": chosen.trained_on,
        "examples": chosen.examples,
        "units": chosen.units,
        "features": chosen.features,
        "C": chosen.strength,
        "measure": "accuracy",
        "dev": chosen.dev,
        "test": test,
        "interval": interval,
        "test_reads": test_reads(known) + final,
        "seconds": round(time.perf_counter() - started, 1),
        "versions": {"scikit-learn": importlib.metadata.version("scikit-learn"), "python": platform.python_version()},
        "machine": processor(),
    }
    write_text(LINES, "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in [*lines(), line]))
    said = f", test {test:.4f}" if test is not None else "; --final reads test"
    taken = f"{chosen.trained_on}, {chosen.units}, C {chosen.strength:g}, {chosen.features:,} features"
    print(f"{row}: {taken}: dev {chosen.dev:.4f}{said}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rows", nargs="+", metavar="ROW", choices=ROWS, help=", ".join(ROWS))
    parser.add_argument("--final", action="store_true", help="read test, with the settings that were chosen on dev")
    parser.add_argument("--again", action="store_true", help="run what is recorded again")
    given = parser.parse_args()
    for row in given.rows:
        run(row, final=given.final, again=given.again)


if __name__ == "__main__":
    main()
