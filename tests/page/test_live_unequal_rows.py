"""Where rows may attend to different numbers of items, the legend of the map says what equal weights would be."""

import dataclasses

import pytest
import torch

from page.live_records import document
from page.test_live_masked import MASKS, masked_record
from regard.attention import Causal, Edges
from regard.inspection import LayerRecord, heatmap
from regard.inspection.views.allowed_keys import allowed_ends
from regard.page import as_html, as_text

TOLD = {
    # The fourth word attends to all four, the first to itself alone.
    "intervals": ("25%", '"now"', "100%", '"a"'),
    # Edges lead to "a" and "saw" from two each, to the others from themselves: of as many the first one is named.
    "a table": ("50%", '"a"', "100%", '"film"'),
    # The second head hides nothing.
    "a table a head": None,
    "none": None,
}


@pytest.mark.parametrize("name", MASKS)
def test_the_legend_says_what_equal_weights_would_be(live, name):
    record, told = masked_record(MASKS[name][0]), TOLD[name]
    legend = " ".join(live(document(record)).locator(".map-part .legend").inner_text().split())
    drawn = heatmap(record)
    static = [" ".join(as_text(drawn).split()), as_html(drawn).replace("&quot;", '"')]
    if told is None:
        assert "in that of" not in legend
        assert not any("in that of" in each for each in static)
        return
    least, wide, most, narrow = told
    assert f"equal weights would be {least} each in the row of {wide}, {most} in that of {narrow}" in legend
    assert all(f"equal weights: {least} in the row of {wide}, {most} in that of {narrow}" in each for each in static)


def test_a_row_without_items_is_none_of_the_ends():
    """No edge leads to the third item, which attends to nothing: there are no equal weights of no items."""
    edges = torch.tensor([(0, 0), (0, 1), (0, 3), (1, 0), (3, 1), (3, 0)]).T
    layer = masked_record(Edges(edges)).layers[0]
    assert allowed_ends(layer) == ((0, 3), (3, 1))
    assert allowed_ends(masked_record(Causal()).layers[0]) == ((3, 4), (0, 1))
    assert allowed_ends(LayerRecord.of_weights("by hand", torch.full((1, 3, 3), 1 / 3))) is None


def test_of_weights_that_do_not_sum_to_one_nothing_is_said(live):
    """Sigmoid weights of the same mask have no share of a whole."""
    record = masked_record(Causal())
    call = record.layers[0].calls[0]
    call.normaliser = "sigmoid"
    assert "in that of" not in as_text(heatmap(record))
    assert "in that of" not in live(document(record)).locator(".map-part .legend").inner_text()


def test_the_names_of_the_rows_are_those_of_what_attends(live):
    """Names that occur twice are numbered, and long ones clipped."""
    record = masked_record(Causal())
    record = dataclasses.replace(record, items=("a", "w" * 200, "a", "now"))
    legend = live(document(record)).locator(".map-part .legend").inner_text()
    assert '"now", 100% in that of "a (1)"' in legend
