"""The modules that are called attention: which of them ran in a block, and weren't seen."""

import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import nn

from regard.inspection.capture.interception_disabled import is_interception_disabled

__all__ = ["AttentionModules"]

_ATTENTION = re.compile(r"Attention|Attn|MHSA|MHA")
_ATTRIBUTE = re.compile(r"(.*_)?(attn|attention)")
# Parts of attention, and what stands beside it.
_PART = re.compile(r"Adapter|Bias|Bottleneck|Dropout|Embed|Mask|Norm|Output|Proj")


class AttentionModules:
    """The modules of a model that are called attention, by their class or by the attribute that holds them.

    Attributes:
        classes: the names of the modules, and of the class of each.
    """

    def __init__(self, model: nn.Module):
        self._modules = {
            name: module
            for name, module in model.named_modules()
            if _is_attention(name, type(module)) and not isinstance(module, torch.jit.ScriptModule)
        }
        self.classes = {name: type(module).__name__ for name, module in self._modules.items()}
        self._ran: set[str] = set()

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Note which of them run inside of the block, in its thread."""
        thread = threading.get_ident()

        def note(name: str, *_: Any) -> None:
            if threading.get_ident() == thread and not is_interception_disabled():
                self._ran.add(name)

        handles = [each.register_forward_pre_hook(partial(note, name)) for name, each in self._modules.items()]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def unseen(self, known: Iterable[str]) -> list[str]:
        """The innermost ones that ran, without those of which something is known.

        Args:
            known: the names of modules of whose attention the record has something, or a sentence tells something.
        """
        known = set(known)
        innermost = [name for name in self._ran if not any(_is_inside(each, name) for each in self._ran - {name})]
        return sorted((name for name in innermost if not self._is_known(name, known)), key=[*self._modules].index)

    def _is_known(self, name: str, known: set[str]) -> bool:
        # A module may call a part of itself attention, such as a gate, or leave the products to the module around it.
        around = {each for each in self.classes if _is_inside(name, each)} | {name.rpartition(".")[0]}
        return bool(around & known) or any(_is_inside(each, name) for each in known)


def _is_attention(name: str, kind: type[nn.Module]) -> bool:
    # A linear map may stand in an attribute that is called so, too.
    by_attribute = _ATTRIBUTE.fullmatch(name.rpartition(".")[2]) and not kind.__module__.startswith("torch.nn")
    return bool(_ATTENTION.search(kind.__name__) or by_attribute) and not _PART.search(kind.__name__)


def _is_inside(name: str, outer: str) -> bool:
    """Whether a module is another one, or inside of it; "" is the model itself."""
    return outer in ("", name) or name.startswith(f"{outer}.")
