"""ListOps: nested operations on lists of digits, whose value is a digit.

Source: Nangia & Bowman 2018 (arXiv 1804.06028), section 2, for the language; Tay et al. 2021, Long Range Arena (arXiv
    2011.04006), section 2.2.1, for longer expressions.
"""

import random
import statistics
from collections.abc import Callable, Mapping, Sequence

from regard.errors import ArgumentError

__all__ = ["OPERATORS", "list_operations"]

OPERATORS: Mapping[str, Callable[[Sequence[int]], int]] = {
    "<": min,
    ">": max,
    "~": lambda values: int(statistics.median(values)),
    "+": lambda values: sum(values) % 10,
}
"""Minimum, maximum, median (rounded down) and sum modulo 10, each by the character that opens its list."""

_END = "]"
_NESTED = 0.25
"""The probability that an element is a list and not a digit, where the depth allows it."""


def list_operations(
    count: int, seed: int, *, shortest: int, longest: int, depth: int = 10, elements: int = 10
) -> list[tuple[str, str]]:
    """Draw expressions with their values.

    Each character is an operator (which opens a list), a digit, or "]" (which closes a list).

    Args:
        count: the number of expressions.
        seed: the seed; equal seeds give equal expressions.
        shortest, longest: the least and the greatest number of characters of an expression; others are drawn again.
        depth: the greatest depth of nested lists.
        elements: the largest number of elements of a list; the smallest is 2.

    Raises:
        ArgumentError: there are no lists of such lengths, or of so few elements.

    Example:
        >>> list_operations(2, seed=0, shortest=8, longest=16, depth=2)
        [('+5~393]]', '8'), ('<>730]0]', '0')]
    """
    if elements < 2:
        raise ArgumentError(f"`elements` must be at least 2, but is {elements}.")
    if not 4 <= shortest <= longest:
        raise ArgumentError(f"`shortest` must be from 4 to `longest`, {longest}, but is {shortest}.")
    # The longest expression has lists of the most elements at every depth: two characters for each list, and the digits
    # in the innermost lists.
    longest_possible = sum(2 * elements**level for level in range(depth)) + elements**depth
    if shortest > longest_possible:
        raise ArgumentError(
            f"`shortest` must be at most {longest_possible}, the length of the longest list of depth {depth} with "
            f"{elements} elements, but is {shortest}."
        )
    generator, examples = random.Random(seed), []
    while len(examples) < count:
        text, value = _drawn_list(generator, depth, elements)
        if shortest <= len(text) <= longest:
            examples.append((text, str(value)))
    return examples


def _drawn_list(generator: random.Random, depth: int, elements: int) -> tuple[str, int]:
    operator = generator.choice(list(OPERATORS))
    texts, values = [], []
    for _ in range(generator.randint(2, elements)):
        nested = depth > 1 and generator.random() < _NESTED
        text, value = _drawn_list(generator, depth - 1, elements) if nested else _drawn_digit(generator)
        texts.append(text)
        values.append(value)
    return f"{operator}{''.join(texts)}{_END}", OPERATORS[operator](values)


def _drawn_digit(generator: random.Random) -> tuple[str, int]:
    digit = generator.randint(0, 9)
    return str(digit), digit
