"""Boxes, the assignment of least cost, and the loss of sets: beside hand-worked numbers and all permutations."""

import itertools
import math

import jaxtyping
import pytest
import torch

import regard.extras
from regard.errors import ArgumentError, MissingExtraError
from regard.modules import Matches, Objects, SetLoss, box_corners, generalised_iou, iou, match_sets

CLASSES = 3


def sets(batch=3, queries=5, counts=(2, 0, 3), seed=0):
    """Random predictions and padded targets."""
    draw = torch.Generator().manual_seed(seed)
    scores = torch.randn(batch, queries, CLASSES + 1, generator=draw, dtype=torch.float64)
    boxes = torch.rand(batch, queries, 4, generator=draw, dtype=torch.float64)
    labels = torch.full((batch, max(counts)), -1)
    true = torch.zeros(batch, max(counts), 4, dtype=torch.float64)
    for item, count in enumerate(counts):
        labels[item, :count] = torch.randint(CLASSES, (count,), generator=draw)
        true[item, :count] = torch.rand(count, 4, generator=draw, dtype=torch.float64)
    return Objects(scores, boxes), labels, true


def overlap_by_hand(one, other):
    """IoU and generalised IoU of two boxes, with plain numbers."""
    edges = [(x - w / 2, y - h / 2, x + w / 2, y + h / 2) for x, y, w, h in (one, other)]
    (a, b, c, d), (e, f, g, h) = edges
    shared = max(0.0, min(c, g) - max(a, e)) * max(0.0, min(d, h) - max(b, f))
    union = (c - a) * (d - b) + (g - e) * (h - f) - shared
    around = (max(c, g) - min(a, e)) * (max(d, h) - min(b, f))
    return shared / union, shared / union - (around - union) / around


@pytest.mark.parametrize(
    ("other", "expected", "generalised"),
    [
        ((0.5, 0.5, 0.4, 0.2), 1.0, 1.0),  # equal
        ((0.7, 0.5, 0.4, 0.2), 1 / 3, 1 / 3),  # half of each is shared, and nothing lies between
        ((0.5, 0.5, 0.2, 0.1), 0.25, 0.25),  # inside
        ((0.9, 0.5, 0.4, 0.2), 0.0, 0.0),  # side by side
        ((0.1, 0.9, 0.4, 0.2), 0.0, (0.16 - 0.48) / 0.48),  # across the corner: 0.8 x 0.6 around 0.16
    ],
)
def test_overlap_of_boxes(other, expected, generalised):
    one, other = torch.tensor([0.5, 0.5, 0.4, 0.2]).double(), torch.tensor(other).double()
    assert float(iou(one, other)) == pytest.approx(expected, abs=1e-6)
    assert float(generalised_iou(one, other)) == pytest.approx(generalised, abs=1e-6)
    assert float(generalised_iou(other, one)) == pytest.approx(generalised, abs=1e-6)


def test_overlap_of_all_pairs():
    boxes = torch.rand(7, 4, generator=torch.Generator().manual_seed(1)).double()
    plain, generalised = iou(boxes[:, None], boxes[None]), generalised_iou(boxes[:, None], boxes[None])
    for row, column in itertools.product(range(7), repeat=2):
        right = overlap_by_hand(boxes[row].tolist(), boxes[column].tolist())
        assert (float(plain[row, column]), float(generalised[row, column])) == pytest.approx(right)


def test_overlap_of_tiny_boxes():
    for side in (1e-2, 2e-5, 1e-12):
        box = torch.tensor([0.5, 0.5, side, side], requires_grad=True)
        # Around 0, where the edges of so small a box are exact enough.
        small = torch.tensor([0.0, 0.0, side, side])
        half = torch.tensor([0.0, 0.0, side, side / 2])
        assert float(iou(small, small)) == pytest.approx(1.0)
        assert float(generalised_iou(small, small)) == pytest.approx(1.0)
        assert float(iou(small, half)) == pytest.approx(0.5)
        generalised_iou(box, torch.tensor([0.1, 0.1, 0.1, 0.1])).backward()
        assert box.grad.isfinite().all()
    point = torch.tensor([0.5, 0.5, 0.0, 0.0])
    assert (float(iou(point, point)), float(generalised_iou(point, point))) == (0.0, -1.0)


def test_corners_and_boxes_without_area():
    assert box_corners(torch.tensor([0.5, 0.25, 0.5, 0.5])).tolist() == [0.25, 0.0, 0.75, 0.5]
    point = torch.tensor([0.5, 0.5, 0.0, 0.0], requires_grad=True)
    assert float(iou(point, point).detach()) == 0.0
    generalised_iou(point, torch.tensor([0.1, 0.1, 0.1, 0.1])).backward()
    assert point.grad.isfinite().all()


def test_apart_boxes_are_drawn_together():
    box = torch.tensor([0.2, 0.5, 0.1, 0.1], requires_grad=True)
    generalised_iou(box, torch.tensor([0.8, 0.5, 0.1, 0.1])).backward()
    assert box.grad[0] > 0


def test_matching_by_hand():
    """The cheapest pair of all, 1, isn't taken: it would leave 9 to the other."""
    cost = torch.tensor([[[1.0, 2.0], [3.0, 9.0], [8.0, 8.0]]])
    assert [each.tolist() for each in match_sets(cost, [2])] == [[0, 0], [0, 1], [1, 0]]
    # With one real target, the other column doesn't count.
    assert [each.tolist() for each in match_sets(cost, [1])] == [[0], [0], [0]]
    assert [each.tolist() for each in match_sets(cost, [0])] == [[], [], []]


@pytest.mark.parametrize(("queries", "counts"), [(5, (3, 0, 4, 1)), (2, (4, 2, 3, 0))])
def test_no_assignment_is_cheaper(queries, counts):
    cost = torch.randn(len(counts), queries, max(counts), generator=torch.Generator().manual_seed(2))
    found = match_sets(cost, counts)
    for item, count in enumerate(counts):
        pairs = [(int(q), int(t)) for i, q, t in zip(*found, strict=True) if i == item]
        size = min(queries, count)
        assert len({q for q, _ in pairs}) == len({t for _, t in pairs}) == len(pairs) == size
        least = min(
            sum(float(cost[item, q, t]) for q, t in zip(some, those, strict=True))
            for some in itertools.permutations(range(queries), size)
            for those in itertools.combinations(range(count), size)
        )
        assert sum(float(cost[item, q, t]) for q, t in pairs) == pytest.approx(least)


def loss_by_hand(objects, labels, boxes, loss):
    """The loss with the best of all permutations, one number at a time."""
    weighted = total = distance = objects_in_all = 0.0
    for item in range(len(labels)):
        real = [target for target in range(labels.shape[1]) if labels[item, target] >= 0]
        chances = objects.scores[item].softmax(-1).tolist()
        found = objects.boxes[item].tolist()

        def box_cost(query, target, item=item, found=found):
            true = boxes[item, target].tolist()
            apart = sum(abs(a - b) for a, b in zip(found[query], true, strict=True))
            return loss.box * apart + loss.overlap * (1 - overlap_by_hand(found[query], true)[1])

        def cost(assigned, those, item=item, chances=chances, box_cost=box_cost):
            return sum(
                box_cost(query, target) - chances[query][int(labels[item, target])]
                for query, target in zip(assigned, those, strict=True)
            )

        # Where there are too few queries, some of the objects are left out.
        size = min(len(chances), len(real))
        best, those = min(
            itertools.product(itertools.permutations(range(len(chances)), size), itertools.combinations(real, size)),
            key=lambda each: cost(*each),
        )
        wanted = dict(zip(best, those, strict=True))
        distance += sum(box_cost(query, target) for query, target in wanted.items())
        objects_in_all += len(real)
        for query, row in enumerate(chances):
            label = int(labels[item, wanted[query]]) if query in wanted else CLASSES
            weight = 1.0 if query in wanted else loss.no_object
            weighted -= weight * math.log(row[label])
            total += weight
    return weighted / total + distance / max(objects_in_all, 1)


@pytest.mark.parametrize("counts", [(2, 0, 3), (1, 1, 1), (0, 0, 0), (5, 4, 0)])
def test_loss_is_that_of_the_best_permutation(counts):
    loss = SetLoss(box=3.0, overlap=1.5, no_object=0.25)
    objects, labels, boxes = sets(counts=counts)
    assert float(loss(objects, labels, boxes)) == pytest.approx(loss_by_hand(objects, labels, boxes, loss))


def test_objects_without_a_query_count_in_the_mean():
    loss = SetLoss(box=3.0, overlap=1.5, no_object=0.25)
    for counts in ((4, 3), (2, 4)):
        objects, labels, boxes = sets(batch=2, queries=2, counts=counts)
        assert float(loss(objects, labels, boxes)) == pytest.approx(loss_by_hand(objects, labels, boxes, loss))


def test_coefficients_of_the_paper():
    assert SetLoss() == SetLoss(box=5.0, overlap=2.0, no_object=0.1)


def test_order_and_padding_do_not_matter():
    objects, labels, boxes = sets()
    right = SetLoss()(objects, labels, boxes)
    order = torch.tensor([3, 1, 4, 0, 2])
    shuffled = Objects(objects.scores[:, order], objects.boxes[:, order])
    torch.testing.assert_close(SetLoss()(shuffled, labels, boxes), right)
    turned = labels.clone(), boxes.clone()
    for each in turned:
        each[0, [0, 1]], each[2, [0, 2]] = each[0, [1, 0]], each[2, [2, 0]]
    torch.testing.assert_close(SetLoss()(objects, *turned), right)
    padded = torch.cat([labels, labels.new_full((3, 2), -1)], 1), torch.cat([boxes, torch.rand(3, 2, 4).double()], 1)
    torch.testing.assert_close(SetLoss()(objects, *padded), right)


def test_gradients_are_right_and_finite():
    objects, labels, boxes = sets(counts=(2, 0, 1))
    matches = SetLoss().match(objects, labels, boxes)
    given = objects.scores.requires_grad_(), objects.boxes.requires_grad_()
    assert torch.autograd.gradcheck(lambda *each: SetLoss()(Objects(*each), labels, boxes, matches), given)
    # Predictions without an object get no gradient on their boxes.
    SetLoss()(Objects(*given), labels, boxes).backward()
    assert given[1].grad.any(-1).sum() == 3


def test_padding_may_hold_anything():
    objects, labels, boxes = sets()
    right = SetLoss()(objects, labels, boxes)
    boxes[labels < 0] = math.nan
    scores = objects.scores.requires_grad_()
    loss = SetLoss()(Objects(scores, objects.boxes), labels, boxes)
    torch.testing.assert_close(loss, right)
    loss.backward()
    assert scores.grad.isfinite().all()


@pytest.mark.parametrize(("batch", "queries"), [(0, 5), (2, 0)])
def test_the_loss_of_nothing_is_0(batch, queries):
    objects = Objects(torch.zeros(batch, queries, 4, requires_grad=True), torch.zeros(batch, queries, 4))
    loss = SetLoss()(objects, torch.zeros(batch, 3).long(), torch.rand(batch, 3, 4))
    assert float(loss.detach()) == 0.0
    loss.backward()
    assert objects.scores.grad.shape == objects.scores.shape


@pytest.fixture
def unchecked():
    """The shapes in the signatures would speak first; here the errors are what a user sees."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


SCORES, BOXES = torch.zeros(2, 5, 4), torch.full((2, 5, 4), 0.5)
LABELS, TRUE = torch.zeros(2, 3).long(), torch.full((2, 3, 4), 0.5)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((SCORES[0], BOXES, LABELS, TRUE), r"`scores` must be \(batch, query, class\), but is \(5, 4\)"),
        ((SCORES, BOXES[..., :3], LABELS, TRUE), r"`boxes` of the predictions must be \(2, 5, 4\)"),
        ((SCORES, BOXES[:, :4], LABELS, TRUE), r"there are 5 for each of 2 items, but are \(2, 4, 4\)"),
        ((SCORES, BOXES[:1], LABELS, TRUE), r"`boxes` of the predictions must be .* but are \(1, 5, 4\)"),
        ((SCORES, BOXES, LABELS[:1], TRUE[:1]), "`labels` must be of the 2 items of the predictions, but are of 1"),
        ((SCORES, BOXES, LABELS, TRUE[:1]), r"`boxes` must be \(2, 3, 4\), .* but are \(1, 3, 4\)"),
        ((SCORES, BOXES, LABELS, TRUE[:, :2]), r"`boxes` must be \(2, 3, 4\), .* but are \(2, 2, 4\)"),
        ((SCORES, BOXES, LABELS, TRUE[..., :3]), r"four numbers for each label, but are \(2, 3, 3\)"),
        ((SCORES, BOXES, LABELS[0], TRUE), r"`labels` of SetLoss must be integers \(batch, target\)"),
        ((SCORES, BOXES, LABELS.float(), TRUE), r"`labels` of SetLoss must be integers .* is torch\.float32"),
        ((SCORES, BOXES, LABELS, TRUE > 0), r"`boxes` must hold real numbers, but holds torch\.bool"),
    ],
)
def test_what_does_not_fit_is_refused(unchecked, given, said):
    scores, boxes, labels, true = given
    for call in (SetLoss(), SetLoss().match):
        with pytest.raises(ArgumentError, match=said):
            call(Objects(scores, boxes), labels, true)


@pytest.mark.parametrize(
    ("cost", "counts", "said"),
    [
        (torch.zeros(2, 2), [1, 1], r"`cost` must be \(batch, query, target\), but is \(2, 2\)"),
        ([[[1.0]]], [1], r"`cost` must be a tensor \(batch, query, target\), but is a list"),
        (torch.zeros(1, 2, 2), [1.0], "`counts` of match_sets must be an integer for each item"),
        (torch.zeros(1, 2, 2), ["two"], "`counts` of match_sets must be an integer for each item"),
        (torch.zeros(1, 2, 2), [[1]], "`counts` of match_sets must be an integer for each item"),
        (torch.zeros(1, 2, 2), [-1], "`counts` must be 1 numbers of targets from 0 to 2"),
        (torch.zeros(2, 2, 2), [1], "`counts` must be 2 numbers of targets from 0 to 2"),
    ],
)
def test_costs_and_counts_that_cannot_be(unchecked, cost, counts, said):
    with pytest.raises(ArgumentError, match=said):
        match_sets(cost, counts)


def test_labels_of_any_integer_type():
    objects, labels, boxes = sets()
    right = SetLoss()(objects, labels, boxes)
    for dtype in (torch.int32, torch.int8):
        torch.testing.assert_close(SetLoss()(objects, labels.to(dtype), boxes), right)


def test_given_matches_are_used():
    objects, labels, boxes = sets(batch=1, counts=(2,))
    wrong = Matches(torch.tensor([0, 0]), torch.tensor([4, 3]), torch.tensor([0, 1]))
    best = SetLoss().match(objects, labels, boxes)
    costs = {float(SetLoss()(objects, labels, boxes, each)) for each in (best, wrong)}
    assert len(costs) == 2
    assert float(SetLoss()(objects, labels, boxes)) == float(SetLoss()(objects, labels, boxes, best))


def test_what_cannot_be_matched_is_refused(monkeypatch):
    objects, labels, boxes = sets()
    with pytest.raises(ArgumentError, match=r"`labels` must be from 0 to 2, or -1 for none, but one is [3-5]"):
        SetLoss()(objects, labels + 3, boxes)
    with pytest.raises(ArgumentError, match="`labels` must be -1 only after the last object"):
        SetLoss()(objects, labels.flip(1), boxes)
    with pytest.raises(ArgumentError, match="`cost` must be finite"):
        SetLoss()(Objects(objects.scores * math.nan, objects.boxes), labels, boxes)
    with pytest.raises(ArgumentError, match=r"`counts` must be 1 numbers of targets from 0 to 2, but is \[3\]"):
        match_sets(torch.zeros(1, 2, 2), [3])
    for wrong in (-1.0, 0.0, math.nan):
        with pytest.raises(ArgumentError, match=f"`no_object` must be a number above 0, but is {wrong}"):
            SetLoss(no_object=wrong)
    for name in ("box", "overlap"):
        assert getattr(SetLoss(**{name: 0.0}), name) == 0.0
        with pytest.raises(ArgumentError, match=rf"`{name}` must be a number, 0 or more, but is -1\.0"):
            SetLoss(**{name: -1.0})
    matches = SetLoss().match(objects, labels, boxes)
    with pytest.raises(ArgumentError, match="`labels` must be -1 only after the last object"):
        SetLoss()(objects, labels.flip(1), boxes, matches)
    infinite = boxes.clone()
    infinite[2, 1, 3] = math.nan
    for given in (None, matches):
        with pytest.raises(ArgumentError, match="`boxes` must be finite for all objects"):
            SetLoss()(objects, labels, infinite, given)
    # Else an index of -1 would count from the end, and one too high would be PyTorch's error, without a name.
    queries = objects.scores.shape[1]
    for wrong, said in (
        (Matches([3], [0], [0]), "`item` of `matches` must be from 0 to 2, but one is 3"),
        (Matches([0], [queries], [0]), f"`query` of `matches` must be from 0 to {queries - 1}"),
        (Matches([0], [0], [-1]), "`target` of `matches` must be from 0 to 2, but one is -1"),
        (
            Matches(*(labels < 0).nonzero()[:1, [0, 0, 1]].T),
            "`target` of `matches` must be numbers of true objects, but the label of one is -1",
        ),
        (Matches([0, 1], [0], [0]), "`matches` must be an item, a query and a target for each pair, but are 2, 1 and"),
        (Matches([0.5], [0], [0]), "`matches` of SetLoss must be three lists of integers"),
    ):
        with pytest.raises(ArgumentError, match=said):
            SetLoss()(objects, labels, boxes, wrong)

    def missing(name):
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(regard.extras.importlib, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"`scipy` is not installed. .*'\.\[train\]'"):
        match_sets(torch.zeros(1, 2, 2), [2])
