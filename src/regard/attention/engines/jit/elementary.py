"""exp, log, tanh and powers by multiply-adds, so that loops over them are vectorised: Numba brings no vector math."""

import math
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba.core import types

from regard.attention.engines.jit.compiling import compiled, intrinsic

__all__ = ["build_exponential", "constant", "exponential", "hyperbolic_tangent", "logarithm", "power", "reciprocal"]


@dataclass(frozen=True)
class _Width:
    """The constants of float32 and float64."""

    bits: int
    fraction: int
    lowest: float
    highest: float
    terms: int  # of the series of exp
    ln2_high: float  # has so few bits that its product with an integer is exact
    ln2_low: float
    root: int  # the bits of sqrt(1/2)
    magic: int  # the bits of 1.5 * 2^fraction
    terms_of_log: int


_WIDTHS = {
    types.float32: _Width(32, 23, -87.0, 88.0, 7, 0.693359375, -2.1219444005469058e-4, 0x3F3504F3, 0x4B400000, 5),
    types.float64: _Width(
        64,
        52,
        -708.0,
        709.0,
        13,
        0.6931471803691238,
        1.9082149292705877e-10,
        0x3FE6A09E667F3BCD,
        0x4338000000000000,
        11,
    ),
}


def constant(like: Any, number: float | int) -> Any:
    """A constant of an LLVM type; for a vector type, in all its elements."""
    return ir.Constant(like, [number] * like.count if isinstance(like, ir.VectorType) else number)


def build_exponential(builder: Any, value: Any, kind: Any) -> Any:
    """exp(x) = 2^n exp(r), with n the integer nearest to x / ln 2 and |r| <= ln(2) / 2; exp(r) by its Taylor series.

    Adding 1.5 * 2^23 to a float32 leaves the nearest integer in its last bits, from where a shift moves it to the
    exponent; a conversion would do the same, but is undefined for NaN. Each instruction has flags of its own, because
    Numba's would allow sums to be reordered, which would undo the addition.
    """
    width, number = _WIDTHS[kind], value.type
    integer = ir.IntType(width.bits)
    if isinstance(number, ir.VectorType):
        integer = ir.VectorType(integer, number.count)

    def times(a: Any, b: Any) -> Any:
        return builder.fmul(a, b, flags=("contract",))

    def plus(a: Any, b: Any) -> Any:
        return builder.fadd(a, b, flags=("contract",))

    lowest, highest, magic = (
        constant(number, bound) for bound in (width.lowest, width.highest, 1.5 * 2.0**width.fraction)
    )
    too_low = builder.fcmp_ordered("<", value, lowest)
    value = builder.select(too_low, lowest, value)
    value = builder.select(builder.fcmp_ordered(">", value, highest), highest, value)
    shifted = plus(times(value, constant(number, 1 / math.log(2))), magic)
    count = plus(shifted, constant(number, -1.5 * 2.0**width.fraction))
    rest = plus(times(count, constant(number, -width.ln2_high)), value)
    rest = plus(times(count, constant(number, -width.ln2_low)), rest)
    series = constant(number, 1 / math.factorial(width.terms))
    for term in reversed(range(width.terms)):
        series = plus(times(series, rest), constant(number, 1 / math.factorial(term)))
    exponent = builder.shl(builder.bitcast(shifted, integer), constant(integer, width.fraction))
    power = builder.bitcast(builder.add(exponent, builder.bitcast(constant(number, 1.0), integer)), number)
    return builder.select(too_low, constant(number, 0.0), times(series, power))


@intrinsic
def exponential(typing_context, x):
    """In compiled code: exp(x) for x up to 88 (float32) or 709 (float64); 0 below -87 or -708."""

    def generate(context, builder, signature, values):
        return build_exponential(builder, values[0], x)

    return x(x), generate


@intrinsic
def logarithm(typing_context, x):
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
        series = number(2.0 / (2 * width.terms_of_log - 1))
        for term in reversed(range(width.terms_of_log - 1)):
            series = plus(times(series, square), number(2.0 / (2 * term + 1)))
        return plus(times(series, ratio), times(count, number(math.log(2))))

    return x(x), generate


@intrinsic
def reciprocal(typing_context, x):
    """In compiled code: 1 / x for x from 1 to 2^125, exact to rounding; for float32 by multiply-adds only.

    Subtracting the bits of x from a constant negates its exponent, which gives 1 / x within 5.1 %. If e is the error
    1 - x y, then y (1 + e + e^2) has the error e^3, and y (1 + e) after it e^6. A division takes four times as long on
    CPUs whose dividers are narrower than their multipliers.
    """

    def generate(context, builder, signature, values):
        (value,) = values
        one = constant(value.type, 1.0)
        if x != types.float32:
            return builder.fdiv(one, value)
        integer = ir.IntType(32)
        bits = builder.sub(constant(integer, 0x7EF311C3), builder.bitcast(value, integer))
        guess = builder.bitcast(bits, value.type)
        exact = ("contract",)

        def times(a: Any, b: Any) -> Any:
            return builder.fmul(a, b, flags=exact)

        error = builder.fsub(one, times(value, guess), flags=exact)
        error = builder.fadd(times(error, error), error, flags=exact)
        guess = builder.fadd(times(guess, error), guess, flags=exact)
        error = builder.fsub(one, times(value, guess), flags=exact)
        return builder.fadd(times(guess, error), guess, flags=exact)

    return x(x), generate


@compiled(cache=False)
def hyperbolic_tangent(x):
    """In compiled code: tanh(x) = 1 - 2 / (1 + exp(2 x)), to the rounding of 1."""
    one = type(x)(1)
    return one - (one + one) / (one + exponential(x + x))


@compiled(cache=False)
def power(x, exponent):
    """In compiled code: x to a power, in float64, for x above 0: exp(exponent * log(x))."""
    return exponential(exponent * logarithm(x))
