"""An RNN over sequences of unequal length."""

import pytest
import torch
from torch import nn

from regard.modules import recurrence
from regard.modules.recurrence import recur


@pytest.mark.parametrize("make", [nn.GRU, nn.LSTM])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_equals_each_sequence_alone(make, bidirectional):
    cells = make(3, 5, 2, batch_first=True, bidirectional=bidirectional).double()
    vectors, lengths = torch.randn(4, 7, 3, dtype=torch.float64), torch.tensor([2, 7, 0, 1])
    vectors[0, 2:] = torch.nan
    states, last = recur(cells, vectors, lengths)
    assert states.shape == (4, 7, 10 if bidirectional else 5)
    for item, length in enumerate(lengths.tolist()):
        assert not states[item, length:].any()
        if length:
            expected, end = cells(vectors[item : item + 1, :length])
            torch.testing.assert_close(states[item, :length], expected[0])
            torch.testing.assert_close(last[:, item], (end[0] if make is nn.LSTM else end)[:, 0])
        else:
            assert not last[:, item].any()


@pytest.mark.parametrize("shape", [(0, 4, 3), (2, 0, 3), (0, 0, 3)])
def test_nothing_at_all(shape):
    cells = nn.GRU(3, 5, 2, batch_first=True, bidirectional=True)
    states, last = recur(cells, torch.zeros(shape), torch.zeros(shape[0], dtype=torch.int64))
    assert states.shape == (*shape[:2], 10)
    assert last.shape == (4, shape[0], 5)


@pytest.mark.parametrize("make", [nn.GRU, nn.LSTM, nn.RNN])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_over_padding_as_packed(make, bias, bidirectional):
    """One is for the CPU, the other for GPUs: the same states and gradients, whatever stands at padding."""
    cells = make(3, 5, 2, batch_first=True, bidirectional=bidirectional, bias=bias).double()
    lengths = torch.tensor([2, 7, 4, 1])
    vectors = torch.randn(4, 7, 3, dtype=torch.float64)
    vectors[0, 2:] = torch.nan
    found = []
    for read in (recurrence._packed, recurrence._padded):
        given = vectors.clone().requires_grad_()
        states, last = read(cells, given, lengths)
        pulled = torch.autograd.grad(states.sin().sum() + last.cos().sum(), [given, *cells.parameters()])
        found.append([states, last, *pulled])
    for packed, padded in zip(*found, strict=True):
        torch.testing.assert_close(packed, padded)


def test_between_layers_is_dropped_in_training_alone():
    cells = nn.GRU(3, 5, 2, batch_first=True, dropout=0.5).double()
    given = torch.randn(2, 4, 3, dtype=torch.float64), torch.tensor([4, 3])
    assert not torch.equal(recur(cells, *given)[0], recur(cells, *given)[0])
    cells.eval()
    torch.testing.assert_close(recur(cells, *given)[0][0], cells(given[0])[0][0])
