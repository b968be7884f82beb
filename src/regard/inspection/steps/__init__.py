"""How one number of attention comes about, step by step: the steps, pages of them, and the notes' examples."""

import typing

from regard import lazy

if typing.TYPE_CHECKING:
    from regard.inspection.steps.examples import EXAMPLES, WorkedExample
    from regard.inspection.steps.exercise import Blank, blanks
    from regard.inspection.steps.live_steps import is_editable, live_steps, save_steps
    from regard.inspection.steps.matrices import Matrices, read_matrices
    from regard.inspection.steps.named_parts import STEP_SCORES, named_parts
    from regard.inspection.steps.phrases import phrase
    from regard.inspection.steps.quantity import Quantity, Step
    from regard.inspection.steps.steps import Steps, steps
    from regard.inspection.steps.steps_page import example_page, matrices_blocks, steps_page

__all__ = [
    "EXAMPLES",
    "STEP_SCORES",
    "Blank",
    "Matrices",
    "Quantity",
    "Step",
    "Steps",
    "WorkedExample",
    "blanks",
    "example_page",
    "is_editable",
    "live_steps",
    "matrices_blocks",
    "named_parts",
    "phrase",
    "read_matrices",
    "save_steps",
    "steps",
    "steps_page",
]

lazy.export(
    __name__,
    {
        "examples": "EXAMPLES WorkedExample",
        "exercise": "Blank blanks",
        "live_steps": "is_editable live_steps save_steps",
        "matrices": "Matrices read_matrices",
        "named_parts": "STEP_SCORES named_parts",
        "phrases": "phrase",
        "quantity": "Quantity Step",
        "steps": "Steps steps",
        "steps_page": "example_page matrices_blocks steps_page",
    },
)
