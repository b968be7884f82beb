"""The errors that regard raises on purpose.

RegardError
├── ArgumentError       an argument that can't be used (also a ValueError)
│   └── UnknownNameError    an unknown name; suggests the most similar known name
├── RefusedError        an engine that was requested by name doesn't support the request
├── DataError           a data file that can't be used; names the file and the line
├── ModelError          a saved model that can't be used; names the folder
├── DivergedError       training whose loss isn't finite any more
├── LostRankError       a process of a group that was waited for has ended
└── MissingExtraError   an optional library that isn't installed; names the extra (also an ImportError)

Warnings that a prediction may be wrong:

UnreliablePrediction
├── LongerThanTrained   a source is longer than those of the training data
├── OutOfVocabulary       a source has pieces that a model hasn't learned
├── OutOfDistribution   a source is unlike the data that the model was trained on
└── UncheckedModel      a model was saved without a digest, so an edit of it isn't noticed

GuessedEncoding         a file isn't UTF-8, and is read in another encoding (a warning, too)
GuessedColumns          what the columns of a table mean was found by its content (a warning, too)

Every message names the argument in backticks, says what it must be, what it is, and what to do next.
"""

import difflib
import re
from collections.abc import Iterable
from typing import Any

__all__ = [
    "ArgumentError",
    "DataError",
    "DivergedError",
    "GuessedColumns",
    "GuessedEncoding",
    "LongerThanTrained",
    "LostRankError",
    "MissingExtraError",
    "ModelError",
    "OutOfDistribution",
    "OutOfVocabulary",
    "RecordWarning",
    "RefusedError",
    "RegardError",
    "UncheckedModel",
    "UnknownNameError",
    "UnreliablePrediction",
    "is_out_of_memory",
    "nearest",
]


_LONGEST = 2000  # characters of a message; what is longer quotes data that nobody reads


class RegardError(Exception):
    """The base class of all errors that regard raises on purpose.

    What a message quotes may be of any length, such as a cell of a megabyte. It is cut in its middle, since the next
    step stands at its end.

    Example:
        >>> len(str(RegardError("x" * 1_000_000)))
        2000
    """

    def __str__(self) -> str:
        told = super().__str__()
        if len(told) <= _LONGEST:
            return told
        end = _LONGEST // 4
        return f"{told[: _LONGEST - end - 3]}...{told[-end:]}"


class ArgumentError(RegardError, ValueError):
    """An argument can't be used."""


class RecordWarning(UserWarning):
    """A record of attention lacks something, or differs from what the model computed."""


class GuessedColumns(UserWarning):
    """What the columns of a table mean was found by its content. The warning says how it is read."""


class GuessedEncoding(UserWarning):
    """A text file isn't UTF-8. The warning says as what it is read, which may be wrong."""


class UnreliablePrediction(UserWarning):
    """A prediction may be wrong, because the source is unlike the data that the model was trained on."""


class LongerThanTrained(UnreliablePrediction):
    """A source is longer than any in the training data of a model that decides the length of its output itself."""


class OutOfVocabulary(UnreliablePrediction):
    """A source has characters or words that aren't in the model's vocabulary; they all share one id."""


class OutOfDistribution(UnreliablePrediction):
    """A source is unlike the training data: it is in another language or script, for example, or an empty picture."""


class UncheckedModel(UnreliablePrediction):
    """An earlier version saved a model without a digest of its description, so an edit of it isn't noticed."""


_MOST_LISTED = 15


def nearest(name: str, known: Iterable[str], cutoff: float = 0.5) -> str | None:
    """The known name that is most similar to a misspelt one; None if none is similar.

    A name that differs by two neighbouring letters swapped is nearer than one that differs by another single letter,
    and this is nearer than all others.

    Args:
        name: the misspelt name.
        known: the known names.
        cutoff: the least similarity, the `ratio` of `difflib.SequenceMatcher`.

    Example:
        >>> nearest("preformer", ["performer", "reformer"]), nearest("zzz", ["performer"])
        ('performer', None)
    """
    known = list(known)
    # The most similar first; of several equally near names it is kept.
    similar = difflib.get_close_matches(name, known, n=len(known) or 1, cutoff=cutoff)
    return min(similar, key=lambda each: _distance(name, each), default=None)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that there isn't enough memory; PyTorch has no type of its own for it on a CPU.

    Example:
        >>> is_out_of_memory(MemoryError()), is_out_of_memory(RuntimeError("shape '[2]' is invalid"))
        (True, False)
    """
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and bool(_NO_MEMORY.search(str(error))))


_NO_MEMORY = re.compile("can't allocate memory|not enough memory|out of memory|[Ss]torage size calculation overflow")


def _distance(name: str, other: str) -> int:
    """0 for two neighbouring letters swapped, 1 for another letter added, left out or replaced, 2 for all else."""
    if len(name) != len(other):
        short, long = sorted([name, other], key=len)
        return 1 if short in (long[:place] + long[place + 1 :] for place in range(len(long))) else 2
    wrong = [place for place in range(len(name)) if name[place] != other[place]]
    if len(wrong) < 2:
        return len(wrong)
    first, second = wrong[0], wrong[-1]
    swapped = second == first + 1 and name[first] + name[second] == other[second] + other[first]
    return 0 if swapped else 2


class UnknownNameError(ArgumentError):
    """A name isn't one of the known names.

    Args:
        argument, name: the name of the argument, and its value.
        known: the known names, which the message lists.
        others: further names that may be suggested but aren't listed, such as the files of a folder.
        see: a command that says what the names are. With it, a message that suggests a name lists no others if they
            are many, since they would hide it.

    Example:
        >>> str(UnknownNameError("score", "scaled_dto", ["dot", "scaled_dot"]))
        "`score` must be one of dot, scaled_dot, but is 'scaled_dto'. Did you mean 'scaled_dot'?"
        >>> known = ["self", *map(str, range(20))]
        >>> str(UnknownNameError("NAME", "slef", known, see="regard lab"))
        "`NAME` must be one of 21 names, but is 'slef'. Did you mean 'self'? See regard lab."
    """

    def __init__(self, argument: str, name: object, known: Iterable[str], others: Iterable[str] = (), see: str = ""):
        known, others = list(known), list(others)
        self._made_of = argument, name, known, others, see
        near = nearest(name, [*known, *others]) if isinstance(name, str) else None
        hint = f" Did you mean {near!r}?" if near else ""
        listed = ", ".join(known) or "(none)"
        if near and see and len(known) > _MOST_LISTED:
            listed, hint = f"{len(known)} names", f"{hint} See {see}."
        super().__init__(f"`{argument}` must be one of {listed}, but is {name!r:.60}.{hint}")

    def __reduce__(self) -> Any:
        # Errors are pickled when a worker process passes them to its parent.
        return UnknownNameError, self._made_of


class RefusedError(RegardError):
    """An engine that was requested by name doesn't support the request."""


class DataError(RegardError):
    """A data file can't be used.

    Attributes:
        reason: the reason, without the location.
        path, line: the location; None if it is unknown.

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


class DivergedError(RegardError):
    """Training diverged: its loss, or the score of the model, isn't a finite number.

    Attributes:
        reason: what became of which number, without the next step.

    Example:
        >>> error = DivergedError("the loss became nan in epoch 1, batch 2", "Try a smaller `learning_rate` than 0.5.")
        >>> str(error)
        'The loss became nan in epoch 1, batch 2. Try a smaller `learning_rate` than 0.5.'
    """

    def __init__(self, reason: str, step: str):
        self.reason, self._step = reason, step
        super().__init__(f"{reason[0].upper()}{reason[1:]}. {step}")

    def __reduce__(self) -> Any:
        return DivergedError, (self.reason, self._step)


class LostRankError(RegardError):
    """A process of a group was waited for, and has ended."""


class MissingExtraError(RegardError, ImportError):
    """An optional library is not installed.

    Example:
        >>> str(MissingExtraError("conllu", extra="data"))
        "`conllu` is not installed. It comes with an extra; in the clone of regard: pip install '.[data]'"
    """

    def __init__(self, module: str, *, extra: str):
        # The clone, and not the name: no index has regard, and whoever registered the name would get the installs.
        super().__init__(
            f"`{module}` is not installed. It comes with an extra; in the clone of regard: pip install '.[{extra}]'"
        )
        self._made_of = module, extra

    def __reduce__(self) -> Any:
        return _missing_extra, self._made_of


def _missing_extra(module: str, extra: str) -> MissingExtraError:
    return MissingExtraError(module, extra=extra)
