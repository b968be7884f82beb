"""The lecture's figures: shown in words too, legible, with the numbers of NumPy, and changed by a changed operator."""

import functools
import math
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "docs" / "pictures" / "lecture"
PAGES = ROOT / "docs" / "explanation" / "notes.md", ROOT / "docs" / "zh" / "notes.md"
# A picture, and below it one line in italics.
SHOWN = re.compile(r"^!\[([^\]]+)\]\(([^)]*pictures/lecture/(\w+)\.svg)\)\n\n\*(.+)\*$", re.MULTILINE)
SVG = "{http://www.w3.org/2000/svg}"
INPUTS = np.array([[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1], [0, 1, 1, 0]], float)
QUERY, KEY, VALUE = (
    INPUTS @ np.array(each, float)
    for each in (
        [[1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]],
        [[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]],
        [[0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0]],
    )
)


@pytest.fixture(scope="module")
def lecture(docs_module):
    return docs_module("lecture_figures")


def words_of(svg: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def attended(query: np.ndarray, key: np.ndarray, value: np.ndarray) -> list[np.ndarray]:
    """Scores, weights and output of one query."""
    scores = key @ query / math.sqrt(len(query))
    weights = np.exp(scores) / np.exp(scores).sum()
    return [scores, weights, weights @ value]


def written(numbers: np.ndarray) -> set[str]:
    return {f"{each:.0f}" if each == round(each) else f"{each:.2f}" for each in numbers.tolist()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_each_is_on_the_pages_with_words_and_a_caption(lecture, page):
    found = SHOWN.findall(page.read_text(encoding="utf-8"))
    assert [name for _, _, name, _ in found] == ["flow", "matrices", "heads", "positions"]
    assert {name for _, _, name, _ in found} == {path.stem for path in FOLDER.iterdir()} == lecture.PICTURES.keys()
    chinese = page.parent.name == "zh"
    for words, path, _, caption in found:
        assert (page.parent / path).exists()
        assert len(words) > 40
        assert bool(re.search(r"[一-鿿]", caption)) == chinese


def test_they_are_small_and_legible_on_a_phone():
    for path in FOLDER.iterdir():
        text = path.read_text(encoding="utf-8")
        assert len(text) < 250_000, path
        width = float(re.search(r'<svg [^>]*width="([\d.]+)pt"', text)[1])
        letters = [float(each) for each in re.findall(r"font-size: ([\d.]+)px", text)]
        # In pixels, on a screen 360 pixels wide with a margin.
        assert min(letters) * min(4 / 3, 344 / width) > 7.5, path
        # No machine lacks these letters.
        assert not re.search(r"[⺀-鿿]", text), path


def test_the_flow_is_that_of_numpy(lecture):
    words = words_of(lecture.PICTURES["flow"]())
    for numbers in attended(QUERY[0], KEY, VALUE):
        assert written(numbers) <= {*words}
    assert written(np.concatenate([INPUTS, QUERY, KEY, VALUE], axis=None)) <= {*words}


def test_the_two_heads_are_those_of_numpy(lecture):
    words = words_of(lecture.PICTURES["heads"]())
    outputs = []
    for features in ([0, 1], [1, 2]):
        found = attended(QUERY[0][features], KEY[:, features], VALUE[:, features])
        for numbers in found:
            assert written(numbers) <= {*words}
        outputs += found[-1].tolist()
    first, second, third, fourth = outputs
    assert written(np.array([first, second + third, fourth])) <= {*words}


def levels_of(figure, name: str) -> np.ndarray:
    """The number of the grey of each cell, (feature, position), from the outlines in the figure."""
    patches = {each.get_gid(): each for each in figure.axes[0].patches if (each.get_gid() or "").startswith(f"{name}-")}
    corners = np.concatenate([each.get_path().vertices for each in patches.values()])
    (left, top), (right, bottom) = corners.min(0), corners.max(0)
    found = np.full((32, 48), -1)
    for gid, patch in patches.items():
        for corner in patch.get_path().vertices.reshape(-1, 5, 2):
            (x, y), (far, _) = (corner[[0, 2]] - (left, top)) / ((right - left) / 48, (bottom - top) / 32)
            found[round(y), round(x) : math.floor(far + 0.01)] = int(gid.rpartition("-")[2])
    return found


def test_every_column_is_a_position_of_the_paper(lecture):
    position, pair = np.arange(48), np.arange(16)
    angle = position / 10000 ** (2 * pair[:, None] / 32)
    expected = np.stack([np.sin(angle), np.cos(angle)], axis=1).reshape(32, 48)
    levels = levels_of(lecture.positions(), "sinusoidal")
    assert levels.min() >= 0
    # From the middle of a grey to its edge, it is half of a step of 2 / 15.
    assert np.abs((levels + 0.5) / len(lecture.GREYS) * 2 - 1 - expected).max() < 1 / len(lecture.GREYS) + 1e-9


def test_a_changed_operator_changes_the_figures(lecture, monkeypatch):
    before = {name: lecture.PICTURES[name]() for name in ("flow", "heads", "positions")}
    monkeypatch.setattr(lecture, "steps", functools.partial(lecture.steps, weights="sparsemax"))
    for name in ("flow", "heads"):
        assert words_of(lecture.PICTURES[name]()) != words_of(before[name])
    monkeypatch.setitem(lecture.INPUT_POSITIONS, "sinusoidal", lecture.INPUT_POSITIONS["learned"])
    assert lecture.PICTURES["positions"]() != before["positions"]
