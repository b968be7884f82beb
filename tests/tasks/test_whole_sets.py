"""A set of sources that as a whole is unlike a model's own data is told; another draw of its data seldom is."""

import dataclasses
import json

import numpy as np
import pytest
from toys import generated, tiny, untrained

from regard import load
from regard.cli.main import main
from regard.tasks import Experiment, Splits
from regard.tasks.judging.measure import ACCURACY
from regard.tasks.judging.moments import Moments, is_above
from regard.tasks.judging.out_of_distribution import Statistic, Threshold, saved_thresholds, thresholds_of
from regard.tasks.judging.whole_sets import SourceTally, describe_unlike
from regard.tasks.sources import Words


def drawn(count: int, rate: float, seed: int = 0) -> list[tuple[float, float]]:
    """The unknown words of sentences, some of which have many: beta-binomial."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(3, 40, count)
    shares = generator.beta(2 * rate / (1 - rate), 2.0, count)
    return [*zip(generator.binomial(sizes, shares).astype(float).tolist(), sizes.astype(float).tolist(), strict=True)]


def test_moments_are_those_of_the_sources():
    sources = drawn(200, 0.1)
    found = Moments.of(sources[:50]) + Moments.of(sources[50:])
    amounts, sizes = np.array(sources).T
    assert (found.count, found.size) == (200, sizes.sum())
    assert found.rate == pytest.approx(amounts.sum() / sizes.sum())
    for order in (1, 2, 3):
        assert found.about(order, 0.25) == pytest.approx(((amounts - 0.25 * sizes) ** order).sum())
    assert Moments.read(json.loads(json.dumps(found.sums))) == found
    assert Moments.read([1.0, 2.0]) is Moments.read("none") is Moments.read([float("nan")] * 10) is None


def test_moments_that_are_assumed_have_the_rate_and_the_spread():
    like = Moments.of([(1.0, 4.0), (3.0, 4.0)] * 10)
    found = Moments.assumed(0.5, 7, 0.25, like)
    assert (found.count, found.size, found.rate) == (7, 28, 0.5)
    assert found.about(2, 0.5) == pytest.approx(0.25**2 * 28)
    assert found.about(3, 0.5) == pytest.approx(0)
    # Without a spread, that of the other set.
    assert Moments.assumed(0.5, 20, None, like).about(2, 0.5) == pytest.approx(like.about(2, 0.5))


@pytest.mark.parametrize("dev", [50, 1000])
@pytest.mark.parametrize("count", [10, 100])
def test_another_draw_of_the_same_data_is_told_once_in_a_thousand(dev, count):
    rows = np.array([Moments.of([each]).sums for each in drawn(3_000, 0.08)])
    generator = np.random.default_rng(1)

    def some(size: int) -> Moments:
        return Moments(tuple(rows[generator.integers(len(rows), size=size)].sum(0).tolist()))

    draws = 8_000
    alarms = sum(is_above(some(count), some(dev)) for _ in range(draws))
    # A mean of 8; more than 21 would be one in 100,000.
    assert alarms <= 21


def test_a_set_with_a_higher_rate_is_told_and_one_with_a_lower_rate_is_not():
    usual = Moments.of(drawn(500, 0.05))
    assert all(is_above(Moments.of(drawn(30, 0.25, seed)), usual) for seed in range(1, 6))
    assert not is_above(usual, Moments.of(drawn(30, 0.25)))
    # In a large set a small difference is beyond chance, and still small.
    assert not is_above(Moments.of(drawn(30_000, 0.06, 1)), Moments.of(drawn(30_000, 0.05)))
    assert not is_above(Moments.of([(4.0, 4.0)] * 9), usual)
    assert is_above(Moments.of([(4.0, 4.0)] * 10), usual)
    # Nothing varies: no words are unknown anywhere, or as many everywhere.
    assert not is_above(Moments.of([(0.0, 5.0)] * 20), Moments.of([(0.0, 5.0)] * 20))


def tally(amounts, doubts=()) -> SourceTally:
    found = SourceTally()
    for place, (amount, size) in enumerate(amounts):
        statistic = Statistic("unknown words", amount, size, "", of_set="{} of their words are unknown to it")
        found.add([statistic], (doubts[place], 1) if doubts else None)
    return found


def test_what_a_card_keeps_is_compared_and_an_old_card_says_less():
    dev, other = drawn(500, 0.05), drawn(200, 0.2, 1)
    saved = thresholds_of([(Statistic("unknown words", *each, ""),) for each in dev])
    usual = saved_thresholds(json.loads(json.dumps(saved)))
    (found,) = tally(other).differences(usual, {})
    said = describe_unlike([found], 200, "mine")
    assert found.usual == pytest.approx(sum(a for a, _ in dev) / sum(s for _, s in dev))
    assert f"{100 * found.found:.1f} % of their words are unknown to it, {100 * found.usual:.1f} % in its own" in said
    assert tally(dev[:100]).differences(usual, {}) == ()
    # An old card has the rate and the limit, and the number of sources of dev.
    del saved["unknown words"]["moments"]
    old, about = saved_thresholds(saved), {"data": {"splits": {"dev": {"sentences": 500, "words": 9000}}}}
    assert [each.name for each in tally(other).differences(old, about)] == ["unknown words"]
    assert tally(dev[:100]).differences(old, about) == tally(other).differences(old, {}) == ()
    assert describe_unlike((), 200, "mine") == ""


@pytest.mark.parametrize("kept", [True, False])
def test_confidence_is_compared_with_dev(kept):
    generator = np.random.default_rng(0)
    usual, low = ([*generator.beta(one, 8, 300)] for one in (1, 3))
    score = {"measure": ACCURACY.name, "score": 1 - float(np.mean(usual)), "examples": 300}
    score["calibration"] = {"error": 0.01, "before": 0.02, "temperature": 1.0}
    if kept:
        score["doubt"] = dataclasses.asdict(Moments.of((each, 1) for each in usual))
    about = {"scores": {"dev": score}}
    (found,) = tally(drawn(300, 0.1), low).differences({}, about)
    assert found.name == "confidence"
    assert f"confidence is {100 * (1 - np.mean(low)):.1f} %" in found.description
    assert tally(drawn(300, 0.1), usual[::-1]).differences({}, about) == ()
    assert tally(drawn(300, 0.1), low).differences({}, {"scores": {"dev": {"measure": "RMSE", "score": 1.0}}}) == ()


STRANGERS = [(["zzz", "yyy", "xxx", "www"], ["NOUN"] * 4) for _ in range(20)]


@pytest.mark.slow
def test_evaluate_tells_it_and_the_card_keeps_what_it_takes(tmp_path):
    sentences = generated(80)
    trained = Experiment(tiny(epochs=2), Splits(sentences, sentences[:40], STRANGERS), tmp_path / "out").run(
        final=True, progress="none"
    )
    assert trained.evaluations["dev"].unlike == ()
    assert trained.evaluations["test"].unlike[0].name == "unknown words"
    model = load(tmp_path / "out" / "model")
    kept = model.about["scores"]
    assert len(kept["dev"]["doubt"]["sums"]) == 10
    assert kept["test"]["unlike"][0]["found"] == 1.0
    assert {"confidence", "right"} < kept["dev"]["calibration"].keys()
    assert model.evaluate(sentences[40:]).unlike == ()
    told = model.evaluate(STRANGERS)
    assert told.unlike[0].found == 1.0
    assert "doubt" not in told.to_json()
    card = (tmp_path / "out" / "model" / "README.md").read_text(encoding="utf-8")
    assert "| split | mean confidence | right | expected calibration error | without the temperature |" in card
    assert "On test: as a whole, these 20 sources are unlike the data" in card


def test_predict_and_evaluate_tell_it_of_a_file(tmp_path, capsys):
    (tmp_path / "own.txt").write_text("I saw it .\nThey went home .\n" * 20, encoding="utf-8")
    (tmp_path / "odd.txt").write_text("zzgrt blorf kwisk vrump .\n" * 20, encoding="utf-8")
    for command in (["tag", "--model", "english-pos"], ["predict", "english-pos"]):
        assert main([*command, "-f", str(tmp_path / "odd.txt")]) == 0
        said = capsys.readouterr().err
        assert "Warning: As a whole, these 20 sources are unlike the data that english-pos was made on: 80.0 %" in said
        assert main([*command, "-f", str(tmp_path / "own.txt")]) == 0
        assert "As a whole" not in capsys.readouterr().err
    lines = [f"{number}\t{word}\t_\tNOUN" + "\t_" * 6 for number, word in enumerate(("zzgrt", "blorf"), start=1)]
    (tmp_path / "odd.conllu").write_text("\n".join([*lines, "", ""]) * 12, encoding="utf-8")
    assert main(["evaluate", "english-pos", "--data", str(tmp_path / "odd.conllu"), "--width", "400"]) == 0
    said = capsys.readouterr().out
    assert "Warning: As a whole, these 12 sources are unlike" in said
    assert "% of its predictions are right. Its probabilities are off by" in said
    assert main(["evaluate", "english-pos", "--data", str(tmp_path / "odd.conllu"), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["unlike"][0]["name"] == "unknown words"
    assert found["calibration"]["right"] == found["score"]


def test_a_threshold_of_an_earlier_version_is_read():
    assert saved_thresholds({"a": {"rate": 0.1, "limit": 1}}) == {"a": Threshold(0.1, 1.0)}
    assert saved_thresholds({"a": {"rate": 0.1, "limit": 1, "moments": ["x"]}}) == {"a": Threshold(0.1, 1.0)}


def test_a_model_of_numbers_says_nothing_of_confidence():
    pairs = [("a b c", 1.0), ("b c d", 2.0)] * 8
    model = untrained(Words(), [source for source, _ in pairs], [1.0, 2.0])
    assert model.evaluate(pairs).doubt is None
