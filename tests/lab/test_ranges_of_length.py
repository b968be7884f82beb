"""Pairs of texts in ranges of length: up to each limit, and above the one before."""

from regard.lab.lengths import by_length


def test_a_pair_goes_to_the_smallest_limit_that_its_first_text_keeps():
    one, two, three, four = ("a", "x y z"), ("a b", "x"), ("a b c", "x"), ("a b c d", "x")
    assert by_length([four, two, one, three, two], (1, 3)) == {1: [one], 3: [two, three, two]}


def test_a_generator_is_read_once_for_all_limits():
    assert by_length((("a " * count, "x") for count in (3, 1, 2)), (1, 2, 3)) == {
        1: [("a ", "x")],
        2: [("a a ", "x")],
        3: [("a a a ", "x")],
    }
