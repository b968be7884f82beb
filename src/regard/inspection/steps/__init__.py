"""How one number of attention comes about, step by step: the steps, examples of them, and exercises."""

from regard.inspection.steps.quantity import Quantity, Step
from regard.inspection.steps.steps import Steps, steps

__all__ = ["Quantity", "Step", "Steps", "steps"]
