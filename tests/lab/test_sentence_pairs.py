"""Pairs of sentences: the made-up language, whose order is reversed; ranges of length, up to each limit."""

from regard.lab.texts.sentence_pairs import WORDS, by_length, reversed_sentences

_CAPITALS = {"one": "ONE", "two": "TWO", "three": "THREE", "four": "FOUR", "five": "FIVE"} | {
    "six": "SIX",
    "seven": "SEVEN",
    "eight": "EIGHT",
    "nine": "NINE",
    "ten": "TEN",
}


def test_translations_are_the_words_in_capitals_from_last_to_first():
    for source, text in reversed_sentences(50, 6, seed=3):
        words = source.split(" ")
        assert text.split(" ") == [_CAPITALS[words[place]] for place in range(len(words) - 1, -1, -1)]


def test_all_lengths_and_all_words_occur_about_equally_often():
    pairs = reversed_sentences(6000, 5, seed=0)
    lengths = [len(source.split()) for source, _ in pairs]
    assert [abs(lengths.count(each) - 1200) < 150 for each in range(1, 6)] == [True] * 5
    assert min(lengths) == 1
    assert max(lengths) == 5
    words = " ".join(source for source, _ in pairs).split()
    assert all(abs(words.count(each) / len(words) - 0.1) < 0.01 for each in WORDS)


def test_the_seed_decides():
    assert reversed_sentences(20, 4, seed=1) == reversed_sentences(20, 4, seed=1)
    assert reversed_sentences(20, 4, seed=1) != reversed_sentences(20, 4, seed=2)


def test_a_pair_goes_to_the_smallest_limit_that_its_first_text_keeps():
    one, two, three, four = ("a", "x y z"), ("a b", "x"), ("a b c", "x"), ("a b c d", "x")
    assert by_length([four, two, one, three, two], (1, 3)) == {1: [one], 3: [two, three, two]}


def test_a_generator_is_read_once_for_all_limits():
    assert by_length((("a " * count, "x") for count in (3, 1, 2)), (1, 2, 3)) == {
        1: [("a ", "x")],
        2: [("a a ", "x")],
        3: [("a a a ", "x")],
    }
