"""All of PyTorch that the operator needs and that isn't public: the place to look when a release changes it.

PyTorch has no public way to any of these. Tested with PyTorch 2.11.0, 2.13.0, 2.14.1 and 2.15.0.
"""

import contextlib
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._C._functorch import (
    TransformType,
    get_interpreter_stack,
    get_unwrapped,
    is_batchedtensor,
    is_functorch_wrapped_tensor,
)
from torch._subclasses.fake_tensor import FakeTensor
from torch.autograd import forward_ad
from torch.utils._device import DeviceContext

__all__ = [
    "autograd_in_operators",
    "compile_time_constant",
    "compiler_is_loaded",
    "default_device",
    "disable_dynamo",
    "flash_backward_kernel",
    "flash_kernel",
    "function_modes",
    "get_unwrapped",
    "graph_is_kept",
    "in_forward_mode",
    "in_nested_forward_mode",
    "in_transform",
    "in_vmap",
    "is_batchedtensor",
    "is_dual",
    "is_fake",
    "is_functorch_wrapped_tensor",
    "onednn_linear",
    "sees_calls",
    "without_function_modes",
]

# Whether a transform of torch.func is active.
in_transform: Callable[[], bool] = torch._C._are_functorch_transforms_active

# A block in which no mode of the function protocol is active, and none seems to be.
without_function_modes: Callable[[], contextlib.AbstractContextManager[Any]] = torch._C.DisableTorchFunction

# The kernel behind `scaled_dot_product_attention` on a CPU. The function itself falls back to n x n where the kernel
# refuses; the kernel raises, and returns the logsumexp of each row, which its gradient needs.
flash_kernel: Any = torch._scaled_dot_product_flash_attention_for_cpu  # pyright: ignore[reportPrivateImportUsage]
flash_backward_kernel: Any = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default

# As torch.compiler.disable, which imports the compiler, and so takes a second.
disable_dynamo: Any = torch._disable_dynamo  # pyright: ignore[reportPrivateImportUsage]

# oneDNN's product of two matrices, rows and columns, as (rows, columns, None, "none", [], ""); None if it isn't there.
onednn_linear: Any = (
    torch.ops.mkldnn._linear_pointwise.default
    if torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    else None
)


def compiler_is_loaded() -> bool:
    """Whether torch.compile has been imported, which takes a second; unless it is, nothing is compiled or traced."""
    return "torch._dynamo" in sys.modules


def function_modes() -> list[Any]:
    """The modes of the function protocol that are active in this thread, the outermost first."""
    return [torch._C._get_function_stack_at(place) for place in range(torch._C._len_torch_function_stack())]


def sees_calls() -> bool:
    """Whether a mode is active that may want to see each call, as that of `regard.watch` does.

    A default device sets a mode as well, which only looks for functions that make tensors.
    """
    return any(not isinstance(mode, DeviceContext) for mode in function_modes())


def default_device() -> torch.device | None:
    """The device that `torch.set_default_device` or a `with torch.device(...)` sets in this thread; None if none does.

    Autograd computes the gradients of a GPU's tensors in a thread of its own, in which none is set.
    """
    for place in reversed(range(torch._C._len_torch_function_stack())):
        mode: Any = torch._C._get_function_stack_at(place)
        if isinstance(mode, DeviceContext):
            return mode.device
    return None


def graph_is_kept() -> bool:
    """Whether a backward pass is running that may be followed by another through the same graph."""
    return torch._C._autograd._get_current_graph_task_keep_graph()  # pyright: ignore[reportAttributeAccessIssue]


def in_vmap() -> bool:
    """Whether this runs inside of `torch.vmap`, where one tensor stands for many."""
    return in_transform() and any(each.key() == TransformType.Vmap for each in get_interpreter_stack() or ())


def in_forward_mode() -> bool:
    """Whether forward-mode derivatives may be computed: torch.func.jvp, or a level of dual numbers."""
    return forward_ad._current_level >= 0


def in_nested_forward_mode() -> bool:
    """Whether this runs in a torch.func.jvp inside of another."""
    return in_transform() and sum(each.key() == TransformType.Jvp for each in get_interpreter_stack() or ()) > 1


def is_dual(tensor: Tensor) -> bool:
    """Whether a tensor has a tangent, at the level of dual numbers that is active."""
    return in_forward_mode() and forward_ad.unpack_dual(tensor).tangent is not None


def is_fake(tensor: Tensor) -> bool:
    """Whether a tensor has a shape but no values, as in a function that is being exported."""
    return isinstance(tensor, FakeTensor)


def compile_time_constant(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, run while a function that calls it is compiled; its result is a constant there.

    It does what `torch.compiler.assume_constant_result` does, which would import the compiler; that takes very long.
    """
    function._dynamo_marked_constant = True  # pyright: ignore[reportFunctionMemberAccess]
    return function


def autograd_in_operators() -> contextlib.AbstractContextManager[Any]:
    """Enable autograd where PyTorch has disabled it inside an operator: the gradients of users' parts need it."""
    include, exclude = torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()
    if not exclude.has(_AUTOGRAD_KEYS[0]) or torch.is_inference_mode_enabled():
        return contextlib.nullcontext()
    for key in _AUTOGRAD_KEYS:
        exclude = exclude.remove(key)
    return torch._C._ForceDispatchKeyGuard(include, exclude)


_AUTOGRAD_KEYS = [
    getattr(torch._C.DispatchKey, name)
    for name in (
        "AutogradFunctionality",
        "AutogradOther",
        "AutogradNestedTensor",
        "ADInplaceOrView",
        "FuncTorchDynamicLayerFrontMode",
        "FuncTorchDynamicLayerBackMode",
        "FuncTorchGradWrapper",
    )
]
