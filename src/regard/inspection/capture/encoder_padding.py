"""What PyTorch's encoder takes and gives where there is padding, which depends on the path that it takes.

In evaluation `nn.TransformerEncoder` leaves padding out where it can, and gives zeros in its place; nested tensors have
none. Any mode of the function protocol switches this path off. The other one computes vectors at padded places, and
doesn't take nested tensors.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn

from regard.attention.pytorch_internals import function_modes, without_function_modes
from regard.inspection.capture.interception import Interception
from regard.inspection.capture.tensor_map import TensorMap

__all__ = ["padding_as_outside"]

_FORWARD = nn.TransformerEncoder.forward
_ARGUMENTS = signature(_FORWARD)


@contextmanager
def padding_as_outside(model: nn.Module) -> Iterator[None]:
    """Let PyTorch's encoders take and give what they do outside of the block, though calls are intercepted."""
    encoders = [each for each in model.modules() if getattr(type(each), "forward", None) is _FORWARD]
    # The lengths of nested tensors, by the mask that stands for them.
    nested: TensorMap[list[int]] = TensorMap()
    handles: list[Any] = []
    for each in encoders:
        handles.append(each.register_forward_pre_hook(partial(_padded, nested), with_kwargs=True))
        # Before hooks of the user's, which get what they get outside.
        handles.append(each.register_forward_hook(partial(_with_padding, nested), with_kwargs=True, prepend=True))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _padded(
    nested: TensorMap[list[int]], encoder: nn.TransformerEncoder, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments with padding in the place of a nested tensor, if there is one."""
    given = _ARGUMENTS.bind(encoder, *args, **kwargs).arguments
    vectors = given["src"]
    if not _is_intercepted() or not vectors.is_nested or vectors.layout != torch.strided or len(given) > 2:
        return None
    with without_function_modes():
        lengths = [len(each) for each in vectors.unbind()]
        places = torch.arange(max(lengths), device=vectors.device)
        padding = places >= torch.tensor(lengths, device=vectors.device).unsqueeze(1)
        nested[padding] = lengths
        return (vectors.to_padded_tensor(0.0),), {"src_key_padding_mask": padding}


def _with_padding(
    nested: TensorMap[list[int]],
    encoder: nn.TransformerEncoder,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    output: Tensor,
) -> Tensor | None:
    """The outputs as they are outside of the block; None if they are so already."""
    padding = _ARGUMENTS.bind(encoder, *args, **kwargs).arguments.get("src_key_padding_mask")
    if padding is None or not _is_intercepted():
        return None
    with without_function_modes():
        if (lengths := nested.get(padding)) is not None:
            rows = zip(output, lengths, strict=True)
            return torch.nested.as_nested_tensor([row[:length] for row, length in rows])
        asked = _Asked(encoder)
        at_padding = _FORWARD(asked, *args, **kwargs)  # pyright: ignore[reportArgumentType]
        return torch.where(padding.bool().unsqueeze(-1), at_padding, output) if asked.layers.is_nested else None


def _is_intercepted() -> bool:
    """Whether only the interception switches the path off; another mode, such as a default device, does outside too."""
    modes = function_modes()
    return bool(modes) and all(isinstance(each, Interception) for each in modes)


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
