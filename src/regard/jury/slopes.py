"""How time and memory grow with the length: measured, reported, and no verdict."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import torch

from regard.jury.cases import Case
from regard.jury.subject import RefusedCase, Subject
from regard.jury.verdict import Slope

__all__ = ["measured_slopes"]

LENGTHS = (256, 512, 1024, 2048)
_PATIENCE = 5.0  # seconds: a length that takes longer is the last


def measured_slopes(subject: Subject) -> Iterator[Slope]:
    """One run for each length after one that warms up: the faster of two in time, the larger in memory."""
    for length in LENGTHS:
        case = Case(dtype=subject.claims.usual, heads=4, key_heads=4, queries=length, keys=length, feature=64, value=64)
        inputs = subject.make(case)
        seconds, held = [], []
        try:
            for _ in range(3):
                before = _start(subject.device)
                begin = time.perf_counter()
                subject.outcome(inputs, gradients=subject.claims.gradients)
                if subject.device.startswith("cuda"):
                    torch.cuda.synchronize()
                seconds.append(time.perf_counter() - begin)
                held.append(_peak(subject.device, before))
        except RefusedCase:
            return
        known = [each for each in held[1:] if each is not None]
        yield Slope(length, min(seconds[1:]), max(known) if known else None)
        if seconds[-1] > _PATIENCE:
            return


def _start(device: str) -> int:
    """What is held now, in bytes, with the high-water mark set back to it where the system can."""
    if device.startswith("cuda"):
        torch.cuda.reset_peak_memory_stats()
        return torch.cuda.memory_allocated()
    if not sys.platform.startswith("linux"):
        return 0
    try:
        # 5 sets the process's high-water mark back: see proc(5), clear_refs.
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return 0
    return _status("VmRSS")


def _peak(device: str, before: int) -> float | None:
    """MiB beyond what was held before; None where it can't be known."""
    if device.startswith("cuda"):
        return (torch.cuda.max_memory_allocated() - before) / 2**20
    if not before:
        return None
    return max(_status("VmHWM") - before, 4096) / 2**20


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))
