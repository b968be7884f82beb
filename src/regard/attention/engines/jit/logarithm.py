"""log as a sequence of multiply-adds and a division, so that loops over it are vectorised, as `exponential` is."""

import math
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

__all__ = ["logarithm"]


@dataclass(frozen=True)
class _Width:
    """The constants of float32 and float64."""

    bits: int
    fraction: int
    root: int  # the bits of sqrt(1/2)
    magic: int  # the bits of 1.5 * 2^fraction
    terms: int


_WIDTHS = {
    types.float32: _Width(32, 23, 0x3F3504F3, 0x4B400000, 5),
    types.float64: _Width(64, 52, 0x3FE6A09E667F3BCD, 0x4338000000000000, 11),
}


@intrinsic
def logarithm(typing_context, x):  # pyright: ignore
    """In compiled code: log(x) for a normal number x > 0; a finite number for any other x, so that 0 log 0 is 0.

    log(2^n m) = n log 2 + log(m) with m from sqrt(1/2) to sqrt(2), and log(m) = 2 (s + s^3 / 3 + s^5 / 5 + ...) with
    s = (m - 1) / (m + 1). Each instruction has flags of its own, instead of Numba's, as in `exponential`.
    """

    def generate(context, builder, signature, values):
        width, number = _WIDTHS[x], values[0].type
        integer = ir.IntType(width.bits)

        def times(a: Any, b: Any) -> Any:
            return builder.fmul(a, b, flags=("contract",))

        def plus(a: Any, b: Any) -> Any:
            return builder.fadd(a, b, flags=("contract",))

        bits = builder.bitcast(values[0], integer)
        exponent = builder.ashr(builder.sub(bits, integer(width.root)), integer(width.fraction))
        rest = builder.bitcast(builder.sub(bits, builder.shl(exponent, integer(width.fraction))), number)
        # An integer added to the bits of 1.5 * 2^fraction adds itself to the number: a conversion that vectorises.
        shifted = builder.bitcast(builder.add(exponent, integer(width.magic)), number)
        count = plus(shifted, number(-1.5 * 2.0**width.fraction))
        ratio = builder.fdiv(plus(rest, number(-1.0)), plus(rest, number(1.0)), flags=("contract",))
        square = times(ratio, ratio)
        series = number(2.0 / (2 * width.terms - 1))
        for term in reversed(range(width.terms - 1)):
            series = plus(times(series, square), number(2.0 / (2 * term + 1)))
        return plus(times(series, ratio), times(count, number(math.log(2))))

    return x(x), generate
