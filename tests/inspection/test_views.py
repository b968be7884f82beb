import math

import pytest
import torch

from regard.errors import ArgumentError
from regard.inspection import LayerRecord, Record, heatmap, ranked, words
from regard.page import HeatMap, as_text


@pytest.fixture
def record():
    weights = torch.tensor([[[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.125, 0.0, 0.875]], [[1.0, 0.0, 0.0]] * 3])
    layers = (
        LayerRecord("layer 1", torch.full((2, 3, 3), 1 / 3), normaliser="softmax"),
        LayerRecord("layer 2", weights, normaliser="softmax"),
    )
    return Record(("saw", "a", "saw"), ("VERB", "DET", "NOUN"), (0.75, 1.0, 0.996), layers, "toy")


def test_words_stand_over_their_labels_and_scores(record):
    assert as_text(words(record)).splitlines() == ["toy", "", "saw   a     saw", "VERB  DET   NOUN", "75%   100%  >99%"]
    assert "no words" in as_text(words(Record((), (), ())))


def test_ranked_words_carry_position_weight_total_and_rest(record):
    lines = as_text(ranked(record, head=1, top=1), width=40).splitlines()
    assert lines[2] == "Layer 2 of 2, head 1 of 2"
    assert [line.split()[-2:] for line in lines[4:]] == [
        ["50%", "50%"],
        ["50%", "100%"],
        ["100%", "100%"],
        ["88%", "88%"],
        ["12%", "100%"],
    ]
    assert lines[4].startswith("saw (1) saw (1)")
    assert lines[5].startswith("        2 others")
    assert lines[6].startswith("a       a ")
    assert lines[7].startswith("saw (3) saw (3)")


def test_every_view_names_its_layer_and_head(record):
    for view in (ranked, heatmap):
        assert view(record).blocks[-1].title == "Layer 2 of 2, average of heads 1-2"
        assert view(record, layer=1, head=2).blocks[-1].title == "Layer 1 of 2, head 2 of 2"
        with pytest.raises(ArgumentError, match="from 1 to 2"):
            view(record, layer=3)


def test_the_heat_map_holds_the_weights_and_a_round_top(record):
    drawn = heatmap(record, head=1).blocks[-1]
    assert isinstance(drawn, HeatMap)
    assert drawn.values == ((0.5, 0.25, 0.25), (0.0, 1.0, 0.0), (0.125, 0.0, 0.875))
    assert drawn.rows == drawn.columns == ("saw (1)", "a", "saw (3)")
    assert drawn.high == 1.0
    assert heatmap(record, layer=1).blocks[-1].high == 0.5


def test_broken_weights_are_said_above_the_view():
    weights = torch.tensor([[[math.nan, 0.5], [0.5, 0.25]]])
    record = Record(("a", "b"), ("X", "Y"), (0.5, 0.5), (LayerRecord("layer 1", weights, normaliser="softmax"),))
    for view in (ranked, heatmap):
        text = " ".join(as_text(view(record)).split())
        assert "1 of 4 weights aren't finite" in text
        assert "the first is row 2" in text
        assert "NaN" in text


def test_weights_above_one_set_the_scale(record):
    layer = LayerRecord("layer 1", torch.tensor([[[1.75, 0.0], [0.0, 0.0]]]), normaliser="relu")
    wild = Record(("a", "b"), ("X", "Y"), (0.5, 0.5), (layer,))
    assert heatmap(wild).blocks[-1].high == 1.75
    assert "A full bar is 175%." in as_text(ranked(wild))
    assert "nothing" in as_text(ranked(wild))
