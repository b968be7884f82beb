"""What PyTorch's encoder gives at padded places, which depends on the path that it takes.

In evaluation `nn.TransformerEncoder` leaves padding out where it can, and gives zeros in its place. Any mode of the
function protocol switches this path off, and the other one computes vectors there.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn

from regard.attention.pytorch_internals import function_modes, without_function_modes
from regard.inspection.interception import Interception

__all__ = ["padding_as_outside"]

_FORWARD = nn.TransformerEncoder.forward
_ARGUMENTS = signature(_FORWARD)


@contextmanager
def padding_as_outside(model: nn.Module) -> Iterator[None]:
    """Give at padded places of PyTorch's encoders what they give outside of the block, though calls are intercepted."""
    encoders = [each for each in model.modules() if getattr(type(each), "forward", None) is _FORWARD]
    handles = [each.register_forward_hook(_with_padding, with_kwargs=True) for each in encoders]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _with_padding(
    encoder: nn.TransformerEncoder, args: tuple[Any, ...], kwargs: dict[str, Any], output: Tensor
) -> Tensor | None:
    padding = _ARGUMENTS.bind(encoder, *args, **kwargs).arguments.get("src_key_padding_mask")
    modes = function_modes()
    # Another mode, such as a default device, switches the path off outside of the block too.
    if padding is None or not modes or not all(isinstance(each, Interception) for each in modes):
        return None
    with without_function_modes():
        asked = _Asked(encoder)
        at_padding = _FORWARD(asked, *args, **kwargs)  # pyright: ignore[reportArgumentType]
        return torch.where(padding.bool().unsqueeze(-1), at_padding, output) if asked.layers.is_nested else None


class _Asked:
    """An encoder whose layers do nothing, to ask which path it takes and what it gives at padded places."""

    def __init__(self, encoder: nn.TransformerEncoder):
        self._encoder, self.layers = encoder, _Layers(encoder)
        # Not called as a module, so that no hook of the user's runs once more.
        self.norm = None if encoder.norm is None else encoder.norm.forward

    def __getattr__(self, name: str) -> Any:
        return getattr(self._encoder, name)


class _Layers:
    """The layers of an encoder, of which none is run.

    Attributes:
        is_nested: whether they were given vectors without padding.
    """

    def __init__(self, encoder: nn.TransformerEncoder):
        self._first, self.is_nested = encoder.layers[0], False

    def __getitem__(self, which: int) -> Any:
        return self._first

    def __iter__(self) -> Iterator[Any]:
        yield self._leave

    def _leave(self, vectors: Tensor, **_: Any) -> Tensor:
        self.is_nested = vectors.is_nested
        return vectors
