"""What the measures of the source count."""

import ast
from pathlib import Path

import pytest


@pytest.fixture
def house(benchmark_module):
    return benchmark_module("house")


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ('if model.kind == "tagger": pass', 1),
        ('x = kind in ("seq2seq", "synthesis")', 1),
        ('HELP = {"classifier": "a label"}', 1),
        ('x = {("classifier", "words"): 1}["classifier", "words"]', 1),
        ('kind = "tagger"', 0),
        ('if kind == "label": pass', 0),
    ],
)
def test_branches_on_a_kind_are_counted(house, source, count):
    assert house.branches(ast.parse(source)) == count


def test_self_is_no_parameter(house):
    tree = ast.parse("class A:\n def f(self, a, b, c, d, e, *, f): ...\n def g(self, a, b, c, d, e, f, *, g): ...")
    assert house.long_signatures(tree) == 1


def test_repeated_lines_are_found_but_for_names_and_to_the_letter(house):
    body = "".join(f"    total += {name} * {name} - weights[{name}]\n" for name in "abcdef")
    one, other = f"def f(total):\n    '''One.'''\n{body}", f"def g(total):\n{body}    # the end\n"
    renamed = other.replace("total", "summed")
    assert house.repeated({Path("one"): one, Path("other"): other}) == (0, 1)
    assert house.repeated({Path("one"): one, Path("other"): renamed}) == (1, 0)
    assert house.repeated({Path("one"): one, Path("other"): other.replace("*", "+")}) == (0, 0)


def test_calls_are_counted_before_and_after_the_arithmetic(house):
    found = house.calls()
    before, forward, backward = found.values()
    assert 0 < before < forward
    assert backward > 0
