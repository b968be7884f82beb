"""A synthetic social network: will this person buy? The label depends on friends more than on one's own profile."""

from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

import numpy as np

from regard.datasets.dataset import Dataset
from regard.datasets.example import Example
from regard.datasets.splits import split_by_hash
from regard.inputs.graph.graph import Graph
from regard.inputs.graph.social_graph import social_graph
from regard.inputs.lines import ErrorHandler

__all__ = ["PURCHASES", "make_purchases"]

_JOBS = ("baker", "clerk", "driver", "farmer", "nurse", "teacher")
_FRIENDSHIPS = 4  # friendships per person; since each has two people, a person has twice as many friends on average
_BOUGHT_BEFORE = 0.3
_COLLEAGUES = 5.0


def make_purchases(people: int, *, seed: int = 0) -> Example[Graph, tuple[str | None, ...]]:
    """Make a graph of people with profiles and friends, labelled with whether each person buys, yes or no.

    A profile has sex, age (18 to 80), job (one of six), and whether the person bought before, with probability 0.3; all
    are drawn independently and uniformly. Friendships are between random people, 4 per person.

    The rule: let s be the fraction of a person's friends who bought before, in which friends with the same job count 5
    times; without friends it is 0.3. The person buys with probability 1 / (1 + exp(-z)), z = 12 (s - 0.3) + (49 - age)
    / 30. So the person's own earlier purchase says nothing about the label; those of friends do.

    Args:
        people: the number of people.
        seed: the seed of the generator.

    Source: the notes, 001 "Graph" for the profiles; the question whether somebody will buy is from "Each vector has a
        label" there.

    Example:
        >>> bought = make_purchases(100)
        >>> len(bought.source), sorted(set(bought.target))
        (100, ['no', 'yes'])
    """
    # NumPy guarantees that this legacy generator draws the same numbers in every version.
    draws = np.random.RandomState(seed)
    sexes = draws.randint(2, size=people)
    ages = draws.randint(18, 81, size=people)
    jobs = draws.randint(len(_JOBS), size=people)
    before = draws.random_sample(people) < _BOUGHT_BEFORE
    ends = draws.randint(people, size=(_FRIENDSHIPS * people, 2)) if people else np.zeros((0, 2), dtype=np.int64)
    chance = draws.random_sample(people)

    names = [f"person {number}" for number in range(people)]
    profiles = {
        name: {
            "sex": ("f", "m")[sexes[person]],
            "age": float(ages[person]),
            "job": _JOBS[jobs[person]],
            "bought before": ("no", "yes")[int(before[person])],
        }
        for person, name in enumerate(names)
    }
    graph = social_graph(profiles, [(names[one], names[other]) for one, other in ends if one != other])
    friend, person = graph.edges.numpy()
    counts = np.where(jobs[friend] == jobs[person], _COLLEAGUES, 1.0)
    weights = np.bincount(person, counts, minlength=people)
    bought = np.bincount(person, counts * before[friend], minlength=people)
    fractions = np.where(weights > 0, bought / np.maximum(weights, 1), _BOUGHT_BEFORE)
    buys = chance < 1 / (1 + np.exp(-12 * (fractions - _BOUGHT_BEFORE) - (49 - ages) / 30))
    return Example(graph, tuple(("no", "yes")[int(bought)] for bought in buys))


def _read(
    folder: Path, split: str, label: str, on_error: ErrorHandler
) -> Iterator[Example[Graph, tuple[str | None, ...]]]:
    made = make_purchases(5000)
    named = zip(made.source.names, made.target, strict=True)
    yield Example(made.source, tuple(buys if split_by_hash(name) == split else None for name, buys in named))


PURCHASES = Dataset(
    name="purchases",
    title="Will this person buy? 5,000 people, 20,000 friendships, made by a rule in which friends' purchases decide",
    language="",
    licence="that of regard, which makes it",
    source="regard.datasets.make_purchases, seed 0",
    citation="none: it is generated",
    label="buys",
    fold="nothing",
    files=MappingProxyType({}),
    library="regard",
    modality="graph",
    target_type="items",
    labels=("buys",),
    read=_read,
)
