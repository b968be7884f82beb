"""Train the rows of the table of tasks by their recipes, and record every run.

    python benchmarks/tasks.py ROW... [--seeds 3] [--network NAME] [--members 5] [--devices 2] [--final]

A row is a name in tasks.json and the name of a recipe (`regard.tasks.NAMED_RECIPES`), which names the data. Runs that
are recorded in results/tasks.jsonl aren't repeated; a stopped run is resumed in runs/. `--network` and `--members`
change nothing else in the recipe. The printed score is that on dev, by which recipes are chosen. `--final` reads test
for runs without a test score, and each record has the number of reads of test for its row.
"""

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

import synthesis
from training import RUNS, test_reads, train

import regard
from regard.files import write_json, write_text
from regard.modules.networks import NETWORKS
from regard.tasks import NAMED_RECIPES, Recipe
from regard.tasks.training.compute import MATMUL

HERE = Path(__file__).parent
ROWS: dict[str, dict[str, Any]] = json.loads((HERE / "tasks.json").read_text(encoding="utf-8"))
"""The rows: the title, the measure and the goal of each."""
LINES = HERE / "results" / "tasks.jsonl"


def lines() -> list[dict[str, Any]]:
    """The recorded runs."""
    return [json.loads(line) for line in LINES.read_text(encoding="utf-8").splitlines()] if LINES.exists() else []


def add(line: dict[str, Any]) -> None:
    """Record a run."""
    write_text(LINES, "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in [*lines(), line]))


def same(line: dict[str, Any], row: str, recipe: Recipe) -> bool:
    """Whether a record is of this row and this recipe, on the row's current data and label."""
    named = NAMED_RECIPES[row]
    wanted = (row, named.data, named.label)
    return (line["row"], line["data"], line["label"]) == wanted and Recipe.from_json(line["recipe"]) == recipe


def readings(row: str) -> int:
    """The number of reads of test for a row, on its current data and label."""
    named = NAMED_RECIPES[row]
    wanted = (row, named.data, named.label)
    return test_reads([line for line in lines() if (line["row"], line["data"], line["label"]) == wanted])


def run(
    row: str, seed: int, changes: dict[str, Any], *, final: bool = False, again: bool = False, **options: Any
) -> None:
    """Run and record, unless the run is recorded.

    Args:
        row, seed: the row and the seed.
        changes: changes to the row's recipe.
        final: read test.
        again: run it even if it is recorded; the last record counts.
        options: further arguments of `training.train`.
    """
    named = NAMED_RECIPES[row]
    changed = {name: value for name, value in changes.items() if value != getattr(named.recipe, name)}
    recipe = dataclasses.replace(named.recipe, seed=seed, **changed)
    known = [line for line in lines() if same(line, row, recipe)]
    if not again and any(line["test"] is not None or not final for line in known):
        return
    name, words = row, named.command
    if changed:
        name = "-".join([row, *map(str, changed.values())])
        path = RUNS / f"{name}.json"
        write_json(path, dataclasses.replace(recipe, seed=named.recipe.seed).to_json())
        words = (*words, "--recipe", f"{RUNS.name}/{path.name}")
    line = {"row": row, "network": recipe.network, **train(name, words, seed=seed, final=final, **options)}
    if final and ROWS[row].get("figure") == synthesis.HEARD:
        line["more"][synthesis.HEARD] = heard(RUNS / f"{name}-{seed}" / "model")
    if not same(line, row, recipe):
        raise SystemExit(
            f"runs/{name}-{seed} was trained on other data or by another recipe. Delete it, and run this again."
        )
    line["test_reads"] = readings(row) + (line["test"] is not None)
    add(line)
    tested = f", test {line['test']:.4f}, reading {line['test_reads']}" if final else ""
    print(f"{name} {seed}: {line['measure']} dev {line['dev']:.4f}{tested}, {line['seconds']:.0f} s")


def heard(speaker: Path) -> float:
    """The fraction of digits in synthesized strings of test that the bundled recogniser gets wrong."""
    return synthesis.measured(regard.load(speaker), regard.load("spoken-strings"), "test", None, None)["said"]["score"]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rows", nargs="+", metavar="ROW", choices=ROWS, help=", ".join(ROWS))
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="seeds 0 to N - 1")
    parser.add_argument("--network", choices=NETWORKS, help="instead of the recipe's")
    parser.add_argument("--final", action="store_true", help="read test: once, when all choices are made")
    parser.add_argument("--again", action="store_true", help="run what is recorded again, as on another processor")
    parser.add_argument("--threads", type=int, default=1, metavar="N")
    parser.add_argument("--devices", type=int, default=1, metavar="N", help="processes that share each batch")
    parser.add_argument("--matmul", choices=MATMUL, help="how exactly float32 matrices are multiplied")
    parser.add_argument("--members", type=int, metavar="N", help="instead of the recipe's")
    given = parser.parse_args()
    RUNS.mkdir(exist_ok=True)
    changes = {name: value for name in ("network", "members") if (value := getattr(given, name)) is not None}
    for row in given.rows:
        for seed in range(given.seeds):
            options = {"threads": given.threads, "devices": given.devices, "matmul": given.matmul}
            run(row, seed, changes, final=given.final, again=given.again, **options)


if __name__ == "__main__":
    main()
