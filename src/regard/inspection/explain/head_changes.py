"""Changes of what a head gives, whatever it attended to: its removal, and a patch from another input."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from regard.attention.validation import check_count
from regard.errors import ArgumentError
from regard.inspection.capture.call import AttentionCall
from regard.inspection.explain.change_parts import Where
from regard.inspection.explain.changes import Change, Layer, place_text
from regard.inspection.explain.resampling import as_others, resampled, same_turn
from regard.inspection.record.seen import Seen

__all__ = ["PatchHead", "RemoveHead"]


@dataclass(frozen=True)
class RemoveHead(Change):
    """Replace the outputs of a head by zeros, by their mean, or by those for other inputs.

    What a removal is compared with is part of what it measures. Zeros may be nothing that a later layer ever sees; the
    mean keeps what the head says about all queries alike; the outputs for another input keep what it says about all
    inputs alike.

    Args:
        layer, head: which one.
        by: "zero"; "mean", over the queries of each item, padding included; or "resample", the outputs for another
            input, which is drawn. Each query gets the output at its position, or, if the other input has another number
            of queries, at a position that is drawn too.
        others: for "resample", what was seen of other inputs by `watch`, without padding. `effects` fills it in.
        draw: for "resample", the number of the draw: the first draws take each other input once.
        seed: of the draws.

    Raises:
        ArgumentError: a number is below 1, `by` has another name, or `others` holds something else; when the model
            runs, also if they are missing or of another model.

    Source: "mean" and "resample" as in Wang et al. 2022, Interpretability in the Wild (mean ablation), and Chan et al.
    2022, Causal Scrubbing (resampling ablation).
    """

    layer: Layer | None
    head: int | None
    by: str = "zero"
    others: tuple[Seen, ...] | None = None
    draw: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.by not in ("zero", "mean", "resample"):
            raise ArgumentError(f"`by` of RemoveHead must be 'zero', 'mean' or 'resample', but is {self.by!r}.")
        if self.others is not None:
            object.__setattr__(self, "others", as_others(self.others, "`others` of RemoveHead"))
        check_count("draw", self.draw, "a number", least=0)

    @property
    def is_drawn(self) -> bool:
        """Whether other inputs are drawn."""
        return self.by == "resample"

    @property
    def needs_all_queries(self) -> bool:
        """Whether it makes the outputs for a query of those for others."""
        return self.by != "zero"

    def draws(self, others: tuple[Seen, ...] | None, count: int, seed: int) -> tuple[Change, ...]:
        """See `Change`."""
        if not self.is_drawn:
            return (self,)
        own = self.others or others
        return tuple(replace(self, others=own, draw=self.draw + number, seed=seed) for number in range(count))

    def heads(self, call: AttentionCall, outputs: Tensor, where: Where) -> Tensor:
        if self.is_drawn:
            items = outputs.shape[0] if where.item is None else 1
            draws = range(self.draw, self.draw + items)
            return _put(outputs, where, resampled(call, outputs.shape, self.others, draws, self.seed))
        if self.by == "mean":
            some = outputs if where.item is None else outputs[where.item : where.item + 1]
            return _put(outputs, where, some.mean(2, keepdim=True))
        return _put(outputs, where, outputs.new_zeros(()))

    def __str__(self) -> str:
        by = {"zero": "", "mean": ", replaced by its mean", "resample": ", replaced by that for other inputs"}
        return f"remove {place_text(self.layer, self.head)}{by[self.by]}"


@dataclass(frozen=True)
class PatchHead(Change):
    """Replace outputs of heads by those for another input, at the same position: activation patching.

    Args:
        source: what was seen of the other input by `watch`, with the same model and without changes.
        layer, head: see `Change`; None: all heads.
        query: the position; None: all, which needs as many queries in both.
        source_query: the position in the other input; None: the same.

    Raises:
        ArgumentError: a number is below 1, or `source` isn't what `watch` gives; when the model runs, also if the
            source has no such position, or is of another model.

    Source: Vig et al. 2020, Investigating Gender Bias in Language Models Using Causal Mediation Analysis; Zhang and
    Nanda 2023, Towards Best Practices of Activation Patching in Language Models.

    Example:
        >>> from regard.inspection import watch
        >>> layer = torch.nn.TransformerEncoderLayer(8, nhead=2, batch_first=True).eval()
        >>> one, other = torch.randn(2, 1, 5, 8)
        >>> with watch(layer) as seen:
        ...     expected = layer(other)
        >>> with watch(layer, changes=[PatchHead(seen, 1, 2, query=3)]):
        ...     output = layer(one)
    """

    source: Seen
    layer: Layer | None = None
    head: int | None = None
    query: int | None = None
    source_query: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.source, Seen) or not self.source:
            raise ArgumentError(
                "`source` of PatchHead must be what was seen of the other input (`with watch(model) as seen: "
                f"model(other)`), but is {self.source!r:.80}."
            )
        number = self.source_query
        if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 1):
            raise ArgumentError(f"`source_query` of PatchHead must be a number from 1, but is {number!r}.")
        if number is not None and self.query is None:
            raise ArgumentError("`source_query` of PatchHead needs `query`, the position that is replaced.")

    def heads(self, call: AttentionCall, outputs: Tensor, where: Where) -> Tensor:
        patch = self._of_source(call, outputs)
        if where.item is not None and patch.shape[0] > 1:
            patch = patch[where.item : where.item + 1]
        return _put(outputs, where, patch)

    def _of_source(self, call: AttentionCall, outputs: Tensor) -> Tensor:
        """The outputs of the source, (1 or batch, head, 1 or query, feature)."""
        calls = [each for each in self.source if each.name == call.module]
        found = same_turn(calls, call) if calls else None
        name = call.module or "the model itself"
        if found is None:
            had = f"it called {name} {len(calls)} times" if calls else f"it has {', '.join(set(self.source.names))}"
            raise ArgumentError(f"`source` of PatchHead must have the call that is patched, of {name}, but {had}.")
        patch = found.head_outputs
        batch, heads, queries, feature = outputs.shape
        if (patch.shape[1], patch.shape[3]) != (heads, feature) or patch.shape[0] not in (1, batch):
            raise ArgumentError(
                f"`source` of PatchHead must be of one item or {batch}, with {heads} heads of {feature} features in "
                f"{name}, but has {patch.shape[0]} items and {patch.shape[1]} heads of {patch.shape[3]}."
            )
        if self.query is None:
            if patch.shape[2] != queries:
                raise ArgumentError(
                    f"`source` of PatchHead must have {queries} queries in {name}, but has {patch.shape[2]}. Take "
                    "inputs of the same length, or give `query` and `source_query`."
                )
            return patch
        position = self.query if self.source_query is None else self.source_query
        if position > patch.shape[2]:
            raise ArgumentError(
                f"`source_query` of PatchHead must be at most {patch.shape[2]}, the queries of the source in {name}, "
                f"but is {position}."
            )
        return patch[:, :, position - 1 : position]

    def __str__(self) -> str:
        where = "" if self.query is None else f" at query {self.query}"
        of = "" if self.source_query in (None, self.query) else f"query {self.source_query} of "
        return f"patch {place_text(self.layer, self.head)}{where} from {of}the other input"


def _put(outputs: Tensor, where: Where, by: Tensor) -> Tensor:
    """Outputs in which some rows are replaced by others, of which there are as many items as change, or one."""
    if where.item is None or outputs.requires_grad:
        return torch.where(where.rows(outputs), by.to(outputs), outputs)
    # Only this item is touched: a batch has an item for each of many changes.
    item = outputs[where.item : where.item + 1]
    rows = replace(where, item=None).rows(item)
    found = outputs.clone()
    found[where.item : where.item + 1] = torch.where(rows, by.to(item), item)
    return found
