"""log as a few multiply-adds and a division, so that loops over it become vector code: as `exponential` is for exp."""

import math
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

__all__ = ["logarithm"]


@dataclass(frozen=True)
class _Width:
    """What differs between float32 and float64."""

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
    """Inside compiled code: log(x) for a normal number x > 0; something finite for anything else, so that 0 log 0 is 0.

    log(2^n m) = n log 2 + log(m) with m from sqrt(1/2) to sqrt(2), and log(m) = 2 (s + s^3 / 3 + s^5 / 5 + ...) with
    s = (m - 1) / (m + 1). The flags on each instruction keep Numba from setting its own, as in `exponential`.
    """

    def generate(context, builder, signature, values):
        width, number = _WIDTHS[x], values[0].type
        whole = ir.IntType(width.bits)

        def times(a: Any, b: Any) -> Any:
            return builder.fmul(a, b, flags=("contract",))

        def plus(a: Any, b: Any) -> Any:
            return builder.fadd(a, b, flags=("contract",))

        bits = builder.bitcast(values[0], whole)
        exponent = builder.ashr(builder.sub(bits, whole(width.root)), whole(width.fraction))
        rest = builder.bitcast(builder.sub(bits, builder.shl(exponent, whole(width.fraction))), number)
        # A whole number added to the bits of 1.5 * 2^fraction adds itself: a conversion that is vector code everywhere.
        shifted = builder.bitcast(builder.add(exponent, whole(width.magic)), number)
        count = plus(shifted, number(-1.5 * 2.0**width.fraction))
        share = builder.fdiv(plus(rest, number(-1.0)), plus(rest, number(1.0)), flags=("contract",))
        square = times(share, share)
        series = number(2.0 / (2 * width.terms - 1))
        for term in reversed(range(width.terms - 1)):
            series = plus(times(series, square), number(2.0 / (2 * term + 1)))
        return plus(times(series, share), times(count, number(math.log(2))))

    return x(x), generate
