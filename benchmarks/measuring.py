"""Shared by all benchmarks: interleaved medians, peaks of memory, the machine's ceilings, conditions, the file."""

import importlib.metadata
import json
import math
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.lab import measurement
from regard.lab.measurement import measured

RESULTS = Path(__file__).parent / "results"


def interleaved(candidates: Mapping[str, Callable[[], Any]], rounds: int = 7) -> dict[str, float]:
    """The median seconds of each candidate. They take turns, so that a busy moment affects all alike."""
    for run in candidates.values():
        run()  # warm-up
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, run in candidates.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


def timed(run: Callable[[], Any], device: str = "cpu", times: int = 1) -> float:
    """The seconds of one run, as the mean of `times`, with synchronisation of a GPU before and after."""
    wait(device)
    start = time.perf_counter()
    for _ in range(times):
        run()
    wait(device)
    return (time.perf_counter() - start) / times


def wait(device: str) -> None:
    """Wait until a GPU is done."""
    if device == "cuda":
        import torch

        torch.cuda.synchronize()


@dataclass(frozen=True)
class Paired:
    """The times of two candidates that took turns.

    Attributes:
        ours, theirs: the median seconds of each.
        ratio: the median over the rounds of theirs / ours, from the two runs in each round.
        low, high: the quartiles of that ratio.
        rounds: the number of rounds.
    """

    ours: float
    theirs: float
    ratio: float
    low: float
    high: float
    rounds: int


def paired(
    ours: Callable[[], Any],
    theirs: Callable[[], Any],
    seconds: float = 15.0,
    device: str = "cpu",
    least: int = 3,
    most: int = 41,
) -> Paired:
    """Time two warm candidates in turn, for about `seconds`, but at least `least` rounds.

    The candidates alternate in who begins, and runs that are too short for the clock are repeated in each sample.
    """
    candidates = (ours, theirs)
    first = [timed(run, device) for run in candidates]
    times = [max(1, math.ceil(0.01 / max(once, 1e-6))) for once in first]
    # If a run is long enough for the clock, this was the first round.
    taken = [[once] for once in first] if times == [1, 1] else [[], []]
    cost = sum(once * count for once, count in zip(first, times, strict=True))
    rounds = min(most, max(least, int(seconds / cost)))
    for number in range(len(taken[0]), rounds):
        for which in (1, 0) if number % 2 else (0, 1):
            taken[which].append(timed(candidates[which], device, times[which]))
    ratios = [their / our for our, their in zip(*taken, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive") if rounds > 1 else ratios * 3
    return Paired(statistics.median(taken[0]), statistics.median(taken[1]), middle, low, high, rounds)


def device_times(
    runs: Sequence[Callable[[], Any]], seconds: float = 1.0, least: int = 3, most: int = 200
) -> list[list[float]]:
    """How long each warm run keeps the GPU busy, in seconds, sample by sample, for about `seconds` in all.

    The runs take turns. Before each, memory larger than the GPU's cache is written: no run finds its inputs in the
    cache, and the processor, which meanwhile runs ahead, makes a GPU wait only where a call takes it longer than that.
    """
    import torch

    larger = torch.empty(2**30, dtype=torch.int8, device="cuda")
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    taken: list[list[float]] = [[] for _ in runs]
    stop = time.perf_counter() + seconds
    while len(taken[0]) < least or (len(taken[0]) < most and time.perf_counter() < stop):
        for run, times in zip(runs, taken, strict=True):
            larger.zero_()
            begin.record()
            run()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end) / 1e3)
    return taken


def peak(run: Callable[[], Any], device: str = "cpu") -> float:
    """The peak of memory in `run`, in MiB above the start. On a CPU, call it in its own process, after a small run.

    On a CPU it is the memory that the process took from the system, whatever allocated it; on Linux only.
    """
    if device == "cuda":
        import torch

        wait(device)
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        run()
        wait(device)
        return (torch.cuda.max_memory_allocated() - before) / 2**20
    found = measured(run).memory
    if found is None:
        raise RuntimeError("the system doesn't tell the peak of memory: only Linux does")
    return found


@dataclass(frozen=True)
class Ceilings:
    """The peak performance of the machine, per second: the best of several runs of simple code.

    Attributes:
        products: float32 matrix products, multiplications and additions, in the faster of PyTorch's libraries.
        half_products: bfloat16 matrix products.
        exponentials: float32 exponentials, in the cache.
        bytes: bytes read and written by a copy that no cache holds.
    """

    products: float
    half_products: float
    exponentials: float
    bytes: float

    def __str__(self) -> str:
        return (
            f"GEMM {self.products / 1e9:.0f} GFLOP/s in float32, {self.half_products / 1e9:.0f} in bfloat16; "
            f"exp {self.exponentials / 1e9:.1f} G/s; copy {self.bytes / 1e9:.0f} GB/s"
        )


def ceilings(device: str = "cpu") -> Ceilings:
    """Measure the ceilings, in a few seconds."""
    import torch

    def fastest(run: Callable[[], Any]) -> float:
        # Try for half a second, so that a busy moment has no effect.
        run()
        found, end = [timed(run, device) for _ in range(5)], time.perf_counter() + 0.5
        while time.perf_counter() < end:
            found.append(timed(run, device))
        return min(found)

    from regard.attention.pytorch_internals import onednn_linear

    # A GPU needs larger sizes for full load.
    side = 2048 if device == "cpu" else 8192

    def products(dtype: torch.dtype) -> float:
        matrix = torch.randn(side, side, device=device).to(dtype)
        out = torch.empty_like(matrix)
        seconds = fastest(lambda: torch.mm(matrix, matrix, out=out))
        if device == "cpu" and onednn_linear is not None:
            # PyTorch has two libraries, and the one behind `mm` isn't the faster one on every processor.
            seconds = min(seconds, fastest(lambda: onednn_linear(matrix, matrix, None, "none", [], "")))
        return 2 * side**3 / seconds

    numbers = torch.randn(256 if device == "cpu" else 2**16, 1024, device=device)
    powers = torch.empty_like(numbers)

    def exponentials() -> None:
        for _ in range(16):
            torch.exp(numbers, out=powers)

    source = torch.ones(2**26, device=device)
    target = torch.empty_like(source)
    return Ceilings(
        products(torch.float32),
        products(torch.bfloat16),
        16 * numbers.numel() / fastest(exponentials),
        2 * source.nbytes / fastest(lambda: target.copy_(source)),
    )


def slope(sizes: Sequence[int], values: Sequence[float]) -> float:
    """The exponent p of value ~ size^p, by least squares on logarithms: 1 is linear, 2 quadratic."""
    x, y = [math.log(size) for size in sizes], [math.log(value) for value in values]
    mean_x, mean_y = statistics.mean(x), statistics.mean(y)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / sum((a - mean_x) ** 2 for a in x)


def conditions(*packages: str, device: str = "cpu", **more: Any) -> str:
    """The machine, the versions and other conditions of a measurement, in one line."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", *packages))
    facts = "".join(f"; {name.replace('_', ' ')} {value}" for name, value in more.items())
    return f"{machine(device)}; Python {platform.python_version()}, {versions}{facts}; {time.strftime('%Y-%m-%d')}."


def version(package: str) -> str:
    """The version of a package; of this one also where it is on the path without being installed."""
    if package == "regard":
        from regard import __version__

        return __version__
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def machine(device: str = "cpu") -> str:
    """The processor with its cores, and the GPU if it is used."""
    found = measurement.machine()
    if device == "cuda":
        import torch

        found = f"{torch.cuda.get_device_name()}; {found}"
    return found


def earlier(name: str, same: Mapping[str, str]) -> dict[str, Any]:
    """The details of each row that an earlier run saved, if what must be the `same` was: the machine and versions."""
    path = RESULTS / f"{name}.json"
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return before["details"] if before.get("same") == same else {}


def save(name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], conditions: str, **more: Any) -> None:
    """Save a table for the documents, where `docs/generate.py` inserts it."""
    from regard.files import write_json

    write_json(
        RESULTS / f"{name}.json",
        {"columns": list(columns), "rows": [list(row) for row in rows], "conditions": conditions, **more},
    )
