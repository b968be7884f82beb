"""Detection of digits: canvases, average precision by hand, suppression, and detectors that learn."""

import numpy as np
import pytest
import torch

from regard.errors import ArgumentError, DivergedError, UnknownNameError
from regard.lab import STUDIES
from regard.lab.pictures.average_precision import OVERLAPS, Detections, average_precision
from regard.lab.pictures.detection import detect, detector_scores, duplicates, suppress, train_detector, true_objects
from regard.lab.pictures.detection_page import query_weights, show_detections
from regard.lab.pictures.detectors import DETECTORS, GRID, GridDetector, QueryDetector
from regard.lab.pictures.digit_canvases import SIDE, Canvases, draw_canvases
from regard.page import Pictures, as_html, as_text


def digits(count=20, seed=0):
    """Blots of different shapes and brightnesses, and their labels."""
    draw = np.random.default_rng(seed)
    pictures = np.zeros((count, 28, 28), np.uint8)
    for picture in pictures:
        top, left = draw.integers(2, 10, 2)
        height, width = draw.integers(8, 16, 2)
        picture[top : top + height, left : left + width] = draw.integers(100, 256)
    return torch.from_numpy(pictures), [int(each) for each in draw.integers(0, 10, count)]


def found(*boxes):
    """Detections: (label, x, y, width, height, score)."""
    values = torch.tensor(boxes, dtype=torch.float32).reshape(-1, 6)
    return Detections(values[:, 0].long(), values[:, 1:5], values[:, 5])


def edges_of(canvases, canvas):
    x, y, width, height = (SIDE * canvases.boxes[canvas][canvases.labels[canvas] >= 0]).unbind(-1)
    return torch.stack([x - width / 2, y - height / 2, x + width / 2, y + height / 2], 1).round().int().tolist()


def test_boxes_are_tight_around_single_digits():
    canvases = draw_canvases(*digits(), 200, seed=3)
    alone = ((canvases.labels >= 0).sum(1) == 1).nonzero()[:, 0].tolist()
    assert len(alone) > 20
    for canvas in alone:
        ((left, top, right, bottom),) = edges_of(canvases, canvas)
        ink = canvases.pixels[canvas] >= 32
        inside = ink[top:bottom, left:right]
        assert inside.sum() == ink.sum()
        assert inside[0].any() and inside[-1].any() and inside[:, 0].any() and inside[:, -1].any()  # noqa: PT018


def test_canvases_have_one_to_five_digits_that_hardly_overlap():
    canvases = draw_canvases(*digits(), 300, seed=4)
    real = canvases.labels >= 0
    counts = real.sum(1)
    assert set(counts.tolist()) == {1, 2, 3, 4, 5}
    # What is real comes first.
    assert not (real[:, 1:] & ~real[:, :-1]).any()
    assert not canvases.boxes[~real].any()
    for canvas in range(300):
        edges = edges_of(canvases, canvas)
        assert all(0 <= left < right <= SIDE and 0 <= top < bottom <= SIDE for left, top, right, bottom in edges)
        covered = np.zeros((len(edges), SIDE, SIDE), bool)
        for mask, (left, top, right, bottom) in zip(covered, edges, strict=True):
            mask[top:bottom, left:right] = True
        for one in range(len(edges)):
            for other in range(one):
                smaller = min(covered[one].sum(), covered[other].sum())
                assert (covered[one] & covered[other]).sum() <= 0.15 * smaller + 1e-9
        # Ink is in boxes only.
        assert not canvases.pixels[canvas].numpy()[~covered.any(0)].any()


def test_scales_and_labels():
    square = torch.zeros(2, 28, 28, dtype=torch.uint8)
    square[0], square[1, 4:24, 4:24] = 255, 255
    canvases = draw_canvases(square, [3, 8], 300, seed=5)
    sizes = SIDE * canvases.boxes[..., 2:]
    for label, side in ((3, 28), (8, 20)):
        own = sizes[canvases.labels == label]
        # A half-covered pixel at an edge counts, as more than 32 of 255.
        assert own.min() >= 0.6 * side - 1
        assert own.max() <= 1.2 * side + 2
        assert own.max() - own.min() > 0.5 * side
        # A square stays one, so nothing is cut off.
        torch.testing.assert_close(own[:, 0], own[:, 1])


def test_the_seed_decides_everything():
    one, same, other = (draw_canvases(*digits(), 10, seed=seed) for seed in (0, 0, 1))
    for name in ("pixels", "labels", "boxes"):
        assert torch.equal(getattr(one, name), getattr(same, name))
    assert not torch.equal(one.pixels, other.pixels)


def test_what_is_no_digit_is_refused():
    with pytest.raises(ArgumentError, match="`labels` must be one for each picture, but are 1 for 2"):
        draw_canvases(torch.ones(2, 28, 28, dtype=torch.uint8), [1], 3, seed=0)
    with pytest.raises(ArgumentError, match="`pictures` must each show a digit, but one is blank"):
        draw_canvases(torch.zeros(1, 28, 28, dtype=torch.uint8), [1], 3, seed=0)


# Two true boxes of a class in one picture, one in another.
TRUE = [found((7, 0.2, 0.2, 0.2, 0.2, 1), (7, 0.8, 0.8, 0.2, 0.2, 1)), found((7, 0.5, 0.5, 0.2, 0.2, 1))]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # All three found.
        ([(7, 0.2, 0.2, 0.2, 0.2, 0.9), (7, 0.8, 0.8, 0.2, 0.2, 0.8)], [(7, 0.5, 0.5, 0.2, 0.2, 0.7)], 1.0),
        # Correct, false, correct, correct: precisions 1, 2/3 (raised to 3/4 by the next) and 3/4.
        (
            [(7, 0.2, 0.2, 0.2, 0.2, 0.9), (7, 0.8, 0.8, 0.2, 0.2, 0.5), (7, 0.5, 0.1, 0.2, 0.2, 0.8)],
            [(7, 0.5, 0.5, 0.2, 0.2, 0.4)],
            (1 + 0.75 + 0.75) / 3,
        ),
        # The second detection of the same box is false, whatever its overlap: correct, false, correct.
        (
            [(7, 0.2, 0.21, 0.2, 0.2, 0.9), (7, 0.2, 0.2, 0.2, 0.2, 0.8)],
            [(7, 0.5, 0.5, 0.2, 0.2, 0.7)],
            (1 + 2 / 3) / 3,
        ),
        # One of three, and then nothing.
        ([], [(7, 0.5, 0.5, 0.2, 0.2, 0.1)], 1 / 3),
        # In the other picture.
        ([(7, 0.5, 0.5, 0.2, 0.2, 0.9)], [], 0.0),
        # Of another class.
        ([(3, 0.2, 0.2, 0.2, 0.2, 0.9)], [], 0.0),
        ([], [], 0.0),
    ],
)
def test_average_precision_by_hand(first, second, expected):
    assert average_precision([found(*first), found(*second)], TRUE, (0.5,)) == pytest.approx(expected)


def test_the_overlap_decides_what_is_correct():
    """A box that is shifted by a ninth of its width has an IoU of 8 / 10."""
    shifted = [found((7, 0.5 + 0.2 / 9, 0.5, 0.2, 0.2, 0.9))]
    true = TRUE[1:]
    assert [average_precision(shifted, true, (overlap,)) for overlap in (0.5, 0.79, 0.81)] == [1.0, 1.0, 0.0]
    assert OVERLAPS == (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
    shifted = [found((7, 0.5 + 0.21 / 9, 0.5, 0.2, 0.2, 0.9))]
    assert average_precision(shifted, true) == pytest.approx(0.6)


def test_a_false_box_with_the_better_overlap_of_another_class_takes_nothing():
    true = [found((7, 0.5, 0.5, 0.2, 0.2, 1), (3, 0.51, 0.5, 0.2, 0.2, 1))]
    both = [found((3, 0.5, 0.5, 0.2, 0.2, 0.9), (7, 0.51, 0.5, 0.2, 0.2, 0.8))]
    assert average_precision(both, true, (0.5,)) == 1.0


def test_classes_count_alike():
    """Three 7s found and one 3 missed: the mean of 1 and 0."""
    true = [*TRUE, found((3, 0.5, 0.5, 0.2, 0.2, 1))]
    assert average_precision([*TRUE, found()], true, (0.5,)) == 0.5
    # A class that isn't there doesn't count, and neither do empty pictures.
    assert average_precision([*TRUE, found((9, 0.5, 0.5, 0.2, 0.2, 1))], [*TRUE, found()], (0.5,)) == 1.0
    assert average_precision([found()], [found()]) == 0.0


def test_suppression_and_duplicates():
    three = found((1, 0.5, 0.5, 0.2, 0.2, 0.6), (2, 0.52, 0.5, 0.2, 0.2, 0.9), (1, 0.54, 0.5, 0.2, 0.2, 0.5))
    # The first overlaps with both by more than a half; the last with the best by 0.18 / 0.22.
    assert suppress(three, 0.5).labels.tolist() == [2]
    assert suppress(three, 0.85).scores.tolist() == pytest.approx([0.9, 0.6, 0.5])
    assert suppress(three, 1.0).scores.tolist() == pytest.approx([0.9, 0.6, 0.5])
    assert suppress(found(), 0.5).labels.tolist() == []
    # The suppressed suppress nothing: 0.3 apart, one in the middle.
    chain = found((1, 0.5, 0.5, 0.2, 0.2, 0.9), (1, 0.55, 0.5, 0.2, 0.2, 0.8), (1, 0.6, 0.5, 0.2, 0.2, 0.7))
    assert suppress(chain, 0.5).scores.tolist() == pytest.approx([0.9, 0.7])
    assert duplicates([three, found()]) == 1.0
    assert duplicates([three, found()], least=0.55) == 0.5


def test_detections_are_those_of_the_last_layer_sorted():
    torch.manual_seed(0)
    model = QueryDetector().eval()
    pixels = draw_canvases(*digits(), 3, seed=0).pixels
    with torch.no_grad():
        last = model(pixels)[-1]
    for own, scores, boxes in zip(detect(model, pixels), last.scores, last.boxes, strict=True):
        best, labels = scores.softmax(-1)[:, :10].max(-1)
        order = best.argsort(descending=True)
        assert torch.equal(own.labels, labels[order])
        torch.testing.assert_close(own.boxes, boxes[order])
        torch.testing.assert_close(own.scores, best[order])


def test_a_cell_predicts_around_itself():
    torch.manual_seed(0)
    (cells,) = GridDetector().eval()(draw_canvases(*digits(), 2, seed=0).pixels)
    x, y = (cells.boxes[..., :2] * GRID).unbind(-1)
    at = torch.arange(GRID * GRID)
    assert ((x - at % GRID > 0) & (x - at % GRID < 1) & (y - at // GRID > 0) & (y - at // GRID < 1)).all()


def test_the_cell_of_a_middle_has_to_find_it():
    """With the right class and box at that cell and no object elsewhere, the loss is 0."""
    model = GridDetector()
    labels, boxes = torch.tensor([[4, -1]]), torch.tensor([[[0.3, 0.9, 0.2, 0.1], [0.0, 0.0, 0.0, 0.0]]])
    (cells,) = model.eval()(torch.zeros(1, SIDE, SIDE, dtype=torch.uint8))
    cell = 7 * GRID + 2
    cells.scores.data.fill_(-20.0)[..., 10] = 20.0
    cells.scores.data[0, cell, 10], cells.scores.data[0, cell, 4] = -20.0, 20.0
    cells.boxes.data[0, cell] = boxes[0, 0]
    assert float(model.loss([cells], labels, boxes).detach()) < 1e-5


@pytest.mark.parametrize("detector", DETECTORS)
def test_detectors_have_about_as_many_parameters(detector):
    sizes = {name: sum(each.numel() for each in make().parameters()) for name, make in DETECTORS.items()}
    assert 0.85 < sizes[detector] / sizes["object queries"] < 1.15


@pytest.fixture
def blots(monkeypatch):
    """Canvases of blots, which need no data."""

    def drawn(split, count, seed=0):
        return draw_canvases(*digits(), min(count, 64), seed=seed)

    for module in ("detection", "detection_page"):
        monkeypatch.setattr(f"regard.lab.pictures.{module}.mnist_canvases", drawn)
    monkeypatch.setattr("regard.lab.pictures.detection._EPOCH", 64)


# Two of the three leave the same law to test-all.
@pytest.mark.parametrize(
    "detector", [each if each == "object queries" else pytest.param(each, marks=pytest.mark.slow) for each in DETECTORS]
)
def test_training_learns_and_depends_on_the_seed_only(blots, detector):
    setting = {"detector": detector, "epochs": 2, "learning_rate": 1e-3, "split": "dev", "canvases": 8}
    assert set(detector_scores(setting, 0)) == {"AP", "AP50", "duplicates", "parameters"}

    def loss(epochs, seed):
        model = train_detector(detector, seed, epochs=epochs, learning_rate=2e-2, device="cpu")
        canvases = draw_canvases(*digits(), 32, seed=99)
        with torch.no_grad():
            return float(model.loss(model(canvases.pixels), canvases.labels, canvases.boxes))

    first = loss(1, 0)
    assert first == loss(1, 0) != loss(1, 1)
    assert loss(14, 0) < 0.8 * first


def test_what_cannot_be_trained_is_refused(blots):
    with pytest.raises(UnknownNameError, match="`detector` must be one of object queries, queries alone, convolution"):
        train_detector("convolutions", 0, epochs=1, learning_rate=1e-3)
    for given, said in (
        ({"epochs": 0}, "`epochs` must be how many epochs it is trained for, 1 or more, but is 0"),
        ({"seed": -1}, "`seed` must be an integer, 0 or more, but is -1"),
        ({"learning_rate": -1.0}, r"`learning_rate` must be a number, 0 or more, but is -1\.0"),
    ):
        with pytest.raises(ArgumentError, match=said):
            train_detector("convolution", **{"seed": 0, "epochs": 1, "learning_rate": 1e-3, **given})


@pytest.mark.parametrize("detector", DETECTORS)
def test_a_training_that_diverges_says_so(blots, detector):
    with pytest.raises(DivergedError, match=r"loss became nan in step 2.* `learning_rate` than 1e\+38"):
        train_detector(detector, 0, epochs=1, learning_rate=1e38)


def test_the_page_shows_detections_and_weights(blots):
    torch.manual_seed(0)
    model = QueryDetector().eval()
    canvases = draw_canvases(*digits(), 7, seed=0)
    _, weights = query_weights(model, canvases.pixels)
    torch.testing.assert_close(weights.sum((-2, -1)), torch.ones(7, 10))
    page = show_detections(model, canvases)
    assert page.blocks[0].text == "On 7 canvases no query is sure of a digit."
    with torch.no_grad():
        # All queries are sure of a 7 in the upper left quarter.
        model.finder.scores.bias[7] = 20.0
        model.finder.boxes.layers[-1].weight.zero_()
        model.finder.boxes.layers[-1].bias.zero_()
        model.finder.reference_boxes[:] = torch.tensor([0.25, 0.25, 0.5, 0.5]).logit()
    page = show_detections(model, canvases)
    quarter = query_weights(model, canvases.pixels)[1][..., :4, :4].sum((-2, -1)).mean()
    assert f"has {100 * float(quarter):.0f}% of its weight in the cells of its own box" in page.blocks[0].text
    assert "70 digits on 7 canvases. The box is 25% of the canvas." in page.blocks[0].text
    blocks = [each for each in page.blocks if isinstance(each, Pictures)]
    assert [len(each.pictures) for each in blocks] == [6, 10, 10, 10]
    box = blocks[1].pictures[0].boxes[0]
    assert (box.left, box.top, box.right, box.bottom) == pytest.approx((0, 0, 32, 32), abs=1e-4)
    assert box.label == "7 >99%"
    np.testing.assert_allclose(blocks[1].pictures[3].weights, query_weights(model, canvases.pixels)[1][0, 3], rtol=1e-5)
    # The middles of all boxes lie where four cells meet, and count for the lower right one.
    assert blocks[3].pictures[0].weights[2][2] == 1.0
    assert as_html(page).count("<svg") == 36
    assert "query 10" in as_text(page, plain=True)


def test_the_page_draws_the_last_layer_where_it_looks(blots):
    torch.manual_seed(0)
    model = QueryDetector().eval()
    pixels = draw_canvases(*digits(), 7, seed=0)
    with torch.no_grad():
        # All queries are sure of a 7 on the right side, above the middle.
        model.finder.scores.bias[7] = 20.0
        model.finder.boxes.layers[-1].weight.zero_()
        model.finder.boxes.layers[-1].bias.zero_()
        model.finder.reference_boxes[:] = torch.tensor([0.7, 0.2, 0.3, 0.2]).logit()
    last = model.finder.decoder.layers[1].source_attention
    heard = []
    handle = last.register_forward_hook(lambda module, given, output: heard.append(given))
    with torch.no_grad():
        model(pixels.pixels)
        handle.remove()
        query, source = heard[0]
        # Let all heads but the first prefer row 1 and column 5, and the queries differ.
        key = source @ last.key.weight.T
        last.query.weight.mul_(3)
        last.query.bias[16:] = 4 * (key[:, 8 + 5] - key.mean(1)).mean(0)[16:]
    own = query @ last.query.weight.T + last.query.bias
    key = source @ last.key.weight.T + last.key.bias
    # The mean of four heads of 16 features: (canvas, query, row, column).
    expected = torch.zeros(7, 10, 8, 8)
    for head in range(4):
        part = slice(16 * head, 16 * head + 16)
        weights = (own[..., part] @ key[..., part].mT / 4).softmax(-1)
        for row in range(8):
            expected[:, :, row] += weights[..., 8 * row : 8 * row + 8] / 4
    expected = expected.detach()
    torch.testing.assert_close(query_weights(model, pixels.pixels)[1], expected)
    page = show_detections(model, pixels)
    # In cells, the box is from 4.4 to 6.8, and from 0.8 to 2.4 downwards.
    covered = torch.zeros(8, 8)
    covered[0, 4:7], covered[1, 4:7], covered[2, 4:7] = (
        share * torch.tensor([0.6, 1.0, 0.8]) for share in (0.2, 1.0, 0.4)
    )
    inside, turned = (float((expected * each).sum((-2, -1)).mean()) for each in (covered, covered.T))
    assert inside > turned + 0.1
    assert page.blocks[0].text == (
        f"A query that found a digit has {100 * inside:.0f}% of its weight in the cells of its own box, on average "
        "over 70 digits on 7 canvases. The box is 6% of the canvas."
    )
    blocks = [each for each in page.blocks if isinstance(each, Pictures)]
    for canvas in range(2):
        for picture, weights in zip(blocks[1 + canvas].pictures, expected[canvas], strict=True):
            np.testing.assert_allclose(picture.weights, weights, atol=1e-6)
            (box,) = picture.boxes
            edges = box.left, box.top, box.right, box.bottom
            assert edges == pytest.approx((35.2, 6.4, 54.4, 19.2), abs=1e-4)
    # The middles lie in row 1.6 and column 5.6.
    places = np.zeros((8, 8))
    places[1, 5] = 1.0
    for picture in blocks[3].pictures:
        np.testing.assert_array_equal(picture.weights, places)
        assert picture.caption.endswith(": 7 digits")


def test_the_study_has_an_example(blots):
    study = STUDIES["detector"]
    setting = {**study.planned()[0].setting, "epochs": 1}
    assert study.planned()[0].variant == "object queries"
    assert study.example(setting, 0, "none").title == "A detector by object queries"


def test_true_objects_leave_out_padding():
    canvases = Canvases(
        torch.zeros(2, SIDE, SIDE, dtype=torch.uint8), torch.tensor([[3, -1], [-1, -1]]), torch.full((2, 2, 4), 0.5)
    )
    one, none = true_objects(canvases)
    assert (one.labels.tolist(), one.boxes.tolist(), len(none.labels)) == ([3], [[0.5] * 4], 0)


def test_a_cell_sees_alike_in_all_directions():
    """So the weight of a cell is drawn where the cell looks, and the middle of a digit is in the cell that sees it."""
    model = QueryDetector().eval()
    pixels = torch.rand(1, SIDE, SIDE, requires_grad=True)
    model.backbone(pixels)[0, :, 3, 4].abs().sum().backward()
    rows, columns = pixels.grad[0].any(1).nonzero(), pixels.grad[0].any(0).nonzero()
    middle = SIDE / GRID / 2 - 0.5
    assert float(rows.min() + rows.max()) / 2 == 3 * SIDE / GRID + middle
    assert float(columns.min() + columns.max()) / 2 == 4 * SIDE / GRID + middle
