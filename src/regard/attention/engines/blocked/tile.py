"""One tile: its weights, its output and its gradients. Only parts without a hand-written VJP go through autograd.

A tile holds whole rows, so any normaliser can be used unchanged. The backward pass recomputes the tile.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor

from regard.attention.dropout import keep_scale
from regard.attention.engines.blocked.matmul import InnerProduct, matmul_nn, matmul_nt, matmul_tn
from regard.attention.engines.blocked.tiles import Tile
from regard.attention.gradients.sparse_gradients import accumulate
from regard.attention.gradients.vjp import vjp
from regard.attention.log_sums import joined
from regard.attention.parts import Differentiable, operands, optional_method, select
from regard.attention.positions import Position
from regard.attention.precision import WIDE, wide_dtype
from regard.attention.request import Parts, Request
from regard.attention.scores import Dot
from regard.attention.sizes import Index
from regard.attention.user_parts import UserPart

__all__ = ["CompiledParts", "TileGradients", "TileMask", "TileWork", "drop_weights", "take"]

Vjp = Callable[[Tensor], tuple[Any, ...]]  # gives the gradients of the inputs, then of the operands, or None for each


@runtime_checkable
class CompiledParts(Protocol):
    """Faster implementations of the parts of a reduced request and of dropout."""

    def parts(self, parts: Parts) -> Parts: ...

    def drop(self, weights: Tensor, at: Index, dropout: float, seed: int) -> Tensor: ...


def drop_weights(weights: Tensor, at: Index, dropout: float, seed: int) -> Tensor:
    """The weights with some of them set to 0 and the others scaled up."""
    return weights * keep_scale(at, dropout, seed, weights.dtype)


class TileMask:
    """Which pairs of a tile a mask allows, (group or 1, row, column), and values derived from it, each computed once.

    Tiles of other heads may share it.
    """

    def __init__(self, pairs: Tensor):
        self.pairs = pairs

    @cached_property
    def hidden(self) -> Tensor:
        return ~self.pairs

    @cached_property
    def rows(self) -> Tensor:
        """Which rows see any key, (group or 1, row, 1)."""
        return self.pairs.any(-1, keepdim=True)

    @cached_property
    def empty_rows(self) -> Tensor:
        """Which rows are fully masked, (group or 1, row, 1)."""
        return ~self.rows

    @cached_property
    def columns(self) -> Tensor:
        """Which keys any row sees, (group or 1, column, 1)."""
        return self.pairs.any(-2).unsqueeze(-1)

    @cached_property
    def no_empty_row(self) -> bool:
        """Whether no row is known to be fully masked; False on a GPU, to avoid a synchronisation."""
        return self.pairs.device.type == "cpu" and bool(self.rows.all())


class TileWork:
    """The computations on one tile of a reduced request.

    Args:
        request: reduced, with heads equal.
        unreduced: query and key as the position's scores see them, before the score's `reduce`.
        tile, at: the tile, and the index of its pairs.
        allowed: which pairs are allowed, or None for all.
        drop: the implementation of dropout.
    """

    def __init__(
        self,
        request: Request,
        unreduced: tuple[Tensor, Tensor],
        tile: Tile,
        at: Index,
        allowed: TileMask | None,
        drop: Callable[[Tensor, Index, float, int], Tensor],
    ):
        self.request, self.tile, self.at, self._drop = request, tile, at, drop
        self._mask, self.allowed = allowed, None if allowed is None else allowed.pairs
        self._unmasked = tile.unmasked
        self.query, self.key = take(request.query, tile, "rows"), take(request.key, tile, "keys")
        self.value = take(request.value, tile, "keys")
        # If they are the same tensors as query and key, the tile's part of them is shared too.
        self.unreduced_query = self.query if unreduced[0] is request.query else take(unreduced[0], tile, "rows")
        self.unreduced_key = self.key if unreduced[1] is request.key else take(unreduced[1], tile, "keys")
        parts = request.parts
        # A user's function may keep what it returned, or return an expanded tensor; it must not be modified in place.
        self._builtin_scores = not parts.user_scores
        if allowed is not None and not self._builtin_scores:
            self._fill_empty(allowed)
        self._heads = at.head.flatten()
        # Most parts have no parameters for each head, and are known to have none.
        dot, plain = type(parts.score) is Dot, type(parts.position) is Position
        self._score: Any = InnerProduct(parts.score.scale) if dot else select(parts.score, self._heads)  # pyright: ignore
        self._weights = select(parts.weights, self._heads)
        self._position = parts.position if plain else select(parts.position, self._heads)
        self._changes_scores = not plain and self._position.overrides("scores")
        self._changes_outputs = not plain and self._position.overrides("outputs")

    def _fill_empty(self, mask: TileMask) -> None:
        """As `fill_empty` of the reference implementation, by what the heads that share the mask share, too."""
        same_query, same_key = self.unreduced_query is self.query, self.unreduced_key is self.key
        self.query, self.key = torch.where(mask.rows, self.query, 1.0), torch.where(mask.columns, self.key, 1.0)
        self.unreduced_query = self.query if same_query else torch.where(mask.rows, self.unreduced_query, 1.0)
        self.unreduced_key = self.key if same_key else torch.where(mask.columns, self.unreduced_key, 1.0)

    def weights(self) -> Tensor:
        """The weights before dropout, (group, row, column), in float32 or wider; hidden ones are 0."""
        return self._normalised(self._masked_scores())

    def _masked_scores(self) -> Tensor:
        scores = self._score(self.query, self.key)
        if self._changes_scores:
            scores = self._position.scores(scores, self.unreduced_query, self.unreduced_key, self.at)
        return self._masked(scores)

    def _normalised(self, scores: Tensor) -> Tensor:
        # Nothing keeps a reference to the scores of the package's own parts, so they may be overwritten.
        in_place = optional_method(self._weights, "normalise_") if self._builtin_scores else None
        normalise = in_place or self._weights
        weights = normalise(scores, self.allowed)
        return weights if self._mask is None else self._zero_hidden(weights)

    def output(self) -> Tensor:
        """The output, (group, row, value), in float32 or wider, with its log-sums if they are asked for."""
        scores = self._masked_scores()
        log_sums = self._log_sums(scores) if self.request.parts.log_sums else None
        weights = self._normalised(scores)  # in place of the scores
        # Dropout may modify the weights in place, but a user's normaliser may have kept a reference to them.
        if self.request.dropout:
            weights = self._dropped(weights.clone() if isinstance(self._weights, UserPart) else weights)
        output = matmul_nn(weights, self.value)
        if self._changes_outputs:
            output = self._position.outputs(output, weights, self.at)
        if self._mask is not None:
            output = self._zero_empty_rows(output, in_place=not isinstance(self._position, UserPart))
        return output if log_sums is None else joined(output, log_sums)

    def _log_sums(self, scores: Tensor) -> Tensor:
        """The log-sums of masked scores, (group, row)."""
        log_sums = self._weights.log_sums(scores)
        if self._mask is None or self._no_empty_row:
            return log_sums
        return log_sums.masked_fill_(self._mask.empty_rows.squeeze(-1), -torch.inf)

    def vjp(self, grad_output: Tensor) -> "TileGradients":
        """The gradients of the tile's inputs and of the operands of its parts, given that of its output."""
        scores, score_vjp = self._score_and_vjp()
        scores, position_vjp = self._position_scores_and_vjp(scores)
        scores = self._masked(scores)
        weights, weights_vjp = self._weights_and_vjp(scores)
        # Dropout may modify the weights in place, but the normaliser's gradient needs them unchanged.
        dropped = self._dropped(weights.clone()) if self.request.dropout else weights
        grad_log_sums = None
        if self._mask is not None:
            grad_output = self._zero_empty_rows(grad_output)
        if self.request.parts.log_sums:
            grad_output, grad_log_sums = grad_output[..., :-1], grad_output[..., -1]
        grad_output, grad_weights, outputs = self._outputs_vjp(grad_output, dropped)
        grad_value = matmul_tn(dropped, grad_output)
        more = matmul_nt(grad_output, self.value)
        grad_weights = more if grad_weights is None else more.add_(grad_weights)
        if self.request.dropout:
            grad_weights = self._dropped(grad_weights)
        grad_scores, *of_weights = weights_vjp(grad_weights)
        if grad_log_sums is not None:
            found = self._weights.log_sums_vjp(grad_log_sums, weights, scores)
            more, *of_log_sums = self._with_operands(self.request.parts.weights, self._weights, 1, found)
            grad_scores = grad_scores.add_(more)
            of_weights = [a + b for a, b in zip(of_weights, of_log_sums, strict=True)]
        grad_scores, unreduced_query, unreduced_key, *of_position = position_vjp(grad_scores)
        query, key, *of_score = score_vjp(grad_scores)
        both = [
            a if b is None else b if a is None else accumulate(accumulate(None, a), b)
            for a, b in zip(of_position, outputs, strict=True)
        ]
        return TileGradients(query, key, grad_value, unreduced_query, unreduced_key, (of_score, of_weights, both))

    def tangent(self, moving_query: Tensor, moving_key: Tensor, of_value: Tensor) -> Tensor:
        """The tangent of the output, (group, row, value).

        The score is an inner product, and the position adds what depends on neither query nor key.

        Args:
            moving_query, moving_key: the tile's of (tangent, query) and of (key, tangent), both after the score's
                `reduce`: by the product rule, the score of the two is the tangent of the score.
            of_value: the tangents of the tile's values.
        """
        weights = self.weights()
        # What is hidden may be so large that it overflows, and its weight of 0 would make NaN of that.
        of_scores = self._hidden(self._score(moving_query, moving_key), 0.0, in_place=True)
        # The Jacobians of the package's normalisers are symmetric.
        of_weights = self._weights.vjp(of_scores, weights, self.allowed)[0]
        if self.request.dropout:
            weights, of_weights = self._dropped(weights), self._dropped(of_weights)
        return self._zero_empty_rows(matmul_nn(of_weights, self.value).add_(matmul_nn(weights, of_value)))

    def _score_and_vjp(self) -> tuple[Tensor, Vjp]:
        vjp_fn = optional_method(self._score, "vjp")
        part = self.request.parts.score
        if vjp_fn is None:
            return self._by_autograd(part, "__call__", self.query, self.key)
        return self._score(self.query, self.key), lambda gradient: self._with_operands(
            part, self._score, 2, vjp_fn(gradient, self.query, self.key)
        )

    def _position_scores_and_vjp(self, scores: Tensor) -> tuple[Tensor, Vjp]:
        part = self.request.parts.position
        if not self._changes_scores:
            nothing = [None] * (0 if type(part) is Position else len(operands(part)))
            return scores, lambda gradient: (gradient, None, None, *nothing)
        vjp_fn = optional_method(self._position, "scores_vjp", "scores")
        if vjp_fn is None:
            given = scores, self.unreduced_query, self.unreduced_key
            changed, by_autograd = self._by_autograd(part, "scores", *given, extra=(self.at,))
            if self._mask is None:
                return changed, by_autograd
            shown = self._mask.pairs

            def masked_vjp(gradient: Tensor) -> tuple[Any, ...]:
                # A user's position may have an infinite derivative where nothing is seen.
                grad_scores, *grads = by_autograd(gradient)
                return torch.where(shown, grad_scores, 0.0), *grads

            return changed, masked_vjp
        changed = self._position.scores(scores, self.unreduced_query, self.unreduced_key, self.at)
        return changed, lambda gradient: (
            gradient,
            *self._with_operands(
                part, self._position, 2, vjp_fn(gradient, self.unreduced_query, self.unreduced_key, self.at)
            ),
        )

    def _weights_and_vjp(self, scores: Tensor) -> tuple[Tensor, Vjp]:
        part = self.request.parts.weights
        vjp_fn = optional_method(self._weights, "vjp")
        if vjp_fn is not None:
            weights = self._weights(scores, self.allowed)
            if self._mask is not None:
                weights = self._zero_hidden(weights)
            return weights, lambda gradient: self._with_operands(
                part, self._weights, 1, vjp_fn(gradient, weights, self.allowed)
            )
        weights, by_autograd = self._by_autograd(part, "__call__", scores, extra=(self.allowed,))
        if self._mask is None:
            return weights, by_autograd
        shown = self._mask.pairs

        def masked_vjp(gradient: Tensor) -> tuple[Any, ...]:
            # The outputs at hidden scores are discarded, so nothing may flow back through them.
            grad_scores, *grads = by_autograd(torch.where(shown, gradient, 0.0))
            return torch.where(shown, grad_scores, 0.0), *grads

        return torch.where(shown, weights, 0.0), masked_vjp

    def _outputs_vjp(self, grad_output: Tensor, dropped: Tensor) -> tuple[Tensor, Tensor | None, list[Tensor | None]]:
        """The gradients of the weighted sum, of the weights beside it, and of the position's operands."""
        part = self.request.parts.position
        if not self._changes_outputs:
            return grad_output, None, [None] * (0 if type(part) is Position else len(operands(part)))
        vjp_fn = optional_method(self._position, "outputs_vjp", "outputs")
        if vjp_fn is not None:
            grad_weights, *grads = self._with_operands(part, self._position, 1, vjp_fn(grad_output, dropped, self.at))
            return grad_output, grad_weights, grads
        output = matmul_nn(dropped, self.value)
        _, by_autograd = self._by_autograd(part, "outputs", output, dropped, extra=(self.at,))
        grad_sum, grad_weights, *grads = by_autograd(grad_output)
        return grad_sum, grad_weights, grads

    def _by_autograd(self, part: Any, method: str, *inputs: Tensor, extra: tuple[Any, ...] = ()) -> tuple[Tensor, Vjp]:
        """The result of a part's method, and its VJP by autograd on the tile."""
        parts = Differentiable(part)

        def call(*arguments: Tensor) -> Tensor:
            (changed,) = parts.with_operands(*arguments[len(inputs) :])
            return getattr(select(changed, self._heads), method)(*arguments[: len(inputs)], *extra)

        result, back = vjp(call, *inputs, *parts.operands)

        def vjp_fn(gradient: Tensor) -> tuple[Any, ...]:
            found = back(gradient.to(result.dtype))
            (grads,) = parts.gradients(found[len(inputs) :])
            return *found[: len(inputs)], *grads

        return result, vjp_fn

    def _with_operands(self, part: Any, chosen: Any, inputs: int, found: tuple[Any, ...]) -> tuple[Any, ...]:
        """Map operands' gradients from the tile's groups, as a hand-written VJP gives them, to all heads."""
        if (chosen is part or len(found) == inputs) and not isinstance(part, UserPart):
            return found
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
        """Scores with minus infinity at hidden pairs, and for a user's normaliser with 0 in rows without a score."""
        may_lack_scores = self._may_lack_scores(scores)
        if self._mask is not None:
            scores = self._hidden(scores, -torch.inf, in_place=self._builtin_scores)
        if may_lack_scores:
            self._hide_rows_without_scores(scores)
        if not isinstance(self._weights, UserPart) or self._no_empty_row:
            return scores
        return self._zero_empty_rows(scores)

    def _may_lack_scores(self, scores: Tensor) -> bool:
        """Whether all scores of a row that sees some keys could be minus infinity; to ask each row takes a pass."""
        if not self._builtin_scores:
            return True
        biased = self._changes_scores
        if scores.device.type != "cpu":  # looking at numbers would be waiting for them
            return biased or self._mask is None
        # Otherwise they come from infinite vectors, or biases that overflow: then those of the farthest keys do.
        return (biased and not self.request.finite_parts) or bool((scores[..., [0, -1]] == -torch.inf).any())

    def _hide_rows_without_scores(self, scores: Tensor) -> None:
        """Hide all pairs of the rows whose scores are all minus infinity: from here on they are rows without keys."""
        lacking = scores.detach().amax(-1, keepdim=True) == -torch.inf
        if scores.device.type == "cpu" and not (lacking if self._mask is None else lacking & self._mask.rows).any():
            return
        shown = (~lacking).expand(scores.shape) if self._mask is None else self._mask.pairs & ~lacking
        self._mask, self._unmasked = TileMask(shown), slice(0, 0)

    def _zero_hidden(self, weights: Tensor) -> Tensor:
        """Weights with 0 at hidden pairs."""
        builtin = not isinstance(self._weights, UserPart)
        # The package's normalisers give 0 for minus infinity if the row has a finite score; with a position's scores
        # added it might have none.
        shown = builtin and self._builtin_scores and self._no_empty_row and not self._changes_scores
        return weights if shown else self._hidden(weights, 0.0, in_place=builtin)

    def _hidden(self, matrix: Tensor, value: float, *, in_place: bool) -> Tensor:
        if self._mask is None:
            return matrix
        if not in_place:
            return torch.where(self._mask.pairs, matrix, value)
        # Columns that are known to be allowed for all rows need no masking.
        for columns in (slice(0, self._unmasked.start), slice(self._unmasked.stop, self.tile.columns)):
            if columns.start < columns.stop:
                matrix[..., columns].masked_fill_(self._mask.hidden[..., columns], value)
        return matrix

    @property
    def _no_empty_row(self) -> bool:
        """Whether no row is known to be fully masked."""
        return self._mask is None or self._unmasked.stop > self._unmasked.start or self._mask.no_empty_row

    def _zero_empty_rows(self, rows: Tensor, *, in_place: bool = False) -> Tensor:
        """Set fully masked rows to zero; in backward, they pass no gradient, even if the incoming one is NaN."""
        if self._mask is None or self._no_empty_row:
            return rows
        return rows.masked_fill_(self._mask.empty_rows, 0.0) if in_place else torch.where(self._mask.rows, rows, 0.0)

    def _dropped(self, weights: Tensor) -> Tensor:
        if not self.request.dropout:
            return weights
        return self._drop(weights, self.at, self.request.dropout, self.request.seed)


class TileGradients(NamedTuple):
    """The gradients of a tile's inputs, and of the operands of score, weights and position."""

    query: Tensor | None
    key: Tensor | None
    value: Tensor
    unreduced_query: Tensor | None
    unreduced_key: Tensor | None
    operands: tuple[list[Tensor | None], list[Tensor | None], list[Tensor | None]]


def take(tensor: Tensor, tile: Tile, which: str) -> Tensor:
    """The tile's rows or keys of a tensor (batch, head, length, size), as (group, length, size) in float32 or wider."""
    picked, (batch, heads, length, _) = getattr(tile, which), tensor.shape
    # Indexed before batch and head are flattened: if they aren't contiguous, flattening copies only the tile's part.
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
    items = items.flatten(0, 1)
    return items if items.dtype in WIDE else items.to(wide_dtype(tensor))
