"""The simple baselines: each against what can be worked out by hand, for every kind of source and of target."""

import dataclasses
import json

import numpy as np
import pytest
import torch
from source_cases import CASES, TARGETS, case_of

from regard.errors import MissingExtraError
from regard.inputs import Graph
from regard.tasks import Experiment, Splits
from regard.tasks.baselines import fit_baseline
from regard.tasks.baselines.affixes import AffixRules
from regard.tasks.baselines.features import ItemStatistics, TextFeatures
from regard.tasks.baselines.graphs import GraphCounts
from regard.tasks.baselines.letters import LetterRules
from regard.tasks.baselines.neighbours import Resampled
from regard.tasks.baselines.pairs import PairsBaseline
from regard.tasks.baselines.series import RandomConvolutions
from regard.tasks.baselines.sources import SourceBaseline
from regard.tasks.baselines.words import CountingTagger
from regard.tasks.seq2seq.settings import Seq2SeqSettings
from regard.tasks.sources import Vectors
from regard.tasks.targets import Label, MultiLabel, Regression
from tasks.toys import BY_HEART, SAWS, tiny, untrained

NUMBERS = [1.0, 2.0, 8.0, 9.0]
ANSWERS = [(1, 0), (1, None), (0, 0), (0, None)]


@pytest.mark.parametrize("kind", CASES)
def test_every_kind_of_source_has_a_baseline_that_tells_its_two_classes(kind):
    source, sources, _ = case_of(kind)
    many = [(each, target) for each, target in zip(sources, TARGETS, strict=True) for _ in range(4)]
    model = untrained(source, sources, TARGETS)
    fitted = fit_baseline(model, many, {"dev": many, "test": many[:4]})
    assert fitted.score == 1.0
    assert set(fitted.evaluations) == {"dev", "test"}
    assert fitted.name in fitted.describe()
    assert "100.00 % on dev" in fitted.describe()


@pytest.mark.parametrize("kind", CASES)
def test_it_answers_questions_and_predicts_numbers(kind):
    source, sources, _ = case_of(kind)
    pairs = [*zip(sources, ANSWERS, strict=True)] * 4
    # The second question has one answer in training, or none, so that nothing can be ranked by it.
    model = untrained(source, sources, ANSWERS)
    assert fit_baseline(model, pairs, {"dev": pairs}).score == 1.0
    assert fit_baseline(model, [(each, (answer, None)) for each, (answer, _) in pairs], {"dev": pairs}).score == 1.0
    pairs = [*zip(sources, NUMBERS, strict=True)] * 4
    spread = Regression.fit(NUMBERS).spread
    assert fit_baseline(untrained(source, sources, NUMBERS), pairs, {"dev": pairs}).score < 0.7 * spread


@pytest.mark.parametrize("kind", [kind for kind in CASES if kind != "texts"])
def test_a_tagger_of_any_items_has_a_baseline(kind):
    source, sources, _ = case_of(kind)
    model = untrained(source, sources, None, task={"kind": "tagger"})
    if source.of_words:
        sources = [each.split() for each in sources]
    pairs = [
        (each, [label] * len(source.item(model.encoder, each))) for each, label in zip(sources, "aabb", strict=True)
    ]
    fitted = fit_baseline(model, pairs, {"dev": pairs})
    assert fitted.score > 0.5
    assert fitted.evaluations["dev"].examples == sum(len(labels) for _, labels in pairs)


def test_an_unknown_target_is_neither_fitted_nor_judged():
    baseline = SourceBaseline(TextFeatures(), Label(("no", "yes")))
    baseline.fit([("good", "yes"), ("poor", "no"), ("good good", None)])
    scores = baseline.evaluate([("good", "yes"), ("poor", None), ("good", "no")])
    assert (scores.score, scores.examples, scores.calibration) == (0.5, 2, None)


def test_a_single_label_is_predicted_for_all():
    baseline = SourceBaseline(TextFeatures(), Label(("yes",)))
    baseline.fit([("good", "yes"), ("poor", "yes")])
    assert baseline.evaluate([("good", "yes"), ("new", "other")]).score == 0.5


def test_probabilities_rank_what_is_asked():
    baseline = SourceBaseline(TextFeatures(), MultiLabel(("good", "long")))
    texts = [
        (f"{word} {'very ' * long}film", (int(word == "good"), long)) for word in ("good", "bad") for long in (0, 1)
    ]
    baseline.fit(texts * 2)
    assert baseline.evaluate(texts).score == 1.0


def test_a_script_without_spaces_is_read_by_characters():
    features = TextFeatures()
    features.fit_transform(["房间很好", "房间很差"])
    assert features.transform(["好"])[0].multiply(features.transform(["很好吃"])[0]).sum() > 0


def test_convolutions_find_a_bump_wherever_it_stands_in_series_of_any_length():
    def series(place, length, height):
        found = np.zeros((length, 1), np.float32)
        found[place : place + 3] = height
        return found

    shapes = [(place, length) for length in (30, 41, 58) for place in range(2, length - 6, 5)]
    pairs = [
        (series(place, length, height), label)
        for place, length in shapes
        for height, label in ((2, "up"), (-2, "down"))
    ]
    source = Vectors()
    baseline = SourceBaseline(
        RandomConvolutions(source, source.fit([each for each, _ in pairs])), Label(("down", "up"))
    )
    baseline.fit(pairs[::2] + pairs[1::4])
    unseen = [(series(7, 47, 2), "up"), (series(38, 47, -2), "down"), (series(0, 80, 2), "up")]
    assert baseline.evaluate(unseen).score == 1.0
    # An empty series is a row of features like any other: mean, spread, and two of each kernel.
    (row,) = baseline._features.transform([np.zeros((0, 1), np.float32)])
    assert row.shape == (2 + 2 * 1000,)
    assert np.isfinite(row).all()


def test_counts_of_a_graph_by_hand():
    # A triangle with a tail, a loop that isn't counted, and labels as one-hot vectors.
    edges = torch.tensor([[0, 1, 1, 2, 2, 0, 2, 3, 3], [1, 0, 2, 1, 0, 2, 3, 2, 3]])
    graph = Graph(torch.eye(2)[[0, 0, 1, 1]], edges)
    source = CASES["graphs"][0]
    (counts,) = GraphCounts(source.fit([graph])).transform([graph])
    labels, shares, degrees = counts[:2], counts[2:4], counts[4:20]
    assert (labels.tolist(), shares.tolist()) == ([2, 2], [0.5, 0.5])
    assert degrees.tolist() == [0, 1, 2, 1, *[0] * 12]
    assert counts[-4:-2].tolist() == [4, 8]


def test_the_counting_tagger_by_hand():
    tagger = CountingTagger()
    tagger.fit([(["the", "saw"], ["DET", "NOUN"]), (["I", "saw"], ["PRON", "VERB"]), (["saw"], ["VERB"])])
    assert tagger.tag(["the", "saw"]) == ["DET", "NOUN"]
    assert tagger.tag(["saw"]) == ["VERB"]
    # Both words that end in "aw" say VERB more often; nothing is known of "xyz", so the most frequent label.
    assert tagger.tag(["claw", "xyz"]) == ["VERB", "VERB"]
    tagger.fit([(["b1"], ["NUM"]), (["c2"], ["NUM"])])
    assert tagger.tag(["q7"]) == ["NUM"]
    # One word is too few to say what its suffix means.
    tagger.fit([(["zig"], ["X"])])
    assert tagger.tag(["zig", "wig"]) == ["X", "VERB"]
    assert tagger.evaluate([(["the", "saw"], ["DET", None])]).examples == 1


# The vectors of a batch of words are as wide as its word of the most n-grams.
@pytest.mark.parametrize("kind", [kind for kind in CASES if kind != "words"])
def test_a_kind_that_gives_no_features_of_its_own_has_statistics_of_its_vectors(kind):
    source, sources, _ = case_of(kind)
    encoder = source.fit(sources)
    rows = ItemStatistics(source, encoder).fit_transform(sources)
    width = source.batch(encoder, [source.item(encoder, sources[0])]).vectors.shape[-1]
    assert rows.shape == (len(sources), 8 * width)
    assert np.isfinite(rows).all()


@pytest.mark.parametrize("kind", CASES)
def test_one_example_is_enough(kind):
    source, sources, _ = case_of(kind)
    for target in ("first", 2.0, (1, 0)):
        pairs = [(sources[0], target)]
        assert fit_baseline(untrained(source, sources, [target] * 2), pairs, {"dev": pairs}) is not None


def test_of_long_texts_the_beginnings_are_read_and_of_many_some():
    features = TextFeatures()
    assert features.most(["a" * 100] * 10) == 50_000
    assert features.most(["a" * 10**6] * 5_000) == 2_500
    features.fit_transform(["good", "bad"])
    assert features.transform(["x" * 3_000 + " good"]).sum() == 0


def test_what_the_model_leaves_out_is_not_judged():
    pairs = [("good", "yes"), ("poor", "no")] * 4
    model = untrained(CASES["words"][0], [source for source, _ in pairs], ["yes", "no"])
    fitted = fit_baseline(model, pairs, {"dev": [*pairs, ("", "yes"), (" ", "no")]})
    assert (fitted.score, fitted.evaluations["dev"].examples) == (1.0, 8)


def test_rules_or_the_most_similar_source_as_the_training_examples_say():
    inflected = [(stem, f"{stem}ed") for stem in ("walk", "talk", "jump", "look", "pull", "push", "want", "need")]
    rules = PairsBaseline(Seq2SeqSettings(measure="word error rate"))
    rules.fit(inflected)
    assert (rules.name, rules.write(["call", ["fill"]])) == ("rules of affixes", ["called", "filled"])
    rules.fit([(f"{stem}y", f"{stem}ied") for stem in ("tr", "cr", "fl", "appl", "repl", "carr", "marr", "stud")])
    assert rules.write(["dry"]) == ["dried"]
    phrases = [
        (f"{word} {thing}", f"{other} X")
        for word, other in (("big", "gross"), ("small", "klein"))
        for thing in "abcdefgh"
    ]
    similar = PairsBaseline(Seq2SeqSettings(measure="word error rate"))
    similar.fit(phrases)
    assert (similar.name, similar.write(["small z"])) == ("the text of the most similar source", ["klein X"])


def test_an_experiment_keeps_it_in_the_card_and_tells_when_it_is_better(tmp_path):
    weak = tiny(**{**BY_HEART, "epochs": 1, "learning_rate": 1e-6})
    trained = Experiment(weak, Splits(SAWS, SAWS[:2], SAWS[2:]), tmp_path / "out").run(final=True, progress="none")
    assert trained.baseline.score > trained.evaluations["dev"].score
    assert trained.warnings[0].startswith(
        "The baseline, counts of words and suffixes, is better than the model on dev: "
    )
    saved = json.loads((tmp_path / "out" / "model" / "model.json").read_text(encoding="utf-8"))["about"]
    assert saved["baseline"]["name"] == "counts of words and suffixes"
    assert set(saved["baseline"]["scores"]) == {"dev", "test"}
    assert saved["warnings"][0] == trained.warnings[0]
    card = (tmp_path / "out" / "model" / "README.md").read_text(encoding="utf-8")
    assert "the simple baseline, counts of words and suffixes, trained on the same examples: " in card
    # What is resumed without test keeps the score on test.
    again = Experiment(weak, Splits(SAWS, SAWS[:2]), tmp_path / "out").run(resume=True, progress="none")
    assert set(again.model.about["baseline"]["scores"]) == {"dev", "test"}


def test_it_is_left_out_where_it_is_not_asked_for():
    trained = Experiment(tiny(epochs=1), Splits(SAWS, SAWS)).run(baseline=False, progress="none")
    assert trained.baseline is None
    assert "baseline" not in trained.model.about


def test_a_better_model_has_no_such_warning():
    pairs = [("good", "yes"), ("poor", "no")] * 4
    fitted = fit_baseline(untrained(CASES["words"][0], ["good", "poor"], ["yes", "no"]), pairs, {"dev": pairs})
    dev = fitted.evaluations["dev"]
    assert fitted.warning(dev) is None
    worse = fitted.warning(dataclasses.replace(dev, score=0.5))
    assert worse.startswith(
        f"The baseline, {fitted.name}, is better than the model on dev: accuracy 100.00 % against 50.00 %. "
    )
    errors = dataclasses.replace(fitted, measure=Regression.measure)
    assert errors.warning(dataclasses.replace(dev, score=0.5)) is None
    assert errors.warning(dataclasses.replace(dev, score=2.0)) is not None


def test_a_fault_of_it_loses_neither_the_model_nor_its_scores(tmp_path, monkeypatch):
    seen = []

    def broken(model, train, splits, **_):
        saved = json.loads((tmp_path / "out" / "model" / "model.json").read_text(encoding="utf-8"))
        seen.append(saved["about"]["scores"]["dev"]["score"])
        raise error

    monkeypatch.setattr("regard.tasks.experiment.fit_baseline", broken)
    experiment = Experiment(tiny(epochs=1), Splits(SAWS, SAWS[:2]), tmp_path / "out")
    for error in (ZeroDivisionError("by nought"), MissingExtraError("sklearn", extra="train")):
        trained = experiment.run(resume=bool(seen), progress="none")
        assert seen[-1] == trained.evaluations["dev"].score
        assert trained.baseline is None
        said = "ZeroDivisionError: by nought" if isinstance(error, ZeroDivisionError) else str(error)
        assert trained.warnings[-1] == f"No baseline stands beside the score: {said}"
        card = (tmp_path / "out" / "model" / "README.md").read_text(encoding="utf-8")
        assert f"**Warning:** No baseline stands beside the score: {said}" in card
    error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        experiment.run(resume=True, progress="none")


def test_long_work_is_announced_and_the_verdict_says_which_is_better():
    pairs = [("good", "yes"), ("poor", "no")] * 500
    model, said = untrained(CASES["words"][0], ["good", "poor"], ["yes", "no"]), []
    fitted = fit_baseline(model, pairs, {"dev": pairs[:8]}, note=said.append)
    assert said == [f"The baseline, {fitted.name}, is fitted to the same examples, too."]
    fit_baseline(model, pairs[:8], {"dev": pairs[:8]}, note=said.append)
    assert len(said) == 1
    dev = fitted.evaluations["dev"]
    assert fitted.verdict(dev).endswith(" on dev. The model is as good.")
    worse = fitted.verdict(dataclasses.replace(dev, score=0.5, interval=(0.3, 0.7)))
    assert worse.endswith("It is better than the model, which has 50.00 %: `regard compare` tries other recipes.")
    low = dataclasses.replace(fitted, evaluations={"dev": dataclasses.replace(dev, score=0.25)})
    assert low.verdict(dev).endswith("accuracy 25.00 % on dev. The model is better: 100.00 %.")
    unsure = dataclasses.replace(dev, interval=(0.2, 1.0))
    assert low.verdict(unsure).endswith("100.00 %. On 8 examples, so small a difference may be chance.")
    assert low.verdict(dataclasses.replace(unsure, sources=1)).endswith(
        "On 1 example, so small a difference may be chance."
    )
    assert low.verdict(dataclasses.replace(dev, interval=(0.3, 1.0))).endswith("The model is better: 100.00 %.")


def test_rules_of_affixes_read_what_stands_beside_the_stem():
    stems = ["walk", "talk", "jump", "call", "pull", "look", "cook", "milk", "fill", "turn"]
    ends = {"PST": "ed", "3SG": "s", "GER": "ing", "INF": ""}
    for form in ("{stem} V;{tag}", "V;{tag} {stem}", "{stem}|{tag}"):
        rules = AffixRules([(form.format(stem=stem, tag=tag), stem + ends[tag]) for stem in stems for tag in ends])
        assert rules.write([form.format(stem="book", tag=tag) for tag in ends]) == [
            "booked",
            "books",
            "booking",
            "book",
        ]
    # A front that changes, as in German participles.
    rules = AffixRules([(f"{stem}en", f"ge{stem}t") for stem in ("mach", "lach", "koch", "such", "wein")])
    assert rules.write(["brauchen"]) == ["gebraucht"]
    assert AffixRules([("a", "b")]).write(["", "a"]) == ["", "b"]


def test_rules_of_letters_by_hand():
    words = {"cat": "K AE T", "tack": "T AE K", "at": "AE T", "cot": "K AA T", "phone": "F OW N", "phat": "F AE T"}
    rules = LetterRules([*words.items()] * 3)
    assert rules.write(words) == [*words.values()]
    assert rules.write(["coat", "", "phot"])[1:] == ["", "F AA T"]
    # Texts of characters; a letter that was never seen stands for itself.
    spelled = LetterRules([("ab", "xy"), ("ba", "yx"), ("aab", "xxy"), ("b", "y")])
    assert spelled.write(["abba", "aq"]) == ["xyyx", "xq"]
    # A text that is too long to align counts for nothing.
    assert LetterRules([("a", "x y z"), ("ab", "x y"), ("ba", "y x")]).write(["abb"]) == ["x y y"]


def test_pairs_are_written_by_rules_of_letters_where_these_are_best():
    generator = np.random.default_rng(0)
    sources = ["".join(generator.choice([*"abcdef"], size)) for size in generator.integers(3, 9, 200)]
    baseline = PairsBaseline(Seq2SeqSettings(measure="word error rate"))
    baseline.fit([(source, " ".join(source.upper())) for source in sources])
    assert (baseline.name, baseline.write(["fade"])) == ("rules of letters", ["F A D E"])


def test_of_the_baselines_of_series_the_better_by_cross_validation_is_taken():
    source, generator = Vectors(), np.random.default_rng(0)
    # Each class has its bump at another place, to which the shares and the largest outputs of kernels are blind.
    pairs = []
    for place in (15, 25, 35, 45) * 10:
        series = generator.standard_normal((60, 1)).astype(np.float32) / 3
        series[place : place + 4] += 3
        pairs.append((series, str(place)))
    target = Label(tuple(sorted({label for _, label in pairs})))
    baseline = SourceBaseline(RandomConvolutions(source, source.fit([each for each, _ in pairs])), target)
    baseline.fit(pairs)
    assert baseline.name == "the nearest neighbour"
    assert baseline.evaluate(pairs).score == 1.0


def test_the_nearest_neighbour_reads_series_of_other_lengths():
    source = Vectors()
    series = [np.linspace(0, end, size, dtype=np.float32)[:, None] for end, size in ((1, 9), (5, 7), (1, 4))]
    features = Resampled(source, source.fit(series))
    rows = features.fit_transform(series)
    assert rows.shape == (3, 9)
    assert rows[0] == pytest.approx(rows[2])
    assert features.transform([np.zeros((0, 1), np.float32)]).shape == (1, 9)
