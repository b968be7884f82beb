"""Object queries: a set decoder, positions of a grid, and that training finds objects."""

import pytest
import torch

from regard import watch
from regard.attention.masks import NoSelf
from regard.errors import ArgumentError
from regard.modules import Decoder, GridPositions, ObjectQueries, SetLoss

SIZES = {"layers": 2, "heads": 2, "hidden": 16}


def finder(seed=0, **others):
    torch.manual_seed(seed)
    return ObjectQueries(8, queries=5, classes=3, **SIZES, **others).eval()


def test_shapes_and_ranges_after_each_layer():
    found = finder()(torch.randn(3, 12, 8))
    assert [(each.scores.shape, each.boxes.shape) for each in found] == [((3, 5, 4), (3, 5, 4))] * 2
    assert all(bool(((each.boxes > 0) & (each.boxes < 1)).all()) for each in found)
    assert not torch.equal(found[0].boxes, found[1].boxes)
    assert finder()(torch.randn(0, 12, 8))[-1].boxes.shape == (0, 5, 4)


def test_the_order_of_items_does_not_matter():
    """The decoder has no positions of its own."""
    source = torch.randn(2, 12, 8)
    found, turned = finder()(source)[-1], finder()(source.flip(1))[-1]
    torch.testing.assert_close(found.boxes, turned.boxes)


def test_queries_see_each_other_in_both_directions_or_not_at_all():
    source = torch.randn(1, 12, 8)
    for mask, expected in ((None, [True] * 5), (~NoSelf(), [False, False, True, False, False])):
        model = finder(target_mask=mask)
        model(source)[-1].scores[0, 2].sum().backward()
        assert model.queries.grad.any(-1).tolist() == expected


def test_the_viewer_sees_what_each_query_attends_to():
    model = finder()
    with torch.no_grad(), watch(model) as seen:
        model(torch.randn(1, 12, 8))
    shapes = {each.name: each.weights().shape for each in seen}
    assert shapes["decoder.layers.1.source_attention"] == (1, 2, 5, 12)
    assert shapes["decoder.layers.1.attention"] == (1, 2, 5, 5)


def test_each_layer_of_the_decoder_could_be_the_last():
    torch.manual_seed(0)
    decoder = Decoder(8, **SIZES, target_mask=None).eval()
    targets, source = torch.randn(2, 5, 8), torch.randn(2, 7, 8)
    first, last = decoder.after_each_layer(targets, source)
    torch.testing.assert_close(last, decoder(targets, source))
    del decoder.layers[1]
    torch.testing.assert_close(first, decoder(targets, source))


def test_positions_of_a_grid():
    torch.manual_seed(0)
    positions = GridPositions(6, rows=2, columns=3)
    encoded = positions.encode(6).view(2, 3, 6)
    for row in range(2):
        for column in range(3):
            expected = torch.cat([positions.rows[row], positions.columns[column]])
            torch.testing.assert_close(encoded[row, column], expected)
    torch.testing.assert_close(positions(torch.ones(1, 6, 6))[0], 1 + positions.encode(6))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: GridPositions(7, 2, 3), "`width` must be even"),
        (lambda: GridPositions(8, 0, 3), "`rows` must be"),
        (lambda: GridPositions(8, 2, 3)(torch.zeros(1, 7, 8)), "`vectors` must be 2 x 3 = 6, but are 7"),
        (lambda: ObjectQueries(8, 0, 3, **SIZES), "`queries` must be"),
        (lambda: ObjectQueries(8, 5, 0, **SIZES), "`classes` must be"),
        (lambda: ObjectQueries(8, 5, 3, layers=0, heads=2, hidden=16), "`layers` must be"),
        (lambda: ObjectQueries(-8, 5, 3, **SIZES), "`width` must be"),
        (lambda: ObjectQueries(8, 5, 3, layers=2, heads=0, hidden=16), "`heads` must be"),
        (lambda: ObjectQueries(8, 5, 3, layers=2, heads=2, hidden=0), "`hidden` must be"),
        (lambda: ObjectQueries(8, 5, 3, **SIZES, target_mask="causall"), "Did you mean 'causal'"),
    ],
)
def test_what_cannot_be_is_refused(make, said):
    with pytest.raises(ArgumentError, match=said):
        make()


@pytest.mark.slow
def test_training_finds_the_marked_items():
    """Each picture has one or two marked items, whose first feature tells the class and the next two the place."""
    torch.manual_seed(1)
    model, loss = ObjectQueries(16, queries=3, classes=2, layers=1, heads=2, hidden=32), SetLoss(no_object=0.5)
    draw = torch.Generator().manual_seed(1)

    def batch(size):
        labels = torch.randint(2, (size, 2), generator=draw)
        boxes = 0.2 + 0.6 * torch.rand(size, 2, 4, generator=draw)
        items = torch.zeros(size, 6, 16)
        items[:, :2, 0], items[:, :2, 1], items[:, :2, 2:6] = 2.0, 4.0 * labels - 2, 8 * boxes - 4
        alone = torch.rand(size, generator=draw) < 0.5
        labels[alone, 1], items[alone, 1] = -1, 0
        return items[:, torch.randperm(6, generator=draw)], labels, boxes

    # Ends at a rate of 0, so that rounding, which depends on the machine and its threads, hardly matters in the end.
    steps = 400
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    rate = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(steps):
        items, labels, boxes = batch(32)
        optimizer.zero_grad()
        sum(loss(each, labels, boxes) for each in model(items)).backward()
        optimizer.step()
        rate.step()
    items, labels, boxes = batch(200)
    with torch.no_grad():
        found = model.eval()(items)[-1]
    matches = loss.match(found, labels, boxes)
    right = found.scores[matches.item, matches.query].argmax(-1) == labels[matches.item, matches.target]
    assert right.float().mean() > 0.9
    apart = (found.boxes[matches.item, matches.query] - boxes[matches.item, matches.target]).abs().mean()
    assert apart < 0.05
