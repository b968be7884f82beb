import itertools
import json
import math
import re

import pytest
import torch

from attention import cases
from regard.attention import MASKS, POSITIONS, SCORES, WEIGHTS, Bias, Bilinear, Dot, Lengths, Softmax, attend, weigh
from regard.errors import ArgumentError, DataError
from regard.inspection.steps import EXAMPLES, Matrices, blanks, example_page, read_matrices, steps, steps_page
from regard.inspection.steps.numbers import adds_up, worked
from regard.inspection.steps.quantity import Quantity, Step
from regard.page import as_html, as_text

NOTE_000 = EXAMPLES["000"].matrices.tensors


def check(case):
    """The steps of every row end in the row of the definition, and of the weights."""
    arguments = case.make()
    output = arguments(attend, engine="dense").detach()
    weights = weigh(arguments.query, arguments.key, **arguments.parts).detach()
    items, heads, rows, _ = output.shape
    for batch, row in itertools.product(range(items), range(rows)):
        head = (row + batch) % heads
        walk = steps(
            arguments.query, arguments.key, arguments.value, **arguments.parts, row=row, batch=batch, head=head
        )
        assert not walk.output.requires_grad
        torch.testing.assert_close(walk.output, output[batch, head, row], rtol=1e-9, atol=1e-9, msg=f"{case} {row}")
        torch.testing.assert_close(walk.weights, weights[batch, head, row], rtol=1e-9, atol=1e-9, msg=f"{case} {row}")


@pytest.mark.parametrize("size", cases.SIZES)
@pytest.mark.parametrize("kind", ["score", "weights", "mask", "position"])
def test_steps_end_in_the_operators_own_output_for_each_part(kind, size):
    names = {
        "score": cases.SCORE_EXAMPLES,
        "weights": cases.WEIGHTS_EXAMPLES,
        "mask": cases.MASK_EXAMPLES,
        "position": cases.POSITION_EXAMPLES,
    }[kind]
    for name in names:
        check(cases.Case(**{"mask": "causal & lengths", kind: name}, size=size))


@pytest.mark.parametrize("case", cases.rotation(), ids=str)
def test_steps_end_in_the_operators_own_output_for_combinations(case):
    check(case)


def test_every_known_part_is_among_the_examples():
    for known, examples in (
        (SCORES, cases.SCORE_EXAMPLES),
        (WEIGHTS, cases.WEIGHTS_EXAMPLES),
        (MASKS, cases.MASK_EXAMPLES),
        (POSITIONS, cases.POSITION_EXAMPLES),
    ):
        assert set(known) <= set(examples)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_steps_of_narrow_tensors_are_within_their_rounding(dtype):
    arguments = cases.Case("cosine", "entmax", "causal", "relative both").make(dtype)
    output = arguments(attend, engine="dense").detach()
    walk = steps(arguments.query, arguments.key, arguments.value, **arguments.parts, row=5, batch=1, head=3)
    assert walk.output.dtype == torch.float64
    torch.testing.assert_close(walk.output.to(dtype), output[1, 3, 5])


class TestNote000:
    def test_its_numbers(self):
        walk = steps(*NOTE_000, score="dot")
        assert [step.name for step in walk.steps] == [
            "products",
            "sum",
            "maximum",
            "exp",
            "total",
            "normalise",
            "weighted values",
            "output",
        ]
        assert walk["products"].tolist() == [[0, 0, 2], [4, 0, 0], [2, 0, 2]]
        assert walk["sum"].tolist() == [2, 4, 4]
        assert walk["exp"].tolist() == pytest.approx([0.1353352832, 1, 1])
        assert walk["normalise"].tolist() == pytest.approx([0.0633789383, 0.4683105308, 0.4683105308])
        assert walk["output"].tolist() == pytest.approx([1.9366210617, 6.6831053083, 1.5950684075])

    def test_its_numbers_with_the_square_root(self):
        walk = steps(*NOTE_000, row=2)
        assert walk["sum"].tolist() == [4, 12, 10]
        assert walk["scale"].tolist() == pytest.approx([2.3094010768, 6.9282032303, 5.7735026919])
        assert walk["output"].tolist() == pytest.approx([1.9925551076, 7.4796355918, 0.7358772581])

    def test_the_note_prints_what_the_inputs_give(self):
        example = EXAMPLES["000"]
        inputs = torch.tensor(example.inputs, dtype=torch.float64)
        for name, matrix in example.projections.items():
            assert torch.equal(inputs @ torch.tensor(matrix, dtype=torch.float64), getattr(example.matrices, name))

    def test_the_page_has_the_row_of_the_note_beside_ours(self):
        text = as_text(example_page(EXAMPLES["000"], steps(*NOTE_000, score="dot")), width=80)
        lines = [" ".join(line.split()) for line in text.splitlines()]
        assert "normalise [0, 0.5, 0.5] [0.06338, 0.4683, 0.4683]" in lines
        assert "output [2, 7, 1.5] [1.937, 6.683, 1.595]" in lines
        assert "with sqrt(d) [0.1361, 0.4319, 0.4319] [1.864, 6.319, 1.704]" in lines
        assert "differs by up to 0.3169." in " ".join(lines)
        assert "sum s_j = sum_f p_jf 4 + 0 + 0 = 4" in lines


class TestOtherNotes:
    def test_note_002(self):
        matrices = EXAMPLES["002"].matrices
        assert matrices.items == matrices.query_items == ("常威", "打", "来福")
        assert torch.equal(matrices.query, matrices.key)
        assert torch.equal(matrices.key, matrices.value)
        # By hand: X X^T, whose diagonal is the largest of each row.
        sums = [[5, 1, 4], [1, 5, 4], [4, 4, 6]]
        assert [steps(*matrices.tensors, row=row)["sum"].tolist() for row in range(3)] == sums
        assert [row.index(max(row)) for row in sums] == [0, 1, 2]

    def test_note_004(self):
        matrices = EXAMPLES["004"].matrices
        assert steps(*matrices.tensors)["sum"].tolist() == [5, 3, 3, 1]
        text = as_text(example_page(EXAMPLES["004"], steps(*matrices.tensors)), width=80)
        assert re.search(r"hard \(T -> 0\) +\[1.00, 0.00, 0.00, 0.00\] +\[400, 7\]", text)
        assert re.search(r"uniform \(T -> inf\) +\[0.25, 0.25, 0.25, 0.25\] +\[337.5, 5.5\]", text)


def test_a_query_that_may_see_nothing_gets_zeros_and_is_told_so():
    query = torch.full((1, 1, 2, 3), torch.nan)
    walk = steps(query, query, query, mask=Lengths([0]), row=1)
    assert [step.name for step in walk.steps] == ["mask", "normalise", "weighted values", "output"]
    for values in (walk.weights, walk.scores, walk.output, walk["weighted values"]):
        assert not values.any()
    assert "its output is zeros" in as_text(steps_page(walk))
    assert "输出为零" in as_text(steps_page(walk, "zh"))


@pytest.mark.parametrize("weights", list(WEIGHTS))
def test_a_query_whose_scores_are_all_minus_infinity_gets_zeros_and_is_told_so(weights):
    query, key = torch.zeros(1, 1, 1, 2).double(), torch.ones(1, 1, 3, 2).double()
    bias, value = torch.full((1, 1, 1, 3), -torch.inf).double(), torch.ones(1, 1, 3, 2).double()
    walk = steps(query, key, value, weights=weights, position=Bias(bias))
    assert walk["normalise"].tolist() == [0.0, 0.0, 0.0]
    assert walk.output.tolist() == attend(query, key, value, weights=weights, position=Bias(bias))[0, 0, 0].tolist()
    assert walk.output.tolist() == [0.0, 0.0]
    assert "0, as every score is minus infinity" in as_text(steps_page(walk))


@pytest.mark.parametrize("weights", list(WEIGHTS))
def test_nan_that_is_seen_shows(weights):
    query, key, value = (tensor.clone() for tensor in NOTE_000)
    key[..., 1, :] = torch.nan
    assert steps(query, key, value, weights=weights, row=1).weights.isnan().any()


def test_a_matrix_of_one_number_is_a_matrix():
    query, key, value = (tensor[..., :1] for tensor in NOTE_000)
    walk = steps(query, key, value, score=Bilinear(torch.tensor([[2.0]])), row=1)
    assert walk.scores.tolist() == [0.0, 16.0, 8.0]


def test_what_is_hidden_has_no_effect():
    query, key, value = (tensor.clone() for tensor in NOTE_000)
    key[..., 2, :], value[..., 2, :] = torch.nan, torch.inf
    walk = steps(query, key, value, mask="causal", row=1)
    assert walk["sum"].isnan().tolist() == [False, False, True]
    assert walk["mask"][2] == -math.inf
    expected = steps(*(tensor[..., :2, :] for tensor in NOTE_000), row=1)
    torch.testing.assert_close(walk.output, expected.output)


def test_no_keys_at_all():
    walk = steps(torch.ones(1, 1, 2, 3), torch.ones(1, 1, 0, 3), torch.ones(1, 1, 0, 5))
    assert walk.output.tolist() == [0.0] * 5
    assert "output" in as_text(steps_page(walk))


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ({"row": 3}, "`row` must be a whole number from 0 to 2, but is 3"),
        ({"column": -1}, "`column` must be a whole number from 0 to 2, but is -1"),
        ({"head": 1}, "`head` must be a whole number from 0 to 0, but is 1"),
        ({"batch": True}, "`batch` must be a whole number from 0 to 0, but is True"),
    ],
)
def test_a_row_that_is_not_there_is_refused(place, said):
    with pytest.raises(ArgumentError, match=re.escape(said)):
        steps(*NOTE_000, **place)


FUNCTIONS = {"exp": math.exp, "tanh": math.tanh, "max": max, "min": min, "inf": math.inf}


@pytest.mark.parametrize("weights", ["softmax", Softmax(0.7), "relu", "sigmoid", "sparsemax", "entmax", "budget"])
@pytest.mark.parametrize("score", ["dot", "scaled_dot", Dot(0.3), "cosine", cases.SCORE_EXAMPLES["additive"]])
def test_each_formula_gives_its_number(score, weights):
    """Every formula is evaluated with the numbers of its operands, by Python."""
    score = score(torch.float64) if callable(score) and not isinstance(score, Dot) else score
    arguments = cases.Case(mask="causal", position="slopes").make()
    three = arguments.query, arguments.key, arguments.value
    for row in (0, 3, 12):
        walk = steps(
            *three, score=score, weights=weights, mask="causal", position=arguments.parts["position"], row=row, head=2
        )
        evaluated = 0
        for step, column in itertools.product(walk.steps, range(row + 1)):
            if not step.operands or "(q" in step.formula:
                continue
            if step.reduces is not None:
                (operand,) = step.operands.values()
                numbers = operand.values if step.reduced == "key" else operand.values[column]
                given = numbers.sum(0) if step.reduces == "sum" else numbers.amax(0)
                got = step.values[column] if "key" in step.axes else step.values
                torch.testing.assert_close(got, given)
            else:
                pick = [q.values[column] if "key" in q.axes else q.values for q in (*step.operands.values(), step)]
                pick = [numbers[..., 0] if numbers.ndim else numbers for numbers in pick]
                given = {name: f"({float(x)!r})" for name, x in zip(step.operands, pick, strict=False)}
                got = eval(step.template.format(**given), {"__builtins__": {}}, FUNCTIONS)
                assert got == pytest.approx(float(pick[-1]), rel=1e-9, abs=1e-12), (step.name, column)
            evaluated += 1
        assert evaluated >= 5


def test_a_formula_with_its_numbers():
    walk = steps(*NOTE_000, column=0, mask="causal", row=1)
    written = {step.name: worked(step, 0) for step in walk.steps}
    assert written["products"] == "[2, 2, 2] x [0, 1, 1] = [0, 2, 2]"
    assert written["sum"] == "0 + 2 + 2 = 4"
    assert written["scale"] == "4 / 1.732 = 2.309"
    assert written["maximum"] == "max(2.309, 9.238, -inf) = 9.238"
    assert written["exp"] == "exp(2.309 - 9.238) = 0.0009798"
    assert {step.name: step.formula for step in walk.steps}["scale"] == "s_j := s_j / sqrt(d)"


@pytest.mark.parametrize("width", [32, 40, 80])
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_pages_fit_and_are_whole(name, language, width):
    from rich.cells import cell_len

    example = EXAMPLES[name]
    page = example_page(example, steps(*example.matrices.tensors, score=example.score), language)
    text = as_text(page, width=width)
    assert max(map(cell_len, text.splitlines())) <= width
    assert "nan" not in text.lower()
    assert as_html(page, language=language).count("<table") >= 4
    if language == "zh":
        assert "归一化" in text
        assert "normalise" not in text


@pytest.mark.parametrize("score", cases.SCORE_EXAMPLES)
@pytest.mark.parametrize("weights", cases.WEIGHTS_EXAMPLES)
def test_every_step_has_a_name_in_both_languages(score, weights):
    arguments = cases.Case(score, weights, "lengths", "own + relative both").make()
    walk = steps(arguments.query, arguments.key, arguments.value, **arguments.parts)
    for language in ("en", "zh"):
        assert as_text(steps_page(walk, language))
    assert as_text(steps_page(steps(arguments.query, arguments.key, arguments.value, position=cases.Rotary(4))))


class TestExercise:
    # Query 1 and key 2 of note 000: sums 4 and, transposed, 2 + 0 + 4 = 6 ... by hand.
    def blanks(self, **parts):
        matrices = EXAMPLES["000"].matrices
        parts = {"score": "scaled_dot", **parts}
        return blanks(matrices, steps(*matrices.tensors, **parts, column=1), **parts)

    def test_what_is_asked(self):
        asked = self.blanks()
        assert [blank.name for blank in asked] == ["sum", "scale", "exp", "normalise", *["output"] * 3]
        assert [blank.value for blank in asked] == pytest.approx(
            [4, 2.3094, 1, 0.4319, 1.8639, 6.3194, 1.7042], abs=1e-4
        )

    @pytest.mark.parametrize(
        ("place", "answer", "verdict"),
        [
            (0, "4", "right"),
            (0, " 4.00 ", "right"),
            # k_1 . q_2 = 0 x 2 + 1 x 2 + 1 x 2 is also 4, and so no slip; columns: (1, 2, 2) . (1, 4, 3) = 15.
            (0, "15", "column"),
            (1, "2.31", "right"),
            (1, "2,31", "right"),
            (1, "2.3", "wrong"),
            (1, "4", "forgot sqrt(d)"),
            (1, "1.3333", "divided by d"),
            (2, "2.7", "wrong"),
            (2, "0", "forgot exp"),
            (2, "10.07", "forgot maximum"),
            (3, "0.43", "right"),
            (3, "0.4683", "forgot sqrt(d)"),
            # 4 / (2 + 4 + 4)
            (3, "0.4", "forgot exp"),
            # exp(4 / sqrt(3)) / (exp(4 / sqrt(3)) + exp(16 / sqrt(3)) + exp(12 / sqrt(3)))
            (3, "0.0009", "wrong axis"),
            (4, "1.94", "forgot sqrt(d)"),
            (5, "six", "no number"),
            (5, "nan", "no number"),
        ],
    )
    def test_answers_and_slips(self, place, answer, verdict):
        assert self.blanks()[place].check(answer) == verdict

    def test_a_transposed_pair_is_named(self):
        matrices = EXAMPLES["000"].matrices
        asked = blanks(matrices, steps(*matrices.tensors, score="dot", column=2), score="dot")
        # q_1 . k_3 = 4, but q_3 . k_1 = 0 + 1 + 3 = 4 too; with the third query and the second key: 12 and 10.
        walk = steps(*matrices.tensors, score="dot", row=2, column=1)
        asked = blanks(matrices, walk, score="dot")
        assert asked[0].value == 12
        # k_3 . q_2 = (2 + 3 + 1) x 2
        assert asked[0].check("12") == "right"
        x = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
        other = Matrices.of(x.tolist(), [[1, 1], [0, 2]], x.tolist())
        asked = blanks(other, steps(*other.tensors, score="dot", row=0, column=1), score="dot")
        # q_1 . k_2 = 4, q_2 . k_1 = 8
        assert [asked[0].check(answer) for answer in ("4", "8")] == ["right", "transposed"]

    @pytest.mark.parametrize("weights", list(WEIGHTS))
    def test_every_normaliser_has_an_exercise_in_which_its_own_numbers_are_right(self, weights):
        for blank in self.blanks(weights=weights, mask="causal"):
            assert blank.check(f"{blank.value:.2f}") == "right"
            assert all(blank.check(repr(wrong)) != "right" for wrong in blank.slips.values())


class TestFiles:
    def write(self, tmp_path, name, text):
        path = tmp_path / name
        path.write_text(text, "utf-8")
        return path

    def test_json(self, tmp_path):
        text = '{"query": [[1, 0]], "key": [[1, 1], [0, 2.5]], "value": [[3], [4]], "items": ["a", "b"]}'
        read = read_matrices(self.write(tmp_path, "m.json", text))
        assert (read.query.tolist(), read.key.tolist(), read.value.tolist()) == (
            [[1, 0]],
            [[1, 1], [0, 2.5]],
            [[3], [4]],
        )
        assert (read.items, read.query_items) == (("a", "b"), ("q1",))
        read = read_matrices(self.write(tmp_path, "x.json", '{"x": [[1, 0], [0, 1]]}'))
        assert torch.equal(read.query, read.value)
        assert read.items == ("x1", "x2")

    @pytest.mark.parametrize(
        "text", ["1,0\n0,2\n", "a,b\n1,0\n0,2\n", "p,1,0\nq,0,2\n", "name,a,b\np,1,0\nq,0,2\n", "p\t1\t0\nq\t0\t2"]
    )
    def test_csv(self, tmp_path, text):
        read = read_matrices(self.write(tmp_path, "m.csv", text))
        assert read.query.tolist() == read.key.tolist() == read.value.tolist() == [[1, 0], [0, 2]]
        assert read.items == (("p", "q") if "p" in text else ("x1", "x2"))

    @pytest.mark.parametrize(
        ("name", "text", "said"),
        [
            ("m.json", "{", ", line 1: it must be JSON, but isn't"),
            ("m.json", "[1]", "it must be an object"),
            ("m.json", "{}", 'it must have either "x", or "query"'),
            ("m.json", '{"x": [[1]], "key": [[1]]}', 'it must have either "x", or "query"'),
            (
                "m.json",
                '{"query": [[1]], "key": [[1]]}',
                "`value` must be a list of rows such as [[1, 0], [0, 1]], but is missing",
            ),
            ("m.json", '{"x": [[1, 2], [3]]}', "row 2 of `x` must have 2 numbers as row 1 has, but has 1"),
            ("m.json", '{"x": [[1, "a"]]}', 'row 1 of `x` must hold numbers, but holds "a"'),
            ("m.json", '{"x": [[1, NaN]]}', "row 1 of `x` must hold numbers, but holds NaN"),
            ("m.json", '{"x": [[true]]}', "row 1 of `x` must hold numbers, but holds true"),
            ("m.json", '{"x": []}', "`x` must be a list of rows such as [[1, 0], [0, 1]], but is []"),
            ("m.json", '{"x": [[1]], "items": ["a", "b"]}', "`items` must name 1 rows, but names 2"),
            ("m.json", '{"x": [[1]], "item": ["a"]}', "one is 'item'"),
            ("m.csv", "", "it is empty"),
            ("m.csv", "a,1,2\nb,1\n", ", line 2: a line must have 3 columns as line 1 has, but has 2"),
            ("m.csv", "a,1,2\nb,1,two\n", ", line 2: column 3 must be a number, but is 'two'"),
            ("m.csv", "a\n", ", line 1: a line must hold numbers, but holds 'a' alone"),
        ],
    )
    def test_a_broken_file_is_refused_in_a_sentence(self, tmp_path, name, text, said):
        with pytest.raises(DataError) as error:
            read_matrices(self.write(tmp_path, name, text))
        assert said in str(error.value)
        assert str(tmp_path) in str(error.value)

    def test_files_that_nobody_follows_number_by_number_are_refused_at_once(self, tmp_path):
        for name, text, message in (
            ("bytes.csv", ",".join(["1"] * 600_000), "1,000,000 bytes at most"),
            ("numbers.csv", "1,2,3\n" * 4000, "10,000 numbers at most, but one has 12,000"),
            ("numbers.json", json.dumps({"x": [[1, 2, 3]] * 4000}), "10,000 numbers at most, but one has 12,000"),
        ):
            with pytest.raises(DataError, match=message):
                read_matrices(self.write(tmp_path, name, text))


def sum_of(*terms):
    products = Quantity("p_jf", torch.tensor([terms], dtype=torch.float64), ("key", "feature"))
    return Step("s_j", products.values.sum(1), ("key",), "sum", "{p}", {"p": products}, "sum")


@pytest.mark.parametrize(
    ("terms", "is_written"),
    [
        ((0.1353, 1.0, 1.0), True),  # 2.135, to which 2.1353 rounds
        ((1.23446, 1.23446), False),  # 1.234 + 1.234 = 2.469
        ((1.23446,) * 25, True),  # not all are written
        ((1e300, -1e300, 1e-5), True),
        ((1e300, 1e-300), True),
        ((math.inf, 1.0), True),
        ((math.nan, 1.0), True),
        ((), True),
    ],
)
def test_a_sum_that_is_written_is_checked_in_decimals(terms, is_written):
    assert adds_up(sum_of(*terms), 0) is is_written


@pytest.mark.parametrize(("language", "said"), [("en", "a sum may differ in its last digit"), ("zh", "和的末位可能")])
def test_a_page_says_why_a_last_digit_differs_if_one_does(language, said):
    one = torch.ones(1, 1, 1, 1, dtype=torch.float64)
    exact, rough = (torch.tensor([[[row]]], dtype=torch.float64) for row in ((1.5, 2.0), (1.23446, 1.23446)))
    for key, is_said in ((exact, False), (rough, True)):
        walk = steps(one.expand(1, 1, 1, 2), key, one, score="dot")
        assert (said in as_text(steps_page(walk, language), width=200)) is is_said
