"""The live page of a state-space layer: it says that the weights are effective ones, as Python does."""

from dataclasses import replace

import torch

from page.live_records import document, labels, views
from page.test_live_numbers import READ
from regard.inspection import LayerRecord, Record, SeenLayer, story_of
from regard.inspection.record.effective import Effective, Gated, StateSpace, split_sums
from regard.inspection.views.facts import sentence
from regard.page.messages import say


def record() -> Record:
    """Five words, to which two layers of two heads give effective weights."""
    found = labels()
    torch.manual_seed(2)
    made = []
    for number in (1, 2):
        query, key = split_sums(torch.rand(1, 2, 5))
        part = StateSpace(torch.randn(1, 1, 5, 4), torch.randn(1, 1, 5, 4), -torch.rand(2, 1), torch.tensor([0, 0]))
        value, rows = torch.randn(1, 2, 5, 3), torch.arange(0)
        call = SeenLayer(
            *("mixer", "chunk_scan", query, key, value, "dot", Effective(), "causal", part, 0.0, rows, value[:, :, :0]),
            after=Gated(torch.zeros(2)),
        )
        made.append(LayerRecord(f"layer {number}", (call,)))
    assert found.outcomes is not None
    return replace(found, layers=tuple(made), outcomes=replace(found.outcomes, removed=()))


def test_the_page_says_that_weights_are_effective(live):
    made = record()
    page, hashes = live(document(made)), dict(views(made))
    found = page.evaluate(READ, list(hashes))
    for each, given in zip(found, hashes.values(), strict=True):
        told = story_of(made, **given)
        assert each["sentence"] == told.sentence
        assert "Its largest effective weight is that of" in told.sentence
    in_chinese = page.evaluate(READ, [each.replace("lang=en", "lang=zh") for each in hashes])
    assert [each["sentence"] for each in in_chinese] == [
        sentence(made, story_of(made, **given), "zh") for given in hashes.values()
    ]
    page.evaluate(READ, list(hashes)[:1])
    assert page.locator(".compared thead th").nth(1).text_content() == f"{say('effective')}, by head"
    said = page.locator("body").inner_text()
    assert say("effectiveMeans") in said
    assert say("aboutEffective") in said
    assert say("about") not in said
