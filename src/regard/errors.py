"""The errors that regard raises on purpose.

RegardError
├── ArgumentError       an argument that can't be used (also a ValueError)
│   └── UnknownNameError    a name that isn't in the list; suggests the nearest
├── RefusedError        an engine asked for by name can't do this request
├── DataError           a data file that can't be used; names the file and the line
├── ModelError          a saved model that can't be used; names the folder
└── MissingExtraError   an optional library is not installed; names the extra (also an ImportError)

And a warning that what a model says may be wrong:

DoubtfulAnswer
├── LongerThanTrained   a source is longer than any of training
├── UnknownPieces       a source has pieces that a model hasn't learned
└── OutOfDistribution   a source is unlike those that a model was made for

Every message names the thing in backticks, says what it must be, what it is, and the next step.
"""

import difflib
from collections.abc import Iterable
from typing import Any

__all__ = [
    "ArgumentError",
    "DataError",
    "DoubtfulAnswer",
    "LongerThanTrained",
    "MissingExtraError",
    "ModelError",
    "OutOfDistribution",
    "RefusedError",
    "RegardError",
    "UnknownNameError",
    "UnknownPieces",
]


class RegardError(Exception):
    """The root: catch this to catch every error that regard raises on purpose."""


class ArgumentError(RegardError, ValueError):
    """An argument can't be used."""


class DoubtfulAnswer(UserWarning):
    """What a model says of a source may be wrong: it is unlike what the model was trained on."""


class LongerThanTrained(DoubtfulAnswer):
    """A source is longer than any that a model was trained on whose own choice it is how long its answer is."""


class UnknownPieces(DoubtfulAnswer):
    """A source has characters or words that a seq2seq model has not learned: all of them are one unknown piece."""


class OutOfDistribution(DoubtfulAnswer):
    """A source is unlike those that a model was made for: of another language or script, say, or an empty picture."""


class UnknownNameError(ArgumentError):
    """A name isn't in the list that it must come from.

    Args:
        argument, name: what was asked for, and how.
        known: the list.
        others: what may be meant, too, but would be too much to list, such as the files of a folder.

    Example:
        >>> str(UnknownNameError("score", "scaled_dto", ["dot", "scaled_dot"]))
        "`score` must be one of dot, scaled_dot, but is 'scaled_dto'. Did you mean 'scaled_dot'?"
    """

    def __init__(self, argument: str, name: object, known: Iterable[str], others: Iterable[str] = ()):
        known, others = list(known), list(others)
        self._made_of = argument, name, known, others
        near = difflib.get_close_matches(name, [*known, *others], n=1, cutoff=0.5) if isinstance(name, str) else []
        hint = f" Did you mean {near[0]!r}?" if near else ""
        super().__init__(f"`{argument}` must be one of {', '.join(known) or '(none)'}, but is {name!r}.{hint}")

    def __reduce__(self) -> Any:
        # From a worker to the process that waits for it an error travels pickled.
        return UnknownNameError, self._made_of


class RefusedError(RegardError):
    """An engine asked for by name can't do this request."""


class DataError(RegardError):
    """A data file can't be used.

    Attributes:
        reason: why, without where.
        path, line: where; None where that isn't known.

    Example:
        >>> str(DataError("a line must have 10 columns, but has 3", path="train.conllu", line=7))
        'train.conllu, line 7: a line must have 10 columns, but has 3'
    """

    def __init__(self, problem: str, *, path: object = None, line: int | None = None):
        self.reason, self.path, self.line = problem, path, line
        where = f"{path}" if path is not None else ""
        where += f", line {line}" if line is not None else ""
        super().__init__(f"{where}: {problem}" if where else problem)


class ModelError(RegardError):
    """A saved model can't be used."""


class MissingExtraError(RegardError, ImportError):
    """An optional library is not installed.

    Example:
        >>> str(MissingExtraError("conllu", extra="data"))
        "`conllu` is not installed. It comes with an extra: pip install 'regard[data]'"
    """

    def __init__(self, module: str, *, extra: str):
        super().__init__(f"`{module}` is not installed. It comes with an extra: pip install 'regard[{extra}]'")
        self._made_of = module, extra

    def __reduce__(self) -> Any:
        return _missing_extra, self._made_of


def _missing_extra(module: str, extra: str) -> MissingExtraError:
    return MissingExtraError(module, extra=extra)
