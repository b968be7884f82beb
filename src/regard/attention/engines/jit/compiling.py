"""How kernels are compiled, by Numba, and run, on torch's own threads.

A kernel is a function `(start, stop, ...)` that computes a part of a loop; `parallel_for` divides the loop into chunks
and schedules them dynamically on torch's OpenMP threads. Numba's own threading layers would add a second pool, which
competes with the first for the cores while idle workers spin, dies in a forked child (omp), or aborts under concurrent
Python threads (workqueue); and its parallel loops take several times as long to compile. The chunks don't depend on the
number of threads, and each writes only its own results, so results are bitwise reproducible.
"""

import contextlib
import ctypes
import hashlib
import inspect
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
import torch
from llvmlite import ir
from numba import extending
from numba.core import cgutils, lowering, types
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

__all__ = ["compiled", "intrinsic", "parallel_for", "scalar", "threads"]

# Called with other arguments than it is defined with, which type checkers can't follow.
intrinsic: Any = extending.intrinsic

# Without `nnan` and `ninf`, which would make isnan(nan) False.
FASTMATH = {"contract", "reassoc", "arcp", "nsz"}


class _DiskCache(FunctionCache):
    """Numba's disk cache of a function's machine code, with three faults of Numba's own mended.

    Numba's shares one index among all dtypes that a function is compiled for, so that two processes compiling for
    different dtypes at once may load each other's code; it ignores changes in other files that a kernel is built from;
    and it raises an error if the disk is full.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        self._open(sig)
        return super().load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        self._open(sig)
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)

    def _open(self, sig: Any) -> None:
        name = f"{self._impl.filename_base}-{hashlib.blake2b(repr(sig).encode(), digest_size=8).hexdigest()}"
        self._cache_file = IndexDataCacheFile(self._cache_path, name, _SOURCES)


_SOURCES = tuple(
    (path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in sorted(Path(__file__).parent.glob("*.py"))
)


def compiled(*, fastmath: bool = True, cache: bool = True) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function at its first call, and cache the machine code on disk if a folder is writable.

    Args:
        fastmath: allow sums to be reordered and divisions to become reciprocals, so that loops are vectorised.
        cache: whether to cache the code, which is useful for functions that are called from Python.
    """

    def compile_later(function: Callable[..., Any]) -> Any:
        # An annotation checker (as in the tests) may have wrapped the function; Numba needs the original.
        function = inspect.unwrap(function)
        dispatcher: Any = numba.njit(
            function,
            nogil=True,
            error_model="numpy",
            fastmath=FASTMATH if fastmath else {"contract"},
            pipeline_class=WideCompiler,
        )
        if cache:
            # If neither the package's folder nor the user's is writable, nothing is cached.
            with contextlib.suppress(RuntimeError):
                dispatcher._cache = _DiskCache(function)
        return dispatcher

    return compile_later


def scalar(value: float, dtype: torch.dtype) -> Any:
    """A number of the tensor's dtype, so that compiled code doesn't compute in a wider one."""
    return torch.tensor(value, dtype=dtype, device="cpu").numpy()[()]


_forked = False


def threads() -> int:
    """How many threads a kernel may use: as many as torch, but one in a forked child, where the workers don't exist."""
    return 1 if _forked else torch.get_num_threads()


def _note_fork() -> None:
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


_WORK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_PARALLEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint)


@_PARALLEL
def _on_python_threads(work: int, shared: int, count: int, flags: int) -> None:
    """Replaces OpenMP's function if torch was built without OpenMP: starts threads for a single call."""
    others = [threading.Thread(target=_WORK(work), args=(shared,)) for _ in range(count - 1)]
    for other in others:
        other.start()
    _WORK(work)(shared)
    for other in others:
        other.join()


def _torch_parallel() -> int:
    """The address of OpenMP's GOMP_parallel, "run this function on a team", in the library that torch itself uses."""
    folder = Path(torch.__file__).parent / "lib"
    for name in ("libtorch_cpu.so", "libtorch_cpu.dylib"):
        if (folder / name).exists():
            library = ctypes.CDLL(str(folder / name))  # loaded already; symbols of its dependencies are found too
            if hasattr(library, "GOMP_parallel"):
                return ctypes.cast(library.GOMP_parallel, ctypes.c_void_p).value or 0
    return ctypes.cast(_on_python_threads, ctypes.c_void_p).value or 0


# Cached machine code refers to the address by this name, which must be defined before any code is loaded.
llvmlite.binding.add_symbol("regard_parallel", _torch_parallel())


@intrinsic
def parallel_for(typing_context, kernel, length, grain, count, arguments):
    """In compiled code: kernel(start, stop, *arguments) over 0..length in chunks of `grain`, on `count` threads."""
    integer = types.int64
    call = kernel.get_call_type(typing_context, (integer, integer, *arguments.types), {})

    def generate(context, builder, signature, values):
        overload = kernel.dispatcher.overloads[tuple(call.args)]
        context.add_linking_libs([overload.library])
        _, length, grain, count, arguments = (
            value if kind in (kernel, signature.args[4]) else context.cast(builder, value, kind, integer)
            for value, kind in zip(values, signature.args, strict=True)
        )
        word = ir.IntType(64)
        # Shared by the threads: the start of the next chunk, the loop's length, the size of a chunk, the arguments.
        shared_type = ir.LiteralStructType([word, word, word, arguments.type])
        shared = cgutils.alloca_once(builder, shared_type)
        for field, value in enumerate((word(0), length, grain, arguments)):
            builder.store(value, cgutils.gep_inbounds(builder, shared, 0, field))
        work = _work(context, builder.module, overload, signature.args[4], shared_type)
        opaque = builder.bitcast(shared, cgutils.voidptr_t)
        with builder.if_else(builder.icmp_signed(">", count, word(1))) as (several, one):
            with several:
                half = ir.IntType(32)
                kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, cgutils.voidptr_t, half, half])
                parallel = cgutils.get_or_insert_function(builder.module, kind, "regard_parallel")
                address = builder.bitcast(work, cgutils.voidptr_t)
                builder.call(parallel, [address, opaque, builder.trunc(count, half), half(0)])
            with one:
                builder.call(work, [opaque])
        return context.get_dummy_value()

    return types.void(kernel, length, grain, count, arguments), generate


def _work(context: Any, module: Any, overload: Any, kinds: Any, shared_type: Any) -> Any:
    """The function that each thread runs: take the next chunk of the loop until none is left."""
    kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t])
    work = ir.Function(module, kind, name=module.get_unique_name("regard_work"))
    work.linkage = "internal"
    set.add(work.attributes, PREFERENCE)
    builder = ir.IRBuilder(work.append_basic_block("entry"))
    shared = builder.bitcast(work.args[0], shared_type.as_pointer())
    length, grain, arguments = (builder.load(cgutils.gep_inbounds(builder, shared, 0, field)) for field in (1, 2, 3))
    take, run, done = (work.append_basic_block(name) for name in ("take", "run", "done"))
    builder.branch(take)
    builder.position_at_end(take)
    start = builder.atomic_rmw("add", cgutils.gep_inbounds(builder, shared, 0, 0), grain, "monotonic")
    builder.cbranch(builder.icmp_signed("<", start, length), run, done)
    builder.position_at_end(run)
    end = builder.add(start, grain)
    stop = builder.select(builder.icmp_signed("<", end, length), end, length)
    kernel = context.declare_function(module, overload.fndesc)
    values = [start, stop, *cgutils.unpack_tuple(builder, arguments, len(kinds.types))]
    # A kernel raises nothing, so its status is ignored.
    context.call_conv.call_function(builder, kernel, overload.fndesc.restype, overload.fndesc.argtypes, values)
    builder.branch(take)
    builder.position_at_end(done)
    builder.ret_void()
    return work


# On Intel CPUs LLVM prefers half the width of vectors, because on early ones the full width lowered the clock rate.
# These kernels consist of multiply-adds, which the full width makes twice as fast. The attribute has no effect if the
# vectors of the CPU are narrower, or if LLVM already uses the full width.
PREFERENCE = '"prefer-vector-width"="512"'


class _Lower(lowering.Lower):
    def setup_function(self, fndesc: Any) -> None:
        super().setup_function(fndesc)
        # llvmlite's own `add` accepts only attributes without a value.
        set.add(self.function.attributes, PREFERENCE)


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    _name = "regard_lowering"

    @property
    def lowering_class(self) -> type[lowering.Lower]:
        return _Lower


class WideCompiler(CompilerBase):
    """Numba's default pipeline, with that attribute on every function: for `njit(pipeline_class=...)`."""

    def define_pipelines(self) -> list[Any]:
        steps = DefaultPassBuilder.define_nopython_pipeline(self.state)
        steps.passes[:] = [(_Lowering if step is NativeLowering else step, what) for step, what in steps.passes]
        steps.finalize()
        return [steps]
