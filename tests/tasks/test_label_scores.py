import numpy as np
import pytest

from regard.errors import ArgumentError
from regard.tasks.judging.evaluation import evaluate_labels


def test_by_hand():
    true = [["A", "A", "B"], [], ["B", "C"]]
    given = [["A", "B", "B"], [], ["B", "A"]]
    scores = evaluate_labels(true, given, seen=[[True, False, True], [], [True, False]])
    assert scores.accuracy == pytest.approx(3 / 5)
    # What holds nothing isn't judged.
    assert (scores.examples, scores.sources) == (5, 2)
    # Two sentences are too few to draw from.
    assert "Wilson score interval over sentences" in scores.method
    assert scores.labels["A"].precision == pytest.approx(1 / 2)
    assert scores.labels["A"].recall == pytest.approx(1 / 2)
    assert scores.labels["B"].precision == pytest.approx(2 / 3)
    assert scores.labels["B"].recall == 1.0
    assert scores.labels["C"].f1 == 0.0
    assert scores.macro_f1 == pytest.approx((1 / 2 + 4 / 5 + 0) / 3)
    assert scores.confusions == (("A", "B", 1), ("C", "A", 1))
    assert (scores.out_of_vocabulary, scores.out_of_vocabulary_accuracy) == (2, 0.0)
    assert list(scores.labels) == ["A", "B", "C"]


@pytest.mark.slow
def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    draw = np.random.default_rng(3)
    covered = 0
    for _ in range(101):
        right = draw.random((173, 7)) < 0.9
        given = [["A" if good else "B" for good in row] for row in right]
        low, high = evaluate_labels([["A"] * 7] * 173, given).interval
        covered += low <= 0.9 <= high
    assert 90 <= covered <= 100


def test_the_interval_is_the_same_every_time_and_widens_with_fewer_sentences():
    true, given = [["A", "B"]] * 40, [["A", "B"], ["A", "A"]] * 20
    low, high = evaluate_labels(true, given).interval
    assert (low, high) == evaluate_labels(true, given).interval
    few_low, few_high = evaluate_labels(true[:12], given[:12]).interval
    assert few_high - few_low > high - low > 0


def test_of_a_single_source_the_items_are_counted():
    draw = np.random.default_rng(5)
    covered = 0
    for _ in range(101):
        given = [["A" if good else "B" for good in draw.random(173) < 0.9], []]
        scores = evaluate_labels([["A"] * 173, []], given, called=("sources", "items"))
        low, high = scores.interval
        assert low < scores.accuracy < high
        assert scores.method == "95 % Wilson score interval over items"
        covered += low <= 0.9 <= high
    assert 90 <= covered <= 100
    assert "over sources" in evaluate_labels([["A"], ["A"]], [["A"], ["B"]], called=("sources", "items")).method


def test_labels_that_training_never_had_are_wrong():
    scores = evaluate_labels([["NEW"]], [["A"]])
    assert scores.accuracy == 0.0
    assert set(scores.labels) == {"NEW"}


def test_nothing_to_judge():
    with pytest.raises(ArgumentError, match="at least one word to evaluate"):
        evaluate_labels([[]], [[]])
    with pytest.raises(ArgumentError, match="one label for each word"):
        evaluate_labels([["A"]], [["A", "A"]])
