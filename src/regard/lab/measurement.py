"""The time and the peak of memory of a run, and the machine that it ran on."""

import ctypes
import datetime
import gc
import os
import platform
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import torch

from regard.version import __version__

__all__ = ["Measured", "cores", "machine", "machine_with_gpu", "measured", "processor", "today", "versions"]


class Measured(NamedTuple):
    """What a call returned, the seconds that it took, and the peak of its memory in MiB, where the system tells it."""

    value: Any
    seconds: float
    memory: float | None


def measured(call: Callable[[], Any]) -> Measured:
    """Time a call, and measure how much more memory its process took than it held before.

    If there is a GPU, the memory is that of the GPU instead.

    Example:
        >>> measured(lambda: 7).value
        7
    """
    on_gpu = torch.cuda.is_available()
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    there = torch.cuda.memory_allocated() if on_gpu else 0
    before = _held()
    start = time.perf_counter()
    value = call()
    seconds = time.perf_counter() - start
    if on_gpu and (most := torch.cuda.max_memory_allocated()) > there:
        return Measured(value, seconds, (most - there) / 2**20)
    return Measured(value, seconds, None if before is None else max(0.0, _status("VmHWM") - before) / 1024)


def _held() -> float | None:
    """What the process holds now, in KiB, and what its high-water mark counts from; on Linux only."""
    gc.collect()
    with suppress(OSError, AttributeError):
        # Return cached memory to the system, because its reuse wouldn't be counted.
        ctypes.CDLL(None).malloc_trim(0)
    try:
        # 5 sets the high-water mark back to what is held now: see proc(5), clear_refs.
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        return _status("VmRSS")
    except (OSError, LookupError):
        return None


def _status(name: str) -> float:
    """A field of the process's own status, in KiB."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return float(line.split()[1])
    raise LookupError(f"/proc/self/status has no {name}")


def cores() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor() -> str:
    """The name of the processor, if the system reports it, else its architecture."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def machine() -> str:
    """The processor and the number of its cores."""
    return f"{processor()}, {cores()} cores"


def machine_with_gpu() -> str:
    """The processor, the number of its cores, and the GPU if PyTorch finds one."""
    return f"{machine()}, {torch.cuda.get_device_name()}" if torch.cuda.is_available() else machine()


def versions() -> dict[str, str]:
    """The versions that a result depends on."""
    return {"regard": __version__, "torch": torch.__version__, "python": platform.python_version()}


def today() -> str:
    """The date, as YYYY-MM-DD."""
    return datetime.date.today().isoformat()
