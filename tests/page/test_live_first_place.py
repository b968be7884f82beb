"""A translation is shown first at a word that tells something: that which changes most, or that with a large weight."""

import pytest
import torch

import regard
from page.live_records import document
from regard.inspection import LayerRecord, Outcome, Outcomes, Place, Record, comparison_of, live_page, story_of
from regard.inspection.figures.shown import shown_of

WRITTEN = ("A", "dog", ",", "(end)")
# The largest weights are those of a comma and of the end.
WEIGHTS = torch.tensor([[[0.5, 0.5], [0.2, 0.8], [0.1, 0.9], [0.0, 1.0]]])


def translation(written=WRITTEN, hidden=(), chosen=None, weights=WEIGHTS):
    layer = LayerRecord.of_weights("layer 1", weights, "softmax")
    places = tuple(Place(text, number, text, 0.9) for number, text in enumerate(written))
    outcomes = Outcomes("labels", "generated", places, hidden, chosen=chosen)
    return Record(("ein", "Hund"), layers=(layer,), model="toy", queries=written, noun="piece", outcomes=outcomes)


def shown(record):
    return record.outcomes.places[story_of(record).number].name


def test_without_effects_it_is_the_word_with_the_largest_weight():
    assert shown(translation()) == "dog"
    assert shown(translation(chosen=0)) == "A"
    # Of punctuation alone one is shown, and never the end while something comes before it.
    assert shown(translation((".", "!", ",", "(end)"))) == "."
    assert shown(translation(("(end)",), weights=WEIGHTS[:, :1])) == "(end)"
    assert shown(translation(weights=WEIGHTS * torch.nan)) == "A"


def test_with_effects_it_is_the_word_that_changes_most():
    stays, changes = Outcome("x", 0.9, 0.0), Outcome("x", 0.4, -0.5)
    assert shown(translation(hidden=((changes, stays, stays, stays), (stays, stays, stays, stays)))) == "A"


def test_labels_without_effects_are_shown_from_the_first_one():
    record = regard.load("english-pos").see(["I", "saw", "it"], effects=False)
    assert story_of(record).number == 0


@pytest.mark.parametrize("effects", [False, True])
def test_terminal_page_figure_and_comparison_show_the_same_word(live, effects):
    record = regard.load("german-english").see("ein Mann in einem roten Hemd .", effects=effects)
    told = story_of(record)
    assert told.place.name == ("red" if effects else "shirt")
    assert shown_of(record, None, None, None).number == told.number
    assert comparison_of(record, record).places == (told.number, told.number)
    page = live(live_page(record, ["shirt"]))
    assert page.locator(".chips .selected .text").inner_text() == told.place.name
    assert page.locator(".sentence").inner_text().startswith(told.sentence.split(". ")[0])


def test_the_page_of_a_written_text_begins_there_too(live):
    assert live(document(translation())).locator(".chips .selected .text").inner_text() == "dog"


def test_the_end_of_a_text_is_not_shown_first_even_if_it_changes_most():
    stays, little, most = (Outcome("x", 0.9 + change, change) for change in (0.0, -0.02, -0.7))
    # No word changes much: it is the one with the largest weight. One that changes much comes before that.
    assert shown(translation(hidden=((little, stays, most, most), (stays,) * 4))) == "dog"
    assert shown(translation(("3", "7", "9", "(end)"), hidden=((little, stays, stays, most), (stays,) * 4))) == "9"
    assert shown(translation(("3", "7", "9", "(end)"), hidden=((most, stays, stays, most), (stays,) * 4))) == "3"


def tagged(words, labels, scores, hidden=()):
    layer = LayerRecord.of_weights("layer 1", torch.full((1, len(words), len(words)), 1 / len(words)), "softmax")
    places = tuple(Place(word, i, *each) for i, (word, *each) in enumerate(zip(words, labels, scores, strict=True)))
    outcomes = Outcomes("labels", "item", places, hidden)
    return Record(tuple(words), layers=(layer,), model="toy", noun="word", outcomes=outcomes)


def test_a_mark_is_shown_first_only_if_there_is_no_word():
    stays, most = Outcome("X", 0.9, 0.0), Outcome("X", 0.2, -0.7)
    hidden = ((stays, stays, most), (stays, stays, most), (stays,) * 3)
    assert shown(tagged(("Oh", "no", "!"), "XXX", (0.9,) * 3, hidden)) == "Oh"
    assert shown(tagged(("-", ".", "!"), "XXX", (0.9,) * 3, hidden)) == "!"
    assert shown(tagged(("¡", "no", "!"), "XXX", (0.9,) * 3)) == "no"


@pytest.mark.parametrize(
    ("labels", "scores", "place"),
    [
        # The full stop has another answer, but so has a word, or a word differs by more than a percentage.
        ("DVP", (0.9, 0.5, 0.9), 1),
        ("DNP", (0.9, 0.5, 0.9), 1),
        ("DNP", (0.9, 0.9, 0.9), 2),  # nothing but the full stop differs
        ("DN.", (0.905, 0.901, 0.9), 0),  # nothing differs, and "a" is the first word
    ],
)
def test_a_comparison_begins_at_a_word_that_differs(labels, scores, place):
    first = tagged(("a", "saw", "."), "DN.", (0.9,) * 3)
    assert comparison_of(first, tagged(("a", "saw", "."), labels, scores)).places == (place, place)
