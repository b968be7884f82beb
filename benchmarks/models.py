"""`make models`: train every bundled model over three seeds, keep the best on dev, and write down every run.

The same recipe without attention is trained beside the English model, for `context.py`. Runs stand in runs/, where a
run that was stopped goes on. Test figures are only reported; what is bundled is chosen on dev.
"""

import dataclasses
import json
import shutil
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from measuring import RESULTS, processor, save

import regard
from regard.files import write_json
from regard.tasks import RECIPES

ROOT = Path(__file__).parent.parent
RUNS = ROOT / "runs"
BUNDLED = ROOT / "src" / "regard" / "tasks" / "models"
SEEDS = (0, 1, 2)
MODELS = {
    "english-pos": ("ud-english-ewt", "English parts of speech (UPOS)", ["I", "saw", "a", "saw", "."]),
    "chinese-pos": ("ud-chinese-gsd", "Chinese parts of speech (XPOS), simplified characters", ["我", "看见", "常威"]),
}


def train(name: str, data: str, seed: int, recipe: Path | None = None) -> dict:
    """One run, from its beginning or from where it was stopped; the line that is written down of it."""
    folder = RUNS / f"{name}-{seed}"
    command = ["regard", "train", "tagger", "--data", data, "--out", str(folder.relative_to(ROOT)), "--seed", str(seed)]
    if recipe is not None:
        command += ["--recipe", str(recipe.relative_to(ROOT))]
    if not (folder / "model" / "model.json").exists():
        resume = ["--resume"] if (folder / "run.json").exists() else []
        run = subprocess.Popen(
            [sys.executable, "-m", *command, "--progress", "lines", *resume],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
        )
        for line in run.stderr or ():
            print(f"{name} {seed}: {line}", end="", flush=True)
        if run.wait():
            raise SystemExit(f"`{' '.join(command)}` failed")
    model = json.loads((folder / "model" / "model.json").read_text(encoding="utf-8"))
    about = model["about"]
    return {
        "model": name,
        "command": " ".join(command),
        "seed": seed,
        "recipe": model["recipe"],
        "parameters": model["parameters"],
        "dev": about["scores"]["dev"]["accuracy"],
        "test": about["scores"]["test"]["accuracy"],
        "interval": about["scores"]["test"]["interval"],
        "unseen": about["scores"]["test"]["unseen_accuracy"],
        "seconds": about["training"]["seconds"],
        "threads": about["training"]["threads"],
        "versions": about["training"]["versions"],
        "machine": processor(),
    }


def bundle(name: str, seed: int, title: str, example: list[str]) -> None:
    """Put a run's model into the package, under its own name."""
    tagger = regard.load(RUNS / f"{name}-{seed}" / "model")
    tagger.name = name
    tagger.about = {**tagger.about, "title": title, "example": example}
    shutil.rmtree(BUNDLED / name, ignore_errors=True)
    tagger.save(BUNDLED / name)


def main() -> None:
    without = RUNS / "without-attention.json"
    write_json(without, dataclasses.replace(RECIPES["english-pos"], attention=False).to_json())
    # One thread each: two runs side by side keep two cores busy, and no result depends on how many there are.
    with ThreadPoolExecutor(max_workers=2) as pool:
        started = {
            name: [pool.submit(train, name, data, seed) for seed in SEEDS] for name, (data, *_) in MODELS.items()
        }
        alone = pool.submit(train, "english-pos-without-attention", MODELS["english-pos"][0], 0, without)
    lines, rows = [], []
    for name, (data, title, example) in MODELS.items():
        runs = [run.result() for run in started[name]]
        best = max(runs, key=lambda run: run["dev"])
        bundle(name, best["seed"], title, example)
        lines += runs
        rows.append(_row(f"`{name}`", data, runs))
    lines.append(alone.result())
    rows.append(_row("`english-pos` without attention", MODELS["english-pos"][0], lines[-1:]))
    (RESULTS / "runs.jsonl").write_text(
        "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8"
    )
    columns = ["model", "data", "seeds", "test accuracy, mean ± spread", "unseen words", "parameters", "minutes"]
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
        f"{100 * statistics.mean(run['unseen'] for run in runs):.1f} %",
        f"{runs[0]['parameters']:,}",
        f"{statistics.mean(run['seconds'] for run in runs) / 60:.1f}",
    )


if __name__ == "__main__":
    main()
