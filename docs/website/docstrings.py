"""Docstrings as reStructuredText, for autodoc: they are Google style, and `code` is their only markup."""

import re
from collections.abc import Collection, Iterator
from types import ModuleType
from typing import Any

from docutils import nodes

# A doctest up to its blank line is left as it is.
DOCTEST = re.compile(r"((?:^ *>>> .*\n(?: *\S.*\n)*)+)", re.MULTILINE)
CODE = re.compile(r"(\w?)`([^`]+)`(\w?)")
SOURCE = re.compile(r"^Source: .*(?:\n +\S.*)*", re.MULTILINE)
# A section that Google's style doesn't know, such as "Training:", whose entries are fields.
SECTION = re.compile(r"^(\S.*):\n((?: {4}.*\n|\n(?= {4}))+)", re.MULTILINE)
KNOWN = {"Args", "Attributes", "Returns", "Yields", "Raises", "Warns", "Example", "Examples"}
ENTRY = re.compile(r"^ {4}(\w[\w, ]*): (.*(?:\n {8}.*)*)", re.MULTILINE)


def restructured(lines: list[str]) -> list[str]:
    """The lines of a docstring, with everything escaped that reStructuredText would read as markup."""
    pieces = DOCTEST.split("\n".join(lines) + "\n")
    return "".join(piece if index % 2 else prose(piece) for index, piece in enumerate(pieces)).splitlines()


def prose(text: str) -> str:
    text = SOURCE.sub(lambda match: re.sub(r"\n +", " ", match[0]), text)
    found, end = [], 0
    for match in CODE.finditer(text):
        found += [escaped(text[end : match.start()] + match[1]), code(match)]
        end = match.end() - len(match[3])
    text = "".join([*found, escaped(text[end:])])
    return SECTION.sub(section, text)


def code(match: re.Match[str]) -> str:
    """An inline literal; next to a letter, as in `Example`s, it needs an escaped space."""
    before, after = (r"\ " if match[side] else "" for side in (1, 3))
    return f"{before}``{' '.join(match[2].split())}``{after}"


def escaped(text: str) -> str:
    text = re.sub(r"([\\*|])", r"\\\1", text)
    return re.sub(r"(?<=\w)_(?!\w)", r"\\_", text)


def section(match: re.Match[str]) -> str:
    entries = ENTRY.findall(match[2])
    if match[1] in KNOWN or not entries:
        return match[0]
    listed = "".join(f"* **{names}** -- {' '.join(meaning.split())}\n" for names, meaning in entries)
    return f".. rubric:: {match[1]}\n\n{listed}\n"


def process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = restructured(lines)
    if what == "module":
        lines += table(obj)


def table(module: ModuleType) -> Iterator[str]:
    """The public names of a module: functions and classes with the first line of their docstrings, then values."""
    yield from ("", ".. list-table::", "   :widths: auto", "")
    names = [(name, getattr(module, name)) for name in module.__all__]
    for name, value in sorted(names, key=lambda each: (not callable(each[1]), isinstance(each[1], type))):
        if callable(value):
            yield f"   * - :py:obj:`~{module.__name__}.{name}`"
            said = restructured((value.__doc__ or "").strip().split("\n\n")[0].splitlines())
        else:
            yield f"   * - ``{name}``"
            several = isinstance(value, Collection) and not isinstance(value, str)
            said = restructured([", ".join(map(str, value)) if several else str(value)])
        yield f"     - {' '.join(line.strip() for line in said)}"


def sign(
    app: Any, what: str, name: str, obj: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """A signature that can be parsed: the default of a dataclass's field that a factory makes isn't Python."""
    return signature and signature.replace("<factory>", "..."), returned


def leave_out_object(app: Any, doctree: nodes.document) -> None:
    """That a class has no other base than `object` needn't be said."""
    for paragraph in list(doctree.findall(nodes.paragraph)):
        if paragraph.astext() == "Bases: object":
            paragraph.parent.remove(paragraph)


def setup(app: Any) -> dict[str, bool]:
    # Before napoleon, which reads the sections.
    app.connect("autodoc-process-docstring", process, priority=400)
    app.connect("autodoc-process-signature", sign)
    app.connect("doctree-read", leave_out_object)
    return {"parallel_read_safe": True}
