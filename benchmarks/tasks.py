"""Train the rows of the table of tasks by their recipes, and write down every run.

    python benchmarks/tasks.py ROW... [--seeds 3] [--network NAME] [--members 5] [--devices 2] [--final]

A row is a name in tasks.json and of a recipe (`regard.tasks.NAMED_RECIPES`), which says the data. A run that is
written in results/tasks.jsonl isn't run again; one that was stopped goes on in runs/. Another network, or another
number of members, is the recipe with nothing else changed. What is printed is dev, by which recipes are chosen.
`--final` reads test for the runs that lack it, and each line says how often that was done for its row.
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
from regard.tasks.training.context import MATMUL

HERE = Path(__file__).parent
ROWS: dict[str, dict[str, Any]] = json.loads((HERE / "tasks.json").read_text(encoding="utf-8"))
"""The rows: for each its title, the measure, and what is asked of it."""
LINES = HERE / "results" / "tasks.jsonl"


def lines() -> list[dict[str, Any]]:
    """Every run that is written down."""
    return [json.loads(line) for line in LINES.read_text(encoding="utf-8").splitlines()] if LINES.exists() else []


def add(line: dict[str, Any]) -> None:
    """Write down one more run."""
    write_text(LINES, "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in [*lines(), line]))


def same(line: dict[str, Any], row: str, recipe: Recipe) -> bool:
    """Whether a line is of this row's run by this recipe, on the data and the label that the row has today."""
    named = NAMED_RECIPES[row]
    wanted = (row, named.data, named.label)
    return (line["row"], line["data"], line["label"]) == wanted and Recipe.from_json(line["recipe"]) == recipe


def readings(row: str) -> int:
    """How often test was read for a row, on the data and the label that it has today."""
    named = NAMED_RECIPES[row]
    wanted = (row, named.data, named.label)
    return test_reads([line for line in lines() if (line["row"], line["data"], line["label"]) == wanted])


def run(
    row: str, seed: int, changes: dict[str, Any], *, final: bool = False, again: bool = False, **options: Any
) -> None:
    """One run, unless it is written down; then it is.

    Args:
        row, seed: which.
        changes: what is other than in the row's recipe.
        final: read test.
        again: even if it is, so that the last line counts.
        options: of `training.train`.
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
    """The share of digits that the bundled recogniser gets wrong of the strings of test, said by a speaker."""
    return synthesis.measured(regard.load(speaker), regard.load("spoken-strings"), "test", None, None)["said"]["score"]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rows", nargs="+", metavar="ROW", choices=ROWS, help=", ".join(ROWS))
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="seeds 0 to N - 1")
    parser.add_argument("--network", choices=NETWORKS, help="instead of the recipe's")
    parser.add_argument("--final", action="store_true", help="read test: once, when nothing more is chosen")
    parser.add_argument("--again", action="store_true", help="run what is written down again, as on another processor")
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
