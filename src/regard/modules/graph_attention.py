"""Graph attention networks: layers of attention without residual connections and feed-forward networks."""

from collections.abc import Callable
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.modules.attention import MultiHeadAttention
from regard.modules.dropout import Dropout
from regard.modules.encoder import Encoder
from regard.modules.projections import Projections

__all__ = ["GraphAttentionEncoder", "GraphAttentionLayer"]


class GraphAttentionLayer(nn.Module):
    """Replace each vector by a weighted average of its neighbours and itself, without residual or value projection.

    A residual connection would let a network classify a node by its own features and memorise the few labelled nodes.
    Here the output is always an average over neighbours. The vectors are averaged as they are: a linear map before the
    first layer or after the last can do what a value projection would, and with few labels each further matrix is hard
    to train.

    Args:
        width: the size of the vectors.
        heads: the number of heads, which are concatenated.
        activation: whether the inputs pass through an ELU.
        dropout: the fraction dropped after the activation.
        attention_dropout, **parts: as in `EncoderLayer`.
        projections: as in `MultiHeadAttention`; here only queries are projected.

    Source: Velickovic et al. 2018 (arXiv 1710.10903), equations 1 to 5; the matrix of the first layer is the linear map
        before it, and that of the last layer, which commutes with averaging, is the one after it. Queries have a matrix
        of their own: with additive leaky_relu scores that is Brody et al. 2022 (arXiv 2105.14491), equation 7.

    Example:
        >>> import torch
        >>> from regard.attention import Edges
        >>> layer = GraphAttentionLayer(8, heads=2)
        >>> layer(torch.zeros(1, 3, 8), mask=Edges.with_loops([[0, 1], [1, 2]], 3)).shape
        torch.Size([1, 3, 8])
    """

    __call__: Callable[..., Tensor]  # that of nn.Module gives Any

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        activation: bool = False,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        projections: Projections = Projections(query_only=True),
        **parts: Any,
    ):
        super().__init__()
        self.activation = nn.Sequential(nn.ELU() if activation else nn.Identity(), Dropout(dropout))
        self.attention = MultiHeadAttention(
            width, heads, projections=projections, output=False, dropout=attention_dropout, **parts
        )

    def forward(
        self, vectors: Float[Tensor, "batch length width"], *, mask: Any = None, bias: Tensor | None = None
    ) -> Float[Tensor, "batch length width"]:
        """The weighted averages; `mask` and `bias` are those of `MultiHeadAttention`."""
        return self.attention(self.activation(vectors), mask=mask, bias=bias)


class GraphAttentionEncoder(Encoder):
    """An `Encoder` whose layers are graph attention layers, with an ELU between them and no norm at the end.

    Args:
        width, layers, heads, position, **parts: as in `Encoder`.
        hidden: not used, as there are no feed-forward networks.
        dropout: the fraction dropped of the input of each layer but the first.

    Raises:
        ArgumentError: `attention` or `residual` is false.
    """

    def __init__(self, width: int, layers: int, heads: int, **parts: Any):
        super().__init__(width, layers, heads, **parts)
        # The output is an average of vectors; the classifier that follows is linear.
        self.norm: nn.Module = nn.Identity()

    def _layer(self, number: int, width: int, heads: int, **parts: Any) -> nn.Module:
        if not parts["attention"]:
            raise ArgumentError("`attention` must be true for a GraphAttentionEncoder, which consists of attention.")
        if not parts["residual"]:
            raise ArgumentError("`residual` must be true for a GraphAttentionEncoder, which has none to leave out.")
        unused = ("hidden", "attention", "residual", "dropout")
        kept = {name: part for name, part in parts.items() if name not in unused}
        between = {"activation": True, "dropout": parts["dropout"]} if number else {}
        return GraphAttentionLayer(width, heads, **between, **kept)
