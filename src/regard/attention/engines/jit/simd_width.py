"""Compile kernels for the widest SIMD vectors of the CPU.

On Intel CPUs LLVM prefers half the width, because on early ones the full width lowered the clock rate. These kernels
consist of multiply-adds, which the full width makes twice as fast.
"""

from typing import Any

from numba.core import lowering
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

__all__ = ["PREFERENCE", "WideCompiler"]

# Has no effect if the CPU's vectors are narrower, or if LLVM already uses the full width.
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
