"""Studies: a question, the variants that are compared to answer it, and the function that runs one of them."""

import ast
import hashlib
import inspect
import json
import math
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from regard.errors import ArgumentError, UnknownNameError
from regard.page import Page
from regard.tasks.judging.measure import ACCURACY, Measure

__all__ = ["Along", "Claim", "Planned", "Study"]

Setting = dict[str, Any]


@dataclass(frozen=True)
class Along:
    """A quantity that a study varies beside its variants, such as the length of the sequences.

    Args:
        name: its name, which is also its key in a setting.
        values: its values, in increasing order.
        full: its values in the full size; the same ones by default.
        within: whether each run measures at all values, so that it isn't run once for each.
        log: whether a picture has a logarithmic axis for it.
    """

    name: str
    values: tuple[float, ...]
    full: tuple[float, ...] = ()
    within: bool = False
    log: bool = False

    def __post_init__(self) -> None:
        for values in (self.values, self.full):
            if list(values) != sorted({*values}):
                raise ArgumentError(f"`values` must be in increasing order, but is {values}.")
        if not self.values:
            raise ArgumentError("`values` must hold at least one value, but holds none.")


@dataclass(frozen=True)
class Claim:
    """A statement that the runs can confirm or refute: one variant is better than another, or than a number.

    Args:
        first: the variant that is said to be better.
        than: the other variant, or a number.
        measure: the name of the measure; by default the first one of the study.
        at: the value along which it is said; None: the mean over all of them.
        margin: the smallest difference that matters: a smaller one counts as none.
        notes: what the lecture notes say, "yes" or "no"; "" if they don't.
        text: the question that it answers, for all claims but the first, whose question is the study's.

    Example:
        >>> Claim("attention", "convolution", at=60_000, margin=0.005, notes="yes").than
        'convolution'
    """

    first: str
    than: str | float
    measure: str = ""
    at: float | None = None
    margin: float = 0.0
    notes: str = ""
    text: str = ""

    def __post_init__(self) -> None:
        if self.notes not in ("", "yes", "no"):
            raise ArgumentError(f"`notes` must be 'yes', 'no' or '', but is {self.notes!r}.")
        if not 0 <= self.margin < math.inf:
            raise ArgumentError(f"`margin` must be a number of at least 0, but is {self.margin!r}.")


class Planned(NamedTuple):
    """A run that a study asks for: its variant, its seed, and everything that the study's function is told."""

    variant: str
    seed: int
    setting: Setting

    @property
    def key(self) -> str:
        """The same for equal runs, and for no others."""
        return json.dumps([self.variant, self.seed, self.setting], sort_keys=True, ensure_ascii=False)


@dataclass(frozen=True)
class Study:
    """A question that runs of several variants answer.

    Args:
        name: its name in `regard lab NAME`.
        question: the question, which the first claim answers with yes or no.
        run: a function (setting, seed) that runs one variant and returns its measures by name. If `along` is measured
            within each run, a measure may be a mapping from the values to numbers. It is called in another process, so
            it must be a function of a module.
        variants: the setting of each variant, of plain values.
        claims: the statements to be checked; the first one answers the question.
        measures: how the quality is measured, the most important first.
        settings: the settings that all variants share.
        full: the settings that differ in the full size.
        along: a quantity that is varied beside the variants.
        seeds: the number of seeds, 0 to `seeds` - 1.
        repeated: what a seed varies, if it isn't the random numbers of a run: "sentences of the same treebank".
        may_diverge: whether a run whose training diverges counts as one without measures, instead of ending the study.
        alone: whether runs must not share the machine with others, because they are timed.
        data: the names of the data sets that it reads.
        source: the passage of the lecture notes, or the paper, that raises the question.
        note: what a reader should know of how it is answered, in a sentence or two.
        example: a function (setting, seed, progress) that trains the variant of a setting once, with its progress as
            in `show_example`, and shows on a page what it does, such as what it attends to; None: there is nothing to
            show.
        order: where it stands in the list of the package's studies; by default at the end, by its name.

    Raises:
        ArgumentError: there are no variants or claims, or too few seeds for an interval.
        UnknownNameError: a claim on a variant or a measure that isn't there.

    Example:
        >>> def run(setting, seed):
        ...     return {"accuracy": 0.75 + 0.01 * seed if setting["coin"] == "fair" else 0.5}
        >>> variants = {"fair": {"coin": "fair"}, "bent": {"coin": "bent"}}
        >>> study = Study("coins", "Is a fair coin better?", run, variants, (Claim("fair", "bent"),), seeds=3)
        >>> len(study.planned()), study.planned()[0]
        (6, Planned(variant='fair', seed=0, setting={'coin': 'fair'}))
    """

    name: str
    question: str
    run: Callable[[Setting, int], Mapping[str, Any]]
    variants: Mapping[str, Setting]
    claims: tuple[Claim, ...]
    measures: tuple[Measure, ...] = (ACCURACY,)
    settings: Setting = field(default_factory=dict)
    full: Setting = field(default_factory=dict)
    along: Along | None = None
    seeds: int = 3
    repeated: str = ""
    may_diverge: bool = False
    alone: bool = False
    data: tuple[str, ...] = ()
    source: str = ""
    note: str = ""
    example: Callable[[Setting, int, str], Page] | None = None
    order: float = math.inf

    def __post_init__(self) -> None:
        for name in ("variants", "claims", "measures"):
            if not getattr(self, name):
                raise ArgumentError(f"`{name}` must not be empty, but is.")
        if self.seeds < 2:
            raise ArgumentError(f"`seeds` must be at least 2, for an interval, but is {self.seeds}.")
        for claim in self.claims:
            for variant in (claim.first, claim.than):
                if isinstance(variant, str) and variant not in self.variants:
                    raise UnknownNameError("variant", variant, self.variants)
            self.measure(claim.measure)

    def measure(self, name: str = "") -> Measure:
        """The measure of this name; by default the first one.

        Raises:
            UnknownNameError: there is none of this name.
        """
        known = {measure.name: measure for measure in (*self.measures, SECONDS, MEMORY)}
        if name and name not in known:
            raise UnknownNameError("measure", name, known)
        return known[name] if name else self.measures[0]

    def values(self, full: bool = False) -> tuple[float, ...]:
        """The values of the quantity that it varies; empty if it varies none."""
        if self.along is None:
            return ()
        return self.along.full if full and self.along.full else self.along.values

    def planned(self, *, seeds: int | None = None, full: bool = False) -> list[Planned]:
        """All runs, seed by seed, so that each variant has had its turn whenever they are interrupted.

        Args:
            seeds: the number of seeds, instead of the study's.
            full: the full size.
        """
        return list(self._planned(self.seeds if seeds is None else seeds, full))

    def _planned(self, seeds: int, full: bool) -> Iterator[Planned]:
        shared = {**self.settings, **(self.full if full else {})}
        along, values = self.along, self.values(full)
        for seed in range(seeds):
            if along is None:
                points: list[Setting] = [{}]
            else:
                points = [{along.name: list(values)}] if along.within else [{along.name: value} for value in values]
            for point in points:
                for variant, setting in self.variants.items():
                    yield Planned(variant, seed, {**shared, **setting, **point})

    def show_example(self, seed: int = 0, *, full: bool = False, progress: str = "none") -> Page:
        """Train the first variant, and show what it does.

        Args:
            seed: the seed.
            full: the full size.
            progress: how the progress of the training is shown on standard error: "bar", "lines", "none", or "auto": a
                bar on a terminal, else lines.

        Raises:
            ArgumentError: the study has no example.
            UnknownNameError: there is no progress of this name.

        Example:
            >>> from regard.page import Prose
            >>> def run(setting, seed):
            ...     return {"accuracy": 0.5}
            >>> def example(setting, seed, progress):
            ...     return Page("A coin", (Prose(f"{setting['coin']}, {seed}"),))
            >>> variants, claims = {"fair": {"coin": "fair"}}, (Claim("fair", 0.25),)
            >>> Study("coins", "Is it fair?", run, variants, claims, example=example).show_example(7).blocks
            (Prose(text='fair, 7'),)
        """
        if self.example is None:
            raise ArgumentError(f"`example` must be a function, but the study {self.name!r} has none.")
        return self.example(self.planned(seeds=1, full=full)[0].setting, seed, progress)

    @property
    def code(self) -> str:
        """A digest of the function that runs it, without its comments: results of another function are stale."""
        try:
            source = self.run if inspect.isfunction(self.run) else type(self.run)
            tree = ast.parse(textwrap.dedent(inspect.getsource(source)))
        except (OSError, TypeError, SyntaxError):
            return ""
        return hashlib.sha256(json.dumps(_form(tree)).encode()).hexdigest()[:12]


def _form(node: Any) -> Any:
    """A syntax tree as lists, equal in all versions of Python, which `ast.dump` isn't: newer ones have more fields."""
    if isinstance(node, list):
        return [_form(child) for child in node]
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = ((name, value) for name, value in ast.iter_fields(node) if value is not None and value != [])
    return [type(node).__name__, *([name, _form(value)] for name, value in fields)]


SECONDS = Measure("seconds", falls=True, digits=1)
"""The time of a run, which is measured for every study."""

MEMORY = Measure("memory in MiB", falls=True, digits=0)
"""The peak of the memory of a run, above what its process held before, which is measured for every study."""
