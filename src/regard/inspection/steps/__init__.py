"""How one number of attention comes about, step by step: the steps, a page of them, and the notes' examples."""

from regard.inspection.steps.examples import EXAMPLES, WorkedExample
from regard.inspection.steps.exercise import Blank, blanks
from regard.inspection.steps.matrices import Matrices, read_matrices
from regard.inspection.steps.phrases import phrase
from regard.inspection.steps.quantity import Quantity, Step
from regard.inspection.steps.steps import Steps, steps
from regard.inspection.steps.steps_page import example_page, matrices_blocks, steps_page

__all__ = [
    "EXAMPLES",
    "Blank",
    "Matrices",
    "Quantity",
    "Step",
    "Steps",
    "WorkedExample",
    "blanks",
    "example_page",
    "matrices_blocks",
    "phrase",
    "read_matrices",
    "steps",
    "steps_page",
]
