"""What is said of effects that can't be told from noise."""

from collections.abc import Iterator, Sequence

from regard.inspection.explain.outcomes import Kind, Outcome, Place
from regard.inspection.views.outcome_text import change_text, is_shown_noise, size_text
from regard.page.messages import say

__all__ = ["about_noise"]


def about_noise(named: Sequence[tuple[str, Outcome]], place: Place, kind: Kind, error: float | None) -> Iterator[str]:
    """What "noise" means, if a change is called that; where one of two that read the same is none, what sets them apart.

    Args:
        named: the name of each change, as a sentence has it, and the outcome.
        place, kind, error: as in `change_text`.

    Example:
        >>> outcomes = Outcome("NOUN", 0.6, -0.2, 0.25), Outcome("NOUN", 0.6, -0.2, 0.12)
        >>> told = [*about_noise([*zip(("1.1", "2.1"), outcomes)], Place("saw", 0, "NOUN", 0.8), "labels", None)]
        >>> told[1].partition(": ")[2]
        '25 points for 1.1, 12 points for 2.1.'
    """
    noise = [(name, outcome) for name, outcome in named if is_shown_noise(outcome, kind, place, error)]
    if not noise:
        return
    yield say("noiseMeans")

    def text(outcome: Outcome) -> str:
        return change_text(outcome._replace(noise_floor=None), kind, place, error=error)

    for name, outcome in noise:
        one = size_text(outcome.noise_floor or 0.0, kind, error)
        for second, found in named:
            other = size_text(found.noise_floor or 0.0, kind, error)
            if found.above_noise and text(found) == text(outcome) and other != one:
                yield say("noiseFloors", name=name, one=one, second=second, other=other)
                return
