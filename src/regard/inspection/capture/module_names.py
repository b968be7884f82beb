"""The name of the module in which a call is made, read from the call stack, so that no module needs a hook."""

import sys

from torch import nn

from regard.modules.efficient import Approximation

__all__ = ["MODULE_CALL", "ModuleNames"]

MODULE_CALL = nn.Module.__call__.__code__
"""The code in which any module is called."""


class ModuleNames:
    """The names of a model's modules.

    Attributes:
        approximations: the names of those that hold an approximation of attention, and the kind of each.
    """

    def __init__(self, model: nn.Module):
        # A module may be used under several names; the first one counts.
        self._names: dict[int, str] = {}
        for name, module in model.named_modules():
            self._names.setdefault(id(module), name)
        every = model.named_modules(remove_duplicate=False)
        found = {name: module for name, module in every if isinstance(module, Approximation)}
        self.approximations = {name.rpartition(".")[0]: type(module).__name__ for name, module in found.items()}
        # A softmax inside an approximation is over something else than the keys, so it isn't a call of attention.
        self._inside = {id(module) for each in found.values() for module in each.modules()}

    def current(self) -> str | None:
        """The name of the innermost module of the model that is being called.

        None in a module of something else, and inside an approximation.

        "" is the model itself, whose methods may be called without calling it as a module.
        """
        frame, elsewhere = sys._getframe(1), False
        while frame is not None:
            # Only the frames of calls of modules are read: reading the variables of another one keeps them alive.
            if frame.f_code is MODULE_CALL:
                module = frame.f_locals["self"]
                if id(module) in self._inside:
                    return None
                if id(module) in self._names:
                    return self._names[id(module)]
                elsewhere = True
            frame = frame.f_back
        return None if elsewhere else ""
