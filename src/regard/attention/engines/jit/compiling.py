"""How the kernels are compiled and run: by Numba, on the threads that torch has already.

A kernel is a function `(start, stop, ...)` that does its share of a loop; `in_parallel` cuts the loop into pieces and
hands them out, first come first served, to torch's own OpenMP threads. Numba's own layers would bring a second pool,
which fights the first for the cores for as long as idle workers spin, dies in a forked child (omp), or aborts under
concurrent Python threads (workqueue); and its parallel loops take several times as long to compile. Where pieces are
cut never depends on the number of threads, and a piece writes only what is its own: results are bitwise repeatable.
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
from numba.core import cgutils, types
from numba.core.caching import FunctionCache, IndexDataCacheFile

from regard.attention.engines.jit.simd_width import PREFERENCE, WideCompiler

__all__ = ["compiled", "intrinsic", "parallel_for", "scalar", "threads"]

# Called with other arguments than it is written with, which no checker of types can follow.
intrinsic: Any = extending.intrinsic

# `nnan` and `ninf` stay out: they make isnan(nan) False.
FASTMATH = {"contract", "reassoc", "arcp", "nsz"}


class _DiskCache(FunctionCache):
    """Where Numba keeps the machine code of a function, made safe for what Numba's own overlooks.

    Its own shares one index among the dtypes that a function is compiled for, so that two processes that compile for
    different ones at once may take each other's code; it doesn't see a change in another file that a kernel is built
    of; and a full disk is an error.
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
    """Compile a function when it is first called, and keep the machine code on disk if there is a place to keep it.

    Args:
        fast: allow sums to be regrouped and divisions to become reciprocals, for vector code.
        keep: whether it is called from Python, so that keeping its code saves something.
    """

    def compile_later(function: Callable[..., Any]) -> Any:
        # A checker of annotations (as in the tests) may have wrapped the function; Numba wants what is inside.
        function = inspect.unwrap(function)
        dispatcher: Any = numba.njit(
            function,
            nogil=True,
            error_model="numpy",
            fastmath=FASTMATH if fastmath else {"contract"},
            pipeline_class=WideCompiler,
        )
        if cache:
            # Without a folder that can be written, neither the package's nor the user's, nothing is kept.
            with contextlib.suppress(RuntimeError):
                dispatcher._cache = _DiskCache(function)
        return dispatcher

    return compile_later


def scalar(value: float, dtype: torch.dtype) -> Any:
    """A number as wide as a tensor's, so that compiled code has no wider ones."""
    return torch.tensor(value, dtype=dtype).numpy()[()]


_forked = False


def threads() -> int:
    """How many threads a kernel may use: as many as torch, but one in a forked child, which inherits no workers."""
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
    """What stands in for OpenMP where torch was built with something else: a few threads for one call."""
    others = [threading.Thread(target=_WORK(work), args=(shared,)) for _ in range(count - 1)]
    for other in others:
        other.start()
    _WORK(work)(shared)
    for other in others:
        other.join()


def _torch_parallel() -> int:
    """The address of OpenMP's "run this function on a team" in the very library that torch runs on."""
    folder = Path(torch.__file__).parent / "lib"
    for name in ("libtorch_cpu.so", "libtorch_cpu.dylib"):
        if (folder / name).exists():
            library = ctypes.CDLL(str(folder / name))  # loaded already: a lookup goes on into what it links to
            if hasattr(library, "GOMP_parallel"):
                return ctypes.cast(library.GOMP_parallel, ctypes.c_void_p).value or 0
    return ctypes.cast(_on_python_threads, ctypes.c_void_p).value or 0


# Code that was kept on disk finds the address by this name, so the name must be known before any is loaded.
llvmlite.binding.add_symbol("regard_parallel", _torch_parallel())


@intrinsic
def parallel_for(typing_context, kernel, length, grain, count, arguments):
    """Inside compiled code: kernel(start, stop, *arguments) over 0..length in pieces of `grain`, on `count` threads."""
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
        # What the threads share: how far the loop has been handed out, its length, the size of a piece, the arguments.
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
    """What each thread runs: take the next piece of the loop until none is left."""
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
    # A kernel raises nothing, so its status is let go.
    context.call_conv.call_function(builder, kernel, overload.fndesc.restype, overload.fndesc.argtypes, values)
    builder.branch(take)
    builder.position_at_end(done)
    builder.ret_void()
    return work
