"""What every benchmark shares: interleaved medians, the conditions, and the file that the documents are made from."""

import importlib.metadata
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def interleaved(candidates: Mapping[str, Callable[[], Any]], rounds: int = 7) -> dict[str, float]:
    """The median seconds of each candidate, run in turn round by round, so that a busy moment hits all alike."""
    for run in candidates.values():
        run()  # warm-up
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, run in candidates.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


def conditions(*packages: str, **more: Any) -> str:
    """Machine, versions and whatever else decides a figure, in one line."""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("torch", *packages))
    facts = "".join(f"; {name.replace('_', ' ')} {value}" for name, value in more.items())
    return (
        f"{processor()}, {len(os.sched_getaffinity(0))} cores; Python {platform.python_version()}, {versions}{facts}; "
        f"{time.strftime('%Y-%m-%d')}."
    )


def processor() -> str:
    """The processor's name, where the system tells it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def save(name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], conditions: str, **more: Any) -> None:
    """Write a table for the documents; `docs/generate.py` puts it where it belongs."""
    from regard.files import write_json

    write_json(
        RESULTS / f"{name}.json",
        {"columns": list(columns), "rows": [list(row) for row in rows], "conditions": conditions, **more},
    )
