"""The kernels for GPUs compiled without one: registers, spilled bytes and shared memory, from the compiler alone.

    python benchmarks/kernels.py [--rows 0 7 21]

Every launch goes through the engine's own code and Triton's own launcher, for a card that isn't there: the types of the
arguments and the tiles are those of a real call. With --rows, only these rows are compiled, and nothing is written.
"""

import argparse
import dataclasses
import itertools
import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from measuring import conditions, save

from regard.attention import Additive, Alibi, Bucketed, Budget, Cosine, Documents, Edges, Entmax, Relative, TopK, Window
from regard.attention.engines.fused import LARGEST_SCORES
from regard.attention.request import Request

WORK: dict[str, Callable[[int], dict[str, Any]]] = {
    "softmax": lambda size: {},
    "softmax, causal": lambda size: {"mask": "causal"},
    "softmax, causal, guarded": lambda size: {"mask": "causal"},
    "softmax, causal, one query": lambda size: {"mask": "causal", "queries": 1, "keys": 4096},
    "softmax, documents": lambda size: {"mask": Documents(torch.arange(LENGTH) // 100)},
    "softmax, no_self": lambda size: {"mask": "no_self"},
    "softmax, a mask of pairs": lambda size: {"mask": lambda batch, head, query, key: (query + key) % 3 == 0},
    "softmax, causal, dropout": lambda size: {"mask": "causal", "dropout": 0.1},
    "softmax of a trained cosine": lambda size: {"score": Cosine(torch.ones(HEADS))},
    "softmax of additive scores": lambda size: {"score": Additive(torch.ones(size), torch.ones(size))},
    "softmax, relative keys and values": lambda size: {"position": Relative(size, 8, on="both", value_size=size)},
    "softmax, bucketed": lambda size: {"position": Bucketed(HEADS, 32, 128)},
    "softmax, alibi, causal": lambda size: {"position": Alibi(HEADS), "mask": "causal"},
    "sigmoid, causal": lambda size: {"weights": "sigmoid", "mask": "causal"},
    "relu, window": lambda size: {"weights": "relu", "mask": Window(128, 128)},
    "entmax 1.5, causal": lambda size: {"weights": "entmax", "mask": "causal"},
    "entmax of a trained alpha": lambda size: {"weights": Entmax(torch.full((HEADS,), 1.3))},
    "budget, documents": lambda size: {"weights": Budget(2.5), "mask": Documents(torch.arange(LENGTH) // 100)},
    "top 8, causal": lambda size: {"weights": TopK(8), "mask": "causal"},
    "hard, no_self": lambda size: {"weights": "hard", "mask": "no_self"},
    "top 8, edges": lambda size: {"weights": TopK(8), "mask": ring()},
    "softmax, edges": lambda size: {"mask": ring()},
    "entmax 1.5 of leaky_relu, edges": lambda size: {
        "weights": "entmax",
        "score": Additive(torch.ones(HEADS, size), activation="leaky_relu"),
        "mask": ring(),
    },
}
LENGTH, HEADS = 256, 2
KERNELS = "forward", "backward_of_queries", "backward_of_keys"
OF_SUMMARIES = "summarise_rows", "summarise_columns"


def ring() -> Edges:
    """A graph in which each node sees the 16 after it."""
    node = torch.arange(LENGTH).repeat_interleave(16)
    return Edges(torch.stack([(node + torch.arange(16).repeat(LENGTH) + 1) % LENGTH, node]))


class Row(NamedTuple):
    """What one row of the table is compiled for."""

    work: str
    dtype: torch.dtype
    size: int
    capability: int


def rows() -> list[Row]:
    """All work for an H100, in bfloat16 with 64 features; and once more in turn in another way."""
    elsewhere = itertools.cycle(
        [
            (torch.float32, 64, 80),
            (torch.bfloat16, 128, 100),
            (torch.float32, 128, 90),
            (torch.bfloat16, 128, 80),
            (torch.float32, 64, 100),
        ]
    )
    return [row for work in WORK for row in (Row(work, torch.bfloat16, 64, 90), Row(work, *next(elsewhere)))]


@dataclasses.dataclass
class Compiled:
    """What the compiler said of one kernel.

    Attributes:
        registers: of a thread.
        spilled: bytes of a thread's memory outside of its registers.
        shared: bytes of shared memory that a program takes.
        seconds: what compiling took.
    """

    kernel: str
    registers: int
    spilled: int
    shared: int
    seconds: float

    def __str__(self) -> str:
        spilled = f", {self.spilled} B spilled" if self.spilled else ""
        return f"{self.registers} registers{spilled}, {self.shared / 1024:.0f} KiB, {self.seconds:.1f} s"


class Card:
    """A driver of Triton for a card that isn't there."""

    def __init__(self, capability: int):
        self.capability = capability

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", self.capability, 32)

    def get_current_device(self) -> int:
        return self.capability

    def get_current_stream(self, device: int) -> int:
        return 0


def compiled(row: Row) -> list[Compiled]:
    """The kernels of one call, its gradient, and the summary of its weights."""
    from triton.runtime import driver
    from triton.runtime.jit import JITFunction

    from regard.attention.engines import triton
    from regard.attention.engines.triton import guarded
    from regard.attention.engines.triton.edges import graph_of, launcher

    driver.set_active(Card(row.capability))
    found: list[Compiled] = []
    launching = JITFunction.run

    def compiling(self: Any, *args: Any, grid: Any, warmup: bool, **options: Any) -> None:
        start = time.perf_counter()
        kernel = launching(self, *args, grid=grid, warmup=True, **options)
        seconds = time.perf_counter() - start
        found.append(
            Compiled(self.__name__, *resources(kernel.asm["cubin"]), kernel.metadata.shared, round(seconds, 1))
        )

    JITFunction.run = compiling
    try:
        parts = {"score": "scaled_dot", "weights": "softmax", "mask": None, "position": None, "dropout": 0.0}
        parts |= WORK[row.work](row.size)
        lengths = parts.pop("queries", LENGTH), parts.pop("keys", LENGTH)
        query, key = (
            torch.zeros(1, HEADS, length, row.size, dtype=row.dtype, requires_grad=row.work.endswith("guarded"))
            for length in lengths
        )
        request = Request.of(query, key, torch.zeros_like(key), seed=1, **parts)
        if row.work.endswith("guarded"):
            # Those which are launched after PyTorch's own.
            reduced = request.reduced()[0]
            attention = partial(torch.nn.functional.scaled_dot_product_attention, is_causal=True)
            guarded.run(reduced, attention, LARGEST_SCORES[row.dtype]).sum().backward()
            return found
        launch = launcher(request)
        with torch.no_grad():
            output, *saved = launch.forward(request, saves=True)
            launch.backward(request, torch.zeros_like(output), saved)
            of_call = len(found)
            if graph_of(request) is None:
                triton.summarise(request, 8, 64, torch.zeros(1, dtype=torch.long))
    finally:
        JITFunction.run = launching
    # For a summary, the forward pass runs with values of one number.
    return found[:of_call] + [kernel for kernel in found[of_call:] if kernel.kernel in OF_SUMMARIES]


def resources(cubin: bytes) -> tuple[int, int]:
    """Registers and bytes of local memory of a kernel, by the tool that Triton brings."""
    import triton

    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        said = subprocess.run([tool, "--dump-resource-usage", file.name], capture_output=True, text=True, check=True)
    registers, stack = re.search(r"REG:(\d+) STACK:(\d+)", said.stdout).groups()
    return int(registers), int(stack)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", nargs="*", type=int, help="compile only these, and write nothing")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRITON_CACHE_DIR"] = cache
        table, figures, every = [], [], rows()
        for place in range(len(every)) if given.rows is None else given.rows:
            row, cells = every[place], {}
            # The output's kernel is launched twice under a guard, and said once.
            for one in {each.kernel: each for each in compiled(row)}.values():
                said = {"row": place, **row._asdict(), "dtype": str(row.dtype).removeprefix("torch.")}
                said |= dataclasses.asdict(one)
                print(json.dumps(said), flush=True)
                figures.append(said)
                cells[one.kernel] = str(one)
            own = [cells.pop(kernel) for kernel in KERNELS]
            beside = "; ".join(f"{kernel}: {said}" for kernel, said in cells.items())
            table.append((row.work, str(row.dtype).removeprefix("torch."), row.size, row.capability / 10, *own, beside))
    if given.rows is None:
        names = "outputs", "gradient of queries", "gradient of keys and values", "beside them"
        columns = ["work", "dtype", "head size", "capability", *names]
        save("kernels", columns, table, conditions("triton", "regard"), figures=figures)


if __name__ == "__main__":
    main()
