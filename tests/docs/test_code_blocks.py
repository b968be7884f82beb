"""The code blocks of the documents can be read by a highlighter, and their commands by the command line."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from pygments.lexers import get_lexer_by_name
from pygments.token import Error

from regard.cli.main import app

ROOT = Path(__file__).parent.parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FORMULA = "math"
"""A block that the site shows as a formula: it has no highlighter."""
BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE)


def code_of(page: str) -> Iterator[tuple[str, str]]:
    """The language and the code of each block."""
    for block in BLOCK.finditer(page):
        if block["language"] != FORMULA:
            yield block["language"], block["code"]


def unreadable(language: str, code: str) -> list[str]:
    """What the highlighter of a language doesn't take for it: the site is built with warnings as errors."""
    return [text for kind, text in get_lexer_by_name(language).get_tokens(code) if kind is Error]


def left_over(command: str) -> list[str]:
    """The words of a command of regard that are neither its options nor its arguments: a note without `#`, say."""
    _, name, *words = shlex.split(command, comments=True)
    group, context = typer.main.get_command(app), None
    while hasattr(group, "commands"):
        # Below the settings of the whole program, such as -h: a command keeps the --help of its first context.
        context = group.context_class(group, parent=context, resilient_parsing=True, **group.context_settings)
        if name.startswith("-"):
            return []
        group = group.commands[name]
        if hasattr(group, "commands"):
            name, *words = words
    context = group.context_class(group, parent=context, info_name=name, resilient_parsing=True)
    _, left, _ = group.make_parser(context).parse_args(words)
    return left


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: "/".join(path.parts[-2:]))
def test_code_is_in_the_language_that_it_is_said_to_be(path):
    for language, code in code_of(path.read_text(encoding="utf-8")):
        assert unreadable(language, code) == [], code


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: "/".join(path.parts[-2:]))
def test_commands_can_be_pasted(path):
    for language, code in code_of(path.read_text(encoding="utf-8")):
        for line in code.replace("\\\n", " ").splitlines() if language == "sh" else []:
            if line.startswith("regard "):
                assert left_over(line) == [], line


def test_what_cannot_be_read_is_found():
    assert unreadable("sh", "regard see text what can't be told\n")
    assert unreadable("json", '{"a": ...}')
    assert left_over('regard steps 000 --html a.html   the "example"') == ["the", "example"]
    assert left_over("regard lab report  # the answers") == []
