"""Write what is generated in the documents, in place: each block between `<!-- generated: NAME -->` and `<!-- end -->`.

    python docs/generate.py            write everything
    python docs/generate.py PAGE...    write the blocks and the pictures of these pages alone
    python docs/generate.py --check    say what is stale, and exit with 1 if anything is

NAME is one of

- `help: COMMAND`, a command's --help; `helps: COMMAND`, those of its own commands, each under its heading,
- `run: COMMAND`, a command's output,
- `benchmark: NAME`, the table of benchmarks/results/NAME.json; `sentence: NAME`, the sentence that its run made of its
  figures; `headline: NAME LANGUAGE`, a few of its rows for the README, of docs/headline_tables.py,
- `output`, what the Python block above it prints, the blocks of the document run in order,
- `learned`, the same of a block that trains, and `here: COMMAND`, a command's output in the folder of those blocks, in
  its turn: as weights learned on another machine differ, only the words must be the same,
- `parts`, `combinations`, `input positions`: tables of the operator's parts; `every engine`: of what computes them;
  `approximations`: of those of attention,
- `notes: NUMBER LANGUAGE`, the table of a lecture note, of docs/note_tables.py,
- `kinds: NAME`, a table of the kinds of tasks or of sources, of docs/kind_tables.py,
- `tasks: NAME`, a table of what the recipes score, of docs/task_tables.py; `defaults`, what a first training scores
  beside the simple baseline, of docs/default_tables.py; `text-models`, bases and static vectors beside linear models,
  of docs/text_model_tables.py,
- `arena`, the variants for long sequences, of docs/arena_tables.py,
- `claims: table` and `claims: sections`, the lab's questions with their answers, of docs/claim_tables.py,
- `part: NAME`, what a part's docstrings say, with its picture; `engines: NAME`, which engine takes it.

The pages in docs/zh/tutorials and docs/zh/how-to are translations: they have the blocks of the pages in docs/tutorials
and docs/how-to, in the same order, and take over their outputs, so that nothing is run twice.
"""

import argparse
import contextlib
import functools
import io
import json
import os
import re
import shlex
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import arena_tables
import claim_tables
import default_tables
import headline_tables
import kind_tables
import note_tables
import part_tables
import task_tables
import text_model_tables
from lecture_figures import PICTURES as LECTURE_PICTURES
from part_pictures import PICTURES as PART_PICTURES

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
BLOCK = re.compile(r"(<!-- generated: (?P<name>[^>]+?) -->\n)(?P<body>.*?)(<!-- end -->)", re.DOTALL)
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e-\d+)?")
BAR = re.compile(r"[<>·░▒▓█▏▎▍▌▋▊▉]+")
RUN = re.compile(r"<!-- generated: (?:output|learned|here: .+?) -->")
HERE = "here:"
PIPED = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}


@functools.cache
def run(command: str, **settings: str) -> str:
    """A command's output in the project's folder, as it looks piped, if the settings don't say otherwise."""
    with contextlib.chdir(ROOT):
        return run_here(command, **settings)


def run_here(command: str, **settings: str) -> str:
    """A command's output, 100 columns wide, as it looks piped; in this process and folder: torch is there already."""
    from regard.cli.main import main as regard

    with mock.patch.dict(os.environ, PIPED | settings), contextlib.redirect_stdout(io.StringIO()) as printed:
        code = regard(shlex.split(command)[1:])
    if code:
        raise SystemExit(f"docs: `{command}` failed with {code}")
    return "\n".join(line.rstrip() for line in printed.getvalue().splitlines())


def shown(command: str) -> str:
    """A command and what it prints."""
    return terminal(command, run(command))


def helps(command: str) -> str:
    """The --help of each command that a command has, under its name."""
    _, listed = run(f"{command} --help").split("\nCommands:\n")
    names = re.findall(r"^  (\S+)  ", listed, re.MULTILINE)
    return "\n".join(f"## {command} {name}\n\n{shown(f'{command} {name} --help')}" for name in names)


def terminal(command: str, output: str) -> str:
    """A command and its output, as a terminal shows them."""
    return f"```text\n$ {command}\n{output}\n```\n"


def benchmark(name: str) -> str:
    """A benchmark's table, from the figures that its run left behind."""
    result = measured(name)
    return tabled(result["columns"], result["rows"], result["conditions"]) if result else unmeasured(name)


def sentence(name: str) -> str:
    """The sentence that a benchmark's run made of its figures."""
    return textwrap.fill(result["sentence"], 120) + "\n" if (result := measured(name)) else unmeasured(name)


def measured(name: str) -> dict[str, Any] | None:
    path = ROOT / "benchmarks" / "results" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def tabled(columns: list[str], rows: list[list[Any]], conditions: str) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(str, cells))} |" for cells in lines) + f"\n\n{conditions}\n"


def unmeasured(name: str) -> str:
    command = "bench-gpu" if name in ("gpu", "operator-cuda") else "bench"
    return f"Not measured yet: `make {command}` measures it.\n"


KINDS: dict[str, Callable[[str], str]] = {
    "help": lambda command: shown(f"{command} --help"),
    "helps": helps,
    "run": shown,
    "benchmark": benchmark,
    "headline": headline_tables.table,
    "sentence": sentence,
    "parts": lambda _: part_tables.parts(),
    "combinations": lambda _: part_tables.combinations(),
    "input positions": lambda _: part_tables.input_positions(),
    "every engine": lambda _: part_tables.engines(),
    "approximations": lambda _: part_tables.approximations(),
    "notes": note_tables.table,
    "kinds": kind_tables.table,
    "tasks": task_tables.table,
    "defaults": lambda _: default_tables.table(),
    "text-models": lambda _: text_model_tables.table(),
    "calibration": lambda _: task_tables.calibration(),
    "arena": lambda _: arena_tables.table(),
    "claims": lambda which: {"table": claim_tables.table, "sections": claim_tables.sections}[which](),
    "part": part_tables.page,
    "engines": part_tables.engines_of,
}


def picture(command: str, columns: int) -> str:
    """A command's output in colour, as a vector picture that loads nothing from outside."""
    from rich._export_format import CONSOLE_SVG_FORMAT
    from rich.console import Console
    from rich.text import Text

    output = run(f"{command} --color --width {columns}", NO_COLOR="", COLORTERM="truecolor", TERM="xterm-256color")
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=columns, file=nowhere, color_system="truecolor")
        console.print(Text.from_ansi(output))
    # Rich's frame would fetch a font from the network.
    frame = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    return console.export_svg(title=command, code_format=frame, unique_id="see")


def figures() -> Iterator[tuple[str, str]]:
    """The figures of docs/how-to/figures.md: the name of each view, and its SVG."""
    import regard
    from regard.inspection import FIGURE_VIEWS, save_figure

    record = regard.load("english-pos").see("I saw a saw .")
    with tempfile.TemporaryDirectory() as folder:
        for view in FIGURE_VIEWS:
            path = Path(folder, f"{view}.svg")
            save_figure(record, path, view)
            yield view, path.read_text(encoding="utf-8")


CHARTS = {"arena": arena_tables, "claims": claim_tables}
"""The charts of studies, by their folder in docs/pictures."""

TERMINAL_PICTURES = {"see.svg": ('regard see english-pos "I saw a saw ." --no-map', 64)}

PICTURES: dict[str, Callable[[], Iterator[tuple[str, str]]]] = {
    "": lambda: ((name.removesuffix(".svg"), picture(*drawn)) for name, drawn in TERMINAL_PICTURES.items()),
    "figures/": figures,
    **{f"{folder}/": room.pictures for folder, room in CHARTS.items()},
    "lecture/": lambda: ((name, draw()) for name, draw in LECTURE_PICTURES.items()),
    "parts/": lambda: ((name, draw()) for name, draw in PART_PICTURES.items()),
}
"""What is drawn into docs/pictures, by folder: names and SVGs."""


def outputs(text: str, path: Path | None = None) -> list[tuple[int, str]]:
    """Where each Python block and each command `here` of a document ends, and what it prints.

    They run in order, in one process and in an empty folder.
    """
    namespace: dict[str, object] = {"__name__": "document"}
    blocks = [*PYTHON.finditer(text), *(block for block in BLOCK.finditer(text) if block["name"].startswith(HERE))]
    found = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block in sorted(blocks, key=lambda block: block.start()):
            if block.re is BLOCK:
                found.append((block.end(), run_here(block["name"].removeprefix(HERE).strip())))
                continue
            # Line numbers of the document, for who reads a traceback.
            code = "\n" * text[: block.start()].count("\n") + "\n" + block[1]
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(code, str(path or "document"), "exec"), namespace)
            found.append((block.end(), printed.getvalue()))
    return found


def original(path: Path | None) -> Path | None:
    """The English page that a Chinese tutorial or how-to translates; None for other documents."""
    if path is None or path.parent.parent != ROOT / "docs" / "zh":
        return None
    return ROOT / "docs" / path.parent.name / path.name


def blocks_of(text: str) -> list[str]:
    """The Python blocks of a document and the names of its generated blocks, in their order."""
    found = [(block.start(), block[1]) for block in PYTHON.finditer(text)]
    found += [(block.start(), block["name"]) for block in BLOCK.finditer(text)]
    return [block for _, block in sorted(found)]


def translated(text: str, english: str, name: str) -> str:
    """A translation with the outputs of the original.

    Raises:
        SystemExit: they don't have the same blocks in the same order.
    """
    if blocks_of(text) != blocks_of(english):
        raise SystemExit(f"docs: the blocks of {name} in docs/zh aren't those of the English {name}")
    bodies = iter([block["body"] for block in BLOCK.finditer(english)])
    return BLOCK.sub(lambda block: f"{block[1]}{next(bodies)}{block[4]}", text)


def generated(text: str, path: Path | None = None) -> str:
    """A document with every generated block written anew."""
    if path is not None and (source := original(path)) is not None:
        return translated(text, source.read_text(encoding="utf-8"), path.name)
    printed = outputs(text, path) if RUN.search(text) else []

    def write(match: re.Match[str]) -> str:
        kind, _, rest = match["name"].partition(":")
        if kind in ("output", "learned"):
            body = f"```text\n{[said for end, said in printed if end <= match.start()][-1]}```\n"
        elif kind == "here":
            body = terminal(rest.strip(), dict(printed)[match.end()])
        else:
            body = KINDS[kind.strip()](rest.strip())
        keep = kind in ("learned", "here") and alike(match["body"], body)
        return f"{match[1]}{match['body'] if keep else body}{match[4]}"

    return BLOCK.sub(write, text)


def same(old: str, new: str) -> bool:
    """Whether two texts say the same: words to the letter, numbers up to another machine's rounding."""
    if NUMBER.sub("#", old).split() != NUMBER.sub("#", new).split():
        return False
    pairs = zip(NUMBER.findall(old), NUMBER.findall(new), strict=True)
    return all(abs(float(one) - float(two)) <= 0.02 * max(1.0, abs(float(two))) for one, two in pairs)


def alike(old: str, new: str) -> bool:
    """Whether two texts hold the same words, whatever their numbers, their bars and the order of near ties."""
    one, other = (sorted(BAR.sub("", NUMBER.sub("#", text)).split()) for text in (old, new))
    return one == other


def stale() -> Iterator[str]:
    """The documents whose generated blocks don't say what the project now says."""
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        if not same(text, generated(text, path)):
            yield str(path.relative_to(ROOT))
    yield from stale_pictures()


def stale_pictures() -> Iterator[str]:
    """The pictures that don't show what the project now shows."""
    for name, (command, columns) in TERMINAL_PICTURES.items():
        path = ROOT / "docs" / "pictures" / name
        # The words in the picture; places and colours follow from the numbers.
        if not same(_words_of(path.read_text(encoding="utf-8")), _words_of(picture(command, columns))):
            yield str(path.relative_to(ROOT))
    for view, svg in figures():
        path = ROOT / "docs" / "pictures" / "figures" / f"{view}.svg"
        if not path.exists() or not same(_words_of(path.read_text(encoding="utf-8")), _words_of(svg)):
            yield str(path.relative_to(ROOT))
    for folder, room in CHARTS.items():
        drawn = dict(room.pictures())
        for name, svg in drawn.items():
            path = ROOT / "docs" / "pictures" / folder / f"{name}.svg"
            if not path.exists() or not same(_words_of(path.read_text(encoding="utf-8")), _words_of(svg)):
                yield str(path.relative_to(ROOT))
        for path in (ROOT / "docs" / "pictures" / folder).glob("*.svg"):
            if path.stem not in drawn:
                yield str(path.relative_to(ROOT))
    for name, draw in LECTURE_PICTURES.items():
        path = ROOT / "docs" / "pictures" / "lecture" / f"{name}.svg"
        if not path.exists() or not same(_words_of(path.read_text(encoding="utf-8")), _words_of(draw())):
            yield str(path.relative_to(ROOT))
    for name, draw in PART_PICTURES.items():
        path = ROOT / "docs" / "pictures" / "parts" / f"{name}.svg"
        if not path.exists() or path.read_text(encoding="utf-8") != draw():
            yield str(path.relative_to(ROOT))


def _words_of(svg: str) -> str:
    return " ".join(re.findall(r">([^<]+)</text>", svg))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", type=Path, metavar="PAGE", help="a page, such as docs/reference/cli.md")
    parser.add_argument("--check", action="store_true", help="say what is stale, and write nothing")
    given = parser.parse_args(arguments)
    for page in given.pages:
        if page.resolve() not in DOCUMENTS:
            parser.error(f"{page} is no page of the documentation")
    if given.check:
        found = list(stale())
        for name in found:
            sys.stderr.write(f"{name} is stale: run `make docs`\n")
        return 1 if found else 0
    pages = [page.resolve() for page in given.pages] or DOCUMENTS
    for path in pages:
        text = path.read_text(encoding="utf-8")
        new = generated(text, path)
        if new != text:
            path.write_text(new, encoding="utf-8")
    linked = "".join(path.read_text(encoding="utf-8") for path in pages)
    for folder, draw in PICTURES.items():
        if f"pictures/{folder}" in linked:
            for name, svg in draw():
                path = ROOT / "docs" / "pictures" / folder / f"{name}.svg"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(svg, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
