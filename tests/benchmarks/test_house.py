"""What the measures of the source count."""

import ast
from pathlib import Path

import pytest

from regard.page.numbers import counted


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


def test_kernels_have_as_many_parameters_as_they_need(house):
    signature = "def f(a, b, c, d, e, f, g): ..."
    assert [house.long_signatures(ast.parse(f"{above}\n{signature}")) for above in ("", "@triton.jit", "@cache")] == [
        1,
        0,
        1,
    ]


def test_types_of_kinds_are_found_by_their_bases(house):
    tree = ast.parse("class Source: ...\nclass Words(Source): ...\nclass Letters(Words): ...\nclass Other: ...")
    kinds = house.kinds_of([tree])
    assert kinds == {"Words", "Letters"}
    asked = "isinstance(a, Words), isinstance(a, Other | Letters), isinstance(a, Other), isinstance(Words, b)"
    assert house.asked_types(ast.parse(asked), kinds) == 2


def test_entered_are_the_functions_of_the_package_alone(house):
    entered = list(house._entered(lambda: counted(3, "item")))
    assert entered == ["page/numbers.py:counted", "page/numbers.py:plural"]


def test_options_by_keyword_have_no_order_to_be_known(house):
    tree = ast.parse("def f(a, b, c, d, e, f, *, g=0): ...\ndef g(a, b, c, d, e, f, /, g): ...\nasync def h(a, b): ...")
    assert house.long_signatures(tree) == 2
    assert house.long_signatures(tree, by_position=True) == 1


def test_repeated_declarations_are_no_statements(house):
    names = "".join(f"    {name},\n" for name in "abcdefg")
    signature = f"def f(\n{names}):\n    return total\n"
    listed = "__all__ = [\n" + "".join(f"    '{name}',\n" for name in "abcdefg") + "]\n"
    imported = f"from elsewhere import (\n{names})\n"
    fields = "class A:\n" + "".join(f"    {name}: int = 0\n" for name in "abcdefg")
    table = "TABLE = {\n" + "".join(f"    '{name}': 0,\n" for name in "abcdefg") + "}\n"
    for declared in (signature, listed, imported, fields, table):
        files = {Path("one"): declared, Path("other"): declared}
        assert house.repeated(files) == (0, 1)
        assert house.repeated(files, statements=True) == (0, 0)


def test_repeated_statements_are_found_but_not_across_a_signature(house):
    body = "".join(f"    total += {name} * {name}\n" for name in "abcdef")
    whole = f"def f(total):\n{body}"
    assert house.repeated({Path("one"): whole, Path("other"): whole}, statements=True) == (0, 1)
    renamed = whole.replace("total", "summed")
    assert house.repeated({Path("one"): whole, Path("other"): renamed}, statements=True) == (1, 0)
    halves = f"def f(total):\n{body[: len(body) // 2]}def g(total):\n{body[len(body) // 2 :]}"
    files = {Path("one"): halves, Path("other"): halves}
    assert house.repeated(files) == (0, 1)
    assert house.repeated(files, statements=True) == (0, 0)


def test_what_is_counted_is_named(house):
    body = "".join(f"    a += {name}\n" for name in "bcdefg")
    files = {Path(f"src/{name}"): f"def {name}(a, b, c, d, e, f, *, g):\n{body}" for name in ("one", "other")}
    assert list(house.listed(files, Path("src"))) == [
        "one:1 one: 7 parameters, 6 by position",
        "other:1 other: 7 parameters, 6 by position",
        "one and other: statements to the letter",
    ]


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
