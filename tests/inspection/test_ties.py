"""The sentence where the largest numbers read the same, or where no effect can be seen: in English and in Chinese."""

import pytest

from page.tied_records import TIED
from regard.inspection import story_of
from regard.inspection.views.facts import sentence


@pytest.mark.parametrize("name", TIED)
def test_no_one_of_several_is_called_the_most(name):
    record, english, chinese = TIED[name]
    told = story_of(record)
    assert told.sentence == english
    assert sentence(record, told, "zh") == chinese


def test_attribution_names_both_too():
    record, *_ = TIED["two weights"]
    assert 'By rollout, it took most from "a" and "b" (40% each)' in story_of(record, attribution="rollout").sentence
