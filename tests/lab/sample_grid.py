"""A comparison that takes seconds: a tag depends on the neighbour alone, so that one candidate can't learn it."""

import itertools

from regard.tasks import Recipe

WORDS = "abcd"
VARY = {"network": ["attention"]}
RECIPE = Recipe(
    network="connected",
    width=8,
    heads=2,
    hidden=8,
    layers=1,
    dropout=0.0,
    attention_dropout=0.0,
    epochs=8,
    patience=50,
    batch_items=16,
    learning_rate=0.03,
    reach=1,
    input={"word_width": 8, "affix_width": 0, "word_dropout": 0.0, "features": {"minimum_count": 1, "ngram_ids": 16}},
)
"""Its network sees each word alone."""


def sentences(times=1):
    """All sentences of two words; each word is tagged with whether the other one is a or b."""
    found = [((first, second), (_tag(second), _tag(first))) for first, second in itertools.product(WORDS, repeat=2)]
    return found * times


def _tag(word):
    return "yes" if word in "ab" else "no"


TEST = [(("a", "c"), ("no", "yes")), (("b", "b"), ("yes", "yes")), (("d", "a"), ("yes", "no"))]
