"""The steps to one weight, as the live page writes them: they give the weight, whatever the size of the scores."""

import math
import re

import pytest
import torch

from page.live_records import document, record_of_calls
from regard.attention import Causal, Dot
from regard.attention.masks import Mask, Predicate
from regard.inspection import LayerRecord
from regard.inspection.record.seen_layer import SeenLayer
from regard.page.numbers import percent

STEP = "[...document.querySelectorAll('.steps > div')].map((each) => each.innerText.replaceAll('\\n', ' '))"


# The same mask twice: as intervals of keys, and by a rule of which the page holds a table.
INTERVALS, TABLE = Causal(), Predicate(lambda batch, head, query, key: key <= query)


def layer_of_scores(scores: torch.Tensor, mask: Mask) -> LayerRecord:
    """A layer with these scores, (query, key)."""
    keys = torch.eye(len(scores))[None, None]
    nothing = torch.arange(0), keys[:, :, :0]
    parts = Dot(), "softmax", mask, None
    return LayerRecord("layer 1", (SeenLayer("", "a call", scores[None, None], keys, keys, *parts, 0.0, *nothing),))


@pytest.mark.parametrize(
    ("middle", "mask"),
    [(0.0, INTERVALS), (-40.0, TABLE), (900.0, INTERVALS), (-900.0, TABLE), (2.0**28, INTERVALS)],
)
def test_the_softmax_is_written_with_numbers_that_give_the_weight(live, middle, mask):
    apart = 64 if middle > 1e6 else 1
    scores = middle + apart * torch.tensor([[0.0, 9, 9], [0.5, -1, 9], [-0.5, 1.25, 0.25]])
    page = live(document(record_of_calls(layer_of_scores(scores, mask))))
    for query, key in ((1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3)):
        page.evaluate(f"location.hash = '#place={query}&layer=1&head=1&key={key}'")
        page.wait_for_function(f"document.querySelector('.steps-part .quiet').textContent === '{query} → {key}'")
        row = scores[query - 1, :query].double()
        weight, own, largest = float(row.softmax(0)[key - 1]), float(row[key - 1]), float(row.max())
        subtracted, softmax = page.evaluate(STEP)[-2:]
        found = re.fullmatch(r"− the largest score (\S+) − \(?([^\s)]+)\)? = (\S+)", subtracted)
        assert found, subtracted
        for text, number in zip(found.groups(), (own, largest, own - largest), strict=True):
            assert float(text) == pytest.approx(number, rel=5e-4, abs=1e-12)
        found = re.fullmatch(rf"softmax over {query} e\^\(?([^\s)]+)\)? ÷ (\S+) = (\S+)", softmax)
        assert found, softmax
        assert math.exp(float(found[1])) / float(found[2]) == pytest.approx(
            weight, rel=2e-3 + 5e-4 * abs(own - largest)
        )
        assert found[3] == percent(weight)
