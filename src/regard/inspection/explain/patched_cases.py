"""Activation patching between two cases: which heads and positions carry what makes their answers differ."""

import torch
from torch import Tensor

from regard.errors import ArgumentError
from regard.inspection.capture.watch import record_calls
from regard.inspection.cases.case import Case
from regard.inspection.explain.patching import Patching, PatchSource, check_direction, patch_into

__all__ = ["patch_cases"]

# The logarithm of a probability of 0 is that of this.
_TINY = 1e-30


def patch_cases(
    clean: Case,
    corrupted: Case,
    *,
    place: int | None = None,
    direction: str = "denoising",
    batch: int = 32,
    noise: int = 0,
    seed: int = 0,
) -> Patching:
    """Patch each head, and each position of each layer, between two inputs of a model; see `patching`.

    Measured is, for labels, the logarithm of the probability of the clean answer, minus that of the corrupted answer if
    it is another one: the difference of their logits. For numbers it is the number, and for vectors the product with
    the difference of the two vectors.

    Args:
        clean, corrupted: the cases, of the same model and the same length.
        place: the number of the prediction that is measured, from 0, in both; None: the one that differs most.
        direction, batch, noise, seed: see `patching`.

    Raises:
        ArgumentError: the models, the kinds of predictions or the lengths differ, there is no such place, or both
            predict the same.

    Example:
        >>> layer = torch.nn.TransformerEncoderLayer(8, nhead=2, batch_first=True).eval()
        >>> places = (("a", 0), ("b", 1), ("c", 2))
        >>> def case(vectors):
        ...     return Case("toy", layer, vectors, layer, lambda output: output, "vectors", ("a", "b", "c"), places)
        >>> found = patch_cases(case(torch.randn(1, 3, 8)), case(torch.randn(1, 3, 8)))
        >>> found.head_shares.shape, found.position_shares.shape
        (torch.Size([1, 2]), torch.Size([1, 3]))
    """
    check_direction(direction)
    if clean.module is not corrupted.module:
        raise ArgumentError("`corrupted` must be a case of the same model object as `clean`. Load the model once.")
    if clean.kind != corrupted.kind or len(clean.places) != len(corrupted.places):
        raise ArgumentError(
            f"`corrupted` must predict {clean.kind} at {len(clean.places)} places, as `clean` does, but predicts "
            f"{corrupted.kind} at {len(corrupted.places)}. Compare inputs of the same length."
        )
    # In both, since either may be the source of the patches.
    with torch.no_grad():
        with record_calls(clean.module) as clean_seen:
            first = clean.predict(clean.run(clean.inputs))[0].double()
        with record_calls(clean.module) as corrupted_seen:
            second = corrupted.predict(corrupted.run(corrupted.inputs))[0].double()
    if place is None:
        place = int((first - second).abs().sum(-1).argmax())
    if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < len(clean.places):
        raise ArgumentError(f"`place` must be the number of a prediction, below {len(clean.places)}, but is {place!r}.")
    weights = _weights(clean, corrupted, first[place], second[place], place)
    target, seen = (corrupted, clean_seen) if direction == "denoising" else (clean, corrupted_seen)
    value = first if direction == "denoising" else second

    def of(predicted: Tensor) -> Tensor:
        """The measure, of predictions (..., class) at the place."""
        numbers = predicted.double()
        numbers = numbers.clamp(min=_TINY).log() if clean.kind == "labels" else numbers
        return (numbers * weights.to(numbers)).sum(-1)

    source = PatchSource(seen, float(of(value[place])), "clean" if direction == "denoising" else "corrupted")
    return patch_into(
        clean.module,
        target.run,
        lambda output: of(target.predict(output)[:, place]),
        source,
        direction,
        inputs=target.inputs,
        batched=target.batched,
        batch=batch,
        noise=noise,
        seed=seed,
    )


def _weights(clean: Case, corrupted: Case, first: Tensor, second: Tensor, place: int) -> Tensor:
    """What the measure multiplies (class) by."""
    if clean.kind == "numbers":
        return torch.ones_like(first)
    if clean.kind == "vectors":
        return first - second
    answers = [
        int(predicted.argmax()) if case.answers is None else case.answers[place]
        for case, predicted in ((clean, first), (corrupted, second))
    ]
    weights = torch.zeros_like(first)
    weights[answers[0]] = 1.0
    if answers[1] != answers[0]:
        weights[answers[1]] = -1.0
    return weights
