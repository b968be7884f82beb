"""The laws of the contract, from the plainest to the most particular. One idea a file."""

from regard.jury.law import Law
from regard.jury.laws.agreement import (
    BIAS,
    CAUSAL,
    GRADIENTS,
    GROUPED,
    LARGE_SCORES,
    LENGTHS,
    MASK,
    OUTPUTS,
    SCALE,
    STRIDES,
)
from regard.jury.laws.alignment import ALIGNMENT
from regard.jury.laws.dropout import DROPOUT, DROPOUT_GRADIENTS, SEEDS
from regard.jury.laws.half import HALF, HALF_GRADIENTS
from regard.jury.laws.hidden import EMPTY_ROWS, HIDDEN, SEEN
from regard.jury.laws.higher import FORWARD_MODE, SECOND_ORDER
from regard.jury.laws.partial import ONE_GRADIENT
from regard.jury.laws.repeated import DETERMINISM, INPUTS

__all__ = ["LAWS"]

LAWS: dict[str, Law] = {
    law.name: law
    for law in (
        OUTPUTS,
        GRADIENTS,
        SCALE,
        MASK,
        BIAS,
        CAUSAL,
        ALIGNMENT,
        EMPTY_ROWS,
        HIDDEN,
        SEEN,
        LENGTHS,
        STRIDES,
        GROUPED,
        ONE_GRADIENT,
        HALF,
        HALF_GRADIENTS,
        LARGE_SCORES,
        DROPOUT,
        DROPOUT_GRADIENTS,
        SEEDS,
        DETERMINISM,
        INPUTS,
        SECOND_ORDER,
        FORWARD_MODE,
    )
}
