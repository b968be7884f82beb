"""The interception: a mode of PyTorch's function protocol that sees each call of attention and may change its result.

Inside of the block, and in its thread only, each call of a function of PyTorch comes here first. Nothing of PyTorch and
of the model is patched.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from regard.attention.pytorch_internals import compiler_is_loaded, in_vmap
from regard.inspection.capture.by_hand.followed import PERMUTATIONS, SOFTMAXES
from regard.inspection.capture.by_hand.recognition import ByHand
from regard.inspection.capture.call import AttentionCall
from regard.inspection.capture.functions import FUNCTIONS
from regard.inspection.capture.interception_disabled import interception_disabled, is_interception_disabled
from regard.inspection.capture.model_call import ModelCall
from regard.inspection.capture.outside.redirection import outside_reader, redirected

__all__ = ["Interception"]

Change = Callable[[AttentionCall], Tensor | None]


class Interception(TorchFunctionMode):
    """Calls `seen` with each call of attention and its result.

    Args:
        seen: receives the call, and what the function returned.
        module: gives the name of the module that runs.
        change: receives the call, and returns the outputs of the heads that go on in place of the function's own, or
            None to leave them.

    Inside of `torch.vmap` one tensor stands for many, so nothing is looked at there.

    What can't be recorded runs as it would without the block: no error of what is only looked at reaches the model.

    Attributes:
        calls: how many calls of PyTorch's functions were seen.
        paused: how many layers run that are read as a whole, so that nothing inside of them is looked at.
        unrecorded: the modules in which a look at a call raised an error, and that error, as the end of a sentence.
    """

    def __init__(
        self,
        seen: Callable[[AttentionCall, Any], None],
        module: Callable[[], str | None],
        change: Change | None = None,
    ):
        super().__init__()
        self._seen, self._change = seen, change
        self._by_hand = ByHand(self._attended, module, gradients=change is not None)
        self._module = module
        self.calls = self.paused = 0
        self.unrecorded: dict[str, str] = {}

    @property
    def missed(self) -> list[str]:
        """The modules whose weights were multiplied by something in a way that isn't recognised."""
        return self._by_hand.missed

    def __enter__(self) -> "Interception":
        with ExitStack() as around:
            around.enter_context(redirected())
            # Compiled functions run as the Python that they were compiled from, which can be intercepted.
            # Flex attention loads the compiler when it is called.
            if compiler_is_loaded() or "torch.nn.attention.flex_attention" in sys.modules:
                around.enter_context(torch.compiler.set_stance("force_eager"))
            entered = super().__enter__()
            self._around = around.pop_all()
        return entered

    def __exit__(self, *error: Any) -> None:
        try:
            super().__exit__(*error)
        finally:
            self._around.__exit__(*error)
            self._by_hand.clear()

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if self.paused or is_interception_disabled():
            return func(*args, **kwargs)
        self.calls += 1
        if func not in PERMUTATIONS and getattr(func, "__name__", "") == "__get__":
            # It reads an attribute, such as a shape.
            return func(*args, **kwargs)
        if in_vmap():
            self._note_vmap(func)
            return func(*args, **kwargs)
        run = ModelCall(func, args, kwargs)
        try:
            return self._intercepted(func, args, kwargs, run)
        except Exception as error:
            if run.raised:
                raise
            self._note(error)
            return run()

    def read_layer(
        self,
        read: Callable[..., AttentionCall],
        module: nn.Module,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        result: Any,
    ) -> Any:
        """See the call that a whole layer was, and return what goes on in place of its result.

        Args:
            read: makes the call of the other arguments.
            module, args, kwargs, result: the layer, what it was called with, and what it returned.
        """
        run = ModelCall(lambda: result, (), {})
        try:
            with self._looking():
                call = read(module, args, kwargs, result)
            return self._attended(call, run)
        except Exception as error:
            if run.raised:
                raise
            self._note(error)
            return result

    def _intercepted(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], run: ModelCall) -> Any:
        read = FUNCTIONS.get(func) or outside_reader(func)
        if read is None:
            return self._by_hand(func, args, kwargs, run)
        with self._looking():
            call = read(*args, **kwargs)
        return self._attended(call, run)

    @contextmanager
    def _looking(self) -> Iterator[None]:
        # What is only looked at needs no gradient; changed outputs go on and do.
        with interception_disabled(), torch.set_grad_enabled(self._change is not None and torch.is_grad_enabled()):
            yield

    def _attended(self, call: AttentionCall, run: ModelCall) -> Any:
        # A block around this one sees what goes on: the function itself, or the operator's call in its place.
        result = run() if self._change is None else run.changed(lambda: self._changed(call))
        try:
            with interception_disabled():
                self._seen(call, result)
        except Exception as error:
            self._note(error)
        return result

    def _changed(self, call: AttentionCall) -> Any:
        """What the function returns for changed outputs; None if nothing changes."""
        outputs = None if self._change is None else self._change(call)
        if outputs is None:
            return None
        with interception_disabled():
            return call.returned(outputs)

    def _note_vmap(self, func: Any) -> None:
        if func in FUNCTIONS or getattr(func, "__name__", "") in SOFTMAXES:
            why = "it runs inside of torch.vmap, where one tensor stands for many"
            self.unrecorded.setdefault(self._module() or "", why)

    def _note(self, error: Exception) -> None:
        first = str(error).partition("\n")[0]
        why = f"what it computes couldn't be followed ({type(error).__name__}: {first:.200})"
        self.unrecorded.setdefault(self._module() or "", why)
