"""How targets are generated: how long they may get, how long ones are favoured, and which n-grams are blocked."""

from dataclasses import dataclass

from regard.attention.validation import check_count, check_non_negative
from regard.errors import ArgumentError
from regard.modules.inference import check_limits

__all__ = ["MOST_LENGTH_PENALTY", "GenerationConfig"]

MOST_LENGTH_PENALTY = 10.0
"""Larger ones favour nothing but length, and soon their power is no number any more."""


@dataclass(frozen=True)
class GenerationConfig:
    """The settings that `greedy`, `beam_search` and `rescore` share.

    Args:
        length_penalty: how much long targets are favoured, 10 at most; 0 compares probabilities alone, which favours
            short targets. Greedy search follows one target, so it affects the reported score only.
        no_repeat_ngram_size: no n-gram of this size is generated twice, unless no other id is possible; 0 for no limit.
            Scores are computed from the model's own probabilities, before blocking.
        longest: a target has at most `longest` x its source's length + `spare` ids, `END` included.
        spare: see `longest`.

    Raises:
        ArgumentError: a number is out of range.

    Source: Wu et al. 2016 (arXiv 1609.08144), equation 14, without its coverage penalty; Paulus et al. 2018 (arXiv
        1705.04304), section 2.5, blocked n-grams.
    """

    length_penalty: float = 0.6
    no_repeat_ngram_size: int = 0
    longest: float = 2.0
    spare: int = 10

    def __post_init__(self) -> None:
        check_non_negative("length_penalty", self.length_penalty)
        if self.length_penalty > MOST_LENGTH_PENALTY:
            raise ArgumentError(
                f"`length_penalty` must be at most {MOST_LENGTH_PENALTY:g}, but is {self.length_penalty}."
            )
        size = self.no_repeat_ngram_size
        check_count("no_repeat_ngram_size", size, "the length of the n-grams that may not repeat", least=0)
        check_limits(self.longest, self.spare)

    def score(self, log_probability: float, length: int) -> float:
        """The log probability of a target of this length, `END` included, over ((5 + length) / 6)^length_penalty.

        Example:
            >>> GenerationConfig(length_penalty=1.0).score(-4.0, length=7)
            -2.0
        """
        return log_probability / ((5 + length) / 6) ** self.length_penalty
