"""Triton's interpreter for one test alone: everywhere else the `triton` engine refuses tensors on a CPU."""

import dataclasses
import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch

from attention.cases import Case
from attention.comparing import request_of
from regard.attention.engines import triton


def taken(kind: str, examples: dict[str, Any]) -> list[str]:
    """The names of the parts of a kind that the engine takes."""
    return [name for name in examples if triton.lacks(request_of(Case(**{kind: name}).make())) is None]


def interpret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Triton's kernels run on a CPU until the end of the test. `conftest.py` has imported Triton for it."""
    if torch.get_default_device().type != "cpu":
        pytest.skip("the interpreter stands in for a GPU, and there is one")
    pytest.importorskip("triton", reason="Triton isn't installed: in the clone of regard: pip install '.[gpu]'")
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    interpreter = importlib.import_module("triton.runtime.interpreter")
    monkeypatch.setattr(interpreter, "_patch_builtin", _patch_builtin)
    monkeypatch.setattr(interpreter, "_patch_lang_tensor", _with_index(interpreter._patch_lang_tensor))
    # Another third of the time.
    monkeypatch.setattr(interpreter, "_patch_lang", _once(interpreter._patch_lang))
    options = dataclasses.replace(interpreter.interpreter_builder.options, sanitize_overflow=False)
    monkeypatch.setattr(interpreter.interpreter_builder, "options", options)
    reason = triton.missing()
    assert reason is None, reason
    # A test without the interpreter may be the first that needs these.
    importlib.import_module("regard.attention.engines.triton.edge_launch")
    outputs = importlib.import_module("regard.attention.engines.triton.outputs")
    assert type(outputs.forward).__name__ == "InterpretedFunction", "Triton was imported without TRITON_INTERPRET=1"


def _patch_builtin(package: Any, *rest: Any) -> None:
    """As the interpreter's own, which lists all members of Triton's language anew at each call of a function: with it,
    a test takes twice as long."""
    interpreter = importlib.import_module("triton.runtime.interpreter")
    for name in _builtins(package):
        member = getattr(package, name)
        if not interpreter.tl.core.is_builtin(member):
            return  # this one is in place, and so are the others
        interpreter._patch_attr(package, name, member, *rest)


@functools.cache
def _builtins(package: Any) -> list[str]:
    is_builtin = importlib.import_module("triton.language.core").is_builtin
    return [name for name, member in inspect.getmembers(package) if is_builtin(member)]


def _with_index(patch: Callable[..., None]) -> Callable[..., None]:
    """As the interpreter's own, but with arrays of one number as indices, which NumPy 2.4 refuses Triton 3.6."""

    def patch_tensor(tensor: Any, *rest: Any) -> None:
        patch(tensor, *rest)
        tensor.__index__ = lambda self: int(self.handle.data.squeeze())

    return patch_tensor


def _once(patch: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """As the interpreter's own, for a function that is called by a kernel: the kernel's launch has done it."""

    def patch_lang(function: Any) -> Any:
        interpreter = importlib.import_module("triton.runtime.interpreter")
        language = [
            value for value in function.__globals__.values() if value is interpreter.tl or value is interpreter.tl.core
        ]
        if language and not any(interpreter.tl.core.is_builtin(each.load) for each in language):
            return None
        return patch(function)

    return patch_lang
