"""Graph attention: layers of attention, and nothing beside it."""

from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.modules.attention import MultiHeadAttention
from regard.modules.dropout import Dropout
from regard.modules.encoder import Encoder

__all__ = ["GraphAttentionEncoder", "GraphAttentionLayer"]


class GraphAttentionLayer(nn.Module):
    """What the neighbours and the vector itself say, weighed, in place of the vector: no residual, and no matrix.

    A residual path lets a net answer by what a node is itself, and learn that of the few that have a label. Here what
    comes out has been averaged over neighbours. It averages the vectors as they come: a linear map before the first
    layer or behind the last does what one inside would, and each matrix more is one that few labels have to fill.

    Args:
        width: the size of the vectors.
        heads: how many heads, side by side in what comes out.
        activation: whether the vectors that come in go through elu.
        dropout: the share dropped of them then.
        attention_dropout, **parts: as in `EncoderLayer`.

    Source: Velickovic et al. 2018 (arXiv 1710.10903), equations 1 to 5: the matrix of a net's first layer is the linear
        map before it, that of its last, which commutes with averaging, the one behind. Queries have a matrix of their
        own: with additive scores of leaky_relu that is Brody et al. 2022 (arXiv 2105.14491), equation 7.

    Example:
        >>> import torch
        >>> from regard.attention import Edges
        >>> layer = GraphAttentionLayer(8, heads=2)
        >>> layer(torch.zeros(1, 3, 8), mask=Edges.with_loops([[0, 1], [1, 2]], 3)).shape
        torch.Size([1, 3, 8])
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        activation: bool = False,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        **parts: Any,
    ):
        super().__init__()
        self.given = nn.Sequential(nn.ELU() if activation else nn.Identity(), Dropout(dropout))
        self.attention = MultiHeadAttention(
            width, heads, project="query", output=False, dropout=attention_dropout, **parts
        )

    def forward(
        self, vectors: Float[Tensor, "batch length width"], *, mask: Any = None, bias: Tensor | None = None
    ) -> Float[Tensor, "batch length width"]:
        """What each vector has seen; `mask` and `bias` as in `MultiHeadAttention`."""
        return self.attention(self.given(vectors), mask=mask, bias=bias)


class GraphAttentionEncoder(Encoder):
    """Layers of graph attention in turn, in place of the layers of an `Encoder`; elu between them, no norm at the end.

    Args:
        width, layers, heads, position, **parts: as in `Encoder`.
        hidden: not used: nothing in it is fully connected.
        dropout: the share dropped of what each layer but the first is given.

    Raises:
        ArgumentError: it is to be without attention.
    """

    def __init__(self, width: int, layers: int, heads: int, **parts: Any):
        super().__init__(width, layers, heads, **parts)
        # What comes out is an average of vectors, as it is: a linear behind it makes labels of it.
        self.norm: nn.Module = nn.Identity()

    def _layer(self, number: int, width: int, heads: int, **parts: Any) -> nn.Module:
        if not parts["attention"]:
            raise ArgumentError("`attention` must be true for a GraphAttentionEncoder: nothing else is in it.")
        kept = {name: part for name, part in parts.items() if name not in ("hidden", "attention", "dropout")}
        between = {"activation": True, "dropout": parts["dropout"]} if number else {}
        return GraphAttentionLayer(width, heads, **between, **kept)
