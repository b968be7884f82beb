"""How memory and time grow with the input, for every engine that `auto` may choose, over all kinds of parts.

    python benchmarks/slopes.py             combinations such that every two parts meet, n from 4096 to 65536
    python benchmarks/slopes.py --resume    go on with those that are not yet in benchmarks/results/slopes.json
    python benchmarks/slopes.py --only 5    the first five of them
    python benchmarks/slopes.py --whole     as many queries as keys, which takes hours

Each combination runs forward and backward in a process of its own, with n keys and n / 32 queries. Memory for all pairs
would still grow as n^2, at a 32nd of the work. Memory is the peak that the process takes from the system, without the
inputs; an exponent of 1 is linear. Tiles have a bounded size, but at small n they outweigh everything else, so the
target is for the exponent of the last step, from 16384 to 65536.
"""

import argparse
import itertools
import json
import random
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from measuring import RESULTS, conditions, machine, peak, save, slope, timed

SIZES = (4096, 16384, 65536)
SHARE = 32
HEADS, FEATURE = 2, 8
KINDS = ("score", "weights", "mask", "position")
# A linear peak may look a little steeper than 1, because of the allocator's caches, pages and small tiles.
MOST = 1.15
COLUMNS = (
    "engine",
    "combinations",
    "chosen by auto",
    *(f"median peak, n = {size}" for size in SIZES),
    "steepest exponent of memory",
    "steepest of its last step",
)


def graph(queries: int, keys: int) -> Any:
    """Sixteen random keys for each query."""
    from regard.attention import Edges

    return Edges(torch.stack([torch.randint(keys, (16 * queries,)), torch.arange(queries).repeat(16)]))


def blocks(queries: int, keys: int) -> Any:
    """Blocks of 64: each block of queries sees four blocks of keys."""
    from regard.attention import Blocks

    rows = -(-queries // 64)
    return Blocks(torch.stack([torch.randint(keys // 64, (4 * rows,)), torch.arange(rows).repeat(4)]), size=64)


def documents(queries: int, keys: int) -> Any:
    """Documents of 1000 keys; the queries are their last positions."""
    from regard.attention import Documents

    return Documents(torch.arange(keys) // 1000)


def masks() -> dict[str, Callable[[int, int], Any]]:
    """The masks that need arguments, and common combinations."""
    from regard import attention as parts

    return {
        "window": lambda m, n: parts.Window(64, 64),
        "lengths": lambda m, n: parts.Lengths(query=[m - 3], key=[n - 5]),
        "documents": documents,
        "prefix": lambda m, n: parts.Prefix(100),
        "guided": lambda m, n: parts.Guided(100),
        "edges": graph,
        "blocks": blocks,
        "window & causal": lambda m, n: parts.Window(64, 64) & parts.Causal(),
        "prefix | window": lambda m, n: parts.Prefix(100) | parts.Window(64, 64),
        "~window": lambda m, n: ~parts.Window(64, 64),
        "a function": lambda m, n: lambda batch, head, query, key: (query + key) % 3 != 0,
    }


def scores() -> dict[str, Callable[[], Any]]:
    from regard import attention as parts

    return {
        "additive": lambda: parts.SCORES["additive"](FEATURE, HEADS),
        "additive, leaky_relu": lambda: parts.SCORES["additive"](FEATURE, HEADS, activation="leaky_relu"),
        "bilinear": lambda: parts.SCORES["bilinear"](FEATURE, HEADS),
        "a function": lambda: lambda query, key: (query @ key.mT).tanh(),
    }


def weights() -> dict[str, Callable[[], Any]]:
    return {"a function": lambda: lambda scores, allowed: torch.softmax(2 * scores, -1)}


def positions() -> dict[str, Callable[[], Any]]:
    from regard import attention as parts

    return {
        "none": lambda: None,
        "relative": lambda: parts.POSITIONS["relative"](FEATURE, 16, HEADS),
        "bucketed": lambda: parts.POSITIONS["bucketed"](HEADS),
        "alibi": lambda: parts.POSITIONS["alibi"](HEADS),
        "relative, both": lambda: parts.POSITIONS["relative"](FEATURE, 16, HEADS, on="both"),
    }


def options() -> dict[str, list[str]]:
    """Every part by kind and name: those of the package, and the examples here."""
    from regard import attention as parts

    return {
        "score": list(dict.fromkeys([*parts.SCORES, *scores()])),
        "weights": list(dict.fromkeys([*parts.WEIGHTS, *weights()])),
        "mask": list(dict.fromkeys([*parts.MASKS, *masks()])),
        "position": list(dict.fromkeys([*positions(), *parts.POSITIONS])),
    }


def made(kind: str, name: str, *sizes: int) -> Any:
    """A part by its name: an example of ours where it needs arguments, else the name itself."""
    examples: Mapping[str, Callable[..., Any]] = {
        "score": scores,
        "weights": weights,
        "mask": masks,
        "position": positions,
    }[kind]()
    if name in examples:
        return examples[name](*sizes)
    return name


def pairwise(known: Mapping[str, Sequence[str]], seed: int) -> list[dict[str, str]]:
    """Combinations that cover every pair of parts of different kinds; each is the best of some random ones."""
    draw = random.Random(seed)
    kinds = list(known)
    missing = {
        ((one, a), (other, b))
        for one, other in itertools.combinations(kinds, 2)
        for a in known[one]
        for b in known[other]
    }
    found = []
    while missing:
        (one, a), (other, b) = min(missing)
        tries = []
        for _ in range(50):
            parts = {kind: draw.choice(known[kind]) for kind in kinds} | {one: a, other: b}
            tries.append((len(missing.intersection(itertools.combinations(parts.items(), 2))), parts))
        best = max(tries, key=lambda scored: scored[0])[1]
        missing -= set(itertools.combinations(best.items(), 2))
        found.append(best)
    return found


def probe(parts: Mapping[str, str], share: int) -> None:
    """The child process: memory and time of each engine that takes this combination, one line of JSON each."""
    from regard import attend, plan
    from regard.attention.engines import AUTO
    from regard.errors import RefusedError

    torch.set_num_threads(2)
    for engine in AUTO:
        found: dict[str, Any] = {"engine": engine, "memory": [], "seconds": []}
        # A first, small run for one-time loading; then the sizes, ascending.
        for size in (512, *SIZES):
            torch.manual_seed(0)
            queries = max(16, size // share)
            query = torch.randn(1, HEADS, queries, FEATURE, requires_grad=True)
            key, value = (torch.randn(1, HEADS, size, FEATURE, requires_grad=True) for _ in range(2))
            chosen = {kind: made(kind, parts[kind], *((queries, size) if kind == "mask" else ())) for kind in KINDS}
            try:
                plan(query, key, value, **chosen, engine=engine)
            except RefusedError:
                break

            def run(query=query, key=key, value=value, chosen=chosen, engine=engine) -> None:
                attend(query, key, value, **chosen, engine=engine).sum().backward()

            if size not in SIZES:
                run()
                found["chosen"] = plan(query, key, value, **chosen).engine == engine
                continue
            times: list[float] = []
            found["memory"].append(peak(lambda run=run, times=times: times.append(timed(run))))
            found["seconds"] += times
        if found["memory"]:
            print(json.dumps(found), flush=True)


def judged(memory: Sequence[float]) -> tuple[float, float]:
    """The exponent of memory over all sizes, and over the last step."""
    # A peak of less than a MiB is due to pages, not tensors.
    known = [max(value, 1.0) for value in memory]
    return slope(SIZES, known), slope(SIZES[-2:], known[-2:])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", type=int, help="so many of the combinations")
    parser.add_argument("--resume", action="store_true", help="keep what is in the file, and measure the rest")
    parser.add_argument("--whole", action="store_true", help="as many queries as keys")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--probe", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    share = 1 if asked.whole else SHARE
    if asked.probe:
        probe(json.loads(asked.probe), share)
        return 0
    combinations = pairwise(options(), asked.seed)[: asked.only]
    details = kept(combinations) if asked.resume else []
    done = [detail["parts"] for detail in details]
    steep = sum(detail.get("last", 2.0) > MOST for detail in details)
    print("of", "score, weights, mask, position", "engine", *SIZES, "exponent", "of the last step", "of time", sep="\t")
    for number, parts in enumerate(combinations, 1):
        if parts in done:
            continue
        command = [sys.executable, __file__, "--probe", json.dumps(parts), *(["--whole"] if asked.whole else [])]
        ran = subprocess.run(command, capture_output=True, text=True)
        start = f"{number}/{len(combinations)}\t{', '.join(parts.values())}"
        if ran.returncode:
            steep += 1
            problem = (ran.stderr.strip().splitlines() or [f"ended with {ran.returncode}"])[-1][:200]
            details.append({"parts": parts, "problem": problem})
            print(start, problem, sep="\t", flush=True)
        for line in ran.stdout.splitlines():
            found = json.loads(line)
            exponent, last = judged(found["memory"])
            growth = slope(SIZES, found["seconds"])
            steep += last > MOST
            details.append({"parts": parts, **found, "exponent": exponent, "last": last, "time exponent": growth})
            said = (
                found["engine"] + (" (auto)" if found["chosen"] else ""),
                *(f"{value:.0f} MiB" for value in found["memory"]),
                f"{exponent:.2f}",
                f"{last:.2f}" + ("" if last <= MOST else " too steep"),
                f"{growth:.2f}",
            )
            print(start, *said, sep="\t", flush=True)
        if not asked.only:
            facts = conditions(
                "regard",
                heads=HEADS,
                features=FEATURE,
                queries="n" if asked.whole else f"n / {share}",
                combinations=f"{number} of {len(combinations)}",
                seed=asked.seed,
            )
            same = {"machine": machine(), "torch": torch.__version__}
            save("slopes", COLUMNS, list(by_engine(details)), facts, same=same, details=details)
    worst = max((found.get("last", 0.0) for found in details), default=0.0)
    print(f"{len(combinations)} combinations, {len(details)} runs; the steepest last step is {worst:.2f}; {steep} fail")
    return int(steep > 0)


def kept(combinations: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    """The measurements of an earlier run on the same machine with the same torch."""
    path = RESULTS / "slopes.json"
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if before.get("same") != {"machine": machine(), "torch": torch.__version__}:
        return []
    return [detail for detail in before["details"] if detail["parts"] in combinations]


def by_engine(details: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Any, ...]]:
    """A line for each engine: the number of combinations that it took, and its worst exponents of memory."""
    for engine in dict.fromkeys(detail["engine"] for detail in details if "engine" in detail):
        taken = [detail for detail in details if detail.get("engine") == engine]
        yield (
            f"`{engine}`",
            len(taken),
            sum(detail["chosen"] for detail in taken),
            *(f"{statistics.median(peaks):.0f} MiB" for peaks in zip(*(d["memory"] for d in taken), strict=True)),
            f"{max(detail['exponent'] for detail in taken):.2f}",
            f"{max(detail['last'] for detail in taken):.2f}",
        )


if __name__ == "__main__":
    raise SystemExit(main())
