"""How much each item contributes to an output: four methods of attribution, and where each of them misleads.

All are computed for chosen queries, in linear memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from regard.errors import ArgumentError
from regard.inspection.record.seen_layer import SeenLayer

__all__ = [
    "ATTRIBUTIONS",
    "Attribution",
    "gradient_weighted",
    "raw_weights",
    "rollout",
    "through_layers",
    "value_weighted",
]


@dataclass(frozen=True)
class Attribution:
    """A method of attribution.

    Attributes:
        name: what it is called.
        means: a sentence that says what its numbers are.
        misleads: a sentence that says where the numbers mislead.
        source: the paper.
    """

    name: str
    means: str
    misleads: str
    source: str


def raw_weights(layer: SeenLayer, rows: Sequence[int] | Tensor) -> Tensor:
    """The weights (batch, head, row, key) of these queries in one layer, before dropout."""
    return layer.weights(rows)


def rollout(layers: Sequence[SeenLayer], rows: Sequence[int] | Tensor) -> Tensor:
    """How much of each input reaches these queries through all layers, if weights were all that matters.

    For each layer the heads are averaged, the identity is added for the connection around the layer, and rows are
    divided by their sum: A = (W + I) / sum; the result is the rows of A_L ... A_2 A_1, as products of a vector and a
    matrix of which some rows at a time are computed.

    Args:
        layers: the self-attention of all layers of one network, from the first to the last.
        rows: the numbers of the queries of the last layer.

    Returns:
        (batch, row, key); its rows sum to 1.

    Raises:
        ArgumentError: there is no layer, or they aren't self-attention of the same items.

    Source: Abnar and Zuidema 2020 (arXiv 2005.00928), section 3.

    Example:
        >>> x = torch.zeros(1, 1, 2, 4)
        >>> layer = SeenLayer("a", "", x, x, x, "dot", "softmax", "causal", None, 0.0, x, x)
        >>> rollout([layer, layer], [1])[0]
        tensor([[0.4375, 0.5625]])
    """
    if not layers:
        raise ArgumentError("`layers` must be the layers of a network, but is empty.")
    batch, _, items, _ = layers[0].query.shape
    chosen = torch.as_tensor(rows, dtype=torch.long, device=layers[0].query.device)
    return through_layers(layers, functional.one_hot(chosen, items).expand(batch, -1, -1))


def through_layers(layers: Sequence[SeenLayer], vectors: Tensor) -> Tensor:
    """The rollout of mixtures of queries: of (batch, row, query), their products with A_L ... A_2 A_1.

    Raises:
        ArgumentError: the layers aren't self-attention of the same items.
    """
    batch, _, items, _ = layers[0].query.shape
    for layer in layers:
        sizes = layer.query.shape[0], layer.query.shape[2], layer.key.shape[2]
        if sizes != (batch, items, items):
            raise ArgumentError(
                f"`layers` must be self-attention of the same items ({batch} x {items}), but {layer.name!r} has "
                f"{sizes[0]} x {sizes[1]} queries and {sizes[2]} keys. Pass those of one encoder or decoder."
            )
    for layer in reversed(layers):
        vectors = _through(layer, vectors)
    return vectors


def _through(layer: SeenLayer, vectors: Tensor) -> Tensor:
    """Vectors (batch, row, query) times (W + I) / sum, as (batch, row, key)."""
    result = None
    # Queries that have nothing of the vectors add nothing.
    needed = vectors.ne(0).flatten(0, 1).any(0).nonzero().flatten()
    for at, block in layer.blocks(needed):
        # Effective weights of a state-space layer may be negative, so that a row could sum to 0.
        weights = (layer.shares(at) if layer.is_effective else block).mean(1) + functional.one_hot(
            at, layer.key.shape[2]
        )
        weights = weights / weights.sum(-1, keepdim=True)
        product = vectors[:, :, at].to(weights.dtype) @ weights
        result = product if result is None else result + product
    return torch.zeros_like(vectors, dtype=torch.get_default_dtype()) if result is None else result


def value_weighted(layer: SeenLayer, rows: Sequence[int] | Tensor) -> Tensor:
    """The length of what each key adds to the output of a query: |weight| times the norm of its projected value.

    The value v_j is projected by W_o^h, the part of the output matrix for head h, if the record has that matrix;
    otherwise the norm is that of v_j.

    Args:
        layer: the layer.
        rows: the numbers of the queries.

    Returns:
        (batch, head, row, key), in the units of the output; rows don't sum to 1.

    Source: Kobayashi et al. 2020 (arXiv 2004.10102), which weigh vectors by their norms.
    """
    weights = layer.weights(rows).abs()
    values = layer.value.to(weights.dtype)
    if layer.projection is None:
        norms = values.norm(dim=-1).repeat_interleave(layer.heads // values.shape[1], dim=1)
    else:
        share = layer.heads // values.shape[1]
        parts = layer.projection[0].to(weights.dtype).unflatten(1, (layer.heads, -1)).unbind(1)
        # One head at a time: together, the projected values would be wider than the values by the number of heads.
        norms = torch.stack([(values[:, head // share] @ part.T).norm(dim=-1) for head, part in enumerate(parts)], 1)
    return weights * norms.unsqueeze(2)


def gradient_weighted(layer: SeenLayer, gradient: Tensor, rows: Sequence[int] | Tensor) -> Tensor:
    """The weights times their gradients: to first order, how much of a number L is due to this weight.

    O_i = sum_j P_ij v_j, so dL/dP_ij = dL/dO_i . v_j, and only the gradient of the outputs is needed.

    Args:
        layer: the layer.
        gradient: dL/dO of all queries, for any number L: of the outputs of the heads, (batch, head, query, feature), or
            in a layer with `projection`, of what it returned, (batch, query, width).
        rows: the numbers of the queries.

    Returns:
        (batch, head, row, key), positive where the weight raises L. A row sums to dL/dO_i . O_i.

    Raises:
        ArgumentError: `gradient` has another form.

    Source: Chefer et al. 2021 (arXiv 2103.15679), who multiply weights and gradients, and then remove negative numbers
        and average the heads, which is left to the caller here.
    """
    weights = layer.weights(rows)
    batch, heads, queries, _ = layer.query.shape
    shape = batch, heads, queries, layer.value.shape[3]
    width = None if layer.projection is None else layer.projection[0].shape[0]
    if tuple(gradient.shape) != shape and (width is None or tuple(gradient.shape) != (batch, queries, width)):
        other = "" if width is None else f" or {(batch, queries, width)}"
        raise ArgumentError(
            f"`gradient` must be that of the outputs, {shape}{other}, but has the shape {tuple(gradient.shape)}."
        )
    chosen = torch.as_tensor(rows, dtype=torch.long, device=gradient.device)
    gradient = gradient.detach().to(weights)
    if gradient.ndim == 3 and layer.projection is not None:
        # The gradient of the joined heads. (batch row (head feature)) -> (batch head row feature)
        joined = gradient[:, chosen] @ layer.projection[0].to(weights)
        gradient = joined.unflatten(2, (heads, -1)).transpose(1, 2)
    else:
        gradient = gradient[:, :, chosen]
    values = layer.value.to(weights).repeat_interleave(heads // layer.value.shape[1], dim=1)
    return weights * (gradient @ values.mT)


ATTRIBUTIONS = {
    each.name: each
    for each in (
        Attribution(
            "raw",
            "The weights by which a head averages its values: where it looks in this layer.",
            "A large weight on a value near 0 adds nothing, and beyond the first layer a position holds a mixture of "
            "items, not the item alone.",
            "Vaswani et al. 2017 (arXiv 1706.03762)",
        ),
        Attribution(
            "rollout",
            "The share of each input that reaches a position through all layers, if each layer kept half and mixed the "
            "rest by the mean of its heads.",
            "It ignores values, feed-forward layers and differences between heads. The fixed half hides how much a "
            "layer changes. In deep networks all positions look alike.",
            "Abnar and Zuidema 2020 (arXiv 2005.00928)",
        ),
        Attribution(
            "value-weighted",
            "The length of the vector that each key adds to the output of a head.",
            "Long vectors of opposite direction cancel each other in the sum, and the output may use a direction that "
            "a short vector has.",
            "Kobayashi et al. 2020 (arXiv 2004.10102)",
        ),
        Attribution(
            "gradient-weighted",
            "How much each weight raises the chosen number, to first order.",
            "It holds for small changes only. A saturated output has gradients near 0 even if an item contributes "
            "much. Weights sum to 1, so no weight can change alone.",
            "Chefer et al. 2021 (arXiv 2103.15679)",
        ),
    )
}
