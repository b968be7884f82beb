"""Classifiers: toys of every kind of target and of several kinds of network, saved, loaded, judged, refused."""

import dataclasses
import json

import numpy as np
import pytest
import torch

from regard import Recipe, load, train
from regard.errors import ArgumentError
from regard.tasks import Classifier
from regard.tasks.classifier.data import ClassifierData
from regard.tasks.sources import Texts, Words

# What counts is which word comes first, so a bag of words can't tell.
TEXTS = ["good not bad", "bad not good", "good and bad", "bad and good", "not good", "not bad"]
LABELS = ["yes", "no", "yes", "no", "maybe", "maybe"]
WORDS = Words(features={"minimum_count": 1}, word_dropout=0.0, embedding_dropout=0.0)
RECIPE = Recipe(
    task={"kind": "classifier"},
    input=WORDS,
    width=16,
    heads=2,
    hidden=16,
    dropout=0.0,
    attention_dropout=0.0,
    epochs=80,
    patience=80,
    learning_rate=0.01,
)
# By heart in fewer updates; where attention and pooling have to find each other, Muon needs fewest.
SURE = {"optimizer": "muon", "epochs": 35, "learning_rate": 0.05}
QUICK = {"layers": 1, "epochs": 50, "learning_rate": 0.03}


def fit(pairs, **changes):
    recipe = dataclasses.replace(RECIPE, **changes)
    return train(pairs, pairs, recipe=recipe, progress="none", device="cpu")


@pytest.fixture(scope="module")
def by_heart():
    """A model of the labels, of the usual network and pooling; who reads it leaves it as it is."""
    return fit(list(zip(TEXTS, LABELS, strict=True)), **SURE)


@pytest.mark.parametrize(
    "network", ["attention", "convolution_attention", "window", "convolution", "recurrent", "bidirectional"]
)
def test_labels_are_learned_by_heart(network, by_heart):
    pairs = list(zip(TEXTS, LABELS, strict=True))
    model = by_heart if network == RECIPE.network else fit(pairs, **QUICK, network=network)
    assert [label for label, _ in model.classify(TEXTS)] == LABELS
    assert model.evaluate(pairs).score == 1.0
    assert model.evaluate(pairs).confusions == ()


@pytest.mark.slow
@pytest.mark.parametrize("pooling", ["mean", "max", "attention", "class"])
def test_every_pooling(pooling, by_heart):
    pairs, task = list(zip(TEXTS, LABELS, strict=True)), {"kind": "classifier", "pooling": pooling}
    model = (
        by_heart if pooling == RECIPE.task.pooling else fit(pairs, **(QUICK if pooling == "max" else SURE), task=task)
    )
    assert [label for label, _ in model.classify(TEXTS)] == LABELS


def test_agreement_counts_beside_being_right_and_asks_no_answer():
    pairs = [("good film", "yes"), ("bad film", "no"), ("some film", None)]
    recipe = dataclasses.replace(RECIPE, consistency=0.5, dropout=0.3)
    objective = ClassifierData(recipe, pairs, pairs, None).objective()
    batch = objective.dataset.batch([0, 1, 2])
    torch.manual_seed(0)
    own, agreement = objective.loss(batch).terms
    assert (own.items, agreement.items) == (2, 3)
    torch.manual_seed(0)
    given = torch.stack([objective.network(batch.sources) for _ in range(4)])
    assert not torch.equal(given[0], given[1])
    answer = objective.answers[0]
    losses = [answer.loss(each, batch.targets[0], 0.0)[0].item() for each in given]
    assert own.mean.item() == pytest.approx(sum(losses) / 4)
    assert agreement.mean.item() == pytest.approx(0.5 * answer.disagreement(given).item())
    # Nothing is dropped: the drawings are one, and only making up its mind is left to learn.
    objective.eval()
    assert objective.loss(batch).terms[1].mean.item() == pytest.approx(
        0.5 * answer.disagreement(objective.network(batch.sources)[None]).item()
    )


def test_a_run_of_several_answers_that_agree_goes_on_with_the_same_bits(tmp_path):
    recipe, pairs, auxiliary = helped(
        ["yes", None, "yes", "no", "maybe", "maybe"], epochs=4, dropout=0.2, consistency=1.0
    )
    options = {"auxiliary": auxiliary, "progress": "none", "device": "cpu"}
    _stopped(recipe, pairs, tmp_path, options)
    changed = options | {"auxiliary": auxiliary | {"first": ["b"] * 6}}
    with pytest.raises(ArgumentError, match="the auxiliary labels 'first' are not those it began with"):
        train(pairs, pairs, recipe=recipe, out=tmp_path / "run", resume=True, **changed)


@pytest.mark.slow
@pytest.mark.parametrize("vocabulary", ["words", "characters", "bytes"])
def test_texts_of_every_vocabulary(vocabulary):
    pairs = list(zip(TEXTS, LABELS, strict=True))
    model = fit(pairs, input=Texts(vocabulary=vocabulary, piece_dropout=0.0), **QUICK)
    assert [label for label, _ in model.classify(TEXTS)] == LABELS


def test_several_questions_with_missing_answers():
    targets = [(1, 0), (0, None), (1, None), (0, 1), (None, 1), (None, None)]
    model = fit(list(zip(TEXTS, targets, strict=True)), **QUICK)
    given = model.classify(TEXTS)
    for question, name in enumerate(("1", "2")):
        yes, no = (
            [each[name] for each, target in zip(given, targets, strict=True) if target[question] == wanted]
            for wanted in (1, 0)
        )
        assert min(yes) > max(no)
    judged = model.evaluate(list(zip(TEXTS, targets, strict=True)))
    assert (judged.measure, judged.score, judged.macro_f1) == ("mean ROC-AUC", 1.0, None)


@pytest.mark.parametrize("kind", [float, np.float32, np.int64])
def test_numbers(kind):
    targets = [kind(len(text)) for text in TEXTS]
    pairs = list(zip(TEXTS, targets, strict=True))
    model = fit(pairs, **QUICK)
    judged = model.evaluate(pairs)
    assert judged.measure == "RMSE"
    assert judged.score < 0.5
    assert model.classify(TEXTS) == pytest.approx(targets, abs=1.0)


@pytest.mark.parametrize("targets", [LABELS, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [(1,), (0,), (1,), (0,), (1,), (0,)]])
def test_saved_and_loaded_it_answers_alike(tmp_path, targets):
    model = fit(list(zip(TEXTS, targets, strict=True)), epochs=2)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert isinstance(loaded, Classifier)
    assert loaded.classify(TEXTS) == model.classify(TEXTS)
    assert (loaded.recipe, loaded.target, loaded.about) == (model.recipe, model.target, model.about)
    assert "A classifier: " in (tmp_path / "model" / "README.md").read_text(encoding="utf-8")


def test_one_by_one_as_together():
    model = fit(list(zip(TEXTS, LABELS, strict=True)), epochs=2)
    together = model.classify([*TEXTS, ""])
    assert together[-1] is None
    for text, (label, share) in zip(TEXTS, together, strict=False):
        alone = model.classify([text])[0]
        assert alone[0] == label
        assert alone[1] == pytest.approx(share, abs=1e-5)


def test_a_resumed_run_ends_with_the_same_bits(tmp_path):
    pairs = list(zip(TEXTS, LABELS, strict=True))
    recipe = dataclasses.replace(RECIPE, epochs=4)
    options = {"progress": "none", "device": "cpu"}
    _stopped(recipe, pairs, tmp_path, options)
    changed = [("another text", "yes"), *pairs[1:]]
    with pytest.raises(ArgumentError, match="the training examples are not those it began with"):
        train(changed, pairs, recipe=recipe, resume=True, out=tmp_path / "run", **options)


def _stopped(recipe, pairs, folder, options):
    """Train at once, and stopped and gone on with: the weights must be the same."""
    train(pairs, pairs, recipe=recipe, out=folder / "whole", **options)
    short = {"out": folder / "run", **options}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regard.tasks.training.loop.Loop.train_epoch", _stop_at(2))
        with pytest.raises(RuntimeError, match="stopped"):
            train(pairs, pairs, recipe=recipe, **short)
    train(pairs, pairs, recipe=recipe, resume=True, **short)
    weights = [(folder / name / "model" / "model.safetensors").read_bytes() for name in ("whole", "run")]
    assert weights[0] == weights[1]


def _stop_at(epoch):
    from regard.tasks.training.loop import Loop

    start = Loop.train_epoch

    def stop(self, number):
        if number == epoch:
            raise RuntimeError("stopped")
        return start(self, number)

    return stop


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        (None, r"`examples` must be a list of \(source, target\) pairs, but is None"),
        ([], "`examples` must hold at least one example"),
        (["good"], r"`examples\[0\]` must be a pair \(source, target\), but is 'good'"),
        ([("good", None)], "`examples` must hold a target that is known, but holds none"),
        (
            [("good", b"a")],
            r"the target of `examples\[0\]` must be a label, a number, a list of 1, 0 and None, or None",
        ),
        ([("good", "a"), ("bad", 1.0)], "the targets of `examples` must be of one kind, but are 'a' and 1.0"),
        ([("good", (1,)), ("bad", (1, 0))], "must answer the same questions"),
        ([("", "a")], "`examples` must hold at least one source that isn't empty"),
        ([(3, "a")], "a source must be a text or a list of words, but is 3"),
        ([("good", float("nan"))], "must be finite numbers"),
    ],
)
def test_what_can_not_be_learned_from(examples, message):
    with pytest.raises(ArgumentError, match=message):
        train(examples, examples or [("good", "a")], recipe=RECIPE, progress="none", device="cpu")


def test_dev_of_another_kind():
    with pytest.raises(ArgumentError, match=r"`dev` must have targets like `examples`, but has 1\.0"):
        train([("good", "a")], [("bad", None), ("good", 1.0)], recipe=RECIPE, progress="none", device="cpu")


BESIDE = {"length": [float(len(text)) for text in TEXTS], "first": [*"gbgb", None, None], "both": [(1, None), None] * 3}


def helped(targets=LABELS, auxiliary=BESIDE, **changes):
    recipe = dataclasses.replace(
        RECIPE, task={"kind": "classifier", "auxiliary": dict.fromkeys(BESIDE, 0.5)}, **changes
    )
    return recipe, list(zip(TEXTS, targets, strict=True)), auxiliary


def test_auxiliary_answers_of_every_kind_are_learned_beside_and_not_kept():
    recipe, pairs, auxiliary = helped(epochs=3)
    options = {"progress": "none", "device": "cpu"}
    model = train(pairs, pairs, recipe=recipe, auxiliary=auxiliary, **options)
    plain = fit(pairs, epochs=3)
    assert model.classify(TEXTS) != plain.classify(TEXTS)
    assert set(model.network.state_dict()) == set(plain.network.state_dict())
    assert model.target.names == plain.target.names
    # Another auxiliary answer is other training.
    other = train(pairs, pairs, recipe=recipe, auxiliary=auxiliary | {"first": [None, *"bgb", None, "g"]}, **options)
    assert other.classify(TEXTS) != model.classify(TEXTS)


def test_the_loss_adds_up_each_answer_by_its_share():
    objective = ClassifierData(*helped()[:2], helped()[1], BESIDE).objective().eval()
    batch = objective.dataset.batch(range(len(TEXTS)))
    own, length, first, both = objective.loss(batch).terms
    assert [term.items for term in (own, length, first, both)] == [6, 6, 4, 3]
    features = objective.network.features(batch.sources)
    for place, term in ((1, length), (2, first), (3, both)):
        given = objective.auxiliary[0][place - 1](features)
        assert term.mean.item() == pytest.approx(
            0.5 * objective.answers[place].loss(given, batch.targets[place], 0.0)[0].item()
        )


def test_of_an_unknown_target_the_auxiliary_answers_are_learned():
    targets = ["yes", None, "yes", "no", None, "maybe"]
    objective = ClassifierData(*helped(targets)[:2], [("good", "yes")], BESIDE).objective()
    assert len(objective.dataset.lengths) == 6
    assert objective.loss(objective.dataset.batch([0, 1, 4])).terms[0].items == 1
    # Where nothing is known of a source, it is as if it weren't there.
    pairs = list(zip(TEXTS, targets, strict=True))
    known = [pair for pair in pairs if pair[1] is not None]
    recipe = dataclasses.replace(RECIPE, epochs=3)
    options = {"progress": "none", "device": "cpu"}
    both = [train(each, known, recipe=recipe, **options).network.state_dict() for each in (pairs, known)]
    assert all(torch.equal(one, other) for one, other in zip(*(each.values() for each in both), strict=True))
    assert fit(pairs, epochs=1).evaluate(pairs).examples == 4


def test_several_answers_may_all_be_unknown():
    targets = [(1, 0), None, (0, 1), None, (1, 1), (0, 0)]
    model = fit(list(zip(TEXTS, targets, strict=True)), epochs=1)
    assert model.evaluate(list(zip(TEXTS, targets, strict=True))).examples == 4


@pytest.mark.parametrize(
    ("auxiliary", "message"),
    [
        (None, r"`auxiliary` must have the labels of \['length', 'first', 'both'\], .* but has those of \[\]"),
        (BESIDE | {"x": []}, r"but has those of \['length', 'first', 'both', 'x'\]"),
        (
            BESIDE | {"length": [1.0]},
            r"`auxiliary\['length'\]` must have a target for each of the 6 `examples`, but has 1",
        ),
        (BESIDE | {"length": "abcdef"}, r"`auxiliary\['length'\]` must be a list of targets, but is the text"),
        (BESIDE | {"length": [None] * 6}, r"`auxiliary\['length'\]` must hold a target that is known"),
        (BESIDE | {"length": [1.0, "a"] * 3}, r"the targets of `auxiliary\['length'\]` must be of one kind"),
        (BESIDE | {"length": [{}] * 6}, r"the target of `auxiliary\['length'\]\[0\]` must be a label"),
        (BESIDE | {"length": [float("nan")] * 6}, r"`auxiliary\['length'\]` must be finite numbers"),
        (BESIDE | {"both": [(1, 0), (1,)] * 3}, r"`auxiliary\['both'\]` must answer the same questions"),
        (BESIDE | {"both": [(None, None)] * 6}, r"`auxiliary\['both'\]` must hold a target that is known"),
        (["length"], r"`auxiliary` must be a dict from names to targets, but is \['length'\]"),
    ],
)
def test_auxiliary_answers_that_do_not_fit(auxiliary, message):
    recipe, pairs, _ = helped()
    with pytest.raises(ArgumentError, match=message):
        train(pairs, pairs, recipe=recipe, auxiliary=auxiliary, progress="none", device="cpu")


def test_what_to_do_without_auxiliary_answers_can_be_done():
    recipe, pairs, _ = helped(epochs=1)
    recipe = dataclasses.replace(recipe, task=dataclasses.replace(recipe.task, pooling="mean"))
    with pytest.raises(ArgumentError) as caught:
        train(pairs, pairs, recipe=recipe, progress="none", device="cpu")
    advice = str(caught.value).split(": ")[-1].rstrip(".")
    without = eval(advice, {"dataclasses": dataclasses, "recipe": recipe})
    assert (without.task.kind, without.task.pooling, without.task.auxiliary) == ("classifier", "mean", {})
    train(pairs, pairs, recipe=without, progress="none", device="cpu")


@pytest.mark.parametrize("known", ["yes", 2.0, (1, 0)])
def test_what_is_known_of_empty_sources_alone_teaches_and_judges_nothing(known):
    pairs, empty = [("good", known), ("bad", known)], [("", known), ("good", None)]
    with pytest.raises(ArgumentError, match="`dev` must hold a target that is known, but holds none"):
        train(pairs, empty, recipe=RECIPE, progress="none", device="cpu")
    with pytest.raises(ArgumentError, match="`examples` must hold a target that is known, but holds none"):
        train(empty, pairs, recipe=dataclasses.replace(RECIPE, consistency=1.0), progress="none", device="cpu")


def test_a_run_begun_before_there_was_a_setting_goes_on(tmp_path):
    recipe, pairs, auxiliary = helped(epochs=3)
    options = {"auxiliary": auxiliary, "progress": "none", "device": "cpu"}
    train(pairs, pairs, recipe=recipe, out=tmp_path / "run", **options)
    begun = json.loads((tmp_path / "run" / "run.json").read_text())
    assert begun["recipe"].pop("consistency") == 0.0
    (tmp_path / "run" / "run.json").write_text(json.dumps(begun))
    assert train(pairs, pairs, recipe=recipe, out=tmp_path / "run", resume=True, **options).recipe == recipe
    other = dataclasses.replace(recipe, consistency=1.0)
    with pytest.raises(ArgumentError, match=r"recipe `consistency` was 0\.0, is 1\.0"):
        train(pairs, pairs, recipe=other, out=tmp_path / "run", resume=True, **options)


def test_other_data_are_told_whatever_an_auxiliary_answer_is_called(tmp_path):
    recipe = dataclasses.replace(RECIPE, task={"kind": "classifier", "auxiliary": {"dev": 1.0}}, epochs=1)
    pairs = list(zip(TEXTS, LABELS, strict=True))
    options = {"auxiliary": {"dev": LABELS}, "progress": "none", "device": "cpu", "out": tmp_path / "run"}
    train(pairs, pairs, recipe=recipe, **options)
    with pytest.raises(ArgumentError, match="the dev examples are not those it began with"):
        train(pairs, pairs[1:], recipe=recipe, resume=True, **options)


def test_what_can_not_be_classified():
    model = fit(list(zip(TEXTS, LABELS, strict=True)), epochs=1)
    with pytest.raises(ArgumentError, match="a source must be a text or a list of words, but is 3"):
        model.classify([3])
    with pytest.raises(ArgumentError, match="`sources` must be a list of sources, but is the text 'good'"):
        model.classify("good")
    with pytest.raises(ArgumentError, match="holds none"):
        model.evaluate([("", "yes")])
    assert model.classify([]) == []


OTHERS = {
    "labels": ["yes", "no"],
    "other labels": ["si", "no way"],
    "numbers": [0.0, 1.0],
    "two questions": [(1, 0), (0, 1)],
    "three questions": [(1, 0, 1), (0, 1, 0)],
    "nothing known": [None, None],
    "no answer": [(None, None), (None, None)],
    "no number": [float("nan"), float("nan")],
}


@pytest.mark.parametrize(
    ("learned", "message"),
    [
        (
            "labels",
            r"labels that occur in training \(no, yes\), but|must be a label or None, but|a target that is known",
        ),
        ("numbers", "must be a number of float32 or None, but|must hold a target that is known"),
        ("two questions", "as many answers as training had questions, 2, each|must hold a target that is known"),
    ],
)
def test_targets_of_another_kind_are_refused_and_not_called_wrong(learned, message):
    model = fit(list(zip(TEXTS, OTHERS[learned], strict=False)), epochs=1)
    assert model.evaluate(list(zip(TEXTS, OTHERS[learned], strict=False))).examples == 2
    for name, targets in OTHERS.items():
        if name != learned:
            with pytest.raises(ArgumentError, match=message):
                model.evaluate(list(zip(TEXTS, targets, strict=False)))


def test_what_is_known_of_empty_sources_alone_is_nothing_to_judge():
    model = fit(list(zip(TEXTS, LABELS, strict=True)), epochs=1)
    with pytest.raises(ArgumentError, match="must hold a target that is known"):
        model.evaluate([("", "yes"), ("good", None)])
    judged = model.evaluate([("", "yes"), ("good", "yes"), ("bad", "new"), ("bad", None)])
    assert (judged.examples, judged.empty) == (2, 1)


@pytest.mark.parametrize(
    ("targets", "dev", "message"),
    [
        ([(1, 0), (0, 1)], [(1, 0, 1)], r"`dev\[0\]` must be a list of as many answers .*, 2, .* but is \(1, 0, 1\)"),
        ([(1, 0), (0, 1)], [(None, None)], "`dev` must hold a target that is known"),
        ([(None, None)], [(1, 0)], "`examples` must hold a target that is known"),
        ([1.0, 2.0], [float("nan")], r"`dev\[0\]` must be a number of float32 or None, but is nan"),
        (["yes", "no"], ["si"], r"`dev` must have labels that occur in training \(no, yes\), but has none .* 'si'"),
    ],
)
def test_dev_that_nothing_learned_can_be_judged_by(targets, dev, message):
    examples, dev = (list(zip(TEXTS, each, strict=False)) for each in (targets, dev))
    with pytest.raises(ArgumentError, match=message):
        train(examples, dev, recipe=RECIPE, progress="none", device="cpu")


def test_a_long_text_is_classified_whole():
    model = fit(list(zip(TEXTS, LABELS, strict=True)), epochs=1)
    long = "good " * 3000
    (first, share), (_, other) = model.classify([long + "bad " * 900, long + "not " * 900])
    assert first in LABELS
    assert share != other
