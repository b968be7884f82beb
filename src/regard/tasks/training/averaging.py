"""An exponential moving average of the weights, which often does better than the last step's weights."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

__all__ = ["MovingAverage"]


class MovingAverage:
    """Keep average <- decay * average + (1 - decay) * weights, beside the weights that are trained.

    Early on the decay is smaller, (1 + step) / (10 + step), so that the random start is forgotten quickly.

    Args:
        module: the module whose parameters are averaged.
        decay: below 1; the average reaches back about 1 / (1 - decay) steps.

    Example:
        >>> net = nn.Linear(2, 2)
        >>> average = MovingAverage(net, decay=0.99)
        >>> average.update(step=1)
        >>> with average.in_place():
        ...     scores = net(torch.zeros(1, 2))
    """

    def __init__(self, module: nn.Module, decay: float):
        self.decay = decay
        self._live = dict(module.named_parameters())
        self.values: dict[str, Tensor] = {name: value.detach().clone() for name, value in self._live.items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Update the average with the weights after optimiser step number `step`, counted from 1."""
        decay = min(self.decay, (1 + step) / (10 + step))
        for name, value in self._live.items():
            self.values[name].lerp_(value, 1 - decay)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Use the averaged weights in the module inside the block; restore its own weights afterwards."""
        # Swapping the memory of the tensors needs no copies and no rounding.
        self._trade()
        try:
            yield
        finally:
            self._trade()

    def load(self, values: dict[str, Tensor]) -> None:
        """Set the average to saved values."""
        for name, value in self.values.items():
            value.copy_(values[name])

    def _trade(self) -> None:
        for name, value in self._live.items():
            value.data, self.values[name] = self.values[name], value.data
