"""Does the suite notice a mistake? Mutants of the source, drawn by a seed, and how many of them the tests kill.

    python tests/mutants.py draw mutants.json --count 60 --seed 1
    python tests/mutants.py trace mutants.json --sample
    python tests/mutants.py judge mutants.json --sample --column sample
    python tests/mutants.py judge mutants.json --column every --part sample
    python tests/mutants.py table mutants.json

A mutant is the source with one small change: `<` for `<=`, `+` for `-`, a condition negated, a number one higher, a
call left out (DeMillo, Lipton and Sayward 1978). `draw` chooses as many in each room. `trace` runs the suite once with
every place reported that a mutant would change, so that `judge` runs only the laws that come by there, until one
fails; a change in what is compiled, or made while modules are imported, is judged by all tests of its room. With
`--tests FOLDER` another checkout's suite is the judge, as that of an earlier commit. `judge` goes on where it was
stopped. Copies of the project are changed, never the project itself.
"""

import argparse
import ast
import collections
import concurrent.futures
import copy
import json
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROOMS = ("attention", "modules", "inspection", "tasks", "page")
COPIED = (
    "src",
    "tests",
    "docs",
    "benchmarks",
    "*.md",
    "*.toml",
    "*.txt",
    "*.cff",
    "Makefile",
    ".ci",
    ".github",
    ".pre*",
)

COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATIONS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


@dataclass
class Mutant:
    """One change: the source text between two places, and what stands there instead.

    Lines count from 1, columns in bytes from 0, as those of `ast` do. `laws` are the test functions and files of tests
    that come by; None if all may.
    """

    path: str
    start: tuple[int, int]
    end: tuple[int, int]
    old: str
    new: str
    line: str
    compiled: bool
    laws: list[str] | None = None
    killed_by: dict[str, str] = field(default_factory=dict)

    @property
    def room(self) -> str:
        return Path(self.path).parts[2]

    def __str__(self) -> str:
        return f"{self.path}:{self.start[0]}: {self.old} -> {self.new}"


def mutated(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in the place of an expression."""
    other = copy.copy(node)
    match other:
        case ast.Compare(ops=[operator]):
            other.ops = [COMPARISONS[type(operator)]()]
            yield other
        case ast.BinOp(op=operator) if type(operator) in OPERATIONS:
            other.op = OPERATIONS[type(operator)]()
            yield other
        case ast.BoolOp(op=operator):
            other.op = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield other
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield ast.Constant(value + 1)


def candidates(path: Path) -> Iterator[Mutant]:
    """The mutants of a file."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    name = path.relative_to(ROOT).as_posix()

    def mutant(node: ast.expr, new: str, compiled: bool) -> Mutant:
        old = ast.get_source_segment(text, node) or ""
        start, end = (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
        return Mutant(name, start, end, old, new, lines[node.lineno - 1], compiled)

    def walk(node: ast.AST, compiled: bool) -> Iterator[Mutant]:
        for part, value in ast.iter_fields(node):
            # Not annotations, decorators and texts: what they say is no arithmetic.
            if part in ("annotation", "returns", "decorator_list") or isinstance(value, ast.JoinedStr):
                continue
            for each in value if isinstance(value, list) else [value]:
                if not isinstance(each, ast.AST):
                    continue
                inside = compiled
                if isinstance(each, ast.FunctionDef):
                    inside = any("compiled" in ast.unparse(decorator) for decorator in each.decorator_list)
                if isinstance(each, ast.expr):
                    yield from (mutant(each, f"({ast.unparse(new)})", inside) for new in mutated(each))
                if part == "test" and isinstance(node, ast.If | ast.IfExp | ast.While):
                    if "TYPE_CHECKING" in ast.unparse(each):
                        continue
                    yield mutant(each, f"(not ({ast.unparse(each)}))", inside)
                if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call):
                    yield mutant(each.value, "None", inside)
                yield from walk(each, inside)

    yield from walk(ast.parse(text), False)


def meet(one: Mutant, other: Mutant) -> bool:
    """Whether two mutants change the same line."""
    return one.path == other.path and one.start[0] <= other.end[0] and other.start[0] <= one.end[0]


def draw(count: int, seed: int) -> list[Mutant]:
    """As many mutants of each room, no two on one line."""
    drawn: list[Mutant] = []
    for place, room in enumerate(ROOMS):
        files = sorted((ROOT / "src" / "regard" / room).rglob("*.py"))
        of_room = [mutant for path in files for mutant in candidates(path)]
        random.Random(f"{seed} {room}").shuffle(of_room)
        wanted = len(drawn) + count // len(ROOMS) + (place < count % len(ROOMS))
        for mutant in of_room:
            if len(drawn) < wanted and not any(meet(mutant, other) for other in drawn):
                drawn.append(mutant)
    return drawn


def replaced(text: str, mutant: Mutant, new: str) -> str:
    """The text with something else in the mutant's place: the line may have moved since the mutant was drawn.

    Raises:
        LookupError: there is no such line, or more than one as near.
    """
    lines = text.encode().splitlines(keepends=True)
    held = [place for place, line in enumerate(lines, 1) if line.decode().rstrip("\r\n") == mutant.line]
    near = sorted(held, key=lambda place: abs(place - mutant.start[0]))
    if not near:
        raise LookupError(f"{mutant.path} has no line {mutant.line!r}")
    first = near[0]
    last = first + mutant.end[0] - mutant.start[0]
    before = lines[first - 1][: mutant.start[1]]
    after = lines[last - 1][mutant.end[1] :]
    return b"".join([*lines[: first - 1], before, new.encode(), after, *lines[last:]]).decode()


def copied(suite: Path, to: Path) -> Path:
    """A copy of the project, to be changed: with the kernels that are compiled already, and the times of its files."""
    to.mkdir()
    for pattern in COPIED:
        for path in suite.glob(pattern):
            if path.is_dir():
                shutil.copytree(path, to / path.name)
            else:
                shutil.copy2(path, to / path.name)
    return to


def environment(copied_to: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(copied_to / "src"),
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


REPORTER = """
import os
seen = set()
def report(number, value):
    test = os.environ.get("PYTEST_CURRENT_TEST", "")
    if (number, test) not in seen:
        seen.add((number, test))
        with open(f"FOLDER/{os.getpid()}", "a", encoding="utf-8") as file:
            file.write(f"{number}\\t{test!r}\\n")
    return value
"""


def trace(mutants: list[Mutant], suite: Path, sample: bool, workers: int) -> None:
    """Run the suite once, and note for each mutant which laws come by."""
    with tempfile.TemporaryDirectory() as folder:
        to, said = copied(suite, Path(folder, "copy")), Path(folder, "said")
        said.mkdir()
        reporter = REPORTER.replace("FOLDER", str(said))
        (to / "src" / "regard" / "_reporter.py").write_text(reporter, encoding="utf-8")
        for number, mutant in sorted(enumerate(mutants), key=lambda pair: pair[1].start, reverse=True):
            if not mutant.compiled:
                path = to / mutant.path
                new = f'__import__("regard._reporter", fromlist=["report"]).report({number}, {mutant.old})'
                path.write_text(replaced(path.read_text(encoding="utf-8"), mutant, new), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", *options(to, sample), "-n", str(workers), "--dist", "worksteal"]
        subprocess.run(command, cwd=to, env=environment(to), check=False)
        by: dict[int, set[str]] = collections.defaultdict(set)
        for path in said.iterdir():
            for line in path.read_text(encoding="utf-8").splitlines():
                number, test = line.split("\t")
                by[int(number)].add(ast.literal_eval(test))
    for number, mutant in enumerate(mutants):
        tests = by[number]
        laws = set()
        for test in tests:
            name, _, phase = test.rpartition(" ")
            # What a fixture comes by may matter to all tests that use it, and those stand in the same file.
            laws.add(name.partition("[")[0] if phase == "(call)" else name.partition("::")[0])
        mutant.laws = None if mutant.compiled or "" in tests or not tests else sorted(laws)


def options(suite: Path, sample: bool) -> list[str]:
    """Those of pytest for the suite of `make test`, or all of its cases."""
    # Earlier suites have no sample, and no tests that only an exhaustive run has.
    has_exhaustive = "exhaustive" in (suite / "pyproject.toml").read_text(encoding="utf-8")
    left_out = "not slow and not exhaustive" if has_exhaustive else "not slow"
    return ["-q", "-p", "no:cacheprovider", "-m", left_out, *(["--sample"] if sample else [])]


class Selection:
    """Runs these laws and files of tests alone."""

    def __init__(self, laws: list[str]):
        self.laws = set(laws)

    def pytest_collection_modifyitems(self, items: list) -> None:
        items[:] = [
            item for item in items if {item.nodeid.partition("[")[0], item.nodeid.partition("::")[0]} & self.laws
        ]


def run_selected(arguments: list[str]) -> int:
    """In a process of its own: pytest with the laws that a file names."""
    import pytest

    laws = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    return pytest.main(arguments[1:], plugins=[Selection(laws)])


def judge(
    mutants: list[Mutant], suite: Path, column: str, sample: bool, workers: int, seconds: int, keep: Callable[[], None]
) -> None:
    """Which test fails first, of those that come by; "" where none does. `keep` is called after each verdict."""
    with tempfile.TemporaryDirectory() as folder:
        copies: queue.Queue[Path] = queue.Queue()
        for worker in range(workers):
            copies.put(copied(suite, Path(folder, str(worker))))

        def run(mutant: Mutant) -> None:
            to = copies.get()
            path = to / mutant.path
            before = path.read_text(encoding="utf-8")
            try:
                path.write_text(replaced(before, mutant, mutant.new), encoding="utf-8")
                mutant.killed_by[column] = killer(mutant, to)
            finally:
                path.write_text(before, encoding="utf-8")
                copies.put(to)
            print(f"{mutant.killed_by[column] or 'survived'}: {mutant}", flush=True)
            keep()

        def killer(mutant: Mutant, to: Path) -> str:
            own = f"tests/{mutant.room}"
            files = [own] if mutant.laws is None else sorted({law.partition("::")[0] for law in mutant.laws})
            # Its own room's tests first: they are the likeliest to notice.
            files = sorted((name for name in files if (to / name).exists()), key=lambda name: not name.startswith(own))
            command = [sys.executable, "-m", "pytest", "-x", *options(to, sample), *files]
            if mutant.laws is not None:
                listed = to / "selected.json"
                listed.write_text(json.dumps(mutant.laws), encoding="utf-8")
                command = [
                    sys.executable,
                    str(Path(__file__)),
                    "selected",
                    str(listed),
                    "-x",
                    *options(to, sample),
                    *files,
                ]
            try:
                ran = subprocess.run(
                    command, cwd=to, env=environment(to), capture_output=True, text=True, timeout=seconds, check=False
                )
            except subprocess.TimeoutExpired:
                return f"no end within {seconds} s"
            if ran.returncode in (0, 5):  # 5: no test is left
                return ""
            failed = re.search(r"^(?:FAILED|ERROR) (\S+)", ran.stdout, re.MULTILINE)
            if failed is None and ran.returncode in (3, 4):
                raise RuntimeError(f"pytest itself failed: {ran.stdout[-500:]}{ran.stderr[-500:]}")
            return failed[1] if failed else f"pytest ended with {ran.returncode}"

        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            list(pool.map(run, [mutant for mutant in mutants if column not in mutant.killed_by]))


def table(mutants: list[Mutant]) -> str:
    """How many mutants of each room were killed, by column, and where the columns differ."""
    columns = sorted({column for mutant in mutants for column in mutant.killed_by})
    lines = ["| room | mutants | " + " | ".join(columns) + " |", "| --- " * (2 + len(columns)) + "|"]
    for room in (*ROOMS, "all"):
        these = [mutant for mutant in mutants if room in (mutant.room, "all")]
        counts = [sum(bool(mutant.killed_by.get(column)) for mutant in these) for column in columns]
        lines.append(f"| {room} | {len(these)} | " + " | ".join(map(str, counts)) + " |")
    for mutant in mutants:
        verdicts = {column: mutant.killed_by.get(column, "?") for column in columns}
        if not all(verdicts.values()):
            lines.append(f"\n{mutant}: " + ", ".join(f"{column}: {v or 'survived'}" for column, v in verdicts.items()))
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["selected"]:
        return run_selected(arguments[1:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["draw", "trace", "judge", "table"])
    parser.add_argument("file", type=Path, help="where the mutants are kept, and what is known of them")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", type=Path, default=ROOT, help="the checkout whose suite runs")
    parser.add_argument("--sample", action="store_true", help="run the sample of `make test`, not every case")
    parser.add_argument("--column", default="killed", help="under which name the verdicts are kept")
    parser.add_argument("--part", help="the column of a suite that is a part of this one: what it kills, this one does")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=900, help="how long a mutant may take")
    given = parser.parse_args(arguments)
    if given.step == "draw":
        mutants = draw(given.count, given.seed)
    else:
        mutants = [Mutant(**each) for each in json.loads(given.file.read_text(encoding="utf-8"))]
    suite = given.tests.resolve()

    def keep() -> None:
        given.file.write_text(json.dumps([asdict(mutant) for mutant in mutants], indent=1), encoding="utf-8")

    if given.step == "trace":
        trace(mutants, suite, given.sample, given.workers)
    if given.step == "judge":
        for mutant in mutants:
            if given.part and mutant.killed_by.get(given.part):
                mutant.killed_by.setdefault(given.column, mutant.killed_by[given.part])
        judge(mutants, suite, given.column, given.sample, given.workers, given.seconds, keep)
    if given.step == "table":
        print(table(mutants))
    keep()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
