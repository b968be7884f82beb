"""What changes of attention do to what a model says: its measure before and after each change."""

import dataclasses
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard.attention.validation import check_count
from regard.errors import ArgumentError
from regard.inspection.capture.intervene import changed
from regard.inspection.capture.watch import record_calls
from regard.inspection.explain.changes import Change, HideKey, Together
from regard.inspection.explain.differences import largest, largest_difference
from regard.inspection.explain.effect import ROUNDING, Effect, JointEffect, Measured, check_noise, joined_effect
from regard.inspection.explain.head_changes import RemoveHead
from regard.inspection.explain.random_directions import RandomDirection
from regard.inspection.explain.resampling import as_others
from regard.inspection.record.seen import Seen

__all__ = ["OneByOne", "all_heads", "all_keys", "effects", "joint_effect"]


class OneByOne(UserWarning):
    """Changes were measured one by one, because the model doesn't let a batch have several."""


def effects(
    model: nn.Module,
    run: Callable[..., Any],
    measure: Callable[[Any], Any],
    changes: Sequence[Change | Sequence[Change]],
    *,
    inputs: Any = None,
    batch: int = 32,
    others: Sequence[Any] | Seen | None = None,
    draws: int = 8,
    noise: int = 0,
    seed: int = 0,
) -> tuple[Effect, ...]:
    """Measure what changes of attention do to what a model says. The model must be in evaluation mode.

    With `inputs` several changes are measured in one run: the inputs are repeated, and each change acts on one item of
    the batch. If the model doesn't keep items apart by the first axis, the changes are measured one by one.

    Any change that is large enough changes something. With `noise`, each change is compared with changes that are as
    large but have random directions: what it does to the outputs of the heads is rotated at random, by the same
    rotation at all positions (see `RandomDirection`). If what a head writes is read by nothing in particular, all
    directions are alike, and the effect is above the noise floor by chance in 1 of 20 cases, whatever the distribution.
    Below the floor one can't tell whether this change matters, or any change of its size would do as much.

    The floor is high, so that little is found, where a head has few features, since then no random direction is far
    from its own; and where the measure falls in whatever direction one goes, as a probability does and its logarithm. A
    difference of two logits does better. Measured are 1 + `noise` changes in place of one, times `draws` if they are
    drawn.

    Args:
        model: any model that `regard.watch` sees.
        run: runs the model: `run()`, or `run(inputs)`. It may run it on a whole data set.
        measure: maps what `run` returned to a number or a tensor of numbers, such as a label's probability or the loss.
            With `inputs`, to one for each item of the batch, along the first axis.
        changes: the changes, such as those of `all_heads`; each is measured by itself, and a tuple of changes is made
            at once.
        inputs: tensors whose first axis is of size 1, in dicts, lists, tuples or dataclasses.
        batch: the most changes in one run.
        others: other inputs, from which `RemoveHead(..., by="resample")` takes outputs: as `run` takes them, or as
            `watch` saw them.
        draws: how often such a change is drawn; its effect is the mean, and `spread` the standard deviation.
        noise: how many changes in random directions give the noise floor, 19 or more; 0: it isn't measured.
        seed: of the draws and the directions.

    Raises:
        ArgumentError: a change applies to nothing, weights are dropped at random, the measure gives something else, or
            a head is replaced by "resample" and there are no other inputs.

    Warns:
        OneByOne: there are inputs, but the model doesn't let a batch have several changes.

    Source: a threshold of as many random repetitions is that of Barnard 1963 (a Monte Carlo test), in the discussion of
    Bartlett, The Spectral Analysis of Point Processes.

    Example:
        >>> layer = nn.TransformerEncoderLayer(8, nhead=2, batch_first=True).eval()
        >>> vectors = torch.randn(1, 5, 8)
        >>> found = effects(layer, lambda: layer(vectors), lambda output: output[0, 0], [RemoveHead(1, 2), HideKey(4)])
        >>> [each.unchanged for each in found]
        [False, False]
        >>> others = [torch.randn(1, 5, 8) for _ in range(8)]
        >>> found = effects(
        ...     layer,
        ...     layer,
        ...     lambda output: output[:, 0, 0],
        ...     [RemoveHead(1, 2, by="resample")],
        ...     inputs=vectors,
        ...     others=others,
        ...     noise=19,
        ... )
        >>> found[0].draws, found[0].spread > 0, found[0].noise_floor > 0
        (8, True, True)
    """
    check_count("batch", batch, "a number of changes")
    check_count("draws", draws, "a number of draws", least=2)
    check_noise(noise)
    asked = [each if isinstance(each, Change) else Together(tuple(each)) for each in changes]
    with torch.no_grad():
        seen = _seen(model, run, inputs, others) if any(each.is_drawn for each in asked) else None
        drawn = [each.draws(seen, draws, seed) for each in asked]
        every = [
            turned
            for some in drawn
            for turned in (*some, *(RandomDirection(each, seed + number) for number in range(noise) for each in some))
        ]
        measured = iter(_measured(model, run, measure, every, inputs, batch))

        def following(some: Sequence[Change]) -> list[Effect]:
            return [next(measured) for _ in some]

        return tuple(
            joined_effect(change, following(some), [following(some) for _ in range(noise)])
            for change, some in zip(asked, drawn, strict=True)
        )


def joint_effect(
    model: nn.Module,
    run: Callable[..., Any],
    measure: Callable[[Any], Any],
    changes: Sequence[Change],
    **options: Any,
) -> JointEffect:
    """Measure what several changes do at once, such as the removal of a group of heads, and what each does alone.

    Args:
        model, run, measure: see `effects`.
        changes: the changes.
        options: the other arguments of `effects`.

    Raises:
        ArgumentError: see `effects`.

    Example:
        >>> layer = nn.TransformerEncoderLayer(8, nhead=2, batch_first=True).eval()
        >>> vectors = torch.randn(1, 5, 8)
        >>> heads = [RemoveHead(1, 1), RemoveHead(1, 2)]
        >>> found = joint_effect(layer, lambda: layer(vectors), lambda output: output[0, 0, 0], heads)
        >>> found.interaction == found.together.difference - found.sum
        True
    """
    together, *alone = effects(model, run, measure, [Together(tuple(changes)), *changes], **options)
    return JointEffect(together, tuple(alone))


def _seen(model: nn.Module, run: Callable[..., Any], inputs: Any, others: Any) -> tuple[Seen, ...] | None:
    """What the model sees of other inputs."""
    if others is None or isinstance(others, Seen):
        return None if others is None else as_others(others)
    if isinstance(others, Tensor | Mapping | str) or not isinstance(others, Iterable):
        raise ArgumentError(
            "`others` must be a list of other inputs, as `run` takes them or as `watch` saw them, but is "
            f"{type(others).__name__}."
        )
    found = []
    for each in others:
        if isinstance(each, Seen):
            found.append(each)
            continue
        if inputs is None:
            raise ArgumentError(
                "`others` must hold what `watch` saw, since without `inputs` the model isn't run on other inputs, but "
                f"holds {type(each).__name__}."
            )
        with record_calls(model) as seen:
            run(each)
        found.append(seen)
    return as_others(found)


def _measured(
    model: nn.Module,
    run: Callable[..., Any],
    measure: Callable[[Any], Any],
    changes: Sequence[Change],
    inputs: Any,
    batch: int,
) -> tuple[Effect, ...]:
    """The effect of each change by itself."""
    if inputs is None:
        return _one_by_one(model, run, lambda output: _number(measure(output)), changes)
    measured = _OnInputs(model, run, measure, inputs)
    try:
        return measured.batched(changes, batch)
    except _NotBatched as reason:
        warnings.warn(f"The changes are measured one by one: {reason}", OneByOne, stacklevel=3)
    return measured.one_by_one(changes)


def all_heads(seen: Seen, by: str = "zero") -> tuple[RemoveHead, ...]:
    """The removal of each head of each layer that was seen; state-space layers have no heads of attention."""
    heads = {layer.name: 0 if layer.is_effective else layer.heads for layer in seen}
    return tuple(
        RemoveHead(number, head, by) for number, count in enumerate(heads.values(), 1) for head in range(1, count + 1)
    )


def all_keys(seen: Seen) -> tuple[HideKey, ...]:
    """The hiding of each key, in all layers that were seen."""
    return tuple(HideKey(key) for key in range(1, max((each.key.shape[2] for each in seen), default=0) + 1))


class _NotBatched(Exception):
    """Why several changes can't be measured in one run, as a sentence."""


def _one_by_one(
    model: nn.Module, run: Callable[[], Any], measure: Callable[[Any], Measured], changes: Sequence[Change]
) -> tuple[Effect, ...]:
    before = measure(run())
    with changed(model, (), always=True) as nothing:
        again = measure(run())
    if nothing.dropout:
        raise ArgumentError("`model` must not drop weights at random: call its eval() first.")
    found = []
    for change in changes:
        with changed(model, [change]):
            found.append(Effect(change, before, measure(run()), _rounding(model, before, again)))
    return tuple(found)


@dataclass(frozen=True)
class _OnInputs:
    """A model that runs with inputs of one item, and what is measured of its outputs for each item."""

    model: nn.Module
    run: Callable[[Any], Any]
    measure: Callable[[Any], Any]
    inputs: Any

    def one_by_one(self, changes: Sequence[Change]) -> tuple[Effect, ...]:
        """Each change in a run of its own."""
        return _one_by_one(
            self.model,
            lambda: self.run(self.inputs),
            lambda output: _number(_rows(self.measure(output), 1)[0]),
            changes,
        )

    def batched(self, changes: Sequence[Change], batch: int) -> tuple[Effect, ...]:
        """Several changes in one run, each in an item of its own.

        Raises:
            _NotBatched: the model doesn't let a batch have several changes.
        """
        before = _number(_rows(self.measure(self.run(self.inputs)), 1)[0])
        found: list[Effect] = []
        for first in range(0, len(changes), batch):
            some = changes[first : first + batch]
            count = len(some) + 1
            try:
                # The first item isn't changed, but computed in the same way: it shows the error of rounding.
                with changed(self.model, some, items=range(1, count), always=True) as applied:
                    given = self.measure(self.run(_repeated(self.inputs, count)))
            except (RuntimeError, IndexError) as error:
                raise _NotBatched(f"the model doesn't run with a batch of {count} ({error}).") from error
            if applied.dropout:
                raise ArgumentError("`model` must not drop weights at random: call its eval() first.")
            if applied.batches != {count}:
                sizes = ", ".join(map(str, sorted(applied.batches)))
                raise _NotBatched(f"its attention has batches of {sizes} where its inputs have one of {count}.")
            rows = [_number(row) for row in _rows(given, count)]
            rounding = _rounding(self.model, before, rows[0])
            found += [Effect(change, before, row, rounding) for change, row in zip(some, rows[1:], strict=True)]
        if found:
            # The axis of the right size may still not be the items'.
            most = max(found, key=lambda each: largest(torch.as_tensor(each.difference)))
            alone = self.one_by_one([most.change])[0]
            gap = largest_difference(torch.as_tensor(alone.after), torch.as_tensor(most.after))
            size = largest(torch.as_tensor(most.difference))
            if gap > 1e-3 * size + 4 * (most.rounding + alone.rounding) + 1e-6:
                raise _NotBatched("an item's result depends on the other items of the batch.")
        return tuple(found)


def _number(value: Any) -> Measured:
    """A measure as a float, or as a tensor in float64 on the CPU."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, Tensor) or value.is_complex() or not value.numel():
        raise ArgumentError(f"`measure` must give a number or a tensor of numbers, but gave {type(value).__name__}.")
    wide = value.detach().cpu().double()
    return float(wide) if wide.numel() == 1 else wide


def _rows(value: Any, count: int) -> Tensor:
    if not isinstance(value, Tensor) or not value.ndim or len(value) != count:
        gave = f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        raise ArgumentError(
            f"`measure` must give a tensor with a number for each of {count} items along its first axis, but gave "
            f"{gave}. Leave `inputs` out to measure one number for all."
        )
    return value


def _rounding(model: nn.Module, before: Measured, again: Measured) -> float:
    """What rounding changes: four times what a change of nothing did, since errors differ from change to change.

    In half precision a single run tells little, so there it is at least one unit in the last place.
    """
    before, again = torch.as_tensor(before), torch.as_tensor(again)
    gap = 4 * largest_difference(before, again)
    epsilons = (torch.finfo(each.dtype).eps for each in model.parameters() if each.is_floating_point())
    coarsest = max((each for each in epsilons if each > ROUNDING), default=0.0)
    rounding = gap + coarsest * largest(before)
    return rounding if math.isfinite(rounding) else 0.0


def _repeated(inputs: Any, count: int) -> Any:
    """The inputs with each tensor repeated along its first axis."""
    if isinstance(inputs, Tensor):
        if not inputs.ndim or len(inputs) != 1:
            raise ArgumentError(
                f"`inputs` must hold tensors whose first axis is of size 1, but holds one of {tuple(inputs.shape)}."
            )
        return inputs.expand(count, *inputs.shape[1:]).clone()
    if isinstance(inputs, Mapping):
        return {name: _repeated(each, count) for name, each in inputs.items()}
    if isinstance(inputs, list | tuple):
        repeated = [_repeated(each, count) for each in inputs]
        return repeated if isinstance(inputs, list) else tuple(repeated)
    if dataclasses.is_dataclass(inputs) and not isinstance(inputs, type):
        fields = (each.name for each in dataclasses.fields(inputs) if each.init)
        return dataclasses.replace(inputs, **{name: _repeated(getattr(inputs, name), count) for name in fields})
    return inputs
