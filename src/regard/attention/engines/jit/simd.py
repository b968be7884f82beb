"""SIMD vectors of sixteen numbers as a type of compiled code, for loops that are too short or too scattered for the
compiler to vectorise. LLVM splits them into registers of the machine's width.

`a + b`, `a - b`, `a * b` and `a / b` work elementwise.
"""

import operator
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, models, register_model

from regard.attention.engines.jit.compiling import intrinsic
from regard.attention.engines.jit.elementary import build_exponential, constant

__all__ = [
    "SIMD_WIDTH",
    "broadcast",
    "exp",
    "load",
    "load_heads",
    "maximum",
    "store",
    "store_heads",
    "sum_heads",
    "where",
]

SIMD_WIDTH = 16


class SimdVector(types.Type):
    """A vector of sixteen numbers of one dtype."""

    def __init__(self, dtype: Any):
        self.dtype = dtype
        super().__init__(name=f"SimdVector({dtype})")


@register_model(SimdVector)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: SimdVector):
        super().__init__(manager, kind, ir.VectorType(manager.lookup(kind.dtype).get_value_type(), SIMD_WIDTH))


def _arithmetic(symbol: Any, build: str) -> None:
    @infer_global(symbol)  # pyright: ignore[reportOptionalCall]
    class Typing(AbstractTemplate):
        def generic(self, args, kws):
            if len(args) == 2 and isinstance(args[0], SimdVector) and args[0] == args[1]:
                return signature(args[0], *args)
            return None

    @lower_builtin(symbol, SimdVector, SimdVector)
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
    """The address of `count` numbers of a flat array, as a pointer to a vector."""
    data = cgutils.create_struct_proxy(kind)(context, builder, value=array).data
    address = builder.gep(data, [offset])
    return builder.bitcast(address, ir.VectorType(context.get_data_type(kind.dtype), count).as_pointer())


def _is_flat(array: Any) -> bool:
    return isinstance(array, types.Array) and array.ndim == 1 and array.layout == "C"


@intrinsic
def load(typing_context, array, offset):
    """Load sixteen numbers of a flat array."""
    if not _is_flat(array):
        return None

    def generate(context, builder, signature, values):
        pointer = _pointer(context, builder, array, values[0], values[1], SIMD_WIDTH)
        return builder.load(pointer, align=array.dtype.bitwidth // 8)

    return SimdVector(array.dtype)(array, types.int64), generate


@intrinsic
def store(typing_context, array, offset, vector):
    """Store sixteen numbers in a flat array."""
    if not _is_flat(array):
        return None

    def generate(context, builder, signature, values):
        pointer = _pointer(context, builder, array, values[0], values[1], SIMD_WIDTH)
        builder.store(values[2], pointer, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.int64, vector), generate


@intrinsic
def broadcast(typing_context, number):
    """A vector of sixteen times the same number."""

    def generate(context, builder, signature, values):
        vector = ir.VectorType(values[0].type, SIMD_WIDTH)
        first = builder.insert_element(ir.Constant(vector, ir.Undefined), values[0], ir.IntType(32)(0))
        return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), _shuffle_indices([0] * SIMD_WIDTH))

    return SimdVector(number)(number), generate


@intrinsic
def maximum(typing_context, x, y):
    """The elementwise maximum; NaN where either is NaN."""

    def generate(context, builder, signature, values):
        vector = values[0].type
        kind = ir.FunctionType(vector, [vector, vector])
        name = f"llvm.maximum.v{SIMD_WIDTH}f{x.dtype.bitwidth}"
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
def exp(typing_context, x):
    """The elementwise exponential, by the algorithm of `exponential`."""

    def generate(context, builder, signature, values):
        return build_exponential(builder, values[0], x.dtype)

    return x(x), generate


@intrinsic
def sum_heads(typing_context, vector, heads):
    """The sum over the lanes of each head, in all lanes of that head. Lane l belongs to head l mod `heads`, which is a
    power of two."""

    def generate(context, builder, signature, values):
        total = cgutils.alloca_once(builder, values[0].type)
        builder.store(values[0], total)
        for step in (8, 4, 2, 1):
            with builder.if_then(builder.icmp_signed("<=", values[1], values[1].type(step))):
                now = builder.load(total)
                across = builder.shuffle_vector(now, now, _shuffle_indices([lane ^ step for lane in range(SIMD_WIDTH)]))
                builder.store(builder.fadd(now, across), total)
        return builder.load(total)

    return vector(vector, types.int64), generate


@intrinsic
def store_heads(typing_context, array, offset, vector, heads):
    """Store the first `heads` lanes in a flat array."""

    def generate(context, builder, signature, values):
        for count in (1, 2, 4, 8, 16):
            with builder.if_then(builder.icmp_signed("==", values[3], values[3].type(count))):
                part = builder.shuffle_vector(values[2], values[2], _shuffle_indices(range(count)))
                pointer = _pointer(context, builder, array, values[0], values[1], count)
                builder.store(part, pointer, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.int64, vector, types.int64), generate


@intrinsic
def load_heads(typing_context, array, offset, heads):
    """Load `heads` numbers of a flat array, one for each head, into all lanes of that head."""

    def generate(context, builder, signature, values):
        kind = ir.VectorType(context.get_data_type(array.dtype), SIMD_WIDTH)
        loaded = cgutils.alloca_once(builder, kind)
        for count in (1, 2, 4, 8, 16):
            with builder.if_then(builder.icmp_signed("==", values[2], values[2].type(count))):
                pointer = _pointer(context, builder, array, values[0], values[1], count)
                part = builder.load(pointer, align=array.dtype.bitwidth // 8)
                indices = _shuffle_indices([i % count for i in range(SIMD_WIDTH)])
                builder.store(builder.shuffle_vector(part, part, indices), loaded)
        return builder.load(loaded)

    return SimdVector(array.dtype)(array, types.int64, types.int64), generate


def _shuffle_indices(indices: Any) -> Any:
    """The indices of a shuffle as a constant vector."""
    indices = list(indices)
    return ir.Constant(ir.VectorType(ir.IntType(32), len(indices)), indices)
