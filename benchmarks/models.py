"""`make models`: train every bundled model, put it into the package, and record every run.

    python benchmarks/models.py [NAME...]
    python benchmarks/models.py --search NAME...

For parts of speech, three seeds are trained. The bundled model is the best on dev of those that tag the notes' own
sentence correctly: seeds differ by less than the uncertainty of the dev score, and a demonstration must not fail. For
`context.py`, the same recipe is also trained without attention for English. The other models are those of the rows of
tasks.json with a "model": the best on dev of the seeds that `tasks.py` has trained, or the first seed if it has trained
none. Only the chosen model reads test, for its card; for parts of speech every seed does, for their table. Runs are in
runs/, where a stopped run is resumed.

With --search nothing is trained: bundled seq2seq models get the current search settings of their recipes (`SEARCH`),
which don't affect training, and are evaluated again.
"""

import argparse
import dataclasses
import json
import statistics
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from measuring import RESULTS, save
from training import ROOT, RUNS, described, test_reads, train

import regard
import tasks
from regard import datasets
from regard.files import write_json, write_text
from regard.tasks import NAMED_RECIPES, RECIPES

BUNDLED = ROOT / "src" / "regard" / "tasks" / "models"
SEEDS = (0, 1, 2)
SEARCH = ("beams", "length_penalty", "no_repeat_ngram_size")
"""The settings of a recipe's task that affect the search for a text, and not training."""


class Model(NamedTuple):
    """A model to bundle: its data, its title, and the notes' sentence with the required beginnings of its labels."""

    data: str
    title: str
    example: str
    labels: str


MODELS = {
    "english-pos": Model(
        "ud-english-ewt", "English parts of speech (UPOS)", "I saw a saw .", "PRON VERB DET NOUN PUNCT"
    ),
    # 常威 and 来福 are out-of-vocabulary names, so any kind of noun is accepted.
    "chinese-pos": Model(
        "ud-chinese-gsd",
        "Chinese parts of speech (XPOS), simplified characters",
        "我 一 进门 就 看见 常威 在 打 来福",
        "PRP CD VV|NN RB VV NN BB|RB|IN|VV VV NN",
    ),
}


def run(name: str, data: str, seed: int, recipe: Path | None = None) -> dict:
    """Run and evaluate on test; returns the record."""
    words = ["regard", "train", "tagger", "--data", data]
    if recipe is not None:
        words += ["--recipe", str(recipe.relative_to(ROOT))]
    return {"model": name, **train(name, words, seed=seed, final=True)}


def counted(name: str, runs: list[dict]) -> list[dict]:
    """The records of a model's runs, each with the number of reads of test up to it."""
    path = RESULTS / "runs.jsonl"
    before = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    known = test_reads([line for line in before if line["model"] == name])
    return [{**run, "test_reads": known + place} for place, run in enumerate(runs, start=1)]


def bundle(name: str, model: Model, runs: list[dict]) -> None:
    """Put the chosen run's model into the package, under its own name."""
    for run in sorted(runs, key=lambda run: run["dev"], reverse=True):
        tagger = regard.load(RUNS / f"{name}-{run['seed']}" / "model")
        given = [word.label for word in tagger.tag([model.example.split()])[0]]
        print(f"{name} {run['seed']}: dev {100 * run['dev']:.2f} %, {model.example}: {' '.join(given)}")
        if all(
            label.startswith(tuple(wanted.split("|")))
            for label, wanted in zip(given, model.labels.split(), strict=True)
        ):
            tagger.name = name
            tagger.about = {**tagger.about, "title": model.title, "example": model.example.split()}
            tagger.about["test_reads"] = runs[-1]["test_reads"]
            tagger.about["training"] = {**tagger.about["training"], "chosen": _CHOSEN}
            tagger.save(BUNDLED / name)
            return
    raise SystemExit(f"no seed of {name} tags {model.example} as {model.labels}")


_CHOSEN = f"the best on dev of seeds {', '.join(map(str, SEEDS))} that tag the notes' sentence as they should"


def bundle_row(row: str) -> None:
    """Put the model of a row of the table of tasks into the package."""
    named, said = NAMED_RECIPES[row], tasks.ROWS[row]["model"]
    tasks.run(row, 0, {})
    recipes = {seed: dataclasses.replace(named.recipe, seed=seed) for seed in range(10)}
    runs = {
        seed: line["dev"] for seed, recipe in recipes.items() for line in tasks.lines() if tasks.same(line, row, recipe)
    }
    # A recorded run whose folder is gone is trained again.
    for seed in runs:
        train(row, named.command, seed=seed)
    falls = regard.load(RUNS / f"{row}-{next(iter(runs))}" / "model").measure.falls
    chosen = sorted(runs, key=runs.__getitem__, reverse=not falls)[0]
    tasks.run(row, chosen, {}, final=True)
    train(row, named.command, seed=chosen, final=True)
    model = regard.load(RUNS / f"{row}-{chosen}" / "model")
    model.name, model.about = row, {**model.about, **said, "test_reads": tasks.readings(row)}
    if len(runs) > 1:
        seeds = ", ".join(map(str, runs))
        model.about["training"] = {**model.about["training"], "chosen": f"the best on dev of seeds {seeds}"}
    model.save(BUNDLED / row)
    size = sum(path.stat().st_size for path in (BUNDLED / row).iterdir())
    print(f"{row} {chosen}: dev {runs[chosen]:.4f}, {size / 1e6:.1f} MB")
    # The vocabularies of two languages take more space.
    most = 8_000_000 if model.measure.name == "BLEU" else 3_000_000
    if size > most:
        raise SystemExit(f"{row} must have at most {most:,} bytes, but has {size:,}")


def search_anew(row: str) -> None:
    """Give a bundled model the search settings of its recipe, evaluate it, and record the scores.

    The record is that of its training run, with the scores of the bundled weights.
    """
    named, model = NAMED_RECIPES[row], regard.load(row)
    trained = [line for line in tasks.lines() if tasks.same(line, row, model.recipe)]
    search = {name: getattr(named.recipe.task, name) for name in SEARCH}
    recipe = dataclasses.replace(model.recipe, task=dataclasses.replace(model.recipe.task, **search))
    if not trained or recipe != dataclasses.replace(named.recipe, seed=recipe.seed):
        raise SystemExit(f"{row} must differ in {', '.join(SEARCH)} alone from a recorded run: train it")
    model.recipe = recipe
    judged = {split: model.evaluate(datasets.read(named.data, split, named.label)) for split in ("dev", "test")}
    left_out = ("confusions", "seconds")
    scores = {
        split: {name: value for name, value in each.to_json().items() if name not in left_out}
        for split, each in judged.items()
    }
    reads = tasks.readings(row) + 1
    model.about = {**model.about, "scores": scores, "test_reads": reads}
    model.save(BUNDLED / row)
    found = described(trained[-1]["command"], json.loads((BUNDLED / row / "model.json").read_text(encoding="utf-8")))
    line = trained[-1] | {name: found[name] for name in ("recipe", "dev", "test", "interval", "more")}
    tasks.add({**line, "test_reads": reads, "scored": {"model": "bundled", "machine": found["machine"]}})
    print(f"{row}: dev {found['dev']:.4f}, test {found['test']:.4f}")


def taggers() -> None:
    """Train and bundle the models of parts of speech, and write their table."""
    without = RUNS / "without-attention.json"
    write_json(without, dataclasses.replace(RECIPES["english-pos"], network="connected").to_json())
    # One thread each: two runs side by side keep two cores busy, and results don't depend on the number of threads.
    with ThreadPoolExecutor(max_workers=2) as pool:
        started = {name: [pool.submit(run, name, model.data, seed) for seed in SEEDS] for name, model in MODELS.items()}
        alone = [
            pool.submit(run, "english-pos-without-attention", MODELS["english-pos"].data, seed, without)
            for seed in SEEDS
        ]
    lines, rows = [], []
    for name, model in MODELS.items():
        runs = counted(name, [run.result() for run in started[name]])
        bundle(name, model, runs)
        lines += runs
        rows.append(_row(f"`{name}`", model.data, runs))
    runs = counted("english-pos-without-attention", [run.result() for run in alone])
    lines += runs
    rows.append(_row("`english-pos` without attention", MODELS["english-pos"].data, runs))
    write_text(RESULTS / "runs.jsonl", "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    columns = [
        "model",
        "data",
        "seeds",
        "test accuracy, mean ± spread",
        "accuracy on unknown words",
        "parameters",
        "minutes",
    ]
    versions = ", ".join(f"{name} {version}" for name, version in lines[0]["versions"].items())
    said = f"{lines[0]['machine']}; {versions}. Spread: half the range. Every run: benchmarks/results/runs.jsonl."
    save("models", columns, rows, said)


def _row(name: str, data: str, runs: list[dict]) -> tuple:
    tests = [100 * run["test"] for run in runs]
    spread = f" ± {(max(tests) - min(tests)) / 2:.2f}" if len(tests) > 1 else ""
    return (
        name,
        data,
        len(runs),
        f"{statistics.mean(tests):.2f}{spread} %",
        f"{100 * statistics.mean(run['more']['out_of_vocabulary_accuracy'] for run in runs):.1f} %",
        f"{runs[0]['parameters']:,}",
        f"{statistics.mean(run['seconds'] for run in runs) / 60:.1f}",
    )


def main() -> None:
    rows = [row for row, said in tasks.ROWS.items() if "model" in said]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{_TAGGERS}, {', '.join(rows)}; all if none is given")
    parser.add_argument(
        "--search", action="store_true", help="evaluate with the recipe's search settings, without training"
    )
    given = parser.parse_args()
    writers = [row for row in rows if NAMED_RECIPES[row].recipe.task.kind == "seq2seq"]
    known = writers if given.search else [_TAGGERS, *rows]
    names = given.names or ([] if given.search else known)
    if not names or not {*names} <= {*known}:
        parser.error(f"NAME must be one of {', '.join(known)}, but is {' '.join(names) or 'missing'}")
    if given.search:
        for name in names:
            search_anew(name)
        return
    RUNS.mkdir(exist_ok=True)
    for name in names:
        taggers() if name == _TAGGERS else bundle_row(name)


_TAGGERS = "parts-of-speech"


if __name__ == "__main__":
    main()
