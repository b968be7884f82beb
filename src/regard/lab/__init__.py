"""The lab: questions on attention, answered by runs of several variants over several seeds."""

from regard.lab.report import report
from regard.lab.results import Run, read_runs
from regard.lab.runner import run_study
from regard.lab.studies import STUDIES
from regard.lab.study import Along, Claim, Study
from regard.lab.training import train_and_measure
from regard.lab.verdict import Verdict, judge

__all__ = [
    "STUDIES",
    "Along",
    "Claim",
    "Run",
    "Study",
    "Verdict",
    "judge",
    "read_runs",
    "report",
    "run_study",
    "train_and_measure",
]
