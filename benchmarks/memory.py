"""Peak memory of forward and backward as the input grows, each size in a process of its own."""

import math
import subprocess
import sys

from measuring import conditions, save

SIZES = (4096, 8192, 16384, 32768)
# The peak of the process less what it had before: /proc counts what the allocator really took from the system.
PROBE = """
import resource, sys, torch
from regard import attend
from regard.attention import Relative, Window
torch.set_num_threads(2)
kind, n = sys.argv[1], int(sys.argv[2])
arguments = {
    "softmax": dict(engine="blocked"),
    "relu, causal": dict(engine="blocked", weights="relu", mask="causal"),
    "softmax, relative positions": dict(position=Relative(16, 8)),
    "softmax, window 128": dict(mask=Window(128, 128)),
}[kind]
query, key, value = (torch.randn(1, 2, n, 16, requires_grad=True) for _ in range(3))
attend(*(t[:, :, :64] for t in (query, key, value)), **arguments).sum().backward()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
attend(query, key, value, **arguments).sum().backward()
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""
KINDS = ("softmax", "relu, causal", "softmax, relative positions", "softmax, window 128")


def peak(kind: str, size: int) -> float:
    """MiB at the peak of forward and backward, beside the inputs."""
    ran = subprocess.run([sys.executable, "-c", PROBE, kind, str(size)], capture_output=True, text=True, check=True)
    return float(ran.stdout)


def slope(sizes: tuple[int, ...], peaks: list[float]) -> float:
    """The exponent p of peak ~ n^p, by least squares on logarithms: 1 is linear, 2 quadratic."""
    x, y = [math.log(size) for size in sizes], [math.log(value) for value in peaks]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / sum((a - mean_x) ** 2 for a in x)


def main() -> None:
    rows = []
    for kind in KINDS:
        peaks = [peak(kind, size) for size in SIZES]
        rows.append((kind, *(f"{value:.0f} MiB" for value in peaks), f"{slope(SIZES, peaks):.2f}"))
        print(*rows[-1], sep="\t", flush=True)
    columns = ["blocked, forward and backward", *(f"n = {size}" for size in SIZES), "exponent"]
    save("memory", columns, rows, conditions("regard", heads=2, features=16, dtype="float32"))


if __name__ == "__main__":
    main()
