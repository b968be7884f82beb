import math
from types import SimpleNamespace

import pytest
import torch

from regard.errors import ArgumentError
from regard.inspection import (
    LayerRecord,
    Record,
    answer_page,
    heatmap,
    item_labels,
    item_rankings,
    pooled_heatmap,
    pooled_ranking,
)
from regard.page import HeatMap, as_text

of_weights = LayerRecord.of_weights


@pytest.fixture
def record():
    weights = torch.tensor([[[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.125, 0.0, 0.875]], [[1.0, 0.0, 0.0]] * 3])
    layers = (
        of_weights("layer 1", torch.full((2, 3, 3), 1 / 3), normaliser="softmax"),
        of_weights("layer 2", weights, normaliser="softmax"),
    )
    return Record(("saw", "a", "saw"), ("VERB", "DET", "NOUN"), (0.75, 1.0, 0.996), layers, "toy", noun="word")


def test_words_stand_over_their_labels_and_scores(record):
    assert as_text(item_labels(record)).splitlines() == [
        "toy",
        "",
        "saw   a     saw",
        "VERB  DET   NOUN",
        "75%   100%  >99%",
    ]
    assert "There is no word." in as_text(item_labels(Record((), noun="word")))


def test_ranked_words_carry_position_weight_total_and_rest(record):
    lines = as_text(item_rankings(record, head=1, top=1), width=40).splitlines()
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
    for view in (item_rankings, heatmap):
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
    # Of three equal weights a scale to 50 % would be two thirds full.
    assert heatmap(record, layer=1).blocks[-1].high == 1.0


def test_broken_weights_are_said_above_the_view():
    weights = torch.tensor([[[math.nan, 0.5], [0.5, 0.25]]])
    record = Record(("a", "b"), ("X", "Y"), (0.5, 0.5), (of_weights("layer 1", weights, normaliser="softmax"),))
    for view in (item_rankings, heatmap):
        text = " ".join(as_text(view(record)).split())
        assert "1 of 4 weights aren't finite" in text
        assert "the first is row 2" in text
        assert "NaN" in text


def test_weights_above_one_set_the_scale(record):
    layer = of_weights("layer 1", torch.tensor([[[1.75, 0.0], [0.0, 0.0]]]), normaliser="relu")
    wild = Record(("a", "b"), ("X", "Y"), (0.5, 0.5), (layer,))
    assert heatmap(wild).blocks[-1].high == 1.75
    assert "A full bar is 175%." in as_text(item_rankings(wild))
    assert "nothing" in as_text(item_rankings(wild))


PICTURE = Record(
    tuple(f"{row},{column}" for row in (1, 2) for column in (1, 2, 3)),
    pooling=of_weights("pooling", torch.tensor([[[0.125, 0.25, 0.0, 0.5, 0.125, 0.0]]])),
    answer=("seven", 0.75),
    noun="patch",
    grid=(2, 3),
)
TRANSLATION = Record(
    ("ich", "sah", "es"),
    layers=(of_weights("layer 1", torch.tensor([[[0.75, 0.25, 0.0], [0.0, 0.5, 0.5]]]), normaliser="softmax"),),
    queries=("I", "saw"),
    noun="word",
)


def test_the_answer_is_drawn_from_what_the_pooling_looked_at():
    lines = as_text(pooled_ranking(PICTURE, top=2), width=60).splitlines()
    assert lines[0] == "Pooling"
    assert [line.split()[-2:] for line in lines[2:]] == [["50%", "50%"], ["25%", "75%"], ["25%", "100%"]]
    assert lines[2].startswith("the whole  2,1")
    assert lines[-1].split()[:2] == ["2", "others"]


def test_a_picture_is_shown_where_it_was_looked_at():
    assert as_text(pooled_heatmap(PICTURE)).splitlines() == [
        "Pooling",
        "  1 2 3",
        "1 ░░▒▒  ",
        "2 ██░░  ",
        "0% ·░▒▓█ 50%, in steps of 10%  equal weights: 17%  blank is exactly 0",
        "Rows and columns are those of the picture.",
    ]


def test_without_a_pooling_the_whole_is_the_average_over_all(record):
    (block,) = pooled_ranking(record, head=1).blocks
    assert block.title == "Layer 2 of 2, head 1 of 2, average over all 3 words"
    assert {bar.label: bar.value for bar in block.rankings[0].bars} == pytest.approx(
        {"saw (1)": 0.625 / 3, "a": 1.25 / 3, "saw (3)": 1.125 / 3}
    )
    (drawn,) = pooled_heatmap(record, head=1).blocks
    assert drawn.values[0] == pytest.approx((0.625 / 3, 1.25 / 3, 1.125 / 3))
    assert (drawn.rows, drawn.columns) == (("the whole",), ("saw (1)", "a", "saw (3)"))


def test_what_a_translation_looked_at_is_target_by_source():
    (drawn,) = heatmap(TRANSLATION).blocks
    assert (drawn.rows, drawn.columns) == (("I", "saw"), ("ich", "sah", "es"))
    assert drawn.values == ((0.75, 0.25, 0.0), (0.0, 0.5, 0.5))
    (lists,) = item_rankings(TRANSLATION, top=1).blocks
    assert [(each.label, each.bars[0].label) for each in lists.rankings] == [("I", "ich"), ("saw", "sah")]


SOUND = SimpleNamespace(seconds=1.5)


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (("seven", 0.75), "answer sure seven 75%"),
        ({"toxic": 0.25, "bitter": 0.999}, "question yes toxic 25% bitter >99%"),
        (-3.14159, "answer -3.1416"),
        ((SOUND, True, (0.0, 0.25)), "1.50 s frame begins at low 0.00 s high 0.25 s"),
        ((SOUND, True, ()), "1.50 s"),
        (
            (SOUND, False, (0.0, 1.5)),
            "1.50 s (cut: it had not ended at the longest that is allowed) frame begins at low 0.00 s high not said",
        ),
        (None, "There is no frame in it, so there is no answer."),
    ],
)
def test_answers_for_the_whole(answer, shown):
    record = Record(("low", "high"), answer=answer, noun="frame")
    assert " ".join(as_text(answer_page(record)).split()) == shown


def test_numbers_have_no_score_beside_them():
    assert as_text(item_labels(Record(("C1", "O2"), ("0.5", "-1.25"), noun="atom"))).splitlines() == [
        "C1   O2",
        "0.5  -1.25",
    ]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"labels": ("X",)}, "`labels` must have 3 entries, one for each item, or none, but has 1"),
        (
            {"layers": (of_weights("layer 1", torch.ones(1, 3, 2)),)},
            r"`layers` must hold weights \(head, 3, 3\)",
        ),
        (
            {"pooling": of_weights("pooling", torch.ones(1, 2, 3))},
            r"`pooling` must hold weights \(head, 1, 3\)",
        ),
        ({"queries": ("I",), "labels": ("X", "Y", "Z")}, "`labels` must have 1 entries"),
        ({"grid": (2, 2)}, r"`grid` must have 3 cells, one for each of `items`, but is \(2, 2\)"),
    ],
)
def test_a_record_whose_parts_do_not_fit(parts, message):
    with pytest.raises(ArgumentError, match=message):
        Record(("a", "b", "c"), **parts)


def test_a_record_without_weights_has_no_whole():
    with pytest.raises(ArgumentError, match="`record` must hold the weights of a layer"):
        pooled_ranking(Record(("a",)))
