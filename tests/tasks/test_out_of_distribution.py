"""A source unlike those that a model was made for is told; one like them isn't."""

import warnings

import numpy as np
import pytest
import torch
from toys import generated, tiny, untrained

from regard import load, train
from regard.datasets import read
from regard.errors import OutOfDistribution
from regard.inputs import split_words
from regard.tasks.judging.out_of_distribution import Statistic, Threshold, saved_thresholds, thresholds_of
from regard.tasks.sources import Molecules, Texts, Words

GERMAN = [
    "Ich sehe eine große Säge im Wald.",
    "Zwei Männer spielen im Park Fußball.",
    "Die Regierung hat gestern beschlossen, die Steuern zu senken.",
    "Der Film war sehr langweilig und schlecht gespielt.",
]
ENGLISH = [
    "I saw a saw.",
    "Two men are playing football in the park.",
    "The government decided yesterday to lower taxes.",
    "She said that she would come back tomorrow.",
]


def told(model, sources) -> list[bool]:
    """Of each source, whether it is told to be unlike."""
    found = []
    for source in sources:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.predict([source])
        found.append(any(issubclass(each.category, OutOfDistribution) for each in caught))
    return found


def of(amount: float, size: float = 1) -> Statistic:
    return Statistic("statistic", amount, size, "")


def test_what_is_usual_is_worked_out_by_hand():
    usual = Threshold.fit([of(1, 4), of(0, 4), of(2, 4), of(1, 4)])
    assert usual.rate == 0.25
    above = [0.0, -0.5, 0.5, 0.0]
    assert [usual.above(of(amount, 4)) for amount in (1, 0, 2, 1)] == above
    limit = np.quantile(above, 0.995)
    assert usual.limit == pytest.approx(limit + (limit - 0.0) / 2)
    assert not usual.exceeded(of(2, 4))
    assert usual.exceeded(of(3, 4))
    # Ten times as many parts of which as large a share is odd are surer.
    assert usual.exceeded(of(20, 40))


def test_where_nothing_is_known_it_is_beyond_it_unless_dev_is_so_too():
    nothing = of(2, 2)._replace(always=True)
    assert Threshold(0.1, 9.0).exceeded(nothing)
    assert not Threshold(1.0, 9.0).exceeded(nothing)


def test_one_in_two_hundred_of_dev_is_beyond_it():
    generator = np.random.default_rng(0)
    seen = [of(generator.binomial(size, 0.1), size) for size in generator.integers(1, 40, 10_000).tolist()]
    usual = Threshold.fit(seen)
    assert 0.002 < np.mean([usual.exceeded(each) for each in seen]) < 0.006


@pytest.mark.parametrize(
    "saved", [None, 3, {"a": 1}, {"a": {"rate": "x", "limit": 1}}, {"a": {"rate": float("nan"), "limit": 1}}]
)
def test_what_is_not_of_that_form_says_nothing(saved):
    assert saved_thresholds(saved) == {}


def test_what_is_saved_is_read():
    saved = thresholds_of([(of(1, 2),), (), (of(0, 3), Statistic("other", 5, 1, ""))])
    assert saved_thresholds(saved) == {
        name: Threshold(**{**values, "moments": tuple(values["moments"])}) for name, values in saved.items()
    }
    assert {*saved} == {"statistic", "other"}


@pytest.mark.parametrize(
    ("name", "own", "other"),
    [("english-pos", ENGLISH, GERMAN), ("english-sentiment", ENGLISH, GERMAN), ("german-english", GERMAN, ENGLISH)],
)
def test_another_language_is_told(name, own, other):
    model = load(name)
    # Of the four in the other language one may look like this one.
    assert sum(told(model, other)) >= 3
    assert not any(told(model, own))


@pytest.mark.parametrize("name", ["chinese-pos", "chinese-segmentation", "chinese-sentiment", "chinese-english"])
def test_another_script_is_told_with_the_way_to_convert(name):
    model = load(name)
    traditional, simplified = "這個房間很乾淨，服務也好。", "这个房间很干净，服务也好。"
    assert model.script == "simplified"
    assert (model.other_script(traditional), model.other_script([*traditional])) == ("traditional", "traditional")
    assert model.other_script(simplified) is None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.predict([traditional])
    said = [str(each.message) for each in caught if issubclass(each.category, OutOfDistribution)]
    # Once: that its words are unknown, too, follows from it.
    assert len(said) == 1
    assert f"is in traditional characters, but {name} was trained on simplified ones" in said[0]
    assert "--script simplified; from Python: regard.inputs.convert_script(text, 'simplified')." in said[0]


def test_a_model_knows_the_script_that_it_was_trained_on():
    texts = {"traditional": ["讀書", "寫東西"], "simplified": ["读书", "写东西"]}
    both = [text for own in texts.values() for text in own]
    for own in (Texts("characters", size=64), Words(features={"minimum_count": 1})):
        for script, other in (("traditional", "simplified"), ("simplified", "traditional")):
            model = untrained(own, texts[script])
            assert model.script == script
            assert model.other_script(texts[other][0]) == other
            assert model.other_script(texts[script][0]) is None
        mixed = untrained(own, both)
        assert mixed.script is None
        assert [mixed.other_script(text) for text in both] == [None] * 4
    assert untrained(Texts("bytes"), ["a", "b"]).script is None
    assert load("english-pos").other_script("讀書") is None
    assert load("written-digit").other_script(torch.zeros(28, 28, 1)) is None


def test_an_empty_or_inverted_picture_is_told():
    seven = torch.zeros(28, 28, 1)
    seven[6:8, 7:20] = 1.0
    for row in range(8, 23):
        seven[row, 20 - (row - 6) // 2 : 22 - (row - 6) // 2] = 1.0
    model = load("written-digit")
    assert told(model, [seven, 1 - seven, torch.full((1, 1, 1), 0.8), torch.zeros(28, 28, 1)]) == [
        False,
        True,
        True,
        True,
    ]


def test_a_trained_model_knows_its_dev_and_evaluate_is_silent():
    sentences = generated(60)
    model = train(sentences, generated(30), recipe=tiny(epochs=1), progress="none", device="cpu")
    assert model.about["training"]["out_of_distribution"].keys() == {"unknown words"}
    # All words of dev are known: one that isn't may be a name.
    assert told(model, [[*sentences[0][0], "zzz"], sentences[0][0]]) == [False, False]
    assert told(model, [["zzz"], ["zzz", "yyy"]]) == [False, True]
    strangers = [f"zzz{n}" for n in range(12)]
    assert told(model, [strangers]) == [True]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.evaluate([(strangers, ["NOUN"] * 12)])
    with pytest.warns(OutOfDistribution, match="12 of its 12 words are unknown to it"):
        list(model.look([strangers]))


def test_english_of_other_places_is_seldom_told(real_data):
    """Reviews of films, for a tagger of blogs and letters: at most one in thirty."""
    model = load("english-pos")
    texts = [each.source for each in read("sst2", "dev")][:300]
    known = model.ood_thresholds["unknown words"]
    kind = model.recipe.input
    odd = [
        known.exceeded(statistic)
        for text in texts
        for statistic in kind.ood_statistics(model.encoder, split_words(text))
    ]
    assert len(odd) == 300
    assert sum(odd) <= 10


def test_the_file_or_the_text_is_named(tmp_path):
    pillow = pytest.importorskip("PIL.Image")
    pillow.new("L", (1, 1), 200).save(tmp_path / "one.png")
    with pytest.warns(OutOfDistribution, match=r"one\.png is unlike what written-digit was made for"):
        load("written-digit").predict([tmp_path / "one.png"])
    with pytest.warns(OutOfDistribution, match=r"^'Ich sehe eine .*\.\.\.' is unlike what english-pos"):
        load("english-pos").predict(["Ich sehe eine große Säge im dunklen Wald hinter dem Haus ."])


def test_a_salt_is_told_where_no_molecule_of_dev_has_several_parts():
    model = load("solubility")
    for salt, parts in (("[Na+].[Cl-]", 2), ("CC(=O)[O-].CC(=O)[O-].[Ca+2]", 3)):
        with pytest.warns(OutOfDistribution, match=f"it has {parts} unconnected parts, as salts and mixtures have"):
            model.predict([salt])
    # A ring that is closed across the dot is one molecule.
    assert told(model, ["CCO", "c1ccccc1", "C1.C1", "[Na]"]) == [False] * 4
    pytest.importorskip("rdkit")
    usual = saved_thresholds(thresholds_of([Molecules().ood_statistics(None, each) for each in ["CCO", "C.C", "CO"]]))
    # Where salts are usual they aren't told.
    assert not usual["unconnected parts"].exceeded(Molecules().ood_statistics(None, "[Na+].[Cl-]")[0])
