"""Positional encodings: a vector for each position, added to the inputs before anything else.

| scheme | any length | learned from data | parameters, for width w |
|---|---|---|---|
| sinusoidal | yes | no | 0 |
| learned | no | yes | length x w |
| recurrent | yes | yes | 2 w^2 + 3 w for each layer of the RNN |
| flow | yes | yes | 2 w^2 + 5 w |

Source of the columns: Liu et al. 2020 (arXiv 2003.09229), table 1, there called "inductive", "data-driven" and
"parameter efficient"; of the recurrent and the flow scheme: section 4.3 with table 6.
"""

from collections.abc import Callable
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.validation import check_count
from regard.errors import ArgumentError
from regard.extras import require

__all__ = ["INPUT_POSITIONS", "Flow", "Learned", "PositionalEncoding", "Recurrent", "Sinusoidal"]


class PositionalEncoding(nn.Module):
    """A vector for each position, added to the inputs. Subclass it and write `encode`.

    Attributes:
        inductive: whether it has vectors for positions beyond those in training.
        data_driven: whether it is learned from data.
    """

    inductive: ClassVar[bool]
    data_driven: ClassVar[bool]

    def __init__(self, width: int):
        super().__init__()
        check_count("width", width, "the size of the vectors")
        self.width = width

    def encode(self, length: int | torch.SymInt) -> Float[Tensor, "length width"]:
        """The vectors of the first `length` positions."""
        raise NotImplementedError(f"{type(self).__name__} must define encode(length)")

    def forward(self, vectors: Float[Tensor, "batch length width"]) -> Float[Tensor, "batch length width"]:
        if vectors.shape[-1] != self.width:
            raise ArgumentError(f"`vectors` must be of size {self.width}, but are of size {vectors.shape[-1]}.")
        return vectors + self.encode(vectors.shape[1]).to(vectors)


class Sinusoidal(PositionalEncoding):
    """Adds fixed waves to the inputs: sin(p / 10000^(2i/d)) in the even features, cos in the odd ones.

    Inductive: any length. Not data-driven: no parameters.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.5.

    Example:
        >>> Sinusoidal(4)(torch.zeros(1, 2, 4))[0]
        tensor([[0.0000, 1.0000, 0.0000, 1.0000],
                [0.8415, 0.5403, 0.0100, 0.9999]])
    """

    inductive, data_driven = True, False

    def encode(self, length: int | torch.SymInt) -> Float[Tensor, "length width"]:
        # In float64 on the CPU: some devices lack it, and in float32 a position of a million is off by a radian.
        places = torch.arange(length, dtype=torch.float64, device="cpu")  # pyright: ignore  # traced, it is symbolic
        return self.at(places)

    def at(self, positions: Float[Tensor, "*position"]) -> Float[Tensor, "*position width"]:
        """The vectors of any positions, which needn't be integers.

        Example:
            >>> Sinusoidal(2).at(torch.tensor([0.0, 0.5]))
            tensor([[0.0000, 1.0000],
                    [0.4794, 0.8776]])
        """
        pair = torch.arange(0, self.width, 2, dtype=positions.dtype, device=positions.device)
        angle = positions.unsqueeze(-1) / 10000 ** (pair / self.width)
        # (*position pair 2) -> (*position width): sine and cosine alternate; an odd width drops the last cosine.
        return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)[..., : self.width]


class Learned(PositionalEncoding):
    """Adds a learned vector to each input, one for each position up to `length`.

    Not inductive: there is no vector for position 129 of 128. Data-driven: length x width parameters.

    Raises:
        ArgumentError: an input is longer than `length`.

    Source: Gehring et al. 2017 (arXiv 1705.03122), section 3.1.
    """

    inductive, data_driven = False, True

    def __init__(self, width: int, length: int = 512):
        super().__init__(width)
        check_count("length", length, "how many positions are learned", least=0)
        self.table = nn.Parameter(torch.empty(length, width))
        nn.init.normal_(self.table, std=0.02)

    def encode(self, length: int | torch.SymInt) -> Float[Tensor, "length width"]:
        if length > len(self.table):
            raise ArgumentError(
                f"`vectors` must be at most {len(self.table)} long, as many positions as were learned, "
                f"but is {length} long. Sinusoidal and Relative take any length."
            )
        return self.table[:length]


class Recurrent(PositionalEncoding):
    """Adds the states of an RNN that reads the positions one by one, p_i = tanh(W z_i + U p_(i-1) + b).

    z_i is the sinusoidal vector of position i, p_(-1) is learned. The RNN reads positions, not words, so all inputs get
    the same vectors. Inductive: it continues for any length. Data-driven: 2 w^2 + 2 w parameters for each layer, and w
    for each layer's initial state.

    Args:
        width: the size of the vectors.
        layers: how many RNN layers there are.

    Source: Liu et al. 2020 (arXiv 2003.09229), equation 14, with the "vector" input of table 6; the notes, 001, picture
        of the positional encodings.

    Example:
        >>> recurrent = Recurrent(4)
        >>> recurrent(torch.zeros(2, 129, 4)).shape, sum(p.numel() for p in recurrent.parameters())
        (torch.Size([2, 129, 4]), 44)
    """

    inductive, data_driven = True, True

    def __init__(self, width: int, layers: int = 1):
        super().__init__(width)
        check_count("layers", layers, "how many RNN layers there are")
        self.rnn = nn.RNN(width, width, layers)
        self.start = nn.Parameter(torch.zeros(layers, width))
        self._sinusoidal = Sinusoidal(width)

    def encode(self, length: int | torch.SymInt) -> Float[Tensor, "length width"]:
        if not length:
            return self.start[:1, : self.width][:0]
        return self.rnn(self._sinusoidal.encode(length).to(self.start), self.start)[0]


class Flow(PositionalEncoding):
    """FLOATER: the vectors flow, p(t) = p(s) + integral from s to t of h(tau, p(tau)) d tau, from a learned p(0).

    h is a small network of two linear layers with tanh between them, each of which also sees the time; position i is at
    time i x interval. The number of steps between positions is fixed, so a position has the same vector, bit by bit, in
    inputs of every length. Inductive: the flow continues. Data-driven: 2 w^2 + 5 w parameters.

    The running time grows with length x steps, which are sequential. Needs torchdiffeq (the extra "flow").

    Args:
        width: the size of the vectors.
        interval: the time from one position to the next; the paper uses 0.1.
        steps: how many steps the solver takes from one position to the next; the paper uses 5.
        method: a solver of torchdiffeq with fixed steps: "midpoint", "rk4" or "euler".
        adjoint: whether the backward pass solves the equation again, backwards in time, instead of storing every step:
            its memory doesn't grow with the steps, but its gradient is only as exact as the solver.

    Raises:
        ArgumentError: a number can't be used, or `method` is another.
        MissingExtraError: torchdiffeq isn't installed.

    Source: Liu et al. 2020 (arXiv 2003.09229), equation 8, with the settings of appendix B.1 and the network of section
        4.4; Chen et al. 2018 (arXiv 1806.07366) for the adjoint.
    """

    inductive, data_driven = True, True

    def __init__(
        self, width: int, interval: float = 0.1, steps: int = 5, method: str = "midpoint", *, adjoint: bool = False
    ):
        super().__init__(width)
        if not interval > 0 or steps < 1:
            raise ArgumentError(f"`interval` and `steps` must be more than 0, but are {interval} and {steps}.")
        if method not in ("midpoint", "rk4", "euler"):
            raise ArgumentError(f"`method` must be 'midpoint', 'rk4' or 'euler', but is {method!r}.")
        require("torchdiffeq", extra="flow")
        self.interval, self.steps, self.method, self.adjoint = interval, steps, method, adjoint
        self.start = nn.Parameter(torch.empty(width))
        self.force = _Force(width, interval)
        # Small, so that a network starts nearly as it would without positions (section 4.4).
        nn.init.normal_(self.start, std=0.02)

    def encode(self, length: int | torch.SymInt) -> Float[Tensor, "length width"]:
        if length < 2:
            return self.start.unsqueeze(0)[:length]
        library = require("torchdiffeq", extra="flow")
        solve = library.odeint_adjoint if self.adjoint else library.odeint
        # Time is measured in positions, not in intervals: integers, which the steps hit exactly.
        positions = torch.arange(length, device=self.start.device).to(self.start)  # pyright: ignore  # as above
        return solve(self.force, self.start, positions, method=self.method, options={"grid_constructor": self._grid})

    def _grid(self, force: nn.Module, start: Tensor, positions: Tensor) -> Tensor:
        """The times of all steps from the first position to the last, which may come before it."""
        first, last = positions[0], positions[-1]
        count = round(abs(float(last - first))) * self.steps
        steps = torch.arange(count + 1, device=positions.device).to(positions) / self.steps
        return first + steps if last > first else first - steps


class _Force(nn.Module):
    """The derivative of the flow: h(t, p), as the change of p from one position to the next."""

    def __init__(self, width: int, interval: float):
        super().__init__()
        self.inner, self.outer = nn.Linear(width + 1, width), nn.Linear(width + 1, width)
        self.interval = interval
        nn.init.normal_(self.outer.weight, std=0.02)

    def forward(self, position: Tensor, state: Tensor) -> Tensor:
        time = (position * self.interval).expand(1)
        hidden = torch.tanh(self.inner(torch.cat([state, time])))
        return self.interval * self.outer(torch.cat([hidden, time]))


INPUT_POSITIONS: dict[str, Callable[..., PositionalEncoding]] = {
    "sinusoidal": Sinusoidal,
    "learned": Learned,
    "recurrent": Recurrent,
    "flow": Flow,
}
