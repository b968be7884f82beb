"""How much memory a call takes at most: the peak of the process in it. For processes that do nothing else, on Linux."""

import ctypes
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path


def peak(call: Callable[[], object]) -> float:
    """How many MiB more than before the call the process held at most while it ran."""
    system = ctypes.CDLL(None)
    # M_MMAP_THRESHOLD: from here on what is freed is given back at once, so that holes in the heap aren't counted.
    system.mallopt(-3, 1 << 18)
    system.malloc_trim(0)
    # 5 sets the process's high-water mark back to what it holds now: see proc(5), clear_refs.
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = _held("VmRSS")
    call()
    return (_held("VmHWM") - before) / 1024


def _held(field: str) -> int:
    """A field of the process's own status, in KiB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def printed(*lines: str) -> str:
    """What a fresh process prints that runs these lines of Python, in the folder of the tests."""
    tests = str(Path(__file__).parents[1])
    command = [sys.executable, "-c", "\n".join(lines)]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=tests).stdout
