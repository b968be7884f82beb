"""Each warning where there is reason for it, and none where there is not."""

from types import SimpleNamespace

import pytest
import torch

from regard.datasets import BinaryLabels, Example
from regard.inputs import Bytes, Graph
from regard.tasks import TASKS, Evaluation
from regard.tasks.judging import model_warnings as warned
from regard.tasks.judging.evaluation import evaluate_labels
from regard.tasks.judging.measure import ACCURACY
from regard.tasks.seq2seq.target import TextTarget
from regard.tasks.sources import Graphs, Words
from regard.tasks.targets import Label, MultiLabel

GOOD = [Example("x", label) for label in ("yes", "no") * 150]
DONE = [{"epoch": epoch, "best": 0.9, "best_epoch": 3} for epoch in range(1, 11)]


def model_warnings(model, examples, dev, score, rows, test=None):
    """With the splits and the scores by name."""
    scores = {"dev": score} if test is None else {"dev": score, "test": test[1]}
    splits = {"train": examples, "dev": dev} | ({} if test is None else {"test": test[0]})
    return warned.model_warnings(model, splits, scores, rows)


def model(kind="classifier", target=Label(("no", "yes")), said=None, source=Words()):  # noqa: B008, as they are frozen
    """What a warning asks of a model."""
    written = [None if each is None else SimpleNamespace(text=each) for each in said or ()]
    return SimpleNamespace(
        task=TASKS[kind],
        recipe=SimpleNamespace(input=source, keep_epoch=None),
        target=target if said is None else TextTarget(Bytes(), rate=1.0),
        measure=ACCURACY,
        write=lambda sources: written[: len(sources)],
    )


def judged(score, **more):
    return Evaluation("accuracy", score, None, "", 300, **more)


def test_a_good_model_has_none():
    assert model_warnings(model(), GOOD, GOOD, judged(0.9), DONE) == []
    assert model_warnings(model("seq2seq", said=["a", "b"]), GOOD, GOOD[:40], judged(30.0), DONE) == []


@pytest.mark.parametrize(
    ("examples", "dev", "score", "said"),
    [
        (GOOD[:150], GOOD, judged(0.9), "It was trained on 150 examples: with fewer than 200, scores vary"),
        (GOOD[::2], GOOD[::2], judged(1.0), "All training examples have the label yes, so it can predict no other."),
        (
            GOOD,
            GOOD[:3],
            judged(2 / 3),
            "It is no better than always predicting yes, which is right for 66.67% of dev.",
        ),
        (
            GOOD,
            [*GOOD, Example("x", "maybe")] * 2,
            judged(0.9),
            "No training example has the label maybe, but 0.33% of dev have it",
        ),
        ([Example("x", 1.0)] * 300, GOOD, judged(0.9, r2=-0.1), "It is no better than always predicting the mean."),
    ],
)
def test_a_classifier(examples, dev, score, said):
    (found,) = (each for each in model_warnings(model(), examples, dev, score, DONE) if said in each)
    assert found.endswith(".")


def test_of_test_it_is_told_too():
    few = [Example("x", label) for label in ("yes", "no", "no", "no")]
    chance = Evaluation("accuracy", 0.75, (0.3, 0.95), "", 4)
    (found,) = model_warnings(model(), GOOD, GOOD, judged(0.9), DONE, (few[1:], judged(0.0)))
    assert found == "It is no better than always predicting yes, which is right for 0.00% of test."
    found, *_ = model_warnings(model(), [*GOOD, *few], GOOD, judged(0.9), DONE, (few, chance))
    assert found == "It is no better than always predicting no, which is right for 75.00% of test."
    lucky = Evaluation("accuracy", 1.0, (0.5, 1.0), "", 4)
    found, *_ = model_warnings(model(), [*GOOD, *few], GOOD, judged(0.9), DONE, (few, lucky))
    assert "always predicting no for 75.00%: 4 are too few to say that it is better." in found


def test_a_test_that_is_clearly_below_dev_is_told():
    best = Evaluation("accuracy", 0.9, (0.86, 0.93), "", 300)
    worse = Evaluation("accuracy", 0.6, (0.55, 0.65), "", 300)
    (found,) = model_warnings(model(), GOOD, GOOD, best, DONE, (GOOD, worse))
    assert found.startswith("It does worse on test than on dev (60.00 %, 90.00 %)")
    within = Evaluation("accuracy", 0.88, (0.84, 0.92), "", 300)
    assert not model_warnings(model(), GOOD, GOOD, best, DONE, (GOOD, within))
    # One of a few that is wrong: each lies within the interval of the other, or of one of them.
    few, one = Evaluation("accuracy", 1.0, (0.82, 1.0), "", 18), Evaluation("accuracy", 0.95, (0.77, 0.99), "", 21)
    assert not model_warnings(model(), GOOD, GOOD, few, DONE, (GOOD, one))


def test_empty_texts_are_counted():
    (found,) = model_warnings(model(), [*GOOD, Example("  ", "yes")], GOOD, judged(0.9), DONE)
    assert found == "1 training text was empty and left out."


def test_several_questions():
    examples = [Example("x", BinaryLabels((1, 0), ("a", "b")))] * 300
    (found,) = model_warnings(model(target=MultiLabel(("x", "y"))), examples, examples, judged(0.5), DONE)
    assert "no better than guessing" in found
    assert not model_warnings(model(target=MultiLabel(("x", "y"))), examples, examples, judged(0.7), DONE)


def test_the_items_of_a_tagger_count():
    examples = [Example("x", ("a", "b", None, "a"))] * 80
    scores = evaluate_labels([["a", "b", "a"]], [["a", "a", "a"]])
    (found,) = model_warnings(model("tagger"), examples, examples, scores, DONE)
    assert found == "It is no better than always predicting a, which is right for 66.67% of dev."
    assert "on 9 items" in model_warnings(model("tagger"), examples[:3], examples, scores, DONE)[-1]


def test_neighbours_with_other_labels_are_told():
    ends = torch.arange(40)
    ring = Graph(torch.ones(40, 1), torch.stack([ends, ends.roll(1)]))
    examples, alike = [(ring, ["a", "b"] * 20)], [(ring, ["a"] * 20 + ["b"] * 20)]
    scores = evaluate_labels([["a", "b", "b"]], [["a", "b", "b"]])
    said = (
        "Of 40 pairs of neighbours in training, 0 % have the same label, and 50 % would by chance: a node's neighbours "
        "may say little about it."
    )
    assert said in model_warnings(model("tagger", source=Graphs()), examples, examples, scores, DONE)
    found = model_warnings(model("tagger", source=Graphs()), alike, alike, scores, DONE)
    assert not any("neighbours" in each for each in found)


@pytest.mark.parametrize(
    ("said", "doubt"),
    [
        (["", None], ["It writes nothing for any source of dev."]),
        (["a", "a"], ["It writes the same for every source of dev: 'a'."]),
        (["a", ""], []),
    ],
)
def test_a_writer(said, doubt):
    assert model_warnings(model("seq2seq", said=said), GOOD, GOOD[:40], judged(1.0), DONE) == doubt


@pytest.mark.parametrize(("last", "improving"), [(0.92, False), (0.95, True)])
def test_still_improving(last, improving):
    """From 0.925 after four fifths: 2 % of that is what counts."""
    rows = [{"epoch": epoch, "best": 0.925, "best_epoch": 8} for epoch in range(1, 10)]
    rows.append({"epoch": 10, "best": max(last, 0.925), "best_epoch": 10 if last > 0.925 else 8})
    found = model_warnings(model(), GOOD, GOOD, judged(0.9), rows)
    assert [("still improved" in each) for each in found] == [True] * improving
    rows[-1] = {"epoch": 10, "best": 0.93, "best_epoch": 10}
    assert model_warnings(model(), GOOD, GOOD, judged(0.9), rows) == []


def test_a_dev_that_is_too_small_to_choose_by_is_told():
    said = "Dev has 2 examples, too few to choose an epoch by: another dev may choose another one."
    assert said in model_warnings(model(), GOOD, GOOD[:2], judged(0.5), DONE)
    kept = model()
    kept.recipe.keep_epoch = 3  # chosen on the training examples
    assert said not in model_warnings(kept, GOOD, GOOD[:2], judged(0.5), DONE)
