"""The default training beside the simple baseline, on every data set at three sizes. Every run is recorded.

    python benchmarks/defaults.py [--sets NAME...] [--sizes 100 1000 all] [--seeds 3] [--final] [--called NAME]
    python benchmarks/defaults.py --table [--final]

A run draws so many of a set's training examples, by its seed, trains on them without a recipe, as a user's first
training does, and fits the baseline to the same examples. Of the examples that it draws it takes its own dev; it is
judged by others, the same at each size: those of the set's dev or, with `--final`, of its test. The sets in TUNED
served to choose the defaults; the others were kept away until the choices were made.
"""

import argparse
import json
import os
import random
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from measuring import conditions

from regard import datasets
from regard.tasks import Experiment, Splits, default_recipe
from regard.tasks.baselines import fit_baseline

LINES = Path(__file__).parent / "results" / "defaults.jsonl"
SIZES = ("100", "1000", "all")
_SHOWN = ("set", "size", "seed", "score", "baseline", "own_dev", "best_epoch", "epochs", "seconds")
MOST_JUDGED = 2000
"""The largest number of examples that a run is judged by."""


@dataclass(frozen=True)
class Set:
    """A data set as a user would bring it.

    Attributes:
        task: the kind of the task.
        read: reads one of its splits.
        input: the kind of source, if it doesn't follow from the sources: SMILES are texts like any other.
    """

    task: str
    read: Callable[[str], Sequence[Any]]
    input: str | None = None


def known(task: str, name: str, label: str, input: str | None = None) -> Set:
    """A label of a known data set."""
    return Set(task, lambda split: datasets.read(name, split, label), input)


def short_texts(name: str) -> Set:
    """Lines of a label, a space and a text, split by a hash of each text."""

    def read(split: str) -> list[tuple[str, str]]:
        content = (_folder("short-texts") / f"{name}.all").read_text(encoding="latin-1")
        rows = [line.split(" ", 1) for line in dict.fromkeys(content.splitlines())]
        pairs = [(row[1].strip(), row[0]) for row in rows if len(row) == 2]
        return [pair for pair in pairs if datasets.split_by_hash(pair[0]) == split]

    return Set("classifier", read)


def series(name: str) -> Set:
    """A set of the UCR archive. It has no dev: that is every other series of its test set."""

    def read(split: str) -> list[tuple[torch.Tensor, str]]:
        part = "TRAIN" if split == "train" else "TEST"
        examples = _read_ts(_folder("time-series") / f"{name}_{part}.ts")
        return examples if split == "train" else examples[split == "test" :: 2]

    return Set("classifier", read)


SETS = {
    "custrev": short_texts("custrev"),
    "mpqa": short_texts("mpqa"),
    "subj": short_texts("subj"),
    "sst2": known("classifier", "sst2", "sentiment"),
    "hotel": known("classifier", "chinese-hotel-reviews", "sentiment"),
    "ewt": known("tagger", "ud-english-ewt", "upos"),
    "gsd": known("tagger", "ud-chinese-gsd", "xpos"),
    "segmentation": known("tagger", "ud-chinese-gsd", "segmentation"),
    "vowels": known("classifier", "japanese-vowels", "speaker"),
    "gunpoint": series("GunPoint"),
    "power": series("ItalyPowerDemand"),
    "leaf": series("OSULeaf"),
    "gesture": series("PickupGestureWiimoteZ"),
    "digit": known("classifier", "fsdd", "digit"),
    "speaker": known("classifier", "fsdd", "speaker"),
    "mnist": known("classifier", "mnist", "digit"),
    "tox21": known("classifier", "tox21", "all", "molecules"),
    "bbbp": known("classifier", "bbbp", "penetration", "molecules"),
    "esol": known("classifier", "esol", "solubility", "molecules"),
    "lipophilicity": known("classifier", "lipophilicity", "logD", "molecules"),
    "digits": known("seq2seq", "fsdd-strings", "digits"),
    "letters": known("seq2seq", "cmudict", "unstressed"),
    "multi30k": known("seq2seq", "multi30k", "de-en"),
    "tatoeba": known("seq2seq", "tatoeba-zh-en", "zh-en"),
}
TUNED = (
    "custrev",
    "subj",
    "sst2",
    "ewt",
    "vowels",
    "gunpoint",
    "leaf",
    "digit",
    "speaker",
    "bbbp",
    "esol",
    "letters",
    "digits",
)
"""The sets that served to choose the defaults."""


def _folder(name: str) -> Path:
    return Path(os.environ["REGARD_DATA"]) / name


def _read_ts(path: Path) -> list[tuple[torch.Tensor, str]]:
    """The series of a file of the UCR archive with one channel, and their labels."""
    rows = [line for line in path.read_text().splitlines() if line and line[0] not in "#@"]
    split = [row.rpartition(":") for row in rows]
    return [(torch.tensor([float(each) for each in values.split(",")])[:, None], label) for values, _, label in split]


def drawn(examples: Sequence[Any], size: str, seed: int) -> list[Any]:
    """So many of the examples, in their order."""
    if size == "all" or int(size) >= len(examples):
        return list(examples)
    return [examples[place] for place in sorted(random.Random(seed).sample(range(len(examples)), int(size)))]


def run(name: str, size: str, seed: int, *, final: bool, called: str) -> dict[str, Any]:
    """Train on a set and fit its baseline; the figures of both."""
    held = SETS[name]
    train = drawn(held.read("train"), size, seed)
    judges = drawn(held.read("test" if final else "dev"), str(MOST_JUDGED), 0)
    torch.manual_seed(seed)
    # A tenth at random: some sets were split by the hash that would choose it.
    own = set(random.Random(seed + 1).sample(range(len(train)), max(1, len(train) // 10)))
    splits = Splits(*([each for place, each in enumerate(train) if (place in own) is dev] for dev in (False, True)))
    started, begun = time.perf_counter(), time.process_time()
    recipe = default_recipe(splits.train, task=held.task, input=held.input)
    trained = Experiment(recipe, splits).run(search=True, baseline=False, progress="none")
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - begun
    model = trained.model
    scores = model.evaluate(judges)
    started = time.perf_counter()
    baseline = fit_baseline(model, splits.train, {"dev": judges})
    about = model.about["training"]
    return {
        "set": name,
        "size": size,
        "seed": seed,
        "judged": "test" if final else "dev",
        "called": called,
        "train": len(splits.train),
        "dev": len(splits.dev or ()),
        "measure": scores.measure,
        "score": scores.score,
        "baseline": None if baseline is None else baseline.score,
        "baseline_name": None if baseline is None else baseline.name,
        "own_dev": trained.evaluations["dev"].score,
        "epochs": about["epochs"],
        "best_epoch": about["best_epoch"],
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu_seconds, 2),
        "baseline_seconds": round(time.perf_counter() - started, 2),
        "search": about.get("search"),
        "conditions": conditions("scikit-learn"),
    }


def read_lines() -> list[dict[str, Any]]:
    """The recorded runs."""
    return [json.loads(line) for line in LINES.read_text(encoding="utf-8").splitlines()] if LINES.exists() else []


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    """What a run is; it isn't repeated."""
    return tuple(row[each] for each in ("set", "size", "seed", "judged", "called"))


def table(rows: Sequence[dict[str, Any]]) -> str:
    """A line for each set and size: the mean score and seconds of each name of runs, and the mean of the baseline."""
    names = list(dict.fromkeys(row["called"] for row in rows))
    lines = ["| set | size | measure | " + " | ".join(f"{name} (seeds, seconds)" for name in names) + " | baseline |"]
    lines.append("|" + " --- |" * (len(names) + 4))
    for size, name in sorted({(row["size"], row["set"]) for row in rows}):
        own = [row for row in rows if (row["size"], row["set"]) == (size, name)]
        cells = []
        for called in names:
            runs = [row for row in own if row["called"] == called]
            score, seconds = ([row[each] for row in runs] for each in ("score", "seconds"))
            mean = statistics.mean
            cells.append(f"{mean(score):.3f} ({len(runs)}, {mean(seconds):.0f})" if runs else "")
        known = [row["baseline"] for row in own if row["baseline"] is not None]
        cells.append(f"{statistics.mean(known):.3f}" if known else "")
        called = name if name in TUNED else f"{name} (kept away)"
        lines.append(f"| {called} | {size} | {own[0]['measure']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(TUNED))
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--final", action="store_true", help="judge by test, once, when all choices are made")
    parser.add_argument("--called", default="after", help="what the runs are called in the table, such as before")
    parser.add_argument("--table", action="store_true", help="print what is recorded, and run nothing")
    asked = parser.parse_args()
    if asked.table:
        print(table([row for row in read_lines() if row["judged"] == ("test" if asked.final else "dev")]))
        return
    torch.set_num_threads(1)
    for size in asked.sizes:
        for name in asked.sets:
            for seed in range(asked.seeds):
                done = {key(row) for row in read_lines()}
                judged = "test" if asked.final else "dev"
                if (name, size, seed, judged, asked.called) in done:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    row = run(name, size, seed, final=asked.final, called=asked.called)
                with LINES.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(row) + "\n")
                print(*(row[each] for each in _SHOWN), flush=True)


if __name__ == "__main__":
    main()
