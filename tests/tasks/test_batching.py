import torch
from torch import nn

from regard.tasks.training.batching import batches_by_length, shuffled_batches
from regard.tasks.training.state import MovingAverage

LENGTHS = [7, 0, 1, 13, 3, 3, 5, 2, 29, 1, 11]


def test_each_item_is_in_one_batch_and_no_batch_is_too_large():
    for batches in (batches_by_length(LENGTHS, 17), shuffled_batches(LENGTHS, 17, seed=3, epoch=5)):
        assert sorted(index for batch in batches for index in batch) == list(range(len(LENGTHS)))
        for batch in batches:
            assert len(batch) == 1 or len(batch) * max(LENGTHS[index] for index in batch) <= 17
        assert len(batches) < len(LENGTHS)


def test_no_items_are_no_batches():
    assert batches_by_length([], 5) == []
    assert shuffled_batches([], 5, seed=0, epoch=0) == []


def test_the_order_depends_on_seed_and_epoch_and_nothing_else():
    torch.manual_seed(1)
    first = shuffled_batches(LENGTHS, 17, seed=3, epoch=5)
    torch.manual_seed(2)
    assert shuffled_batches(LENGTHS, 17, seed=3, epoch=5) == first
    assert shuffled_batches(LENGTHS, 17, seed=3, epoch=6) != first
    assert shuffled_batches(LENGTHS, 17, seed=4, epoch=5) != first


def test_the_average_by_hand():
    net = nn.Linear(1, 1, bias=False)
    nn.init.constant_(net.weight, 1.0)
    average = MovingAverage(net, decay=0.5)
    nn.init.constant_(net.weight, 3.0)
    average.update(step=1000)
    assert average.values["weight"].item() == 2.0
    with average.in_place():
        assert net.weight.item() == 2.0
    assert net.weight.item() == 3.0
    average.update(step=1)  # decay (1 + 1) / (10 + 1)
    torch.testing.assert_close(average.values["weight"].item(), 2.0 * 2 / 11 + 3.0 * 9 / 11)


def test_the_weights_come_back_after_an_error():
    net = nn.Linear(2, 3)
    average = MovingAverage(net, decay=0.9)
    nn.init.zeros_(net.weight)
    try:
        with average.in_place():
            raise KeyError
    except KeyError:
        pass
    assert not net.weight.any()
