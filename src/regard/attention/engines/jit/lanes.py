"""Sixteen numbers at once, as a value that compiled code can hold: for loops too short or too scattered to become
vector code by themselves. LLVM cuts them to the width of the machine's registers.

`a + b`, `a - b`, `a * b` and `a / b` go number by number.
"""

import operator
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, models, register_model

from regard.attention.engines.jit.compiling import intrinsic
from regard.attention.engines.jit.exponential import build_exponential, constant

__all__ = ["LANES", "all_of", "exponentials", "fold", "larger", "load", "load_heads", "store", "store_heads", "where"]

LANES = 16


class Lanes(types.Type):
    """Sixteen numbers of one dtype."""

    def __init__(self, dtype: Any):
        self.dtype = dtype
        super().__init__(name=f"Lanes({dtype})")


@register_model(Lanes)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Lanes):
        super().__init__(manager, kind, ir.VectorType(manager.lookup(kind.dtype).get_value_type(), LANES))


def _arithmetic(symbol: Any, build: str) -> None:
    @infer_global(symbol)  # pyright: ignore[reportOptionalCall]
    class Typing(AbstractTemplate):
        def generic(self, args, kws):
            if len(args) == 2 and isinstance(args[0], Lanes) and args[0] == args[1]:
                return signature(args[0], *args)
            return None

    @lower_builtin(symbol, Lanes, Lanes)
    def lower(context, builder, signature, values):
        return getattr(builder, build)(*values, flags=("contract",))


for _symbols, _build in (
    ((operator.add, operator.iadd), "fadd"),
    ((operator.sub, operator.isub), "fsub"),
    ((operator.mul, operator.imul), "fmul"),
    ((operator.truediv, operator.itruediv), "fdiv"),
):
    for _symbol in _symbols:
        _arithmetic(_symbol, _build)


def _pointer(context: Any, builder: Any, kind: Any, array: Any, offset: Any, count: int) -> Any:
    """Where `count` numbers of a flat array begin, as the address of a vector of them."""
    data = cgutils.create_struct_proxy(kind)(context, builder, value=array).data
    address = builder.gep(data, [offset])
    return builder.bitcast(address, ir.VectorType(context.get_data_type(kind.dtype), count).as_pointer())


def _is_flat(array: Any) -> bool:
    return isinstance(array, types.Array) and array.ndim == 1 and array.layout == "C"


@intrinsic
def load(typing_context, array, offset):
    """Sixteen numbers of a flat array."""
    if not _is_flat(array):
        return None

    def generate(context, builder, signature, values):
        pointer = _pointer(context, builder, array, values[0], values[1], LANES)
        return builder.load(pointer, align=array.dtype.bitwidth // 8)

    return Lanes(array.dtype)(array, types.int64), generate


@intrinsic
def store(typing_context, array, offset, lanes):
    """Write sixteen numbers into a flat array."""
    if not _is_flat(array):
        return None

    def generate(context, builder, signature, values):
        pointer = _pointer(context, builder, array, values[0], values[1], LANES)
        builder.store(values[2], pointer, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.int64, lanes), generate


@intrinsic
def all_of(typing_context, number):
    """The same number sixteen times."""

    def generate(context, builder, signature, values):
        vector = ir.VectorType(values[0].type, LANES)
        first = builder.insert_element(ir.Constant(vector, ir.Undefined), values[0], ir.IntType(32)(0))
        return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), _picks([0] * LANES))

    return Lanes(number)(number), generate


@intrinsic
def larger(typing_context, x, y):
    """The larger of each two, or NaN if one is."""

    def generate(context, builder, signature, values):
        vector = values[0].type
        kind = ir.FunctionType(vector, [vector, vector])
        name = f"llvm.maximum.v{LANES}f{x.dtype.bitwidth}"
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), values)

    return x(x, y), generate


@intrinsic
def where(typing_context, condition, x, y):
    """x where the condition is above 0, y elsewhere."""

    def generate(context, builder, signature, values):
        zero = constant(values[0].type, 0.0)
        return builder.select(builder.fcmp_ordered(">", values[0], zero), values[1], values[2])

    return x(condition, x, y), generate


@intrinsic
def exponentials(typing_context, x):
    """exp of each, as `exponential`."""

    def generate(context, builder, signature, values):
        return build_exponential(builder, values[0], x.dtype)

    return x(x), generate


@intrinsic
def fold(typing_context, lanes, heads):
    """Sums over the lanes of each head, where lane l belongs to head l mod `heads` (a power of two); each lane gets its
    head's."""

    def generate(context, builder, signature, values):
        total = cgutils.alloca_once(builder, values[0].type)
        builder.store(values[0], total)
        for step in (8, 4, 2, 1):
            with builder.if_then(builder.icmp_signed("<=", values[1], values[1].type(step))):
                now = builder.load(total)
                across = builder.shuffle_vector(now, now, _picks([lane ^ step for lane in range(LANES)]))
                builder.store(builder.fadd(now, across), total)
        return builder.load(total)

    return lanes(lanes, types.int64), generate


@intrinsic
def store_heads(typing_context, array, offset, lanes, heads):
    """Write the first `heads` lanes into a flat array."""

    def generate(context, builder, signature, values):
        for count in (1, 2, 4, 8, 16):
            with builder.if_then(builder.icmp_signed("==", values[3], values[3].type(count))):
                part = builder.shuffle_vector(values[2], values[2], _picks(range(count)))
                pointer = _pointer(context, builder, array, values[0], values[1], count)
                builder.store(part, pointer, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.int64, lanes, types.int64), generate


@intrinsic
def load_heads(typing_context, array, offset, heads):
    """`heads` numbers of a flat array, one for each head, in all lanes of that head."""

    def generate(context, builder, signature, values):
        vector = ir.VectorType(context.get_data_type(array.dtype), LANES)
        lanes = cgutils.alloca_once(builder, vector)
        for count in (1, 2, 4, 8, 16):
            with builder.if_then(builder.icmp_signed("==", values[2], values[2].type(count))):
                pointer = _pointer(context, builder, array, values[0], values[1], count)
                part = builder.load(pointer, align=array.dtype.bitwidth // 8)
                builder.store(builder.shuffle_vector(part, part, _picks([i % count for i in range(LANES)])), lanes)
        return builder.load(lanes)

    return Lanes(array.dtype)(array, types.int64, types.int64), generate


def _picks(indices: Any) -> Any:
    """The indices of a shuffle."""
    indices = list(indices)
    return ir.Constant(ir.VectorType(ir.IntType(32), len(indices)), indices)
