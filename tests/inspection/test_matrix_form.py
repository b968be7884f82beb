"""The matrix form: what the figure says is computed here again, with NumPy alone, and read out of the SVG file."""

import io
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from regard.errors import ArgumentError
from regard.inspection.figures import matrix_form
from regard.inspection.figures.matrix_form import short_number
from regard.inspection.figures.written import figure_bytes
from regard.inspection.steps import EXAMPLES, STEP_SCORES, Matrices

SVG = "{http://www.w3.org/2000/svg}"
# What the notes give: the rest follows from these.
INPUTS = np.array([[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]], float)
PROJECTIONS = (
    [[1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]],
    [[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]],
    [[0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0]],
)


def texts_of(drawn) -> list[str]:
    root = ElementTree.parse(io.BytesIO(figure_bytes(drawn, "svg"))).getroot()
    return [each.text for each in root.iter(f"{SVG}text")]


def fills_of(drawn) -> dict[str, str]:
    """The colours of the cells that have an id."""
    root = ElementTree.parse(io.BytesIO(figure_bytes(drawn, "svg"))).getroot()
    groups = [each for each in root.iter(f"{SVG}g") if re.fullmatch(r"\w+-\d+\.\d+", each.get("id") or "")]
    return {each.get("id"): re.search(r"fill: (#\w+)", each.find(f"{SVG}path").get("style"))[1] for each in groups}


def numbers_after(texts: list[str], symbol: str, shape: tuple[int, int]) -> list[list[float]]:
    """The numbers of the last matrix of a symbol, below which its shape is written."""
    places = [at for at in range(len(texts) - 1) if texts[at] == symbol and texts[at + 1] == f"{shape[0]} × {shape[1]}"]
    cells = texts[places[-1] + 2 :][: shape[0] * shape[1]]
    return np.array([float(each.replace("−", "-").replace("∞", "inf")) for each in cells]).reshape(shape).tolist()


def softmax(scores: np.ndarray) -> np.ndarray:
    exp = np.exp(scores - scores.max(-1, keepdims=True))
    return exp / exp.sum(-1, keepdims=True)


def test_the_example_of_note_000():
    query, key, value = (INPUTS @ np.array(each, float) for each in PROJECTIONS)
    weights = softmax(query @ key.T)
    texts = texts_of(matrix_form(EXAMPLES["000"]))
    for symbol, expected in (
        ("I", INPUTS),
        ("Wv", np.array(PROJECTIONS[2])),
        ("Q", query),
        ("Kᵀ", key.T),
        ("V", value),
        ("A", query @ key.T),
        ("A′", weights),
        ("O", weights @ value),
    ):
        assert np.allclose(numbers_after(texts, symbol, expected.shape), expected, atol=0.00501), symbol
    assert "→ softmax →" in texts
    assert not any("√" in each for each in texts)


def test_the_scale_and_the_mask_are_drawn():
    query, key, value = np.eye(2), np.array([[1.0, 1], [0, 3]]), np.array([[1.0], [2]])
    texts = texts_of(matrix_form(Matrices.of(query.tolist(), key.tolist(), value.tolist()), mask="causal"))
    assert "/ √2" in texts
    scores = query @ key.T / np.sqrt(2)
    assert numbers_after(texts, "A", (2, 2)) == [
        [pytest.approx(scores[0, 0], abs=0.006), -np.inf],
        pytest.approx(scores[1].tolist(), abs=0.006),
    ]
    assert np.allclose(numbers_after(texts, "O", (2, 1)), [[1.0], softmax(scores[1]) @ value], atol=0.006)


def test_another_normaliser_is_another_figure():
    plain, sparse, cold = (
        texts_of(matrix_form(EXAMPLES["000"], **parts))
        for parts in ({}, {"weights": "sparsemax"}, {"temperature": 0.5})
    )
    assert "→ sparsemax →" in sparse
    assert numbers_after(sparse, "A′", (3, 3)) == [[0, 0.5, 0.5], [0, 1, 0], [0, 1, 0]]
    assert "→ softmax, T = 0.5 →" in cold
    assert np.allclose(numbers_after(cold, "A′", (3, 3))[0], softmax(np.array([4.0, 8, 8])), atol=0.006)
    assert plain != cold


def test_weights_are_blue_and_other_numbers_are_not():
    fills = fills_of(matrix_form(EXAMPLES["000"]))
    assert fills["weights-2.2"] == "#1f5fbf"
    shades = [int(fills[f"weights-1.{column}"][1:3], 16) for column in (1, 2)]
    assert shades[0] > shades[1] > 0x1F
    assert {fill for name, fill in fills.items() if not name.startswith("weights")} == {"#f5f7fa"}
    assert len(fills) == 6 * 9


def test_the_row_of_a_query_is_framed():
    """Its frames move down with it, by the height of a cell."""

    def tops(row: int) -> list[float]:
        frames = [each for each in matrix_form(EXAMPLES["000"], row=row).axes[0].patches if each.get_linewidth() == 1.3]
        return [each.get_y() for each in frames]

    first, third = tops(0), tops(2)
    # I and Q; Q and A; A and A′; A′ and O.
    assert len(first) == 8
    assert [below - above for above, below in zip(first, third, strict=True)] == [pytest.approx(2 * 13.0)] * 8


def test_the_same_matrices_give_the_same_bytes():
    assert len({figure_bytes(matrix_form(EXAMPLES["000"]), "svg") for _ in range(2)}) == 1


def test_matrices_that_cannot_be_drawn_are_refused():
    with pytest.raises(ArgumentError, match="1 to 12 rows"):
        matrix_form(Matrices.of([[1]], [[1]] * 13, [[1]] * 13))
    with pytest.raises(ArgumentError, match="`row`"):
        matrix_form(EXAMPLES["000"], row=3)


def test_two_decimals_and_no_more_are_claimed():
    assert [short_number(each) for each in (0.5, -0.25, 1.999999, -1e-4, 3.0, 9999.5, float("nan"))] == [
        "0.50",
        "−0.25",
        "2.00",
        "0.00",
        "3",
        "9999.50",
        "nan",
    ]


@pytest.mark.parametrize("score", STEP_SCORES)
def test_every_score_is_drawn_and_those_that_are_no_product_are_named(score):
    drawn = matrix_form(EXAMPLES["000"].matrices, score=score)
    assert (score in texts_of(drawn)) is (score not in ("dot", "scaled_dot"))
