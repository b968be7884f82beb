"""Which requests are computed along the edges of a graph, and which by tiles."""

import importlib
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import torch
from torch import Tensor

from regard.attention.masks import Edges
from regard.attention.pairs.csr import Csr
from regard.attention.request import Request

__all__ = ["graph_of", "launcher", "on_device_of"]


def graph_of(request: Request) -> Csr | None:
    """The graph whose edges are the request's pairs, or None: then it goes by tiles.

    The mask's own lists, the same tensors at every call, in which nodes after the last one with an edge are missing.
    """
    mask = request.parts.mask
    if type(mask) is not Edges or mask.items != 1 or request.parts.position.acts_in_tiles:
        return None
    return mask.csr


def launcher(request: Request) -> Any:
    """The module that launches the kernels for a request, which imports Triton."""
    return _module("launch" if graph_of(request) is None else "edge_launch")


def on_device_of(tensor: Tensor) -> AbstractContextManager[Any]:
    """Triton launches on the current device and stream, wherever the tensors are."""
    return torch.cuda.device(tensor.device) if tensor.is_cuda else nullcontext()


@cache
def _module(name: str) -> Any:
    return importlib.import_module(f"regard.attention.engines.triton.{name}")
