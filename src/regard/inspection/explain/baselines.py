"""The effects of removing each head by several baselines, and how far these order the heads alike."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import torch
from torch import nn

from regard.errors import ArgumentError
from regard.inspection.capture.watch import record_calls
from regard.inspection.explain.effect import Effect
from regard.inspection.explain.effects import effects
from regard.inspection.explain.head_changes import RemoveHead
from regard.inspection.explain.rank_agreement import rank_agreement

__all__ = ["BASELINES", "HeadEffects", "head_effects"]

BASELINES = ("zero", "mean", "resample")
"""What the outputs of a removed head are replaced by; see `RemoveHead`."""


@dataclass(frozen=True, eq=False)
class HeadEffects:
    """The effects of removing each head, by several baselines.

    Attributes:
        heads: the layer and the number of each head, from 1.
        effects: for each baseline, the effect of each head's removal, in this order.
    """

    heads: tuple[tuple[int, int], ...]
    effects: dict[str, tuple[Effect, ...]]

    @property
    def agreement(self) -> dict[tuple[str, str], float]:
        """For each two baselines, the rank correlation of the sizes of their effects; see `rank_agreement`."""
        sizes = {by: [each.size for each in found] for by, found in self.effects.items()}
        return {pair: rank_agreement(*(sizes[by] for by in pair)) for pair in combinations(sizes, 2)}

    def __str__(self) -> str:
        lines = [f"{'head':>8}  {'  '.join(f'{by:>21}' for by in self.effects)}"]
        for index, (layer, head) in enumerate(self.heads):
            cells = (_cell(found[index]) for found in self.effects.values())
            lines.append(f"{f'{layer}.{head}':>8}  {'  '.join(f'{cell:>21}' for cell in cells)}")
        lines += [f"Rank agreement of {one} and {other}: {value:.2f}" for (one, other), value in self.agreement.items()]
        return "\n".join(lines)


def head_effects(
    model: nn.Module,
    run: Callable[..., Any],
    measure: Callable[[Any], Any],
    *,
    inputs: Any = None,
    baselines: Sequence[str] = BASELINES,
    **options: Any,
) -> HeadEffects:
    """Remove each head by several baselines, and measure the effects.

    An effect that only one baseline shows is one of that baseline: zeros, for instance, also take away what a head says
    about every input alike.

    Args:
        model, run, measure, inputs: see `effects`.
        baselines: names from `BASELINES`.
        options: the other arguments of `effects`: `others`, which "resample" needs, `draws`, `noise`, `seed`, `batch`.

    Raises:
        ArgumentError: there is no such baseline, or nothing was seen; see also `effects`.

    Example:
        >>> layer = nn.TransformerEncoderLayer(8, nhead=2, batch_first=True).eval()
        >>> one, *others = torch.randn(9, 1, 5, 8)
        >>> found = head_effects(layer, layer, lambda output: output[:, 0, 0], inputs=one, others=others)
        >>> found.heads, [len(each) for each in found.effects.values()], sorted(found.agreement)
        (((1, 1), (1, 2)), [2, 2, 2], [('mean', 'resample'), ('zero', 'mean'), ('zero', 'resample')])
    """
    if isinstance(baselines, str) or not baselines or not set(baselines) <= set(BASELINES):
        raise ArgumentError(f"`baselines` must be some of {', '.join(BASELINES)}, but is {baselines!r}.")
    with torch.no_grad(), record_calls(model, rows=0) as seen:
        run() if inputs is None else run(inputs)
    if not seen:
        raise ArgumentError(f"`model` must have heads that are seen. {seen.nothing}")
    counts = {layer.name: layer.heads for layer in seen}
    heads = tuple((layer, head + 1) for layer, count in enumerate(counts.values(), 1) for head in range(count))
    changes = [RemoveHead(layer, head, by) for by in baselines for layer, head in heads]
    found = iter(effects(model, run, measure, changes, inputs=inputs, **options))
    return HeadEffects(heads, {by: tuple(next(found) for _ in heads) for by in baselines})


def _cell(effect: Effect) -> str:
    """An effect in a table: the difference, and how large the noise is."""
    size = f"{effect.difference:+.3g}" if isinstance(effect.difference, float) else f"{effect.size:.3g}"
    spread = f" \u00b1{effect.spread:.2g}" if isinstance(effect.spread, float) else ""
    return f"{size}{spread}" + {None: "", True: " *", False: " (noise)"}[effect.above_noise]
