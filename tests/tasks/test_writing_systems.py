"""A text in another writing system than the training data is told, and the model's own data isn't."""

import pytest
from toys import untrained

from regard import load
from regard.tasks.judging.writing_systems import count_letters, foreign_letters
from regard.tasks.sources import Texts, Words

LATIN, CHINESE = "Latin letters", "Chinese characters"


@pytest.mark.parametrize(
    ("name", "text", "letters"),
    [
        ("chinese-pos", ["I", "saw", "a", "cat", "."], (LATIN, CHINESE)),
        ("chinese-segmentation", "I saw a cat", (LATIN, CHINESE)),
        ("chinese-sentiment", "The hotel was very good.", (LATIN, CHINESE)),
        ("english-sentiment", "这部电影很好", (CHINESE, LATIN)),
        ("german-english", "Я вижу кошку", ("Cyrillic letters", LATIN)),
        # A Chinese text names a film in its own letters, and an English one the city that it is of.
        ("chinese-segmentation", "《西城故事》（WestSideStory）是桑坦事业的突破。", None),
        ("english-sentiment", "a warm film from 北京", None),
        ("chinese-pos", ["1998", "?"], None),
        ("chinese-pos", ["A"], None),
        ("english-pos", ["ＡＢＣ", "ｆｉｌｍ"], None),
        ("spoken-digit", "seven.wav", None),
    ],
)
def test_most_words_in_other_letters_are_told(name, text, letters):
    assert load(name).foreign_letters(text) == letters


def test_the_warning_says_both_and_is_the_only_one():
    model = load("chinese-pos")
    words = ["The", "weather", "is", "nice"]
    (said,) = model.warnings_about(words, words)
    assert str(said) == (
        "'The weather is nice' is in Latin letters, but chinese-pos was trained on texts in Chinese characters. The "
        "answer may be wrong."
    )


def test_a_model_of_two_writing_systems_knows_both():
    mixed = ["Это очень хороший фильм", "this is a very good film"] * 3
    for source in (Texts("subwords", size=300), Texts("characters", size=64), Words(features={"minimum_count": 1})):
        model = untrained(source, mixed)
        assert [model.foreign_letters(text) for text in mixed] == [None] * 6
        assert model.foreign_letters("这部电影很好") is not None
    # Its pieces are all bytes, whatever it was trained on.
    assert untrained(Texts("bytes"), mixed).foreign_letters("这部电影很好") is None


def test_words_are_looked_up_only_where_a_text_has_rare_letters():
    def refuse():
        raise AssertionError("most texts have none, and are read for this once")

    known = count_letters(["电影" * 1000, "DVD"])
    assert foreign_letters("这部电影很好", known, refuse) is None
    assert foreign_letters("фильм хорош", known, refuse) == ("Cyrillic letters", CHINESE)
    with pytest.raises(AssertionError, match="most texts have none"):
        foreign_letters("see it", known, refuse)


def test_few_latin_words_of_a_vocabulary_are_known_words_where_they_occur():
    known = count_letters(["电影" * 1000, "DVD"])
    # Of a hundred letters one or two are Latin: such words are usual if most are in the vocabulary.
    assert foreign_letters("DVD CD", known, lambda: 0.5) is None
    assert foreign_letters("see it", known, lambda: 1.0) == (LATIN, CHINESE)
    assert foreign_letters("see it", count_letters(["电影" * 10, "DVD"]), lambda: 1.0) is None
    # Where the vocabulary is one of characters, 26 letters may be half of the data.
    assert foreign_letters("see it", known) is None
    assert foreign_letters("see it", count_letters(["电影"]), lambda: 1.0) is None
    assert foreign_letters("", known, lambda: 1.0) is None
    # Of a long text the beginning is read.
    assert foreign_letters("see it " * 2_000 + "电影" * 100_000, known, lambda: 1.0) == (LATIN, CHINESE)
    assert foreign_letters("ʰʰ 12 🎬", known, lambda: 1.0) is None
