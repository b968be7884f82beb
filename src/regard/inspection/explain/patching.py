"""Activation patching: how far each head, and each position of each layer, carries what tells two inputs apart."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.inspection.capture.watch import record_calls
from regard.inspection.explain.effect import Effect
from regard.inspection.explain.effects import effects
from regard.inspection.explain.head_changes import PatchHead
from regard.inspection.record.seen import Seen

__all__ = ["DIRECTIONS", "PatchSource", "Patching", "patch_into", "patching"]

DIRECTIONS = ("denoising", "noising")
"""Whether outputs for the clean input are put into the run of the corrupted one, or the other way round."""


@dataclass(frozen=True, eq=False)
class Patching:
    """The effects of patches from one input, the source, into the run of another, the target.

    Attributes:
        direction: "denoising" or "noising"; see `patching`.
        target: the measure for the input that is patched, before that.
        source: the measure for the input that the patches are of.
        layers: the names of the layers.
        heads: for each layer and head, the effect of a patch of the head at all positions.
        positions: for each layer and query, the effect of a patch of all heads at that position.
    """

    direction: str
    target: float
    source: float
    layers: tuple[str, ...]
    heads: tuple[tuple[Effect, ...], ...]
    positions: tuple[tuple[Effect, ...], ...]

    @property
    def head_shares(self) -> Tensor:
        """(layer, head): which share of the way from the target's measure to the source's the patch goes.

        0: the patch changes nothing; 1: it does all. If the source is the clean input, it is the share that is
        restored, otherwise the share that is lost. It may be below 0 or above 1. NaN where a layer has no such head.
        """
        return self._shares(self.heads)

    @property
    def position_shares(self) -> Tensor:
        """The same for the positions, as a tensor (layer, query)."""
        return self._shares(self.positions)

    def _shares(self, rows: Sequence[Sequence[Effect]]) -> Tensor:
        found = torch.full((len(rows), max(map(len, rows), default=0)), torch.nan, dtype=torch.double)
        for row, some in zip(found, rows, strict=True):
            row[: len(some)] = torch.tensor([self.share(each) for each in some], dtype=torch.double)
        return found

    def share(self, effect: Effect) -> float:
        """Which share of the way from the target's measure to the source's an effect goes."""
        return float(effect.difference) / (self.source - self.target)

    def __str__(self) -> str:
        what = "restores" if self.direction == "denoising" else "takes away"
        measured = any(each.noise for row in self.heads for each in row)
        star = " (*: above the noise floor)" if measured else ""
        lines = [f"The share of the difference, {self.target:.4g} to {self.source:.4g}, that a patch {what}{star}:"]
        for name, rows in (("head", self.heads), ("position", self.positions)):
            lines.append(_line(name, [f"{number} " for number in range(1, max(map(len, rows)) + 1)]))
            lines += [_line(f"layer {layer:>2}", [*map(self._cell, row)]) for layer, row in enumerate(rows, 1)]
        return "\n".join(lines)

    def _cell(self, effect: Effect) -> str:
        # Minus zero is zero.
        return f"{round(self.share(effect), 2) + 0.0:.2f}{'*' if effect.above_noise else ' '}"


def _line(name: str, cells: Sequence[str]) -> str:
    return (f"{name:>8} " + "".join(f"{cell:>7}" for cell in cells)).rstrip()


def patching(
    model: nn.Module,
    run: Callable[[Any], Any],
    measure: Callable[[Any], Any],
    clean: Any,
    corrupted: Any,
    *,
    direction: str = "denoising",
    batch: int = 32,
    noise: int = 0,
    seed: int = 0,
) -> Patching:
    """Patch each head, and each position of each layer, from the run of one input into that of another.

    Denoising puts outputs for the clean input into the run of the corrupted one: what restores the answer carries
    enough for it. Noising puts those for the corrupted input into the clean run: what loses the answer was needed. The
    two needn't agree: where one head can stand in for another, both restore and neither is needed.

    Args:
        model: any model that `regard.watch` sees, in evaluation mode.
        run: runs the model on inputs.
        measure: maps what `run` returned to one number for each item of the batch. The logarithm of a probability, or
            the difference of two logits, is better than a probability, which hides changes near 0 and 1.
        clean, corrupted: the inputs, of one item and the same length, such as two sentences that differ in a word.
        direction: "denoising" or "noising".
        batch, noise, seed: see `effects`.

    Raises:
        ArgumentError: the lengths differ, the measure is the same for both inputs, or `direction` has another name; see
            also `effects`.

    Source: Zhang and Nanda 2023, Towards Best Practices of Activation Patching in Language Models; the directions as
    in Heimersheim and Nanda 2024, How to Use and Interpret Activation Patching.

    Example:
        >>> layer = nn.TransformerEncoderLayer(8, nhead=2, batch_first=True).eval()
        >>> clean, corrupted = torch.randn(2, 1, 5, 8)
        >>> found = patching(layer, layer, lambda output: output[:, 0, 0], clean, corrupted)
        >>> found.head_shares.shape, found.position_shares.shape
        (torch.Size([1, 2]), torch.Size([1, 5]))
    """
    check_direction(direction)
    target, source = (corrupted, clean) if direction == "denoising" else (clean, corrupted)
    with torch.no_grad(), record_calls(model) as seen:
        value = measure(run(source))
    given = PatchSource(seen, _one_number(value), "clean" if direction == "denoising" else "corrupted")
    return patch_into(
        model, run, measure, given, direction, inputs=target, batched=True, batch=batch, noise=noise, seed=seed
    )


@dataclass(frozen=True, eq=False)
class PatchSource:
    """The run that patches are taken from.

    Attributes:
        seen: what was seen of it.
        measure: its measure.
        name: the argument that gave it, for errors.
    """

    seen: Seen
    measure: float
    name: str


def patch_into(
    model: nn.Module,
    run: Callable[[Any], Any],
    measure: Callable[[Any], Any],
    source: PatchSource,
    direction: str,
    *,
    inputs: Any,
    batched: bool,
    **options: Any,
) -> Patching:
    """Patch each head and position from a run that was seen; see `patching` for the arguments.

    Args:
        model, run, measure: see `patching`.
        source: the run that patches are taken from.
        direction: what the result says of itself.
        inputs: those that are patched.
        batched: whether the model runs with inputs several times in a batch.
        options: the other arguments of `effects`.
    """
    with torch.no_grad(), record_calls(model, rows=0) as seen:
        before = _one_number(measure(run(inputs)))
    layers = tuple(dict.fromkeys(seen.names))
    if not layers:
        raise ArgumentError(f"`model` must have attention that is seen. {seen.nothing}")
    sizes = [
        [(each.heads, each.query.shape[2]) for each in some if each.name in layers] for some in (seen, source.seen)
    ]
    if sizes[0] != sizes[1]:
        lengths = [" and ".join(map(str, sorted({length for _, length in some}))) for some in sizes]
        raise ArgumentError(
            f"`{source.name}` must have as many items as the other input, whose layers have {lengths[0]} queries, but "
            f"its layers have {lengths[1]}. Compare inputs of the same length."
        )
    if not abs(source.measure - before) > 1e-6 * max(abs(source.measure), abs(before)):
        raise ArgumentError(
            f"`measure` must tell the two inputs apart, but gives {source.measure:.4g} and {before:.4g}. Measure what "
            "they differ in, such as the answer to the clean one."
        )
    counts = [max(each.heads for each in seen if each.name == name) for name in layers]
    lengths = [max(each.query.shape[2] for each in seen if each.name == name) for name in layers]
    heads = [[PatchHead(source.seen, layer, head + 1) for head in range(n)] for layer, n in enumerate(counts, 1)]
    places = [[PatchHead(source.seen, layer, query=at + 1) for at in range(n)] for layer, n in enumerate(lengths, 1)]
    changes = [each for row in (*heads, *places) for each in row]
    if batched:
        found = iter(effects(model, run, measure, changes, inputs=inputs, **options))
    else:
        found = iter(effects(model, lambda: run(inputs), lambda output: measure(output)[0], changes, **options))
    rows = tuple(tuple(next(found) for _ in row) for row in (*heads, *places))
    return Patching(direction, before, source.measure, layers, rows[: len(layers)], rows[len(layers) :])


def check_direction(direction: str) -> None:
    """Check the name of a direction.

    Raises:
        ArgumentError: it is another one.
    """
    if direction not in DIRECTIONS:
        raise ArgumentError(f"`direction` must be 'denoising' or 'noising', but is {direction!r}.")


def _one_number(value: Any) -> float:
    if not isinstance(value, Tensor) or value.numel() != 1 or value.is_complex():
        gave = f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        raise ArgumentError(
            f"`measure` must give a tensor with one number for each item, but gave {gave} for one item."
        )
    return float(value)
