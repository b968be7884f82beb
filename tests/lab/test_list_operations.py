"""ListOps: what is drawn, and its values, by an evaluator that knows nothing of the generator."""

import re
import statistics

import pytest

from regard.errors import ArgumentError
from regard.lab.synthetic.list_operations import list_operations


def evaluated(text: str) -> str:
    """The value, by replacing one innermost list after the other."""
    innermost = re.compile(r"([<>~+])(\d+)\]")
    while (found := innermost.search(text)) is not None:
        operator, digits = found[1], sorted(map(int, found[2]))
        if operator == "+":
            value = sum(digits) % 10
        elif operator == "~":
            middle = len(digits) // 2
            value = digits[middle] if len(digits) % 2 else (digits[middle - 1] + digits[middle]) // 2
        else:
            value = digits[0 if operator == "<" else -1]
        text = f"{text[: found.start()]}{value}{text[found.end() :]}"
    return text


def test_the_evaluator_by_hand():
    assert evaluated(">29<47]0]") == "9"
    assert evaluated("~14]") == "2"
    assert evaluated("+99<38]~123]]") == "3"


def test_values_are_those_of_the_expressions():
    drawn = list_operations(300, seed=3, shortest=4, longest=400)
    assert all(evaluated(text) == value for text, value in drawn)
    assert {value for _, value in drawn} == set("0123456789")
    assert {text[0] for text, _ in drawn} == set("<>~+")


def test_lengths_depth_and_elements():
    drawn = [text for text, _ in list_operations(200, seed=1, shortest=30, longest=60, depth=3, elements=4)]
    assert all(30 <= len(text) <= 60 for text in drawn)
    for text in drawn:
        open_lists, deepest, counts = [], 0, []
        for character in text:
            if character == "]":
                counts.append(open_lists.pop())
            if character != "]" and open_lists:
                open_lists[-1] += 1
            if character in "<>~+":
                open_lists.append(0)
            deepest = max(deepest, len(open_lists))
        assert deepest <= 3
        assert all(2 <= count <= 4 for count in counts)


def test_the_seed_decides():
    first, again, other = (list_operations(5, seed, shortest=8, longest=90) for seed in (4, 4, 5))
    assert first == again != other


def test_a_quarter_of_the_elements_are_lists():
    texts = [text for text, _ in list_operations(2000, seed=0, shortest=4, longest=10**6, depth=2)]
    lists = sum(sum(character in "<>~+" for character in text[1:]) for text in texts)
    digits = [sum(character.isdigit() for character in text) for text in texts]
    inner = lists * statistics.mean(range(2, 11))
    assert lists / (sum(digits) - inner + lists) == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"shortest": 3}, "`shortest` must be from 4 to `longest`, 20, but is 3"),
        ({"shortest": 21}, "`shortest` must be from 4 to `longest`, 20, but is 21"),
        (
            {"depth": 1, "shortest": 13},
            "`shortest` must be at most 12, the length of the longest list of depth 1 with 10 elements",
        ),
        ({"elements": 1}, "`elements` must be at least 2, but is 1"),
    ],
)
def test_lists_that_there_are_not(changes, said):
    with pytest.raises(ArgumentError, match=said):
        list_operations(1, 0, **{"shortest": 8, "longest": 20, **changes})


def test_the_longest_list_that_there_is():
    ((text, _),) = list_operations(1, 0, shortest=12, longest=12, depth=1)
    assert len(text) == 12
