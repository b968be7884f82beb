"""Kernels use the widest vectors that the CPU has.

For Intel's CPUs LLVM prefers half of them, since on early ones the full width slowed the clock. These kernels are
nothing but multiply-adds, which the full width does twice as many of.
"""

from typing import Any

from numba.core import lowering
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

__all__ = ["PREFERENCE", "WideCompiler"]

# No effect where the CPU has narrower ones, and none where it has no preference to overrule.
PREFERENCE = '"prefer-vector-width"="512"'


class _Lower(lowering.Lower):
    def setup_function(self, fndesc: Any) -> None:
        super().setup_function(fndesc)
        # llvmlite's own `add` knows only the attributes that are single words.
        set.add(self.function.attributes, PREFERENCE)


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    _name = "regard_lowering"

    @property
    def lowering_class(self) -> type[lowering.Lower]:
        return _Lower


class WideCompiler(CompilerBase):
    """Numba's own steps, with that preference noted on every function: for `njit(pipeline_class=...)`."""

    def define_pipelines(self) -> list[Any]:
        steps = DefaultPassBuilder.define_nopython_pipeline(self.state)
        steps.passes[:] = [(_Lowering if step is NativeLowering else step, what) for step, what in steps.passes]
        steps.finalize()
        return [steps]
