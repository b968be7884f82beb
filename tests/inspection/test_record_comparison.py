"""What differs between two records: sentences worked by hand, numbers against NumPy, and what is left out."""

import math

import numpy as np
import pytest
import torch

from regard.errors import ArgumentError
from regard.inspection import (
    LayerRecord,
    Outcome,
    Outcomes,
    Place,
    Record,
    comparison,
    comparison_of,
    live_page,
    save_page,
)
from regard.inspection.explain.alignment import align
from regard.inspection.explain.head_differences import head_differences
from regard.page import Page, as_html, as_text


def record(
    words, row, labels, hidden=None, *, kind="labels", form="item", heads=1, layers=1, queries=None, model="toy"
):
    """A record whose weights of each query are `row`; labels: (label, probability) of each place."""
    words = tuple(words.split())
    texts = words if queries is None else tuple(queries.split())
    weights = torch.tensor(row).expand(heads, len(texts), len(words)).contiguous()
    places = tuple(Place(text, place, *labels[place]) for place, text in enumerate(texts))
    outcomes = Outcomes(kind, form, places, tuple(tuple(each) for each in hidden or ()))
    made = tuple(LayerRecord.of_weights(f"layer {number}", weights, "softmax") for number in range(1, layers + 1))
    return Record(words, layers=made, model=model, queries=queries and texts, noun="word", outcomes=outcomes)


def changes(*numbers):
    """One row for each item: by how much the answer at both places changes."""
    return [[Outcome("DET", 0.5, 0.0), Outcome("VERB", 0.5, each)] for each in numbers]


A = record("a saw", [0.75, 0.25], [("DET", 0.9), ("NOUN", 0.8)], changes(-0.75, 0.0))
B = record("a saw", [0.25, 0.75], [("DET", 0.9), ("VERB", 0.61)], changes(-0.125, 0.875))


def test_the_sentence_by_hand():
    # The own item of "saw", whose effect differs more, isn't told.
    assert comparison_of(A, B).sentence == (
        'For "saw", A gives NOUN 80%, B gives VERB 61%. The weight on "a" differs most: 75% in A, 25% in B. '
        'Hiding "a" changes the answer in A alone: NOUN (80%) becomes VERB (50%).'
    )


def of_saw(score, *hidden):
    """A record in which "saw" is NOUN, and what it is if one of the words is hidden, with the change of NOUN."""
    same = [Outcome("DET", 0.9, 0.0), Outcome("ADJ", 0.9, 0.0)]
    rows = [[*same, Outcome(*each)] for each in (*hidden, ("NOUN", score, 0.0))]
    return record("a big saw", [0.5, 0.25, 0.25], [("DET", 0.9), ("ADJ", 0.9), ("NOUN", score)], rows)


def test_another_answer_on_one_side_comes_before_a_larger_difference_of_the_same_answer():
    one = of_saw(0.8, ("NOUN", 0.1, -0.7), ("NOUN", 0.7, -0.1))
    other = of_saw(0.6, ("NOUN", 0.5, -0.1), ("VERB", 0.9, -0.55))
    said = 'Hiding "big" changes the answer in {} alone: NOUN (60%) becomes VERB (90%).'
    assert comparison_of(one, other, query=3).sentence.endswith(said.format("B"))
    assert comparison_of(other, one, query=3).sentence.endswith(said.format("A"))
    # On both sides it is no difference between them.
    both = of_saw(0.8, ("NOUN", 0.1, -0.7), ("VERB", 0.7, -0.6))
    assert 'The effect of hiding "a" differs most' in comparison_of(both, other, query=3).sentence


def test_what_changes_the_answer_in_both_is_named_beside_what_does_in_one():
    one = of_saw(0.8, ("VERB", 0.5, -0.75), ("NOUN", 0.7, -0.1))
    other = of_saw(0.6, ("VERB", 0.7, -0.55), ("VERB", 0.9, -0.55))
    told = comparison_of(one, other, query=3).sentence
    assert told.endswith('in B alone: NOUN (60%) becomes VERB (90%). Hiding "a" does so in both.')


@pytest.mark.parametrize(("count", "told"), [(1, '"0"'), (2, '"0" and "1"'), (3, '"0", "1" and "2"'), (4, None)])
def test_several_that_change_it_in_both_are_named_up_to_three(count, told):
    words = " ".join(map(str, range(6)))
    one, other = (
        record(
            words,
            [1 / 6] * 6,
            [("X", 0.75)] * 6,
            [[Outcome("Y" if row < count + alone else "X", 0.5, -0.5)] * 6 for row in range(6)],
        )
        for alone in (0, 1)
    )
    sentence = comparison_of(one, other, query=6).sentence
    end = f'Hiding "{count}" changes the answer in B alone: X (75%) becomes Y (50%).'
    assert sentence.endswith(end if told is None else f"{end} Hiding {told} does so in both.")


def whole(label, score, kind="labels", weights=(0.5, 0.5)):
    layer = LayerRecord.of_weights("layer 1", torch.tensor([[list(weights)] * 2]))
    outcomes = Outcomes(kind, "item", (Place("the whole", None, label, score),))
    return Record(("a", "b"), layers=(layer,), outcomes=outcomes)


SENTENCES = {
    "the same answer": (
        whole("good", 0.9),
        whole("good", 0.6, weights=(0.75, 0.25)),
        'Both give good: 90% in A, 60% in B. The weight on "a" differs most: 50% in A, 75% in B.',
    ),
    "the same weights": (
        whole("good", 0.9),
        whole("bad", 0.6),
        "A gives good 90%, B gives bad 60%. The weights are the same.",
    ),
    "numbers": (
        whole("4.25", None, "numbers"),
        whole("3.5", None, "numbers", (0.504, 0.496)),
        "A gives 4.25, B gives 3.5. No weight differs by more than a percentage point.",
    ),
    "vectors": (
        whole("", None, "vectors"),
        whole("", None, "vectors"),
        "Both give a vector. The weights are the same.",
    ),
    "different kinds": (
        whole("good", 0.9),
        whole("4.25", None, "numbers"),
        "A gives good 90%, B gives 4.25. The weights are the same.",
    ),
    "what comes next": (
        record("a saw", [0.5, 0.5], [(" saw", 0.5), (" film", 0.25)], form="next"),
        record("a saw", [0.5, 0.5], [(" saw", 0.5), (".", 0.75)], form="next"),
        'After "saw", A gives "film" 25%, B gives "." 75%. The weights are the same.',
    ),
    "what was written": (
        record("ein Mann", [0.5, 0.5], [("a", 0.5), ("man", 0.9)], form="generated", queries="a man"),
        record("ein Mann", [0.5, 0.5], [("a", 0.5), ("one", 0.6)], form="generated", queries="a one"),
        'A wrote "man" 90%, B wrote "one" 60%. The weights are the same.',
    ),
    "a word replaced": (
        record("a saw", [0.5, 0.5], [("DET", 0.5), ("NOUN", 0.75)]),
        record("a cat", [0.125, 0.875], [("DET", 0.5), ("NOUN", 0.25)]),
        'For "saw" / "cat", both give NOUN: 75% in A, 25% in B. The weight on "a" differs most: 50% in A, 12% in B.',
    ),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_other_sentences_by_hand(name):
    first, second, expected = SENTENCES[name]
    assert comparison_of(first, second).sentence == expected


def test_the_default_is_the_answer_that_differs_most():
    assert comparison_of(A, B).places == (1, 1)
    closer = record("a saw", [0.5, 0.5], [("DET", 0.5), ("NOUN", 0.75)])
    assert comparison_of(A, closer).places == (0, 0)
    # Where none differs it is that of the record's own story.
    assert comparison_of(A, A).places == (1, 1)
    assert comparison_of(A, B, query=1).places == (0, 0)


def test_a_word_without_a_partner():
    longer = record("a big saw", [0.5, 0.25, 0.25], [("DET", 0.9), ("ADJ", 0.7), ("NOUN", 0.8)])
    found = comparison_of(longer, A, query=2)
    assert found.sentence == "The chosen item of A has no partner in B."
    assert found.places == (1, None)
    assert found.left_out[0] == "1 word of A has no partner, so the difference leaves it out."
    found = comparison_of(longer, A)
    assert [each.name for each in found.items] == ["a", "big", "saw"]
    assert [each.difference for each in found.items] == [0.25, None, 0.0]
    text = as_text(comparison(longer, A), width=100)
    assert [line.split()[1:4] for line in text.splitlines() if line.startswith("big")] == [["25%", "no", "partner"]]


def test_heads_differ_by_the_weight_that_is_on_other_items():
    torch.manual_seed(0)
    first, second = (torch.rand(3, 5, 5).softmax(-1) for _ in range(2))
    made = [Record(tuple("abcde"), layers=(LayerRecord.of_weights("1", each),)) for each in (first, second)]
    expected = 0.5 * np.abs(first.numpy().astype(float) - second.numpy()).sum(-1).mean(-1)
    (found,) = head_differences(*made, align(*made))
    assert found == pytest.approx(expected.tolist(), abs=1e-9)
    # Of the fourth query there is no partner, and the weight on its key is elsewhere as a whole.
    shorter = second[:, [0, 1, 2, 4]][:, :, [0, 1, 2, 4]]
    other = Record(tuple("abce"), layers=(LayerRecord.of_weights("1", shorter),))
    (found,) = head_differences(made[0], other, align(made[0], other))
    a, b, kept = first.numpy().astype(float), shorter.numpy().astype(float), [0, 1, 2, 4]
    rows = np.abs(a[:, kept][:, :, kept] - b).sum(-1) + a[:, kept, 3]
    assert found == pytest.approx((rows / 2).mean(-1).tolist(), abs=1e-9)


def test_many_rows_are_taken_evenly(monkeypatch):
    torch.manual_seed(0)
    first, second = (torch.rand(1, 100, 100).softmax(-1) for _ in range(2))
    items = tuple(map(str, range(100)))
    made = [Record(items, layers=(LayerRecord.of_weights("1", each),)) for each in (first, second)]
    monkeypatch.setattr("regard.inspection.explain.head_differences._MOST_WEIGHTS", 2000)
    every = np.abs(first.numpy().astype(float) - second.numpy())[0].sum(-1) / 2
    assert head_differences(*made, align(*made))[0] == pytest.approx([every[::5].mean()], abs=1e-9)


def test_what_is_left_out_is_said():
    deep = record("a saw", [0.5, 0.5], [("DET", 0.9), ("NOUN", 0.8)], layers=3, heads=2)
    assert comparison_of(A, deep).left_out == (
        "A has 1 layer and B 3. Layers and heads are compared by their numbers.",
        "What mattered wasn't measured in B.",
    )
    assert [(each.layer, each.head) for each in comparison_of(A, deep).heads] == [(1, 1)]
    number = record("a saw", [0.5, 0.5], [("1", None), ("2", None)], kind="numbers")
    assert comparison_of(deep, number, layer=3).stories[1] is None
    assert "A predicts labels and B numbers, so their effects aren't compared." in comparison_of(A, number).left_out
    written = record("a saw", [0.5, 0.5], [("x", 0.5)], form="generated", queries="x")
    found = comparison_of(A, written)
    assert found.left_out[0].startswith("In one record the items attend to each other, in the other what is written")
    assert found.sentence == 'For "saw" / "x", A gives NOUN 80%, B gives "x" 50%.'
    assert {each.difference for each in found.items} == {None}
    assert all(math.isnan(each.difference) for each in found.heads)


def test_a_record_without_predictions_is_compared_by_its_weights():
    bare = [Record(each.items, layers=each.layers, model=name) for each, name in ((A, "before"), (B, "after"))]
    found = comparison_of(*bare)
    assert found.sentence.endswith('The weight on "a" differs most: 75% in A, 25% in B.')
    with pytest.raises(ArgumentError, match="`second` must be a record with attention, but has none"):
        comparison_of(bare[0], Record(("a",)))


def test_the_still_page_has_both_and_the_difference(tmp_path):
    text = live_page(A, ("before", "after"), against=B)
    for part in ("A: before", "B: after", "larger in B", "-50 points", "+50 points"):
        assert part in text
    save_page(A, tmp_path / "both.html", against=B)
    assert (tmp_path / "both.html").stat().st_size > 10_000
    with pytest.raises(ArgumentError, match="`records` must be one record with `against`, but are 2"):
        live_page([A, B], against=B)
    with pytest.raises(ArgumentError, match="`titles` must be 2 names, one for each record, but are 1"):
        live_page(A, ("before",), against=B)


def test_names_of_a_comparison():
    page = comparison(A, B)
    assert isinstance(page, Page)
    # The same model: the texts tell them apart.
    assert "A: a saw (layer 1 of 1, head 1 of 1)" in as_text(page, width=100)
    other = record("a saw", [0.5, 0.5], [("DET", 0.9), ("NOUN", 0.8)], model="trained")
    assert "B: trained (layer 1" in as_text(comparison(A, other), width=100)
    assert "<script>" not in as_html(comparison(A, B, ("<script>", "b")))
