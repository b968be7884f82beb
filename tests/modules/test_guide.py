"""Attention that is guided from left to right."""

import pytest
import torch

from regard.errors import ArgumentError
from regard.inspection import watch
from regard.modules.guide import Guide
from regard.modules.seq2seq.recurrent_seq2seq import AttentionSeq2Seq
from regard.modules.seq2seq.transformer_seq2seq import TransformerSeq2Seq


def test_the_band_moves_and_stays_at_the_end():
    mask = Guide(width=1, rate=1.5).mask(1, 4, torch.tensor([6, 2, 0]))
    assert mask.centres.tolist() == [[1.5, 3.0, 4.5, 5.0], [1.0] * 4, [0.0] * 4]


@pytest.mark.parametrize(
    "make",
    [
        lambda guide: AttentionSeq2Seq(7, 7, 6, guide=guide),
        lambda guide: TransformerSeq2Seq(7, 7, 6, layers=1, heads=2, hidden=11, guide=guide),
    ],
)
@pytest.mark.parametrize("width", [1, 0.2])
def test_nothing_is_seen_beside_the_band(make, width):
    """Of five items and three; a width of 0.2 is one item of five, and less than one of three."""
    model = make(Guide(width, rate=1.5))
    with watch(model) as seen:
        memory = model.encode(torch.full((2, 5), 3), torch.tensor([5, 3]))
        model(memory, torch.ones(2, 6, dtype=torch.int64))
    looks = [look.weights() for look in seen if look.name in ("attention", "decoder.layers.0.source_attention")]
    weights = torch.cat(looks, dim=2)
    # Centres 0, 1.5, 3, 4, 4, 4 and 0, 1.5, 2, 2, 2, 2.
    long = [[0, 1], [1, 2], [2, 3, 4], [3, 4], [3, 4], [3, 4]]
    short = [[0, 1], [1, 2], [1, 2], [1, 2], [1, 2], [1, 2]] if width == 1 else [[0], [1, 2], [2], [2], [2], [2]]
    for item, expected in enumerate((long, short)):
        assert [row.nonzero().flatten().tolist() for row in weights[item, 0]] == expected


@pytest.mark.parametrize(
    ("width", "rate", "message"),
    [
        (1, 0.0, "`rate` must be source items for each target item, more than 0, but is 0.0"),
        (1, float("nan"), "`rate` must be"),
        (-1, 1.0, "`width` of Guided must be"),
    ],
)
def test_errors(width, rate, message):
    with pytest.raises(ArgumentError, match=message):
        Guide(width, rate)
