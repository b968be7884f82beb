"""A function in a Python file that returns a model and its inputs, as a case for `see`."""

import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import ArgumentError, DataError, UnknownNameError
from regard.inspection.capture.watch import record_calls
from regard.inspection.cases.case import Case

__all__ = ["is_own_model", "own_case"]


def is_own_model(name: str) -> bool:
    """Whether a name is one of a Python file, with or without a function: "model.py", "model.py:build"."""
    return name.rpartition(":")[0].endswith(".py") or name.endswith(".py")


def own_case(name: str, source: str | None = None) -> Case:
    """The case that a function returns.

    The function takes the source, or nothing. It returns (model, inputs) or (model, inputs, items), or a `Case` for
    whatever else there is to say. The inputs are a tensor, a tuple of arguments or a dict of arguments by name, each of
    whose tensors has a first axis of size 1; the items are the texts of the keys. The output, its `logits` or its
    `last_hidden_state` is taken for a vector of each item if it has as many, and else for one of the whole.

    Args:
        name: "FILE.py:FUNCTION"; without FUNCTION, the only public function that the file defines.
        source: what the function is called with; None: nothing.

    Raises:
        DataError: the file can't be run.
        UnknownNameError: it has no such function.
        ArgumentError: the function returns something else, or its model attends to nothing.
    """
    file, _, function = name.rpartition(":") if not name.endswith(".py") else (name, "", "")
    path = Path(file)
    build = _function(path, function)
    parameters = inspect.signature(build).parameters
    if source is not None and not parameters:
        raise ArgumentError(f"`INPUT` must be left out: {build.__name__} of {file} takes none, but is {source!r:.40}.")
    needed = [each for each in parameters.values() if each.default is each.empty]
    if source is None and needed:
        raise ArgumentError(f"`INPUT` must be given: {build.__name__} of {file} takes {needed[0].name}.")
    given = _ran(path, lambda: build() if source is None else build(source))
    if isinstance(given, Case):
        return given
    if not isinstance(given, tuple) or len(given) not in (2, 3) or not isinstance(given[0], nn.Module):
        raise ArgumentError(
            f"{build.__name__} of {file} must return (model, inputs) or (model, inputs, items), with a torch.nn.Module "
            f"as the model, but returned {_told(given)}."
        )
    return _case(path, f"{path.stem}.{build.__name__}", given[0].eval(), given[1], *given[2:])


def _function(path: Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise DataError("the file must be a Python file, but isn't there.", path=path)
    module = importlib.util.module_from_spec(spec)
    # As in a script: what stands beside the file can be imported.
    sys.path.insert(0, str(path.resolve().parent))
    loader = spec.loader
    try:
        _ran(path, lambda: loader.exec_module(module))
    finally:
        sys.path.remove(str(path.resolve().parent))
    own = {
        each: value
        for each, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not each.startswith("_")
    }
    if not name and len(own) != 1:
        there = ", ".join(own) or "none"
        raise ArgumentError(f"{path} must define one function, or one must be named, FILE.py:FUNCTION; it has {there}.")
    if name and name not in own:
        raise UnknownNameError("FUNCTION", name, own)
    return own[name] if name else next(iter(own.values()))


def _ran(path: Path, run: Callable[[], Any]) -> Any:
    """What the user's own code gives.

    Raises:
        DataError: it raised an error; this one names its line.
    """
    try:
        return run()
    except SyntaxError as error:
        raise DataError(f"the file must be Python, but isn't ({error.msg}).", path=path, line=error.lineno) from error
    except SystemExit as error:
        raise DataError("the file ended the program instead of returning a model and its inputs.", path=path) from error
    except Exception as error:
        frames = [each for each in traceback.extract_tb(error.__traceback__) if Path(each.filename) == path]
        line = frames[-1].lineno if frames else None
        raise DataError(f"the file raised {type(error).__name__}: {error}.", path=path, line=line) from error


def _case(path: Path, name: str, model: nn.Module, inputs: Any, items: Any = None) -> Case:
    def run(given: Any) -> Any:
        if isinstance(given, dict):
            return model(**given)
        return model(*given) if isinstance(given, tuple | list) else model(given)

    with torch.no_grad(), record_calls(model) as seen:
        output = _tensor(_ran(path, lambda: run(inputs)))
    if not seen.layers:
        raise ArgumentError(seen.nothing)
    if len(output) != 1:
        raise ArgumentError(f"`inputs` must be one input, but the model's output is {_told(output)}, of {len(output)}.")
    count = seen[0].key.shape[2] if items is None else len(items)
    names = tuple(map(str, range(1, count + 1) if items is None else items))
    if items is not None and not any(count == layer.key.shape[2] for layer in seen):
        keys = ", ".join(str(each) for each in sorted({layer.key.shape[2] for layer in seen}))
        raise ArgumentError(f"`items` must be the {keys} that the model attends to, but are {count}.")
    each = output.ndim == 3 and output.shape[1] == count
    places = tuple((text, item) for item, text in enumerate(names)) if each else (("the whole", None),)

    def predict(output: Any) -> Tensor:
        tensor = _tensor(output)
        return tensor if each else tensor.flatten(1).unsqueeze(1)

    return Case(name, model, inputs, run, predict, "vectors", names, places)


def _tensor(output: Any) -> Tensor:
    """The tensor of real numbers that a model gave."""
    for name in ("logits", "last_hidden_state"):
        if isinstance(getattr(output, name, None), Tensor):
            return getattr(output, name)
    if isinstance(output, tuple | list) and output:
        output = output[0]
    if not isinstance(output, Tensor) or not output.is_floating_point() or output.ndim < 2:
        raise ArgumentError(
            f"the model must give a tensor of real numbers with an axis for the batch, but gave {_told(output)}. "
            "Return a Case to say what its output is."
        )
    return output


def _told(value: Any) -> str:
    return f"a tensor of shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
