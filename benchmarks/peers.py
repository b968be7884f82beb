"""The operator and its peers: a table of ratios, each measured in the same run by alternating with the peer.

    python benchmarks/peers.py                        all rows, into benchmarks/results/operator.json
    python benchmarks/peers.py --only window          the rows whose name contains `window`, merged into that file
    python benchmarks/peers.py --quick                an eighth of each length, to check that everything runs; not saved

Each peer is used at its best setting: all settings of a row are tried and checked to compute the same, and the fastest
is compared. A row fails, and so does the command, if something is missing, differs, or misses its target. Install the
peers by `pip install -r benchmarks/requirements.txt --constraint constraints.txt`.
"""

import argparse
import dataclasses
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from measuring import Ceilings, ceilings, conditions, earlier, machine, paired, peak, save, timed, version
from rich.console import Console
from rich.table import Table
from rows import ROWS, Bench, Case, Maker, Outputs, Row, Run, Work

COLUMNS = ("what", "peer", "ours", "the peer", "ratio", "wanted", "predicted", "of the ceiling")


@dataclasses.dataclass(frozen=True)
class Setting:
    """One setting of a side: the time to build it and call it first, and the time of a further call if it was timed."""

    name: str
    run: Run | None
    first: float = 0.0
    seconds: float = float("inf")
    outputs: Outputs = ()
    problem: str | None = None


def tried(name: str, make: Maker, bench: Bench, check: Callable[[Outputs], str | None], *, time: bool) -> Setting:
    """Build a side, run it once, check its outputs and, with `time`, time a second run."""
    runs: list[Run] = []
    outputs: list[Outputs] = []

    def first() -> None:
        runs.append(make())
        outputs.append(runs[0]())

    try:
        taken = timed(first, bench.device)
        if problem := check(outputs[0]):
            return Setting(name, None, taken, problem=problem)
        return Setting(name, runs[0], taken, timed(runs[0], bench.device) if time else 0.0, outputs[0])
    except ModuleNotFoundError as error:
        return Setting(name, None, problem=f"{error.name} is not installed: see benchmarks/requirements.txt")
    except Exception as error:
        # If one side fails, that is the result of its row, and the table goes on.
        said = str(error).strip().splitlines()
        return Setting(name, None, problem=f"{type(error).__name__}: {said[0] if said else ''}"[:300])


def largest_gap(ours: Outputs, theirs: Outputs) -> float:
    """The largest difference of any output or gradient, relative to the largest number in that tensor."""
    gaps = []
    for one, other in zip(ours, theirs, strict=True):
        one, other = one.detach().double().flatten(), other.detach().double().flatten()
        if len(one) != len(other):
            raise ValueError(f"ours gives {len(one)} numbers where the peer gives {len(other)}")
        gaps.append(float((one - other).abs().max() / other.abs().max().clamp(min=1e-30)))
    # Python's max may skip NaN.
    return float(torch.tensor(gaps).max())


def measure_time(row: Row, bench: Bench, highest: Ceilings) -> dict[str, Any]:
    """One row of seconds."""
    case = made(row, bench)
    ours = tried("ours", case.ours, bench, lambda _: None, time=False)

    def check(outputs: Outputs) -> str | None:
        if case.tolerance is None or ours.run is None:
            return None
        gap = largest_gap(ours.outputs, outputs)
        return None if gap <= case.tolerance else f"unequal to ours: off by {gap:.1e} of the largest number"

    best, scan = Setting("", None), {}
    for name, make in case.peers.items():
        setting = tried(name, make, bench, check, time=len(case.peers) > 1)
        scan[name] = setting.problem or setting.seconds or None
        # The slower one is deleted at once, because it may hold a mask of n x n.
        if best.run is None or (setting.run is not None and setting.seconds < best.seconds):
            best = dataclasses.replace(setting, outputs=())
    found: dict[str, Any] = {"scan": scan, "setting": best.name}
    if problems := [f"{side.name}: {side.problem}" for side in (ours, best) if side.problem]:
        found["problem"] = "; ".join(problems)
    if ours.run is None or best.run is None:
        return found | {name: side.run and alone(side.run, bench) for name, side in (("ours", ours), ("theirs", best))}
    seconds, rounds = (1.0, 1) if bench.quick else (row.seconds, row.rounds)
    result = paired(ours.run, best.run, seconds, bench.device, rounds)
    return found | {
        "ours": result.ours,
        "theirs": result.theirs,
        "ratio": result.ratio,
        "low": result.low,
        "high": result.high,
        "rounds": result.rounds,
        "ours_built": max(0.0, ours.first - result.ours),
        "theirs_built": max(0.0, best.first - result.theirs),
        "of_ceiling": case.work and share_of_ceiling(case.work, result.ours, highest),
    }


def alone(run: Run, bench: Bench) -> float:
    """The seconds of a side without a peer: the median of three runs, or one long run."""
    first = timed(run, bench.device)
    return first if first > 5 else sorted([first, *(timed(run, bench.device) for _ in range(2))])[1]


def share_of_ceiling(work: Work, seconds: float, highest: Ceilings) -> float:
    """The fraction of the machine's peak performance: products, exponentials and bytes one after another."""
    products = highest.half_products if work.half else highest.products
    least = work.products / products + work.exponentials / highest.exponentials + work.bytes / highest.bytes
    return least / seconds


def measure_memory(row: Row, bench: Bench) -> dict[str, Any]:
    """One row of peaks, MiB, each side in a process of its own."""
    names = list(made(row, bench).peers)
    problems, peaks = [], {}
    for side in ("ours", *names):
        if bench.device == "cuda":
            # A GPU's allocator counts what a call takes, whatever else the process holds.
            try:
                peaks[side] = peak_of(row, side, bench)
            except Exception as error:
                problems.append(f"{side}: {type(error).__name__}: {error}"[:300])
            continue
        command = [sys.executable, __file__, "--peak", row.name, side, "--device", bench.device]
        ran = subprocess.run([*command, *(["--quick"] if bench.quick else [])], capture_output=True, text=True)
        if ran.returncode:
            problems.append(
                f"{side}: {(ran.stderr.strip().splitlines() or [f'ended with {ran.returncode}'])[-1][:300]}"
            )
        else:
            peaks[side] = float(ran.stdout.split()[-1])
    setting = min((name for name in names if name in peaks), key=peaks.__getitem__, default=names[0] if names else "")
    ours, theirs = peaks.get("ours"), peaks.get(setting)
    found = {"ours": ours, "theirs": theirs, "setting": setting, "scan": peaks}
    if problems:
        found["problem"] = "; ".join(problems)
    if ours and theirs:
        found["ratio"] = theirs / ours
    return found


def peak_of(row: Row, side: str, bench: Bench) -> float:
    """The peak of a side's memory, after a small run, so that one-time loading isn't counted."""
    for size in (dataclasses.replace(bench, quick=True), bench):
        case = made(row, size)
        run = (case.ours if side == "ours" else case.peers[side])()
        if size is not bench or bench.quick:
            run()
    return peak(run, bench.device)


def made(row: Row, bench: Bench) -> Case:
    """The two sides of a row, with inputs that depend on the seed."""
    torch.manual_seed(bench.seed)
    torch.compiler.reset()
    return row.case(bench)


def shortfall(row: Row, found: Mapping[str, Any]) -> str | None:
    """Why a row misses its target, or None."""
    if "problem" in found:
        return found["problem"]
    if row.limit is not None and found["ours"] > row.limit:
        return f"{found['ours']:.0f} MiB where {row.limit:.0f} are allowed"
    ratio = found.get("ratio")
    if row.least is not None and ratio < row.least:
        return f"{ratio:.3g} where {row.least:g} is wanted"
    if row.most is not None and 1 / ratio > row.most:
        return f"{1 / ratio:.3g} where {row.most:g} is the most"
    return None


def cells(row: Row, found: Mapping[str, Any]) -> list[str]:
    """The cells of a row in the table."""
    show = format_mib if row.measure == "memory" else format_seconds
    # A row of an earlier run keeps the versions that it was measured with.
    measured = found.get("versions") or {name: version(name) for name in row.packages}
    versions = ", ".join(f"{name} {measured[name]}" for name in row.packages)
    setting = f": {found['setting']}" if found.get("setting") else ""
    if found.get("theirs_built", 0.0) > 1:
        setting += f", built once in {found['theirs_built']:.0f} s"
    ratio = found.get("ratio")
    if ratio is None:
        said = "-"
    else:
        # Rows with a largest cost show the cost; the others show the gain.
        low, middle, high = (found.get(name, ratio) for name in ("low", "ratio", "high"))
        if row.most is not None:
            low, middle, high = 1 / high, 1 / middle, 1 / low
        said = f"{middle:.3g}" + (f" ({low:.3g} to {high:.3g})" if found.get("rounds", 0) > 1 else "")
    if row.limit is not None:
        wanted = f"at most {row.limit:.0f} MiB"
    elif row.least is not None:
        wanted = f"at least {row.least:g}"
    else:
        wanted = f"cost at most {row.most:g}" if row.most is not None else ""
    predicted = "" if row.prediction is None else f"{row.prediction:g}{' MiB' if row.limit is not None else ''}"
    share = found.get("of_ceiling")
    return [
        row.what,
        f"{row.peer}{setting}" + (f" ({versions})" if versions else ""),
        show(found.get("ours")),
        show(found.get("theirs")),
        said,
        wanted,
        predicted,
        f"{share:.0%}" if share else "",
    ]


def format_seconds(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def format_mib(mib: float | None) -> str:
    return "-" if mib is None else f"{mib:.0f} MiB"


def shown(rows: Sequence[Row], found: Mapping[str, Mapping[str, Any]], facts: str) -> None:
    """Print the table, then the rows that miss their target and why."""
    console = Console(width=None if sys.stdout.isatty() else 200)
    table = Table(title="The operator beside its peers", caption=facts, expand=False)
    for column in COLUMNS:
        table.add_column(column, justify="left" if column in ("what", "peer", "wanted") else "right")
    for row in rows:
        problem = shortfall(row, found[row.name])
        table.add_row(*cells(row, found[row.name]), style="red" if problem else None)
    console.print(table)
    for row in rows:
        if problem := shortfall(row, found[row.name]):
            console.print(f"{row.name}: {problem}", markup=False, highlight=False)


def held_rows(bench: Bench) -> dict[str, Any]:
    """What the file holds of earlier runs on the same machine with the same versions."""
    return earlier(results_of(bench), same(bench))


def results_of(bench: Bench) -> str:
    return "operator" if bench.device == "cpu" else f"operator-{bench.device}"


def same(bench: Bench) -> dict[str, str]:
    """What must not differ between the rows of a file."""
    return {"machine": machine(bench.device), "torch": torch.__version__}


def kept(found: Mapping[str, dict[str, Any]], facts: str, bench: Bench) -> None:
    """Merge the rows into the file with those of earlier runs."""
    details = held_rows(bench)
    for row in ROWS:
        if row.name in found:
            fields = ("what", "peer", "prediction", "why", "least", "most", "limit", "measure")
            details[row.name] = {field: getattr(row, field) for field in fields} | {
                "versions": {package: version(package) for package in row.packages},
                **found[row.name],
                "short": shortfall(row, found[row.name]),
                "measured": time.strftime("%Y-%m-%d %H:%M"),
                "conditions": facts,
            }
    rows = [row for row in ROWS if row.name in details]
    details = {row.name: details[row.name] for row in rows}
    table = [cells(row, details[row.name]) for row in rows]
    days = sorted({row["measured"][:10] for row in details.values()})
    facts = f"{facts.removesuffix('.').rsplit('; ', 1)[0]}; {' to '.join(dict.fromkeys((days[0], days[-1])))}."
    save(results_of(bench), COLUMNS, table, facts, same=same(bench), details=details)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="rows whose name contains this; may be repeated"
    )
    parser.add_argument("--quick", action="store_true", help="an eighth of each length; nothing is saved")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, default=2, help="of the CPU")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="time a row for so long at most")
    parser.add_argument(
        "--within", type=float, metavar="SECONDS", help="begin no row after so long; what the file lacks comes first"
    )
    parser.add_argument("--peak", nargs=2, metavar=("ROW", "SIDE"), help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    torch.set_num_threads(asked.threads)
    bench = Bench(asked.device, asked.quick, asked.seed)
    if asked.peak:
        name, side = asked.peak
        print(peak_of(next(row for row in ROWS if row.name == name), side, bench))
        return 0
    rows = [row for row in ROWS if not asked.only or any(name in row.name for name in asked.only)]
    if not rows:
        raise SystemExit(f"no row's name holds any of {asked.only}; there are: {', '.join(row.name for row in ROWS)}")
    rows = [dataclasses.replace(row, seconds=min(row.seconds, asked.seconds)) for row in rows]
    end = float("inf") if asked.within is None else time.monotonic() + asked.within
    if asked.within is not None:
        held = held_rows(bench)
        rows.sort(key=lambda row: row.name in held)
    # Deprecation warnings of peers don't matter here.
    warnings.simplefilter("ignore")
    highest = ceilings(bench.device)
    facts = conditions(
        "regard",
        device=bench.device,
        threads=asked.threads,
        seed=asked.seed,
        **({"quick": "lengths an eighth"} if bench.quick else {}),
        ceilings=str(highest),
    )
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        if time.monotonic() > end:
            break
        start = time.perf_counter()
        found[row.name] = measure_memory(row, bench) if row.measure == "memory" else measure_time(row, bench, highest)
        took = time.perf_counter() - start
        said = " | ".join(cells(row, found[row.name])[2:6])
        print(
            f"{row.name}: {said} | {shortfall(row, found[row.name]) or 'ok'} | {took:.0f} s",
            file=sys.stderr,
            flush=True,
        )
        if not bench.quick:
            # After each row: whoever stops a long run loses none of it.
            kept({row.name: found[row.name]}, facts, bench)
    if late := [row.name for row in rows if row.name not in found]:
        print(f"not begun within {asked.within:g} s: {', '.join(late)}")
    rows = [row for row in rows if row.name in found]
    shown(rows, found, facts)
    return any(shortfall(row, found[row.name]) for row in rows)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    raise SystemExit(main())
