"""Measure the source: its size, its branches on kinds, its long signatures, what it repeats, its calls, and its walks.

    python benchmarks/house.py [SRC] [--list]

SRC is the folder of the package to measure, by default src/regard of this checkout; of another checkout the calls are
counted too, in a process that imports regard from there. A walk is what a command enters from its start to its end:
how many functions and files of regard, and how often it comes back to a file that it had left. With --list, what was
counted is named, and calls and walks are left out. Nothing is written.
"""

import argparse
import ast
import collections
import contextlib
import io
import keyword
import os
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

WALKS = {
    "see": ["see", "english-pos", "I saw a saw .", "--html", "x.html"],
    "train": ["train", "classifier", "--data", "reviews.csv", "--out", "run"],
}
KINDS = {"tagger", "classifier", "seq2seq", "synthesis"}
KIND_BASES = {"Source", "Target", "SavedTarget", "Model", "Settings", "TrainingData"}
COMPILERS = {"jit", "compiled", "intrinsic"}
MOST_PARAMETERS = 6
RUN = 6  # lines in a row that two files share
FEWEST_STATEMENTS = 3  # in such a run, for it to count as one of statements
COMMON = 8  # places in which a line may stand before it is too common to tell anything


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    own = Path(__file__).parents[1] / "src" / "regard"
    parser.add_argument("source", nargs="?", type=Path, default=own, metavar="SRC", help="src/regard of a checkout")
    parser.add_argument("--calls", action="store_true", help="only count the calls of the regard that is imported")
    parser.add_argument("--walk", choices=WALKS, help="only walk one command of the regard that is imported")
    parser.add_argument("--list", action="store_true", help="name the long signatures and the repeated statements")
    given = parser.parse_args()
    if given.calls:
        for name, count in calls().items():
            print(f"{name}: {count}")
        return
    if given.walk:
        print(walk(given.walk))
        return
    files = {path: path.read_text(encoding="utf-8") for path in sorted(given.source.rglob("*.py"))}
    if given.list:
        for line in listed(files, given.source):
            print(line)
        return
    trees = {path: ast.parse(text) for path, text in files.items()}
    renamed, exact = repeated(files)
    renamed_statements, exact_statements = repeated(files, statements=True)
    parameters = f"more than {MOST_PARAMETERS} parameters"
    by_position = sum(long_signatures(tree, by_position=True) for tree in trees.values())
    print(f"lines: {sum(text.count(chr(10)) for text in files.values()):,}")
    print(f"files: {len(files)}")
    kernels = [text for path, text in files.items() if path.is_relative_to(given.source / "attention/engines/triton")]
    print(f"of these for GPUs: {sum(text.count(chr(10)) for text in kernels):,} lines, {len(kernels)} files")
    scripts = [path.read_text(encoding="utf-8") for path in given.source.rglob("*.js")]
    print(f"lines of JavaScript: {sum(text.count(chr(10)) for text in scripts):,}")
    (folder, count), *_ = collections.Counter(path.parent for path in files).most_common()
    print(f"largest folder: {folder.relative_to(given.source)}, {count} files side by side")
    print(f"branches on a kind's string: {sum(map(branches, trees.values()))}")
    kinds = kinds_of(trees.values())
    print(f"isinstance of a kind's class: {sum(asked_types(tree, kinds) for tree in trees.values())}")
    print(f"functions with {parameters}: {sum(map(long_signatures, trees.values()))}")
    print(f"functions with {parameters} by position: {by_position}")
    print(f"pairs of files that share {RUN} lines or more: {renamed + exact}, of which {exact} to the letter")
    print(
        f"pairs of files that share {RUN} lines of statements or more: {renamed_statements + exact_statements}, "
        f"of which {exact_statements} to the letter"
    )
    inner = {**os.environ, "PYTHONPATH": str(given.source.resolve().parent), "OMP_NUM_THREADS": "1"}
    for what in (["--calls"], *(["--walk", name] for name in WALKS)):
        subprocess.run([sys.executable, __file__, *what], env=inner, check=True)


def branches(tree: ast.AST) -> int:
    """How many comparisons, and look-ups in a table, ask which kind of task something is."""
    found = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            found += any(isinstance(each, ast.Constant) and each.value in KINDS for each in ast.walk(node))
        elif isinstance(node, ast.Dict):
            keys = [each for key in node.keys if key is not None for each in ast.walk(key)]
            found += any(isinstance(each, ast.Constant) and each.value in KINDS for each in keys)
    return found


def kinds_of(trees: Iterable[ast.AST]) -> set[str]:
    """The names of the classes that a kind of source, target or task is made of: what derives from their bases."""
    bases = {
        node.name: {base.id for base in node.bases if isinstance(base, ast.Name)}
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    kinds = {name for name, of in bases.items() if of & KIND_BASES}
    while more := {name for name, of in bases.items() if of & kinds} - kinds:
        kinds |= more
    return kinds


def asked_types(tree: ast.AST, kinds: set[str]) -> int:
    """How many `isinstance` ask for one of the classes named."""
    return sum(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "isinstance"
        and any(isinstance(name, ast.Name) and name.id in kinds for name in ast.walk(node.args[1]))
        for node in ast.walk(tree)
    )


def long_signatures(tree: ast.AST, *, by_position: bool = False) -> int:
    """How many functions have too many parameters, or too many by position, whose order a caller has to know."""
    return len(list(_long_signatures(tree, by_position=by_position)))


def _long_signatures(
    tree: ast.AST, *, by_position: bool
) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, int]]:
    """The functions with too many parameters and their numbers, `self` and `cls` not counted.

    What Numba or Triton compiles is left out: a kernel takes tensors and numbers, and no value that holds several.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_kernel(node):
            given = node.args
            taken = [*given.posonlyargs, *given.args, *([] if by_position else given.kwonlyargs)]
            count = len([each for each in taken if each.arg not in ("self", "cls")])
            if count > MOST_PARAMETERS:
                yield node, count


def _is_kernel(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    names = {name for each in node.decorator_list for name in ast.unparse(each).partition("(")[0].split(".")}
    return bool(names & COMPILERS)


def repeated(files: dict[Path, str], *, statements: bool = False) -> tuple[int, int]:
    """How many pairs of files share a run of lines, or of statements: but for names and values; and to the letter."""
    alike, exact = _repeated(files, statements=statements)
    return len(alike), len(exact)


def _repeated(files: dict[Path, str], *, statements: bool) -> tuple[set[tuple[Path, Path]], set[tuple[Path, Path]]]:
    owners = {path: _owners(text) for path, text in files.items()} if statements else None
    exact = _runs({path: _lines(text, rename=False) for path, text in files.items()}, owners)
    return _runs({path: _lines(text, rename=True) for path, text in files.items()}, owners) - exact, exact


def listed(files: dict[Path, str], source: Path) -> Iterator[str]:
    """What is counted of signatures and of repeated statements, by name."""
    for path, text in files.items():
        for node, count in _long_signatures(ast.parse(text), by_position=False):
            given = node.args
            by_position = count - len(given.kwonlyargs)
            place = f"{path.relative_to(source)}:{node.lineno}"
            yield f"{place} {node.name}: {count} parameters, {by_position} by position"
    for how, pairs in zip(("alike", "to the letter"), _repeated(files, statements=True), strict=True):
        for one, other in sorted(pairs):
            yield f"{one.relative_to(source)} and {other.relative_to(source)}: statements {how}"


def _owners(text: str) -> dict[int, int]:
    """The first line of the statement that a line is of; without lines that declare: signatures, fields, imports."""
    owners: dict[int, int] = {}
    tree = ast.parse(text)
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Import() | ast.ImportFrom():
                continue
            case ast.Assign(targets=[ast.Name(id="__all__")]):
                continue
            case ast.stmt():
                # Parents come before their children, which take their lines over.
                owners |= dict.fromkeys(range(node.lineno, (node.end_lineno or node.lineno) + 1), node.lineno)
    for node in ast.walk(tree):
        for field in node.body if isinstance(node, ast.ClassDef) else []:
            if isinstance(field, ast.Assign | ast.AnnAssign):
                for line in range(field.lineno, (field.end_lineno or field.lineno) + 1):
                    owners.pop(line, None)
    return owners


def _lines(text: str, rename: bool) -> list[tuple[int, str]]:
    """The lines that tell something, without comments, docstrings and imports; names and values are one if wanted."""
    lines: dict[int, list[str]] = collections.defaultdict(list)
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER):
            continue
        if token.type == tokenize.STRING and before == tokenize.NEWLINE:
            continue  # a docstring
        before = token.type
        if token.type != tokenize.NEWLINE:
            lines[token.start[0]].append(_word(token) if rename else token.string)
    written = [(number, " ".join(words)) for number, words in sorted(lines.items())]
    return [
        (number, line)
        for number, line in written
        if not line.startswith(("import ", "from ")) and any(map(str.isalnum, line))
    ]


def _word(token: tokenize.TokenInfo) -> str:
    if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
        return "NAME"
    return "VALUE" if token.type in (tokenize.STRING, tokenize.NUMBER) else token.string


def _runs(
    files: dict[Path, list[tuple[int, str]]], owners: dict[Path, dict[int, int]] | None
) -> set[tuple[Path, Path]]:
    """The pairs of files that share a run; a file with itself, if the runs don't overlap.

    With `owners`, the run must be of statements, and of several: one alone is a table or a call with many arguments.
    """
    places: dict[tuple[str, ...], list[tuple[Path, int]]] = collections.defaultdict(list)
    for path, lines in files.items():
        for start in range(len(lines) - RUN + 1):
            run = lines[start : start + RUN]
            if owners is not None:
                statements = {owners[path].get(number) for number, _ in run}
                if None in statements or len(statements) < FEWEST_STATEMENTS:
                    continue
            places[tuple(line for _, line in run)].append((path, start))
    return {
        (one, other)
        for found in places.values()
        if len(found) <= COMMON
        for number, (one, first) in enumerate(found)
        for other, second in found[number + 1 :]
        if one != other or second >= first + RUN
    }


def calls() -> dict[str, int]:
    """How many functions of regard are called for a small `attend` with an additive score, warm."""
    import torch

    from regard.attention import Additive, attend

    drawn = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(2, 4, 128, 16, generator=drawn, requires_grad=True) for _ in range(3))
    score = Additive(torch.randn(4, 16, generator=drawn, requires_grad=True))

    def forward() -> torch.Tensor:
        return attend(query, key, value, score=score).sum()

    forward().backward()
    entered = list(_entered(forward))
    output = forward()
    before = next(place for place, name in enumerate(entered) if name.endswith("/jit/additive.py:scores"))
    return {
        "calls before the arithmetic of additive scores": before,
        "calls forward": len(entered),
        "calls backward": len(list(_entered(output.backward))),
    }


def walk(name: str) -> str:
    """What a command enters, from its start in a new process to its end: a sentence of numbers."""
    from regard.cli.main import main as regard

    def command() -> None:
        sys.argv = ["regard", *WALKS[name]]
        nowhere = io.StringIO()
        with contextlib.suppress(SystemExit), contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
            regard(WALKS[name])

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("reviews.csv").write_text(
            "text,label\n" + "".join(f"a {word} film {n},{word}\n" for n in range(60) for word in ("good", "bad"))
        )
        entered = list(_entered(command))
        made = {"see": "x.html", "train": "run"}[name]
        if not Path(made).exists():
            raise SystemExit(f"regard {' '.join(WALKS[name])} made no {made}.")
    files = [call.partition(":")[0] for call in entered]
    returns, seen, last = 0, set(), ""
    for file in files:
        returns += file != last and file in seen
        seen.add(file)
        last = file
    rooms = collections.Counter(file.partition("/")[0] for file in seen)
    of_training = f", {rooms['cli'] + rooms['tasks']} of cli and tasks, {rooms['inspection']} of inspection"
    functions = len(set(entered))
    return f"walk {name}: {functions:,} functions in {len(seen)} files{of_training}; {returns:,} returns to a file"


def _entered(run: Callable[[], Any]) -> Iterator[str]:
    """The functions of regard that are entered while something runs in this thread, by their file in the package."""
    import regard

    package = f"{Path(regard.__file__).parent}{os.sep}"
    found: list[str] = []

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(package):
            found.append(f"{frame.f_code.co_filename.removeprefix(package)}:{frame.f_code.co_qualname}")

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    yield from found


if __name__ == "__main__":
    main()
