"""The operator's kernels on a GPU beside their peers: the table of benchmarks/results/gpu.json.

    python benchmarks/gpu.py                            all rows, each saved at once
    python benchmarks/gpu.py --only window              the rows whose name contains `window`, merged into that file
    python benchmarks/gpu.py --within 180               stop after so many seconds; what was measured is kept
    python benchmarks/gpu.py --quick --device cpu       tiny lengths, to check that everything runs; not saved

First, a process for each few rows compiles what they need, all at once, into the caches that Triton and PyTorch keep on
disk. Then one process measures the rows in turn. Where it crashes or hangs, its row says so and keeps what was known
before the peer ran, and another process goes on with the next row.
"""

import argparse
import dataclasses
import gc
import json
import os
import signal
import statistics
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from measuring import (
    Ceilings,
    ceilings,
    conditions,
    device_times,
    earlier,
    interleaved,
    machine,
    paired,
    peak,
    save,
    timed,
    version,
)
from peers import Setting, format_mib, largest_gap, made, tried
from rich.console import Console
from rich.table import Table
from rows import GPU_ROWS, Bench, Case, Outputs, Row, Run
from torch import Tensor

COLUMNS = (
    "work",
    "engine",
    "peer",
    "ours",
    "the peer",
    "ratio",
    "prototype",
    "goal",
    "reached",
    "TFLOP/s",
    "of bf16 GEMM",
    "memory",
    "the peer's",
    "error",
)
WORDS = ("work", "engine", "peer", "goal", "reached")
NAMES = [row.name for row in GPU_ROWS]
PATIENCE = 60.0  # seconds after which a row is given up
HALF_TOLERANCE = 2e-2  # of the largest number, where the peer is no measure of ours: bfloat16 keeps 8 bits
BROKEN = 70  # how a process ends when a kernel has broken what it has of the GPU; the row before was measured
COMPILING = 75.0  # seconds that compiling beforehand may take at most


class Small(Bench):
    """A run whose quick lengths are small enough for a CPU to get through all rows in seconds."""

    def size(self, length: int) -> int:
        return max(64, length // 128) if self.quick else length


# One row, in the process that measures.


def measure(row: Row, bench: Bench, seconds: float, early: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Time, memory and error of a row's two sides; what fails stands under "problem".

    What is known before the peer runs is handed to `early`: a peer may take the process with it.
    """
    try:
        case = made(row, bench)
    except Exception as error:
        return {"problem": said(error)}
    found: dict[str, Any] = {}
    problems: list[str] = []

    def add(find: Callable[[], dict[str, Any]]) -> None:
        # Whatever can't be found, the rest is measured.
        try:
            found.update(find())
        except Exception as error:
            problems.append(said(error))

    exact: list[tuple[Any, Tensor]] = []

    def side(name: str, setting: Setting) -> dict[str, Run]:
        if setting.problem:
            problems.append(setting.problem)
        if setting.run is None:
            return {}
        run = setting.run
        add(lambda: {f"{name}_error": gap_to(exact, setting.outputs)} if exact else {})
        if bench.device == "cuda":
            add(lambda: {f"{name}_peak": peak(run, bench.device)})
        return {name: run}

    def so_far() -> dict[str, Any]:
        most = HALF_TOLERANCE if case.tolerance is None else case.tolerance
        if "ours_error" in found and not found["ours_error"] <= most:
            found["wrong"] = f"off by {found['ours_error']:.1e} of the largest number, where {most:g} is the most"
        if case.work is not None and "ours" in found:
            found["tflops"] = case.work.products / found["ours"] / 1e12
        problem = "; ".join(dict.fromkeys(each for each in (found.get("wrong"), *problems) if each))
        return found | ({"problem": problem} if problem else {})

    ours = tried("ours", case.ours, bench, lambda _: None, time=True)
    add(lambda: {"engine": case.engine()} if case.engine else {})
    add(lambda: exact.extend(case.exact()) or {} if case.exact else {})
    sides = side("ours", ours)
    add(lambda: times(sides, row, bench, seconds / 5))
    early(so_far())
    if case.tolerance is None:
        exact.clear()  # A peer that computes something else is no less exact for it.
    peer = best_peer(case, bench)
    found |= {"setting": peer.name, "stood_in": peer.run is not None and peer.name in case.stand_ins}
    sides |= side("theirs", peer)
    if len(sides) == 2 or not ours.run:
        add(lambda: times(sides, row, bench, seconds))
    return so_far()


def gap_to(exact: Sequence[tuple[Any, Tensor]], outputs: Outputs) -> float:
    """How far a side is from float64, as a share of the largest number."""
    cut = tuple(outputs[number][place] for number, (place, _) in enumerate(exact))
    return largest_gap(cut, tuple(numbers for _, numbers in exact))


def best_peer(case: Case, bench: Bench) -> Setting:
    """The fastest setting of the peer, or of who stands in where none runs; its problem is why others didn't run."""
    problems: list[str] = []
    for makers in (case.peers, case.stand_ins):
        settings = [tried(name, make, bench, lambda _: None, time=True) for name, make in makers.items()]
        problems += [side.problem for side in settings if side.problem]
        problem = "; ".join(dict.fromkeys(problems)) or None
        if running := [side for side in settings if side.run is not None]:
            return dataclasses.replace(min(running, key=lambda side: side.seconds), problem=problem)
    return Setting("", None, problem=problem)


def times(sides: Mapping[str, Any], row: Row, bench: Bench, seconds: float) -> dict[str, Any]:
    """The median seconds of each side, and of their ratio in each round."""
    if not sides:
        return {}
    if row.measure == "host":
        # Many calls between two waits: while the GPU is faster, it is the processor's time that counts.
        if len(sides) == 2:
            return dataclasses.asdict(paired(sides["ours"], sides["theirs"], seconds, bench.device))
        return {name: timed(run, bench.device, 100) for name, run in sides.items()}
    if bench.device == "cpu":
        found = interleaved(sides, rounds=1)
        return found | ({"ratio": found["theirs"] / found["ours"]} if len(found) == 2 else {})
    samples = dict(zip(sides, device_times(list(sides.values()), seconds), strict=True))
    found = {name: statistics.median(taken) for name, taken in samples.items()} | {"rounds": len(samples["ours"])}
    if len(samples) == 2:
        ratios = [theirs / ours for ours, theirs in zip(samples["ours"], samples["theirs"], strict=True)]
        found["low"], found["ratio"], found["high"] = statistics.quantiles(ratios, n=4, method="inclusive")
    return found


def said(error: Exception) -> str:
    """An error in a line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]


def compile_beforehand(row: Row, bench: Bench) -> None:
    """Run each side once, whatever comes of it: the run that measures says what fails."""
    try:
        case = made(row, bench)
    except Exception:
        return
    for name, make in {"ours": case.ours, **case.peers}.items():
        tried(name, make, bench, lambda _: None, time=False)


def work(names: Sequence[str], bench: Bench, seconds: float, *, compiling: bool) -> int:
    """What a child process does: its rows in turn, each two lines on the standard output: ours, and all."""
    # What else writes there, such as a peer, writes to the other stream.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def tell(found: dict[str, Any], done: bool = False) -> None:
        print(json.dumps([found, done]), file=out, flush=True)

    # Deprecation warnings of peers don't matter here.
    warnings.simplefilter("ignore")
    for name in names:
        row = GPU_ROWS[NAMES.index(name)]
        if compiling:
            compile_beforehand(row, bench)
            continue
        tell(measure(row, bench, seconds, tell), done=True)
        gc.collect()
        try:
            if bench.device == "cuda":
                torch.cuda.synchronize()
                torch.cuda.empty_cache()
        except RuntimeError:
            return BROKEN
    return 0


# All rows, in the process that waits.


def child(names: Sequence[str], asked: argparse.Namespace, *options: str) -> subprocess.Popen[str]:
    """A process that works through rows."""
    command = [sys.executable, __file__, "--device", asked.device, "--seed", str(asked.seed), *options]
    command += ["--seconds", str(asked.seconds), *(["--quick"] if asked.quick else []), "--rows", *names]
    # Triton keeps which of its settings was the fastest. PyTorch compiles in the process that asks: there are enough.
    settings = {"TRITON_CACHE_AUTOTUNING": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=settings | os.environ)


def compile_all(names: Sequence[str], asked: argparse.Namespace, within: float) -> None:
    """Compile what the rows need, in as many processes as there are cores, less two."""
    count = max(1, min(len(names), (os.cpu_count() or 1) - 2))
    end = time.monotonic() + min(COMPILING, within)
    running = [child(names[number::count], asked, "--compiling") for number in range(count)]
    for process in running:
        try:
            process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def measured_in_turn(
    names: Sequence[str], asked: argparse.Namespace, end: float
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row's name and what was found, in the order of `names`, until the time `end`."""
    left = list(names)
    while left and time.monotonic() < end:
        process = child(left, asked)
        assert process.stdout is not None
        before, ours = len(left), {}
        try:
            while left and (line := read_line(process, min(PATIENCE, end - time.monotonic()))):
                found, done = json.loads(line)
                if done:
                    yield left.pop(0), found
                ours = {} if done else found
        finally:
            process.kill()
            code = process.wait()
            process.stdout.close()
        broke_after_a_row = code == BROKEN and len(left) < before
        if left and time.monotonic() < end and not broke_after_a_row:
            how = f"no result within {PATIENCE:g} s" if code == -signal.SIGKILL else f"its process ended with {code}"
            yield left.pop(0), ours | {"problem": "; ".join(filter(None, (ours.get("problem"), how)))}


def read_line(process: subprocess.Popen[str], patience: float) -> str:
    """The next line that a process prints; "" where it ends before, or is ended because it takes too long."""
    assert process.stdout is not None
    watchdog = threading.Timer(max(0.0, patience), process.kill)
    watchdog.start()
    line = process.stdout.readline()
    watchdog.cancel()
    return line


def wanted(row: Row) -> str:
    if row.limit is not None:
        return f"at most {row.limit:g} {'us' if row.measure == 'host' else 'MiB'}"
    return f"{row.least:g}{' TFLOP/s' if row.measure == 'rate' else ''}" if row.least is not None else ""


def ratio_of(row: Row, found: Mapping[str, Any]) -> float | None:
    """The peer's seconds or MiB to ours."""
    if row.measure != "memory":
        return found.get("ratio")
    ours, theirs = found.get("ours_peak"), found.get("theirs_peak")
    return theirs / ours if ours and theirs else None


def reached(row: Row, found: Mapping[str, Any]) -> str:
    """Whether a row reaches its goal: "yes", "no", or "" where it has none or wasn't measured."""
    if found.get("wrong"):
        return "no"
    if row.limit is not None:
        used = found.get("ours_peak") if row.measure == "memory" else found.get("ours") and found["ours"] * 1e6
        return "" if used is None else "yes" if used <= row.limit else "no"
    value = found.get("tflops") if row.measure == "rate" else ratio_of(row, found)
    if value is None or row.least is None or (found.get("stood_in") and row.measure != "rate"):
        return ""
    return "yes" if value >= row.least else "no"


def cells(row: Row, found: Mapping[str, Any], products: float) -> list[str]:
    """The cells of a row. `products` are the ceiling's, in bfloat16."""

    def spent(seconds: float | None) -> str:
        if seconds is None:
            return ""
        return f"{seconds * 1e6:.3g} us" if row.measure == "host" else f"{seconds * 1e3:.3g} ms"

    ratio = ratio_of(row, found)
    tflops, error = found.get("tflops"), found.get("ours_error")
    peer = row.peer + (f": {found['setting']}" if found.get("setting") else "")
    memory = [format_mib(found.get(f"{side}_peak")).removeprefix("-") for side in ("ours", "theirs")]
    unit = " us" if row.measure == "host" else ""
    return [
        row.what,
        found.get("engine", ""),
        peer,
        spent(found.get("ours")),
        spent(found.get("theirs")),
        "" if ratio is None else f"{ratio:.3g}",
        "" if row.prediction is None else f"{row.prediction:g}{unit}",
        wanted(row),
        ": ".join(filter(None, (reached(row, found), textwrap.shorten(found.get("problem", ""), 100)))),
        "" if tflops is None else f"{tflops:.3g}",
        "" if tflops is None or not products else f"{tflops * 1e12 / products:.0%}",
        *memory,
        "" if error is None else f"{error:.0e}",
    ]


def kept(row: Row, found: Mapping[str, Any], facts: str, products: float) -> None:
    """Merge a row into the file with those of earlier runs on the same machine with the same versions."""
    same = {"machine": machine("cuda"), "torch": torch.__version__, "triton": version("triton")}
    details = earlier("gpu", same)
    fields = ("what", "peer", "prediction", "least", "limit", "measure")
    details[row.name] = {field: getattr(row, field) for field in fields} | {
        **found,
        "reached": reached(row, found),
        "cells": cells(row, found, products),
        "measured": time.strftime("%Y-%m-%d %H:%M"),
        "conditions": facts,
    }
    details = {name: details[name] for name in NAMES if name in details}
    save("gpu", COLUMNS, [each["cells"] for each in details.values()], facts, same=same, details=details)


def driver() -> str:
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "unknown"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="rows whose name contains this; may be repeated"
    )
    parser.add_argument("--quick", action="store_true", help="tiny lengths; nothing is saved")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1.0, help="time a row for so long")
    parser.add_argument("--within", type=float, default=600.0, help="stop after so many seconds")
    parser.add_argument("--rows", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--compiling", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    bench = Small(asked.device, asked.quick, asked.seed)
    if asked.rows is not None:
        return work(asked.rows, bench, asked.seconds, compiling=asked.compiling)
    end = time.monotonic() + asked.within
    names = [name for name in NAMES if not asked.only or any(part in name for part in asked.only)]
    if not names:
        raise SystemExit(f"no row's name holds any of {asked.only}; there are: {', '.join(NAMES)}")
    if asked.device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("torch sees no GPU; `--quick --device cpu` checks that the rows run, without one")
    highest: Ceilings | None = None
    more: dict[str, Any] = {"seed": asked.seed}
    if asked.device == "cuda":
        compile_all(names, asked, asked.within / 2)
        highest = ceilings("cuda")
        torch.cuda.empty_cache()
        more |= {"driver": driver(), "CUDA": torch.version.cuda, "ceilings": str(highest)}
    else:
        more["without"] = "a GPU, so these figures say only that the rows run"
    facts = conditions("triton", "regard", "adasplash", "torch-geometric", device=asked.device, **more)
    products = highest.half_products if highest else 0.0
    found: dict[str, dict[str, Any]] = {}
    for name, result in measured_in_turn(names, asked, end):
        row = GPU_ROWS[NAMES.index(name)]
        found[name] = result
        took = asked.within - (end - time.monotonic())
        print(f"{took:.0f} s: {name}: {' | '.join(cells(row, result, products)[1:])}", file=sys.stderr, flush=True)
        if asked.device == "cuda" and not asked.quick:
            # After each row: whoever stops a run loses none of it.
            kept(row, result, facts, products)
    shown(found, facts, products)
    if late := [name for name in names if name not in found]:
        print(f"not measured within {asked.within:g} s: {', '.join(late)}")
    missed = [name for name, result in found.items() if reached(GPU_ROWS[NAMES.index(name)], result) == "no"]
    failed = [name for name, result in found.items() if "problem" in result]
    print(f"{len(found)} rows; {len(missed)} miss their goal; {len(failed)} have a problem")
    return bool(missed or failed or late)


def shown(found: Mapping[str, Mapping[str, Any]], facts: str, products: float) -> None:
    """Print the table."""
    console = Console(width=None if sys.stdout.isatty() else 240)
    table = Table(title="The operator on a GPU beside its peers", caption=facts, expand=False)
    for column in COLUMNS:
        table.add_column(column, justify="left" if column in WORDS else "right")
    for name, result in found.items():
        row = GPU_ROWS[NAMES.index(name)]
        table.add_row(*cells(row, result, products), style="red" if reached(row, result) == "no" else None)
    console.print(table)
    for name, result in found.items():
        if "problem" in result:
            console.print(f"{name}: {result['problem']}", markup=False, highlight=False)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    raise SystemExit(main())
