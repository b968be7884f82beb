"""The Stanford Sentiment Treebank's own form: nested brackets, each phrase with its feeling from 0 to 4."""

import re
from collections.abc import Iterator
from pathlib import Path

from regard.datasets.example import Example
from regard.errors import DataError
from regard.inputs.lines import read_lines

__all__ = ["read_phrases"]

_TOKEN = re.compile(r"\(([0-4]) |\)|([^() ]+)| ")
_FEELINGS = ("negative", "negative", None, "positive", "positive")


def read_phrases(path: str | Path) -> Iterator[Example[str, str]]:
    """Every phrase that feels something, in lower case, sentence by sentence; neutral phrases are passed over.

    The words are in lower case and otherwise as in the trees ("-lrb-" is a bracket), as the sentences of SST-2 are.

    Args:
        path: the file, a sentence a line.

    Raises:
        DataError: brackets that don't match.

    Source: Socher et al. 2013, Recursive Deep Models for Semantic Compositionality Over a Sentiment Treebank; labels 0
        and 1 are negative, 3 and 4 positive (section 5.2).

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        ...     _ = file.write("(2 (3 Effective) (1 (1 too-tepid) (2 biopic)))\\n")
        ...     file.flush()
        ...     [(example.source, example.target) for example in read_phrases(file.name)]
        [('effective', 'positive'), ('too-tepid', 'negative'), ('too-tepid biopic', 'negative')]
    """
    for number, line in read_lines(path):
        if not line.strip():
            continue
        words: list[str] = []
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
                if name := _FEELINGS[feeling]:
                    yield Example(" ".join(words[start:]), name)
            elif token[0] != " ":
                place -= 1
                break
        if place < len(line) or not closed:
            wrong = f"it must be a tree, as (3 (2 so) (3 good)), but isn't from character {place + 1} on."
            raise DataError(wrong, path=path, line=number)
