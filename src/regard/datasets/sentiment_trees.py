"""The Stanford Sentiment Treebank's own form: nested brackets, each phrase with its degree of feeling, 0 to 4."""

import re
from collections.abc import Iterator
from pathlib import Path

from regard.datasets.example import Example
from regard.errors import DataError
from regard.inputs.lines import ErrorHandler, raise_error, read_lines

__all__ = ["DEGREES", "read_phrases"]

DEGREES = ("very negative", "negative", "neutral", "positive", "very positive")
"""The five degrees of feeling, as the treebank counts them from 0."""

_TOKEN = re.compile(r"\(([0-4]) |\)|([^() ]+)| ")


def read_phrases(
    path: str | Path, *, sentences: bool = False, on_error: ErrorHandler = raise_error
) -> Iterator[Example[str, str]]:
    """Every phrase with its degree of feeling, one of `DEGREES`; the parts of a phrase stand before it.

    The words are in lower case and otherwise as in the trees ("-lrb-" is a bracket), as the sentences of SST-2 are.

    Args:
        path: the file, a sentence a line.
        sentences: whether only whole sentences are given.
        on_error: is told of each line whose brackets don't match, which is then left out; by default it is raise_error.

    Raises:
        DataError: brackets that don't match.

    Source: Socher et al. 2013, Recursive Deep Models for Semantic Compositionality Over a Sentiment Treebank,
        section 3.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        ...     _ = file.write("(2 (3 Effective) (1 (1 too-tepid) (2 biopic)))\\n")
        ...     file.flush()
        ...     [(example.source, example.target) for example in read_phrases(file.name)][2:]
        [('biopic', 'neutral'), ('too-tepid biopic', 'negative'), ('effective too-tepid biopic', 'neutral')]
    """
    for number, line in read_lines(path, on_error):
        if not line.strip():
            continue
        words: list[str] = []
        found: list[Example[str, str]] = []
        opened: list[tuple[int, int]] = []  # the feeling of each open phrase, and at which word it begins
        place, closed = 0, False
        while place < len(line) and (token := _TOKEN.match(line, place)) and not (closed and token[0] != " "):
            place = token.end()
            if token[1]:
                opened.append((int(token[1]), len(words)))
            elif token[2] and opened:
                words.append(token[2].lower())
            elif token[0] == ")" and opened and opened[-1][1] < len(words):
                feeling, start = opened.pop()
                closed = not opened
                if closed or not sentences:
                    found.append(Example(" ".join(words[start:]), DEGREES[feeling]))
            elif token[0] != " ":
                place -= 1
                break
        if place < len(line) or not closed:
            wrong = f"it must be a tree, as (3 (2 so) (3 good)), but isn't from character {place + 1} on."
            on_error(DataError(wrong, path=path, line=number))
        else:
            yield from found
