"""What the jury says of each law, and of all of them."""

import math
from dataclasses import dataclass, field
from typing import Any, Literal

from regard.jury.cases import Case
from regard.jury.law import Finding, Law

__all__ = ["Judgement", "Slope", "Verdict"]

Answer = Literal["holds", "fails", "not offered", "not judged"]


@dataclass(frozen=True)
class Verdict:
    """What was found of one law.

    Args:
        law: the law.
        answer: "holds"; "fails"; "not offered", where the function doesn't claim it or raises an error in every case;
            "not judged", where the jury itself failed.
        worst: the number that was furthest off, in units of its bound; None if nothing was judged.
        cases, refused: how many cases were judged, and in how many more the function raised an error.
        note: what else there is to say, such as the first of those errors.
        smallest: of a law that fails, the smallest case that was found to fail.
        script: a Python program that shows the wrong number and the right one, without regard.
    """

    law: Law
    answer: Answer
    worst: Finding | None = None
    cases: int = 0
    refused: int = 0
    note: str = ""
    smallest: Case | None = None
    script: str = field(default="", repr=False)

    def as_json(self) -> dict[str, Any]:
        """Plain values; a number that isn't finite is None."""
        worst = self.worst
        return {
            "law": self.law.name,
            "says": self.law.says,
            "answer": self.answer,
            "error": _finite(worst.error) if worst else None,
            "bound": _finite(worst.bound) if worst else None,
            "error_in_bounds": _finite(worst.ratio) if worst else None,
            "what": worst.what if worst else None,
            "where": list(worst.where) if worst else None,
            "cases": self.cases,
            "refused": self.refused,
            "note": self.note or None,
            "matters": self.law.matters if self.answer == "fails" else None,
            "smallest": str(self.smallest) if self.smallest else None,
            "script": self.script or None,
        }


@dataclass(frozen=True)
class Slope:
    """Time and memory of a forward and a backward at one length: seconds, and MiB at most beyond the inputs."""

    length: int
    seconds: float
    mebibytes: float | None


@dataclass(frozen=True, repr=False)
class Judgement:
    """All verdicts on one function; `report` makes a page of them.

    Example:
        >>> judgement = Judgement("mine", "cpu", ())
        >>> judgement.holds, judgement.failed
        (True, [])
        >>> judgement
        Judgement(mine: no law fails; 0 hold)
    """

    name: str
    device: str
    verdicts: tuple[Verdict, ...]
    slopes: tuple[Slope, ...] = ()
    seconds: float = 0.0

    @property
    def failed(self) -> list[Verdict]:
        """The laws that fail."""
        return [verdict for verdict in self.verdicts if verdict.answer == "fails"]

    @property
    def holds(self) -> bool:
        """Whether no law fails, and every one could be judged or isn't offered."""
        return all(verdict.answer in ("holds", "not offered") for verdict in self.verdicts)

    @property
    def summary(self) -> str:
        """How many laws hold, fail, and so on, in words."""
        count = dict.fromkeys(("holds", "fails", "not offered", "not judged"), 0)
        for verdict in self.verdicts:
            count[verdict.answer] += 1
        fails = ", ".join(verdict.law.name for verdict in self.failed)
        one = count["fails"] == 1
        said = [f"{count['fails']} of its laws fail{'s' * one} ({fails})" if fails else "no law fails"]
        said += [f"{count['holds']} hold{'s' * (count['holds'] == 1)}"]
        said += [
            f"{count[answer]} {'is' if count[answer] == 1 else 'are'} {answer}"
            for answer in list(count)[2:]
            if count[answer]
        ]
        return "; ".join(said)

    def __repr__(self) -> str:
        return f"Judgement({self.name}: {self.summary})"

    def __getitem__(self, law: str) -> Verdict:
        return next(verdict for verdict in self.verdicts if verdict.law.name == law)

    def exponents(self) -> tuple[float, float] | None:
        """How time and memory grow between the two longest lengths: the exponent of n."""
        if len(self.slopes) < 2:
            return None
        short, long = self.slopes[-2:]
        wider = math.log(long.length / short.length)

        def grown(one: float | None, other: float | None) -> float:
            return math.log(other / one) / wider if one and other else math.nan

        return grown(short.seconds, long.seconds), grown(short.mebibytes, long.mebibytes)

    def as_json(self) -> dict[str, Any]:
        exponents = self.exponents()
        return {
            "function": self.name,
            "device": self.device,
            "holds": self.holds,
            "seconds": round(self.seconds, 1),
            "laws": [verdict.as_json() for verdict in self.verdicts],
            "slopes": {
                "runs": [
                    {"length": each.length, "seconds": each.seconds, "mebibytes": each.mebibytes}
                    for each in self.slopes
                ],
                "exponent_of_time": _finite(exponents[0]) if exponents else None,
                "exponent_of_memory": _finite(exponents[1]) if exponents else None,
            },
        }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
