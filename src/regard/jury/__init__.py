"""The contract of regard as a jury for any attention function: laws, a definition in float64, and verdicts.

`check` judges a function; `oracle` is the definition, and `rounding_bounds` says how far rounding may take a function
from it. `LAWS` and `CANDIDATES` are the laws and the functions that are known by name.
"""

from regard.jury.bounds import rounding_bounds
from regard.jury.candidates import CANDIDATES, Candidate, candidate
from regard.jury.cases import Case, Inputs
from regard.jury.check import check, laws_named
from regard.jury.claims import Claims, found_claims
from regard.jury.law import Finding, Law
from regard.jury.laws import LAWS
from regard.jury.report import report
from regard.jury.subject import RefusedCase, Subject
from regard.jury.verdict import Judgement, Slope, Verdict

__all__ = [
    "CANDIDATES",
    "LAWS",
    "Candidate",
    "Case",
    "Claims",
    "Finding",
    "Inputs",
    "Judgement",
    "Law",
    "RefusedCase",
    "Slope",
    "Subject",
    "Verdict",
    "candidate",
    "check",
    "found_claims",
    "laws_named",
    "report",
    "rounding_bounds",
]
