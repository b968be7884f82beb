"""The examples and the variants of the studies of long sources."""

import pytest

from regard.errors import UnknownNameError
from regard.lab.synthetic.list_operations import list_operations
from regard.lab.synthetic.long_range import SETTINGS, VARIANTS, claims, examples_of
from regard.tasks import Recipe
from sampling import examples


@pytest.mark.slow
def test_lists_are_long_where_they_are_measured(monkeypatch):
    def some(count, *given, **lengths):
        return list_operations(examples(count), *given, **lengths)

    monkeypatch.setattr("regard.lab.synthetic.long_range.list_operations", some)
    train, dev, test = examples_of("lists", 300)
    assert (len(train), len(dev), len(test)) == (examples(300), examples(250), examples(2000))
    assert min(len(text) for text, _ in train) < 50
    for split in (dev, test):
        assert all(500 <= len(text) <= 1000 for text, _ in split)
    assert not {text for text, _ in train} & {text for text, _ in test}
    first, of_all = {}, 0
    for text, value in test:
        first.setdefault(text[0], []).append(value)
    for values in first.values():
        of_all += max(values.count(value) for value in set(values))
    # What the study's note says of who knows only the outermost operator.
    assert of_all / len(test) == pytest.approx(0.35, abs=0.01)


@pytest.mark.usefixtures("real_data")
@pytest.mark.parametrize(("source", "labels"), [("bytes", 2), ("pixels", 10)])
def test_few_examples_have_all_labels(source, labels):
    """The files of reviews are sorted by label."""
    for split in examples_of(source, 200):
        assert len({target for _, target in split}) == labels


@pytest.mark.usefixtures("real_data")
def test_reviews_are_cut_off_between_characters():
    for split in examples_of("bytes", 10_000):
        sizes = [len(text.encode()) for text, _ in split]
        assert max(sizes) in (1022, 1023, 1024)
        assert not any("�" in text for text, _ in split)


def test_a_source_that_there_is_not():
    with pytest.raises(UnknownNameError, match="Did you mean 'pixels'"):
        examples_of("pixel", 3)


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_is_a_recipe(name):
    recipe = Recipe(task="classifier", **{**SETTINGS, **VARIANTS[name]})
    assert (recipe.approximation == "none") == ("approximation" not in VARIANTS[name])


def test_full_attention_is_compared_with_each():
    said = claims(0.25)
    assert [each.than for each in said] == ["linear", *(name for name in VARIANTS if name not in ("full", "linear"))]
    assert {(each.first, each.margin) for each in said} == {("full", 0.25)}
    assert [bool(each.text) for each in said] == [False] + [True] * (len(said) - 1)
