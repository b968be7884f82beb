"""Functions in Python files that return a model and its inputs."""

import pytest

from regard.errors import ArgumentError, DataError, UnknownNameError
from regard.inspection import see, story_of
from regard.inspection.cases.own_model import is_own_model, own_case

START = """
import torch
from torch import nn
from beside import WIDTH

def _model():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(WIDTH, 2, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
"""


@pytest.fixture
def write(tmp_path):
    (tmp_path / "beside.py").write_text("WIDTH = 8\n")

    def written(code, start=START):
        (tmp_path / "mine.py").write_text(start + code)
        return str(tmp_path / "mine.py")

    return written


def test_what_is_one():
    assert is_own_model("a/model.py")
    assert is_own_model("a/model.py:build")
    assert not is_own_model("a/model")
    assert not is_own_model("english-pos")


def test_a_model_with_inputs_and_items(write):
    file = write(
        "def build(text):\n    words = text.split()\n    return _model(), torch.randn(1, len(words), 8), words\n"
    )
    record = see(own_case(f"{file}:build", "x y z"))
    assert (record.items, record.model) == (("x", "y", "z"), "mine.build")
    assert [place.query for place in record.outcomes.places] == [0, 1, 2]
    assert len(record.layers) == 2
    assert see(own_case(file, "x y")).items == ("x", "y")


@pytest.mark.parametrize("inputs", ["torch.randn(1, 4, 8)", "(torch.randn(1, 4, 8),)", "{'src': torch.randn(1, 4, 8)}"])
def test_inputs_of_every_form(write, inputs):
    record = see(own_case(write(f"def build():\n    return _model(), {inputs}\n")))
    assert record.items == ("1", "2", "3", "4")
    assert all(outcome.change > 0 for outcome in record.outcomes.hidden[0])


def test_one_output_for_the_whole(write):
    code = (
        "class Whole(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.inner = _model()\n"
    )
    code += "    def forward(self, x):\n        return (self.inner(x).mean(1),)\n"
    record = see(own_case(write(code + "def build():\n    return Whole(), torch.randn(1, 3, 8)\n")))
    assert [place.name for place in record.outcomes.places] == ["the whole"]
    assert story_of(record).sentence.startswith("The output is a vector.")


def test_a_case_says_all_else(write):
    code = "from regard.inspection import Case\ndef build():\n    model = _model().eval()\n"
    code += (
        "    return Case('mine', model, torch.randn(1, 2, 8), model, lambda out: out.softmax(-1), 'labels', ('a', 'b'),"
    )
    code += " (('a', 0), ('b', 1)))\n"
    assert see(own_case(write(code))).outcomes.kind == "labels"


@pytest.mark.parametrize(
    ("code", "source", "kind", "message"),
    [
        ("def build():\n    return 3\n", None, ArgumentError, r"must return \(model, inputs\) .* but returned int"),
        (
            "def build():\n    return _model(), torch.randn(2, 3, 8)\n",
            None,
            ArgumentError,
            "`inputs` must be one input",
        ),
        (
            "def build():\n    return _model(), torch.randn(1, 3, 8), ['a']\n",
            None,
            ArgumentError,
            "`items` must be the 3",
        ),
        (
            "def build():\n    return nn.Linear(8, 8), torch.randn(1, 3, 8)\n",
            None,
            ArgumentError,
            "No attention was seen",
        ),
        (
            "def build():\n    return _model(), torch.randn(1, 3, 9)\n",
            None,
            DataError,
            "raised AssertionError|raised Runtime",
        ),
        ("def build(text):\n    return 3\n", None, ArgumentError, "`INPUT` must be given: build of .* takes text"),
        ("def build():\n    return 3\n", "x", ArgumentError, "`INPUT` must be left out: build of .* takes none"),
        (
            "def one():\n    pass\ndef two():\n    pass\n",
            None,
            ArgumentError,
            "must define one function.*it has one, two",
        ),
        ("", None, ArgumentError, "must define one function.*it has none"),
        (
            "def build():\n    raise KeyError('x')\n",
            None,
            DataError,
            r"mine\.py, line 11: the file raised KeyError: 'x'",
        ),
        ("def build():\n    raise SystemExit(3)\n", None, DataError, "the file ended the program"),
        ("def build(:\n", None, DataError, r"mine\.py, line 10: the file must be Python, but isn't"),
    ],
)
def test_files_that_fail(write, code, source, kind, message):
    with pytest.raises(kind, match=message):
        see(own_case(write(code), source))


def test_a_function_or_file_that_is_not_there(write, tmp_path):
    with pytest.raises(UnknownNameError, match="Did you mean 'build'"):
        own_case(write("def build():\n    pass\n") + ":biuld")
    with pytest.raises(DataError, match="must be a Python file, but isn't there"):
        own_case(str(tmp_path / "none.py"))
