"""What a row of the table is made of: our side, the peer's settings, the work, and what was predicted."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

__all__ = ["Bench", "Case", "Maker", "Outputs", "Row", "Run", "Work", "backward", "forward", "part", "wave"]

Outputs = tuple[Tensor, ...]
Run = Callable[[], Outputs]
# Builds what is built once and kept, and returns what runs each time.
Maker = Callable[[], Run]


@dataclass(frozen=True)
class Work:
    """What one run of ours has to do at least: it decides the distance to the machine's ceilings.

    Attributes:
        products: multiplications and additions in matrix products.
        exponentials: exponentials, or what stands in their place (tanh, a root, a reciprocal), one a number.
        bytes: bytes that must be fetched from memory, where that is what limits.
        half: whether the products are in bfloat16.
    """

    products: float = 0.0
    exponentials: float = 0.0
    bytes: float = 0.0
    half: bool = False

    @staticmethod
    def of(pairs: float, feature: int, *, training: bool, half: bool = False) -> "Work":
        """Dot-product attention over `pairs` of a query and a key, heads counted.

        Forward is two matrix products. Backward is four, and one more to compute the scores again: linear memory
        can't keep them. Each of the two computes the weights from the scores.
        """
        return Work((14 if training else 4) * pairs * feature, (2 if training else 1) * pairs, half=half)


@dataclass(frozen=True)
class Bench:
    """The settings of a run of the table."""

    device: str = "cpu"
    quick: bool = False
    seed: int = 0

    def size(self, length: int) -> int:
        """A length of the issue, or an eighth of it in a quick run."""
        return max(64, length // 8) if self.quick else length

    def normal(self, *shape: int, dtype: torch.dtype = torch.float32, training: bool = False) -> Tensor:
        """Independent normal numbers, the same on every device; `seed` is set once per row."""
        return torch.randn(*shape).to(self.device, dtype).requires_grad_(training)

    def heads(
        self, length: int, *, dtype: torch.dtype = torch.float32, training: bool = False
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Query, key and value as the issue has them: batch 1, 8 heads, 64 features."""
        query, key, value = (self.normal(1, 8, length, 64, dtype=dtype, training=training) for _ in range(3))
        return query, key, value


@dataclass(frozen=True)
class Case:
    """The two sides of a row, on the same inputs. Neither is built until it is asked for, so one may be missing.

    Attributes:
        ours: makes our side.
        peers: setting -> makes the peer's side under that setting; the fastest is the peer.
        work: what one run of ours does.
        tolerance: the largest gap between the two sides' outputs, as a share of the largest number in them; None where
            they are not the same function of the same inputs.
        exact: computes parts of our outputs in float64; each with its place, an index into the output, in their order.
        engine: names the engine that computes ours.
        stand_ins: who is compared with where none of the peers can run; what is wanted is then not judged.
    """

    ours: Maker
    peers: Mapping[str, Maker]
    work: Work | None = None
    tolerance: float | None = 1e-3
    exact: Callable[[], Sequence[tuple[Any, Tensor]]] | None = None
    engine: Callable[[], str] | None = None
    stand_ins: Mapping[str, Maker] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Attributes:
        name: what `--only` matches.
        what: what is measured, for the reader.
        peer: who is compared with, and the packages whose versions say which.
        prediction: what was predicted, written before the first measurement, in the measure of what is wanted; None:
            nothing was.
        why: why that was predicted.
        case: makes the two sides.
        least: peer / ours must be at least this; with the measure "rate", ours must do so many TFLOP/s.
        most: ours / peer must be at most this.
        measure: what of the two is compared: seconds, MiB at the peak, seconds that a call keeps the processor busy
            though a GPU computes ("host"), or TFLOP/s of ours ("rate").
        limit: ours may be at most this: MiB at the peak, or microseconds with the measure "host".
        seconds: the time budget of the interleaved rounds.
        rounds: the least number of rounds.
    """

    name: str
    what: str
    peer: str
    packages: tuple[str, ...]
    prediction: float | None
    why: str
    case: Callable[[Bench], Case]
    least: float | None = None
    most: float | None = None
    measure: Literal["time", "memory", "host", "rate"] = "time"
    limit: float | None = None
    seconds: float = 12.0
    rounds: int = 3


def forward(function: Callable[[], Tensor]) -> Run:
    """A run without gradients."""

    def run() -> Outputs:
        with torch.no_grad():
            return (function(),)

    return run


def backward(function: Callable[[], Tensor], inputs: Sequence[Tensor], rounded: torch.dtype | None = None) -> Run:
    """A run with the gradients of all inputs; the output's own gradient is fixed and nowhere constant.

    A run in float64 that is compared with one in another dtype is given that gradient `rounded` to it.
    """
    grad: list[Tensor] = []

    def run() -> Outputs:
        output = function()
        if not grad:
            grad.append(wave(output, rounded))
        return output.detach(), *torch.autograd.grad(output, inputs, grad[0])

    return run


def wave(output: Tensor, rounded: torch.dtype | None = None) -> Tensor:
    """The gradient of an output: nowhere constant, and in a part of the output's first numbers the same as in all."""
    numbers = torch.arange(output.numel(), device=output.device, dtype=torch.float64).mul_(0.7).cos_()
    return numbers.view(output.shape).to(rounded or output.dtype).to(output.dtype)


def part(name: str, *arguments: Any, room: str = "attention", **options: Any) -> Any:
    """A part of regard by name, made; looked up late, so that a part that is missing is missed in its own row only."""
    import importlib

    module = importlib.import_module(f"regard.{room}" if room else "regard")
    if not hasattr(module, name):
        raise ImportError(f"{module.__name__} has no {name}")
    found = getattr(module, name)
    return found(*arguments, **options)
