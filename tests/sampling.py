"""Which cases of a law run: all of them, by `--sample` a few that stand for the others, or by `--rest` those others.

A law is a test function with parameters, and its cases are the items that pytest makes of it. `make test` runs a sample
of each law; `make test-all`, as CI does, runs that and then the rest. The sample is drawn from the names of the cases
alone, so it is the same on every machine, in every process, and whichever other tests run.
"""

import dataclasses
import itertools
import zlib
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import pytest

FEW = 1
"""So many cases of a law always run, if it has as many."""

LONG = ("slow", "exhaustive")
"""A case with one of these marks stands for others only where all of a law have one."""

SHARE = 4
"""Of more cases, at most one in so many."""

_share = 1
Values = frozenset[tuple[str, Hashable]]


@dataclasses.dataclass
class Laws:
    """What a run holds of the laws that it collected."""

    cases: dict[str, tuple[int, int]] = dataclasses.field(default_factory=dict)
    """Law -> how many of its cases run, and how many there are."""
    values: set[tuple[str, Hashable]] = dataclasses.field(default_factory=set)
    """The values that stand in some case that runs."""

    @property
    def left_out(self) -> int:
        return sum(every - kept for kept, every in self.cases.values())


LAWS = pytest.StashKey[Laws]()


def values_of(parameters: dict[str, Any], places: dict[str, int]) -> Values:
    """What a case is made of: the value of each parameter, and of each field where the value is a dataclass.

    Args:
        parameters: name -> value.
        places: name -> the place of the value among all that the parameter takes; it stands for a value that isn't a
            plain one.
    """

    def flat() -> Iterator[tuple[str, Hashable]]:
        for name, value in parameters.items():
            if dataclasses.is_dataclass(value) and not isinstance(value, type) and _is_plain(*_fields(value).values()):
                yield from _fields(value).items()
            else:
                yield name, value if _is_plain(value) else places[name]

    return frozenset(flat())


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def _is_plain(*values: Any) -> bool:
    return all(value is None or isinstance(value, str | int | float | bool) for value in values)


def sample(cases: Sequence[Values], names: Sequence[str]) -> list[int]:
    """The places of the cases that stand for the others, in their order.

    Greedy: the next case is the one with most pairs of values that no earlier one has, of equals the one whose name has
    the lowest checksum. It ends where every pair has been met, or where the sample is as large as it may be.

    Args:
        cases: the values of each case.
        names: the name of each case.
    """
    most = max(FEW, len(cases) // SHARE)
    if len(cases) <= FEW:
        return list(range(len(cases)))
    pairs = [set(itertools.combinations(sorted(case, key=repr), 2)) | {(value,) for value in case} for case in cases]
    # A case whose new pairs were counted long ago has at most as many now, so few have to be counted again.
    order = sorted(range(len(cases)), key=lambda place: zlib.crc32(names[place].encode()))
    bound = {place: len(pairs[place]) for place in order}
    met: set[tuple] = set()
    chosen: list[int] = []
    while len(chosen) < most:
        best, gain = -1, 0
        for place in order:
            if bound[place] > gain:
                bound[place] = len(pairs[place] - met)
                if bound[place] > gain:
                    best, gain = place, bound[place]
        if best < 0:
            break
        chosen.append(best)
        met |= pairs[best]
        bound[best] = 0
    return sorted(chosen)


def examples(count: int) -> int:
    """How many of `count` examples a test draws: a share of them in the sample."""
    return max(1, count // _share)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("sampling").addoption
    group("--sample", action="store_true", help="run a few cases of each law, which stand for the others")
    group("--rest", action="store_true", help="run what --sample leaves out, and the slow tests")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "every_case: the cases of this law are a sample already; --sample runs them all")
    config.stash[LAWS] = Laws()
    if config.getoption("--sample"):
        global _share
        _share = SHARE


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(collector: Any) -> Any:
    """Leave out what isn't in the sample before pytest spends time on it."""
    items = yield
    if not isinstance(items, list) or not items:
        return items
    config, laws = collector.config, collector.config.stash[LAWS]
    if all(hasattr(item, "callspec") for item in items):
        cases = [values_of(item.callspec.params, item.callspec.indices) for item in items]
        kept: Sequence[int] = range(len(items))
        drawn = config.getoption("--sample") or config.getoption("--rest")
        if drawn and not items[0].get_closest_marker("every_case"):
            brief = [place for place in kept if not any(map(items[place].get_closest_marker, LONG))] or kept
            kept = [brief[at] for at in sample([cases[each] for each in brief], [items[each].name for each in brief])]
        laws.cases[items[0].nodeid.partition("[")[0]] = len(kept), len(items)
        laws.values.update(*(cases[place] for place in kept))
        sampled = [items[place] for place in kept]
    else:
        sampled = items
    if not config.getoption("--rest"):
        return sampled
    # A test that draws examples has drawn fewer in the sample.
    every = getattr(collector.getparent(pytest.Module).obj, "examples", None) is examples
    return [item for item in items if every or item.get_closest_marker("slow") or item not in sampled]


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)  # of a process of pytest-xdist
    if output is not None:
        output["laws"] = session.config.stash[LAWS].cases


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what a process of pytest-xdist collected: each collects the same."""
    node.config.stash[LAWS].cases |= getattr(node, "workeroutput", {}).get("laws", {})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    config = terminalreporter.config
    if (left_out := config.stash[LAWS].left_out) and not config.getoption("--rest"):
        terminalreporter.write_line(f"a sample: {left_out:,} more cases of the same laws run by `make test-all`")
