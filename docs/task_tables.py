"""The tables of tasks: what each recipe scores, and what other networks do in its place, from the runs written down."""

import json
import statistics
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from regard.tasks import NAMED_RECIPES, Recipe, bundled, load

__all__ = ["TABLES", "baselines", "calibration", "linear", "members", "repetition", "scores", "speech", "table"]

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"

Row = dict[str, Any]

_SPEAKERS = 6
_LINES = {"speech": "speech.jsonl"}
"""The file in benchmarks/results/ that a table is made of, where it isn't tasks.jsonl."""


def scores(rows: dict[str, Row], lines: Iterable[Row]) -> str:
    """A row for each task: what is asked, and what the runs of its recipe have scored.

    Args:
        rows: what benchmarks/tasks.json holds.
        lines: the runs that are written down; those of another recipe than today's don't count.
    """
    table = [
        (
            "task",
            "data, measure",
            "floor",
            "goal",
            "score",
            "test shares with train",
            "readings of test",
            "parameters",
            "minutes",
            "trained by",
        )
    ]
    shown: list[Row] = []
    for name, row in rows.items():
        runs = _runs(name, lines)
        shown += runs
        measure = _FIGURES[row["figure"]] if "figure" in row else runs[0]["measure"] if runs else ""
        floor, goal = _asked(row, _runs(name, lines, network=row["floor"]) if row["floor"] in _NETWORKS else None)
        table.append(
            (
                row["title"],
                ", ".join(filter(None, [NAMED_RECIPES[name].data, measure])),
                floor,
                goal,
                _score(row, runs),
                row["shares"],
                str(_readings(name, lines) or ""),
                f"{runs[0]['parameters']:,}" if runs else "",
                _minutes(runs),
                f"`{' '.join([*NAMED_RECIPES[name].command, *_options(runs)])}`",
            )
        )
    return _markdown(table) + _conditions(shown) + (_READINGS if shown else "")


def baselines(rows: dict[str, Row], lines: Iterable[Row]) -> str:
    """A row for each network, with a column for each task that all of them were trained for; one seed each."""
    compared = {name: row for name, row in rows.items() if row.get("networks")}
    known = {
        (network, name): run for name in compared for network in _NETWORKS if (run := _run_of(name, network, lines))
    }
    table = [("network", *(row["title"] for row in compared.values()))]
    for network, said in _NETWORKS.items():
        cells = (_score(row, [run] if (run := known.get((network, name))) else []) for name, row in compared.items())
        table.append((said, *cells))
    return _markdown(table) + _conditions([*known.values()])


def members(rows: dict[str, Row], lines: Iterable[Row]) -> str:
    """A row for each task that was learned by one net and by several of the same recipe."""
    counts = sorted({line["recipe"].get("members", 1) for line in lines} - {1})
    table = [("task", "data", "one net", "minutes", "members", "together", "minutes")]
    shown: list[Row] = []
    for name, row in rows.items():
        one = _runs(name, lines, members=1)
        # Two rows may differ in the number alone.
        if not one or one[0] in shown:
            continue
        for count in counts:
            if together := _runs(name, lines, members=count):
                shown += [*one, *together]
                data = NAMED_RECIPES[name].data
                cells = _score(row, one), _minutes(one), str(count), _score(row, together), _minutes(together)
                table.append((row["title"], data, *cells))
    return _markdown(table) + _conditions(shown)


def linear(rows: dict[str, Row], lines: Iterable[Row], models: Iterable[Row] | None = None) -> str:
    """A row for each text classifier: what a linear model scores on the same splits, and where it does better.

    Args:
        rows, lines: as in `scores`.
        models: the linear models that are written down; None: in benchmarks/results/linear.jsonl.
    """
    models = [each for each in (_read("linear.jsonl") if models is None else models) if each["test"] is not None]
    table = [
        ("task", "linear model of", "trained on", "C", "features", "linear", "recipe", "recipe above linear, points")
    ]
    shown: list[Row] = []
    better: list[str] = []
    for name, row in rows.items():
        named = NAMED_RECIPES[name]
        floors = [each for each in models if (each["data"], each["label"]) == (named.data, named.label)]
        if not floors:
            continue
        floor, runs = floors[-1], _runs(name, lines)
        shown.append(floor)
        gap = statistics.mean(_test(row, run) for run in runs) - floor["test"] if runs else None
        if gap is not None and gap <= 0:
            better.append(row["title"])
        count, above = f"{floor['features']:,}", "" if gap is None else f"{100 * gap:+.2f}"
        table.append(
            (
                row["title"],
                floor["units"],
                floor["trained_on"],
                f"{floor['C']:g}",
                count,
                _score(row, [floor]),
                _score(row, runs),
                above,
            )
        )
    if not shown:
        return _markdown(table)
    said = f"The linear model does better than the recipe: {'; '.join(better)}." if better else ""
    versions = {", ".join(f"{name} {version}" for name, version in each["versions"].items()) for each in shown}
    machines = "; ".join(sorted({each["machine"] for each in shown}))
    reads = max(each["test_reads"] for each in shown)
    how = "once" if reads == 1 else f"at most {reads} times"
    return _markdown(table) + "\n".join(
        [
            "",
            *([said, ""] if said else []),
            f"{machines}; {'; '.join(sorted(versions))}. Test scores; of the linear models test was read {how}. "
            "Features, C and training data were chosen on dev. Every run: benchmarks/results/linear.jsonl.",
            "",
        ]
    )


def calibration() -> str:
    """A row for each bundled model that gives probabilities: how far they are off on test, and the temperature."""
    table = [("model", "temperature", "expected calibration error on test", "without the temperature")]
    for name in bundled():
        known = load(name).about["scores"]["test"].get("calibration")
        if known:
            errors = (f"{100 * known[each]:.2f} %" for each in ("error", "before"))
            table.append((f"`{name}`", f"{known['temperature']:.2f}", *errors))
    return _markdown(table)


def speech(rows: dict[str, Row], lines: Iterable[Row]) -> str:
    """A row for each recogniser of speech: how much is right in each condition, and of a speaker it wasn't trained on.

    Args:
        rows: what benchmarks/tasks.json holds.
        lines: what benchmarks/speech.py has written down; that of another recipe than today's doesn't count.
    """
    kept = [line for line in lines if Recipe.from_json(line["recipe"]) == NAMED_RECIPES[line["row"]].recipe]
    changed = {line["row"]: line["right"] for line in kept if "right" in line}
    conditions = [*next(iter(changed.values()), {})]
    table = [("task", *conditions, "unseen speaker, mean of six", "the lowest of six")]
    for name in dict.fromkeys(line["row"] for line in kept):
        unseen = [line["unseen"] for line in kept if line["row"] == name and "unseen" in line]
        cells = [changed.get(name, {}).get(each) for each in conditions]
        cells += [statistics.mean(unseen), min(unseen)] if len(unseen) == _SPEAKERS else [None, None]
        table.append((rows[name]["title"], *("" if each is None else f"{100 * each:.1f} %" for each in cells)))
    return _markdown(table)


def repetition(held: Row) -> str:
    """A row for each bundled translator and split: how often its texts repeat themselves, before and after.

    Args:
        held: what benchmarks/results/repetition.json holds.
    """
    table = [("model", "split", "sources", "a trigram twice", "a bigram twice", "BLEU", "length")]
    timed: list[str] = []
    for name, model in held["models"].items():
        for split, known in model["splits"].items():
            before, after, right = known["before"], known["after"], known["references"]
            trigrams, bigrams = (
                f"{100 * before[each]:.1f} → {100 * after[each]:.1f} % ({100 * right[each]:.1f} %)"
                for each in ("trigrams", "bigrams")
            )
            bleu, length = (f"{before[each]:.2f} → {after[each]:.2f}" for each in ("bleu", "length"))
            table.append((f"`{name}`", split, str(known["sources"]), trigrams, bigrams, bleu, length))
        seconds = model["seconds"]
        timed.append(
            f"`{name}` takes {seconds['ratio']:.2f} ({seconds['low']:.2f} to {seconds['high']:.2f}) of the time "
            f"({seconds['sources']} sources of dev)"
        )
    return (
        f"{_markdown(table)}\nBefore → after (references). {'; '.join(timed)}: medians and "
        f"quartiles, in turn. {held['conditions']} Each setting tried on dev: "
        "benchmarks/results/repetition.json.\n"
    )


TABLES: dict[str, Callable[[dict[str, Row], list[Row]], str]] = {
    "scores": scores,
    "baselines": baselines,
    "members": members,
    "linear": linear,
    "speech": speech,
}
"""The tables by name."""

_READINGS = (
    "\nReadings of test: how many runs of the row have a test score, those of other networks and of earlier recipes "
    "included. What was changed between two readings may fit test.\n"
)

_FIGURES = {"heard": "error of a recogniser", "r2": "R2", "roc_auc": "ROC-AUC"}
"""What a row may be judged by instead of the measure by which an epoch is chosen: a figure of the test, in words."""

_NETWORKS = {
    "connected": "fully connected, each vector alone",
    "window": "fully connected, a window of vectors",
    "convolution": "convolution",
    "recurrent": "recurrent",
    "bidirectional": "recurrent, both ways",
    "attention": "attention",
}


def table(name: str) -> str:
    """One of the tables, from the files in benchmarks/."""
    if name == "repetition":
        return repetition(json.loads((BENCHMARKS / "results" / "repetition.json").read_text(encoding="utf-8")))
    rows = json.loads((BENCHMARKS / "tasks.json").read_text(encoding="utf-8"))
    return TABLES[name](rows, _read(_LINES.get(name, "tasks.jsonl")))


def _read(name: str) -> list[Row]:
    """The runs that are written down in a file of benchmarks/results."""
    path = BENCHMARKS / "results" / name
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def _runs(name: str, lines: Iterable[Row], **changes: Any) -> list[Row]:
    """The runs by today's recipe, data and label that have read test, each seed once; or with something changed."""
    named = NAMED_RECIPES[name]
    wanted = {**named.recipe.to_json(), **changes}
    found = {
        line["seed"]: line
        for line in lines
        if (line["data"], line["label"]) == (named.data, named.label)
        and line["test"] is not None
        and Recipe.from_json(line["recipe"]).to_json() == {**wanted, "seed": line["seed"]}
    }
    return [found[seed] for seed in sorted(found)]


def _readings(name: str, lines: Iterable[Row]) -> int:
    """How often test was read for a row: as its runs say, or as many of them as have a test score."""
    named = NAMED_RECIPES[name]
    wanted = (name, named.data, named.label)
    own = [line for line in lines if (line["row"], line["data"], line["label"]) == wanted]
    return max([sum(line["test"] is not None for line in own), *(line.get("test_reads", 0) for line in own)])


def _run_of(name: str, network: str, lines: Iterable[Row]) -> Row | None:
    return next(iter(_runs(name, lines, network=network)), None)


def _asked(row: Row, compared: list[Row] | None) -> tuple[str, str]:
    """Floor and goal: numbers, or what the runs of another network score, and so much above their mean."""
    if compared is None:
        unit = " %" if row.get("percent") else ""
        floor, goal = (f"{row[each]}{'' if isinstance(row[each], str) else unit}" for each in ("floor", "goal"))
        return floor, goal
    floor = f"{_NETWORKS[row['floor']]}: {_score(row, compared)}"
    if not compared:
        return floor, f"{row['goal']} above"
    return floor, f"{statistics.mean(_test(row, run) for run in compared) + row['goal']:.{row.get('digits', 3)}f}"


def _test(row: Row, run: Row) -> float:
    return run["more"][row["figure"]] if "figure" in row else run["test"]


def _score(row: Row, runs: list[Row]) -> str:
    if not runs:
        return "not measured yet"
    scale, digits, unit = (100, 2, " %") if row.get("percent") else (1, row.get("digits", 3), "")
    tests = [scale * _test(row, run) for run in runs]
    spread = f" ± {(max(tests) - min(tests)) / 2:.{digits}f}" if len(tests) > 1 else ""
    seeds = f" ({len(tests)} seeds)" if len(tests) > 1 else ""
    return f"{statistics.mean(tests):.{digits}f}{spread}{unit}{seeds}"


def _minutes(runs: list[Row]) -> str:
    return f"{statistics.mean(run['seconds'] for run in runs) / 60:.1f}" if runs else ""


def _options(runs: list[Row]) -> list[str]:
    """What a command needs to share its work as these runs did, where they all did the same."""
    found: list[str] = []
    for name, usual in (("devices", 1), ("matmul", None)):
        values = {run.get(name) or usual for run in runs}
        if len(values) == 1 and usual not in values:
            found += [f"--{name}", str(*values)]
    return found


def _conditions(runs: list[Row]) -> str:
    if not runs:
        return ""
    machines, threads = ({run[key] for run in runs} for key in ("machine", "threads"))
    versions = {", ".join(f"{name} {version}" for name, version in run["versions"].items()) for run in runs}
    counted = "1 thread" if threads == {1} else f"{', '.join(map(str, sorted(threads)))} threads"
    return (
        f"\n{'; '.join(sorted(machines))}; {counted}; {'; '.join(sorted(versions))}. Test scores; recipes were chosen "
        "on dev. Spread: half the range. Every run: benchmarks/results/tasks.jsonl.\n"
    )


def _markdown(rows: list[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, "| " + " | ".join("---" for _ in rows[0]) + " |")
    return "\n".join(lines) + "\n"
