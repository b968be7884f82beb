"""Reading the trees of the Stanford Sentiment Treebank: nested brackets, each phrase with its sentiment from 0 to 4."""

import re
from collections.abc import Iterator
from pathlib import Path

from regard.datasets.example import Example
from regard.errors import DataError
from regard.inputs.lines import ErrorHandler, raise_error, read_lines

__all__ = ["DEGREES", "read_phrases"]

DEGREES = ("very negative", "negative", "neutral", "positive", "very positive")
"""The five degrees of sentiment, in the order of the treebank's numbers from 0."""

_TOKEN = re.compile(r"\(([0-4]) |\)|([^() ]+)| ")


def read_phrases(
    path: str | Path, *, sentences: bool = False, on_error: ErrorHandler = raise_error
) -> Iterator[Example[str, str]]:
    """Every phrase with its degree of sentiment, one of `DEGREES`; the parts of a phrase precede it.

    Words are in lower case and otherwise as in the trees ("-lrb-" is a bracket), like the sentences of SST-2.

    Args:
        path: the file, with one sentence in each line.
        sentences: whether to return complete sentences only.
        on_error: called with the error of each line whose brackets don't match; the line is then skipped. By default
            it raises the error.

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
        phrases: list[Example[str, str]] = []
        opened: list[tuple[int, int]] = []  # the sentiment of each open phrase, and the index of its first word
        position, complete = 0, False
        # After the bracket that completes the tree, there may be only spaces.
        while position < len(line) and (token := _TOKEN.match(line, position)) and not (complete and token[0] != " "):
            position = token.end()
            if token[1]:
                opened.append((int(token[1]), len(words)))
            elif token[2] and opened:
                words.append(token[2].lower())
            elif token[0] == ")" and opened and opened[-1][1] < len(words):
                degree, start = opened.pop()
                complete = not opened
                if complete or not sentences:
                    phrases.append(Example(" ".join(words[start:]), DEGREES[degree]))
            elif token[0] != " ":
                position = token.start()
                break
        if position < len(line) or not complete:
            message = f"it must be a tree, as (3 (2 so) (3 good)), but isn't from character {position + 1} on."
            on_error(DataError(message, path=path, line=number))
        else:
            yield from phrases
