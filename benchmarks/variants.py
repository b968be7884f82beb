"""The efficient variants of attention beside full attention: time and memory as the length grows.

    python benchmarks/variants.py                     all variants, n from 1024 to 8192
    python benchmarks/variants.py --only performer    those whose name contains `performer`, merged into the results
    python benchmarks/variants.py --quick             an eighth of each length, to check that all run; not saved

A variant and full attention by `regard.attend` take turns in the same run, with the same queries, keys and values: one
item, 8 heads of 64, float32, one thread. "Training" is forward and backward, with the gradients of the variant's own
parameters. Peaks of memory are measured in a process for each, after a small run, without the inputs. "dense" is full
attention that holds all weights, as the Transformer of the published comparison does; at 8192 it isn't run, because it
takes several GiB.

Published beside it: Tay et al. 2021, Long Range Arena (arXiv 2011.04006), table 2: the steps per second and the memory
of training, relative to a Transformer that holds all weights, on text of 4 K bytes and TPUs.
"""

import argparse
import functools
import inspect
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from measuring import RESULTS, conditions, paired, peak, save

SIZES = (1024, 2048, 4096, 8192)
HEADS, FEATURE = 8, 64
FULL, DENSE = "full", "dense"
KINDS = ("forward", "training")
# What is wanted at 4096: so many times as fast as full attention, with this share of its memory.
AT, LEAST, MOST = 4096, 3.0, 0.25
WANTED = ("local", "linear", "performer", "linformer")
# The speed and the share of the memory at 4 K in the table of the paper.
PUBLISHED = {
    DENSE: (1.0, 1.0),
    "local": (5.3, 0.14),
    "bigbird": (1.1, 0.30),
    "linear": (5.6, 0.11),
    "linformer": (5.5, 0.10),
    "performer": (5.7, 0.11),
    "reformer": (0.8, 0.24),
    "sinkhorn": (3.8, 0.16),
    "synthesizer": (1.4, 0.74),
}
COLUMNS = (
    "variant",
    *(f"{kind}, n = {size}: speed" for kind in KINDS for size in SIZES),
    "published, 4 K: speed",
    *(f"training, n = {size}: MiB" for size in SIZES),
    "published, 4 K: share of the memory",
)


def masks() -> dict[str, Any]:
    """The exact variants, which are masks: each query sees some 130 to 160 keys, and up to 255 of 8192 if strided."""
    from regard.attention import Window
    from regard.modules.efficient import BigBird, Longformer, Strided

    return {
        "local": Window(64, 64),
        "strided": Strided(64),
        "longformer": Longformer(64, global_tokens=16),
        "bigbird": BigBird(block=32, window_blocks=3, global_blocks=1, random_blocks=1),
    }


def names() -> list[str]:
    """Full attention, with and without all weights in memory, and all variants."""
    from regard.modules.efficient import APPROXIMATIONS

    return [FULL, DENSE, *masks(), *sorted(APPROXIMATIONS)]


def made(name: str, size: int, training: bool) -> Callable[[], Any]:
    """A call of the variant on inputs that depend on the seed."""
    from regard import attend
    from regard.modules.efficient import APPROXIMATIONS
    from regard.modules.make_part import PerLayer, make_part

    torch.manual_seed(0)
    query, key, value = (torch.randn(1, HEADS, size, FEATURE, requires_grad=training) for _ in range(3))
    wanted = [query, key, value]
    if name in APPROXIMATIONS:
        make = APPROXIMATIONS[name]
        if make.shared_query_key:
            wanted[1] = key = query
        if "max_length" in inspect.signature(make).parameters:
            make = functools.partial(make, max_length=size)
        part = make_part("approximation", PerLayer(make), APPROXIMATIONS, head_size=FEATURE, heads=HEADS)
        module = part.train(training)
        wanted += module.parameters()

        def call() -> torch.Tensor:
            return module(query, key, value)
    else:
        mask, engine = masks().get(name), "dense" if name == DENSE else "auto"

        def call() -> torch.Tensor:
            return attend(query, key, value, mask=mask, engine=engine)

    def forward() -> None:
        with torch.no_grad():
            call()

    def train() -> None:
        # Some don't need the queries or the keys.
        torch.autograd.grad(call().sum(), wanted, allow_unused=True)

    return train if training else forward


def memory(name: str, size: int) -> float:
    """The peak of a forward and a backward pass in MiB, in a process of its own."""
    command = [sys.executable, __file__, "--peak", name, str(size)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1])


def measured(name: str, sizes: Sequence[int], seconds: float) -> dict[str, Any]:
    """All figures of a variant, by length."""
    found: dict[str, Any] = {}
    for size in sizes:
        if name == DENSE and size > AT:
            continue
        row: dict[str, Any] = {"memory": memory(name, size)}
        for kind in KINDS if name != FULL else ():
            training = kind == "training"
            result = paired(made(name, size, training), made(FULL, size, training), seconds, least=5)
            row[kind] = {"ours": result.ours, "full": result.theirs, "ratio": result.ratio}
            row[kind] |= {"low": result.low, "high": result.high, "rounds": result.rounds}
        found[str(size)] = row
        times = "".join(f"{kind} {row[kind]['ratio']:.2f} times as fast as full, " for kind in KINDS if kind in row)
        print(f"{name}, n = {size}: {times}{row['memory']:.0f} MiB", flush=True)
    return found


def cells(name: str, found: Mapping[str, Any]) -> list[str]:
    """A row of the table. Speeds are relative to full attention by `regard.attend`: above 1 is faster."""
    rows = [found.get(str(size), {}) for size in SIZES]
    speeds = [
        "1" if name == FULL else f"{row[kind]['ratio']:.2g}" if kind in row else "-" for kind in KINDS for row in rows
    ]
    shares = [f"{row['memory']:.0f}" if row else "-" for row in rows]
    speed, share = PUBLISHED.get(name, (None, None))
    return [name, *speeds, "" if speed is None else f"{speed:g}", *shares, "" if share is None else f"{share:.2g}"]


def measured_on(known: Mapping[str, Any]) -> str:
    """The conditions of all variants: once if they are the same, else with the names of those that they are of."""
    names_by: dict[str, list[str]] = {}
    for name, found in known.items():
        names_by.setdefault(found["conditions"], []).append(name)
    if len(names_by) == 1:
        return next(iter(names_by))
    return " ".join(f"{', '.join(names)}: {conditions}" for conditions, names in names_by.items())


def misses(known: Mapping[str, Any]) -> list[str]:
    """What misses its target at 4096, a sentence each."""
    found = []
    for name in WANTED:
        if not all(str(AT) in known.get(each, {}) for each in (name, FULL, DENSE)):
            continue
        at = known[name][str(AT)]
        found += [
            f"{name}: {kind} {at[kind]['ratio']:.2f} times as fast as full attention, {LEAST:g} are wanted"
            for kind in KINDS
            if at[kind]["ratio"] < LEAST
        ]
        for other in (FULL, DENSE):
            share = at["memory"] / known[other][str(AT)]["memory"]
            if share > MOST:
                found.append(f"{name}: {share:.2f} of the memory of {other} attention, {MOST:g} is wanted")
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="the variants whose name contains this")
    parser.add_argument("--quick", action="store_true", help="an eighth of each length; not saved")
    parser.add_argument("--seconds", type=float, default=4.0, help="about how long to time each pair")
    parser.add_argument("--peak", nargs=2, metavar=("VARIANT", "N"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    if options.peak:
        name, size = options.peak[0], int(options.peak[1])
        made(name, 128, True)()
        print(peak(made(name, size, True)))
        return 0
    chosen = [name for name in names() if options.only in name]
    if not chosen:
        parser.error(f"--only must be part of one of {', '.join(names())}, but is {options.only!r}")
    if options.quick:
        for name in chosen:
            measured(name, [size // 8 for size in SIZES], 0.1)
        return 0
    path = RESULTS / "variants.json"
    known = {}
    if options.only and path.exists():
        saved = json.loads(path.read_text(encoding="utf-8"))
        known = {name: {"conditions": saved["conditions"], **found} for name, found in saved["found"].items()}
    for name in chosen:
        known[name] = measured(name, SIZES, options.seconds) | {"conditions": conditions("regard", threads=1, seed=0)}
        rows = [cells(each, known[each]) for each in names() if each in known]
        save("variants", COLUMNS, rows, measured_on(known), found=known)
    short = misses(known)
    print("\n".join(short) or "All targets are met.", flush=True)
    return len(short)


if __name__ == "__main__":
    raise SystemExit(main())
