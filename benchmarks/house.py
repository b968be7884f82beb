"""Measure the source: its size, its branches on kinds, its long signatures, what it repeats, and its calls.

    python benchmarks/house.py [SRC]

SRC is the folder of the package to measure, by default src/regard of this checkout; of another checkout the calls are
counted too, in a process that imports regard from there. Nothing is written.
"""

import argparse
import ast
import collections
import io
import keyword
import os
import subprocess
import sys
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

KINDS = {"tagger", "classifier", "seq2seq", "synthesis"}
MOST_PARAMETERS = 6
RUN = 6  # lines in a row that two files share
COMMON = 8  # places in which a line may stand before it is too common to tell anything


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    own = Path(__file__).parents[1] / "src" / "regard"
    parser.add_argument("source", nargs="?", type=Path, default=own, metavar="SRC", help="src/regard of a checkout")
    parser.add_argument("--calls", action="store_true", help="only count the calls of the regard that is imported")
    given = parser.parse_args()
    if given.calls:
        for name, count in calls().items():
            print(f"{name}: {count}")
        return
    files = {path: path.read_text(encoding="utf-8") for path in sorted(given.source.rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in files.items()}
    renamed, exact = repeated(files)
    print(f"lines: {sum(text.count(chr(10)) for text in files.values()):,}")
    print(f"files: {len(files)}")
    print(f"branches on a kind's string: {sum(map(branches, trees.values()))}")
    print(f"functions with more than {MOST_PARAMETERS} parameters: {sum(map(long_signatures, trees.values()))}")
    print(f"pairs of files that share {RUN} lines or more: {renamed + exact}, of which {exact} to the letter")
    inner = {**os.environ, "PYTHONPATH": str(given.source.resolve().parent)}
    subprocess.run([sys.executable, __file__, "--calls"], env=inner, check=True)


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


def long_signatures(tree: ast.AST) -> int:
    """How many functions have too many parameters, `self` and `cls` not counted."""
    found = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
            found += len([name for name in names if name not in ("self", "cls")]) > MOST_PARAMETERS
    return found


def repeated(files: dict[Path, str]) -> tuple[int, int]:
    """How many pairs of files share a run of lines: but for names and values; and to the letter."""
    exact = _runs({path: _lines(text, rename=False) for path, text in files.items()})
    alike = _runs({path: _lines(text, rename=True) for path, text in files.items()})
    return len(alike - exact), len(exact)


def _lines(text: str, rename: bool) -> list[str]:
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
    written = [" ".join(words) for _, words in sorted(lines.items())]
    return [line for line in written if not line.startswith(("import ", "from ")) and any(map(str.isalnum, line))]


def _word(token: tokenize.TokenInfo) -> str:
    if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
        return "NAME"
    return "VALUE" if token.type in (tokenize.STRING, tokenize.NUMBER) else token.string


def _runs(files: dict[Path, list[str]]) -> set[tuple[Path, Path]]:
    """The pairs of files that share a run; a file with itself, if the runs don't overlap."""
    places: dict[tuple[str, ...], list[tuple[Path, int]]] = collections.defaultdict(list)
    for path, lines in files.items():
        for start in range(len(lines) - RUN + 1):
            places[tuple(lines[start : start + RUN])].append((path, start))
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


def _entered(run: Callable[[], Any]) -> Iterator[str]:
    """The functions of regard that are entered while something runs in this thread."""
    found: list[str] = []

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and "/regard/" in frame.f_code.co_filename:
            found.append(f"{frame.f_code.co_filename}:{frame.f_code.co_qualname}")

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    yield from found


if __name__ == "__main__":
    main()
