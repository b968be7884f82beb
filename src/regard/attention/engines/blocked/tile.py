"""One tile: its weights, its output and its gradients. Products by hand; autograd only on a part that has no pull.

A whole row stands in a tile, so any normaliser works as it is written. The backward pass computes the tile again.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor

from regard.attention.dropout import keep_scale
from regard.attention.engines.blocked.definition import tamed
from regard.attention.engines.blocked.products import Inner, averaged, times_key, times_query
from regard.attention.engines.blocked.tiles import Tile
from regard.attention.foreign import applied
from regard.attention.frames import Index
from regard.attention.parts import is_own, join, offer, operands, select, split
from regard.attention.pieces import added
from regard.attention.positions import Position
from regard.attention.precision import wide_dtype
from regard.attention.request import Parts, Request
from regard.attention.scores import Dot
from regard.attention.vjp import vjp

__all__ = ["Allowed", "TileGradients", "TileWork", "Twins", "drop_weights", "take"]

Pull = Callable[[Tensor], tuple[Any, ...]]  # the inputs' gradients, then the operands': each a tensor, or None for none


@runtime_checkable
class Twins(Protocol):
    """What computes the same as the parts of a reduced request, and the same dropout, faster."""

    def parts(self, parts: Parts) -> Parts: ...

    def drop(self, weights: Tensor, at: Index, dropout: float, seed: int) -> Tensor: ...


def drop_weights(weights: Tensor, at: Index, dropout: float, seed: int) -> Tensor:
    """The weights, some of them set to 0 and the rest scaled up."""
    return weights * keep_scale(at, dropout, seed, weights.dtype)


class Allowed:
    """Which pairs of a tile a mask allows, (group or 1, row, column), and what follows of it, found out once.

    Tiles of other heads may share it.
    """

    def __init__(self, pairs: Tensor):
        self.pairs = pairs

    @cached_property
    def hidden(self) -> Tensor:
        return ~self.pairs

    @cached_property
    def rows(self) -> Tensor:
        """Which rows see something, (group or 1, row, 1)."""
        return self.pairs.any(-1, keepdim=True)

    @cached_property
    def blind(self) -> Tensor:
        """Which rows see nothing, (group or 1, row, 1)."""
        return ~self.rows

    @cached_property
    def all_see(self) -> bool:
        """Whether every row is known to see something; a GPU isn't waited for to know it."""
        return self.pairs.device.type == "cpu" and bool(self.rows.all())


class TileWork:
    """The work on one tile of a reduced request.

    Args:
        request: reduced, with heads equal.
        plain: query and key as the position's scores see them: before the score reduced them.
        tile, at: what the tile holds, and where that stands in the whole.
        allowed: which pairs are allowed, or None for all.
        drop: what drops weights.
    """

    def __init__(
        self,
        request: Request,
        plain: tuple[Tensor, Tensor],
        tile: Tile,
        at: Index,
        allowed: Allowed | None,
        drop: Callable[[Tensor, Index, float, int], Tensor],
    ):
        self.request, self.tile, self.at, self._drop = request, tile, at, drop
        self._mask, self.allowed = allowed, None if allowed is None else allowed.pairs
        self.query, self.key = take(request.query, tile, "rows"), take(request.key, tile, "keys")
        self.value = take(request.value, tile, "keys")
        # Mostly the very same tensors, and then the very same tile of them.
        self.plain_query = self.query if plain[0] is request.query else take(plain[0], tile, "rows")
        self.plain_key = self.key if plain[1] is request.key else take(plain[1], tile, "keys")
        parts = request.parts
        # A foreign function may keep what it gave, or give one number for many: that must not be written into.
        self._own_scores = is_own(parts.score) and is_own(parts.position)
        if self.allowed is not None and not self._own_scores:
            self._tame(self.allowed)
        self._heads = at.head.flatten()
        self._score, self._weights, self._position = (
            select(part, self._heads) for part in (parts.score, parts.weights, parts.position)
        )
        if type(parts.score) is Dot:
            self._score = Inner(parts.score.scale)

    def _tame(self, allowed: Tensor) -> None:
        self.query, self.key = tamed(self.query, self.key, allowed)
        self.plain_query, self.plain_key = tamed(self.plain_query, self.plain_key, allowed)

    def weights(self) -> Tensor:
        """The weights before dropout, (group, row, column), in float32 or wider; hidden ones are 0."""
        parts = self.request.parts
        scores = applied("score", parts.score, self._score, self.query, self.key, like=None)
        if self._has("scores"):
            scores = applied(
                "position's scores",
                parts.position,
                self._position.scores,
                scores,
                self.plain_query,
                self.plain_key,
                extra=(self.at,),
                like=scores,
            )
        # Nothing keeps the scores of a part of our own, so they may be overwritten.
        in_place = offer(self._weights, "normalise_") if self._own_scores else None
        scores = self._masked(scores)
        normalise = in_place or self._weights
        return self._shown(applied("weights", parts.weights, normalise, scores, extra=(self.allowed,), like=scores))

    def output(self) -> Tensor:
        """The output, (group, row, value), in float32 or wider."""
        weights = self.weights()
        # Dropout may work in place, on what a foreign normaliser may have kept.
        foreign = self.request.dropout and not is_own(self.request.parts.weights)
        weights = self._dropped(weights.clone() if foreign else weights)
        output = averaged(weights, self.value)
        if self._has("outputs"):
            output = applied(
                "position's outputs",
                self.request.parts.position,
                self._position.outputs,
                output,
                weights,
                extra=(self.at,),
                like=output,
            )
        return self._seen(output, in_place=is_own(self.request.parts.position))

    def pull(self, grad_output: Tensor) -> "TileGradients":
        """What a change of the tile's output is worth in its inputs and in the operands of its parts."""
        scores, pull_score = self._score_and_pull()
        scores, pull_position = self._position_scores_and_pull(scores)
        weights, pull_weights = self._weights_and_pull(self._masked(scores))
        # Dropout may work in place, and the normaliser's gradient wants its weights as they were.
        kept = self._dropped(weights.clone() if self.request.dropout else weights)
        grad_output, grad_weights, outputs = self._outputs_pulled(self._seen(grad_output), kept)
        grad_value = times_query(kept, grad_output)
        more = times_key(grad_output, self.value)
        grad_weights = more if grad_weights is None else more.add_(grad_weights)
        grad_scores, *of_weights = pull_weights(self._dropped(grad_weights))
        grad_scores, plain_query, plain_key, *of_position = pull_position(grad_scores)
        query, key, *of_score = pull_score(grad_scores)
        both = [
            a if b is None else b if a is None else added(added(None, a), b)
            for a, b in zip(of_position, outputs, strict=True)
        ]
        return TileGradients(query, key, grad_value, plain_query, plain_key, (of_score, of_weights, both))

    def _score_and_pull(self) -> tuple[Tensor, Pull]:
        pull = offer(self._score, "pull")
        part = self.request.parts.score
        if pull is None:
            return self._traced("score", part, "__call__", self.query, self.key, like=None)
        return applied(
            "score", part, self._score, self.query, self.key, like=None
        ), lambda gradient: self._with_operands(part, self._score, 2, pull(gradient, self.query, self.key))

    def _position_scores_and_pull(self, scores: Tensor) -> tuple[Tensor, Pull]:
        part = self.request.parts.position
        if not self._has("scores"):
            return scores, lambda gradient: (gradient, None, None, *[None] * len(operands(part)))
        pull = offer(self._position, "pull_scores", "scores")
        if pull is None:
            given = scores, self.plain_query, self.plain_key
            return self._traced("position's scores", part, "scores", *given, extra=(self.at,), like=scores)
        changed = self._position.scores(scores, self.plain_query, self.plain_key, self.at)
        return changed, lambda gradient: (
            gradient,
            *self._with_operands(part, self._position, 2, pull(gradient, self.plain_query, self.plain_key, self.at)),
        )

    def _weights_and_pull(self, scores: Tensor) -> tuple[Tensor, Pull]:
        part = self.request.parts.weights
        pull = offer(self._weights, "pull")
        if pull is not None:
            weights = self._shown(self._weights(scores, self.allowed))
            return weights, lambda gradient: self._with_operands(
                part, self._weights, 1, pull(gradient, weights, self.allowed)
            )
        weights, traced = self._traced("weights", part, "__call__", scores, extra=(self.allowed,), like=scores)
        if self.allowed is None:
            return weights, traced
        allowed = self.allowed

        def pulled(gradient: Tensor) -> tuple[Any, ...]:
            # What it makes of hidden scores is thrown away, so nothing may come back through them either.
            grad_scores, *grads = traced(torch.where(allowed, gradient, 0.0))
            return torch.where(allowed, grad_scores, 0.0), *grads

        return torch.where(allowed, weights, 0.0), pulled

    def _outputs_pulled(self, grad_output: Tensor, kept: Tensor) -> tuple[Tensor, Tensor | None, list[Tensor | None]]:
        """The gradient of the weighted sum, of the weights beside it, and of the position's operands."""
        part = self.request.parts.position
        if not self._has("outputs"):
            return grad_output, None, [None] * len(operands(part))
        pull = offer(self._position, "pull_outputs", "outputs")
        if pull is not None:
            grad_weights, *grads = self._with_operands(part, self._position, 1, pull(grad_output, kept, self.at))
            return grad_output, grad_weights, grads
        output = averaged(kept, self.value)
        _, traced = self._traced("position's outputs", part, "outputs", output, kept, extra=(self.at,), like=output)
        grad_sum, grad_weights, *grads = traced(grad_output)
        return grad_sum, grad_weights, grads

    def _traced(
        self, name: str, part: Any, method: str, *inputs: Tensor, extra: tuple[Any, ...] = (), like: Tensor | None
    ) -> tuple[Tensor, Pull]:
        """What a part makes of its inputs, and its gradient by autograd on the tile."""
        spec, held = split(part)
        # Whole numbers have no gradient.
        smooth = [i for i, operand in enumerate(held) if operand.is_floating_point()]

        def call(*tensors: Tensor) -> Tensor:
            changed = list(held)
            for i, operand in zip(smooth, tensors[len(inputs) :], strict=True):
                changed[i] = operand
            whole = select(join(spec, tuple(changed)), self._heads)
            return applied(name, whole, getattr(whole, method), *tensors[: len(inputs)], extra=extra, like=like)

        result, back = vjp(call, *inputs, *(held[i] for i in smooth))

        def pull(gradient: Tensor) -> tuple[Any, ...]:
            found = back(gradient.to(result.dtype))
            grads: list[Tensor | None] = [None] * len(held)
            for i, grad in zip(smooth, found[len(inputs) :], strict=True):
                grads[i] = grad
            return *found[: len(inputs)], *grads

        return result, pull

    def _with_operands(self, part: Any, chosen: Any, inputs: int, found: tuple[Any, ...]) -> tuple[Any, ...]:
        """A pull written by hand gives gradients of what was picked for the tile's groups; these, of the whole."""
        grads = [
            grad if grad is None or picked is operand else self._back_to_heads(grad, operand)
            for grad, picked, operand in zip(found[inputs:], operands(chosen), operands(part), strict=True)
        ]
        return *found[:inputs], *grads

    def _back_to_heads(self, gradient: Tensor, operand: Tensor) -> Tensor:
        gradient = gradient.expand(len(self._heads), *operand.shape[1:])
        if len(self._heads) >= len(operand):
            # All heads of some items, item by item.
            return gradient.unflatten(0, (-1, len(operand))).sum(0)
        total = torch.zeros(operand.shape, dtype=gradient.dtype, device=gradient.device)
        total[self._heads] = gradient  # some heads of one item
        return total

    def _masked(self, scores: Tensor) -> Tensor:
        """Hidden scores at minus infinity; in a row that may see nothing, for a user's normaliser, at 0."""
        scores = self._hidden(scores, -torch.inf, in_place=self._own_scores)
        if self._all_see or is_own(self.request.parts.weights):
            return scores
        return self._seen(scores)

    def _shown(self, weights: Tensor) -> Tensor:
        """Hidden weights at 0."""
        own = is_own(self.request.parts.weights)
        # In a row that sees a finite score, a normaliser of our own gives 0 for minus infinity; what a position adds
        # need not be finite.
        shown = own and self._own_scores and self._all_see and not self._has("scores")
        return weights if shown else self._hidden(weights, 0.0, in_place=own)

    def _hidden(self, matrix: Tensor, value: float, *, in_place: bool) -> Tensor:
        if self._mask is None:
            return matrix
        if not in_place:
            return torch.where(self._mask.pairs, matrix, value)
        # Only the columns that are not known to be open need be touched.
        for columns in (slice(0, self.tile.open.start), slice(self.tile.open.stop, self.tile.columns)):
            if columns.start < columns.stop:
                matrix[..., columns].masked_fill_(self._mask.hidden[..., columns], value)
        return matrix

    @property
    def _all_see(self) -> bool:
        """Whether every row is known to see something."""
        return self._mask is None or self.tile.open.stop > self.tile.open.start or self._mask.all_see

    def _seen(self, rows: Tensor, *, in_place: bool = False) -> Tensor:
        """A row that may see nothing is zeros, and takes no gradient, whatever comes from above."""
        if self._mask is None or self._all_see:
            return rows
        return rows.masked_fill_(self._mask.blind, 0.0) if in_place else torch.where(self._mask.rows, rows, 0.0)

    def _dropped(self, weights: Tensor) -> Tensor:
        if not self.request.dropout:
            return weights
        return self._drop(weights, self.at, self.request.dropout, self.request.seed)

    def _has(self, hook: str) -> bool:
        return getattr(type(self._position), hook) is not getattr(Position, hook)


class TileGradients(NamedTuple):
    """The gradients of a tile's inputs, and of the operands of its score, weights and position."""

    query: Tensor | None
    key: Tensor | None
    value: Tensor
    plain_query: Tensor | None
    plain_key: Tensor | None
    operands: tuple[list[Tensor | None], list[Tensor | None], list[Tensor | None]]


def take(tensor: Tensor, tile: Tile, which: str) -> Tensor:
    """The tile's own rows or keys of a tensor (batch, head, length, size), as (group, length, size), wide."""
    picked, (batch, heads, length, _) = getattr(tile, which), tensor.shape
    # Picked before batch and head become one axis: where they don't lie in that order, this copies what was picked.
    items = tensor
    if tile.groups != slice(0, batch * heads):
        first, last = tile.groups.start // heads, (tile.groups.stop - 1) // heads + 1
        items = items[first:last]
        if last - first == 1:
            items = items[:, tile.groups.start - first * heads : tile.groups.stop - first * heads]
    if isinstance(picked, Tensor):
        items = items.index_select(2, picked.to(tensor.device))
    elif picked != slice(0, length):
        items = items[:, :, picked]
    return items.flatten(0, 1).to(wide_dtype(tensor))
