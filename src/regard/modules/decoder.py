"""The decoder: causal self-attention, attention to a source, and fully connected, in turn."""

from dataclasses import dataclass
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.modules.attention import MultiHeadAttention
from regard.modules.cache import Cache
from regard.modules.dropout import Dropout
from regard.modules.encoder import EncoderLayer, place_position

__all__ = ["Decoder", "DecoderLayer", "LayerCaches"]


@dataclass(frozen=True)
class LayerCaches:
    """What a layer keeps while it decodes: the keys and values of its own steps, and those of the source."""

    own: Cache
    source: Cache


class DecoderLayer(nn.Module):
    """One turn: x + attention(norm(x)), x + source_attention(norm(x), source), then x + connected(norm(x)).

    Args:
        width, heads, hidden, dropout, attention_dropout: as in `EncoderLayer`.
        position: how distance matters among the targets; between target and source there is none.
        **parts: what else `MultiHeadAttention` takes, for both.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.1; Xiong et al. 2020 (arXiv 2002.04745), pre-norm.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        hidden: int,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        position: Any = None,
        **parts: Any,
    ):
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = MultiHeadAttention(width, heads, dropout=attention_dropout, position=position, **parts)
        self.source_norm = nn.LayerNorm(width)
        self.source_attention = MultiHeadAttention(width, heads, dropout=attention_dropout, **parts)
        self.dropout = Dropout(dropout)
        self.connected = EncoderLayer(width, heads, hidden=hidden, dropout=dropout, attention=False)

    def forward(
        self,
        vectors: Float[Tensor, "batch length width"],
        source: Float[Tensor, "batch source width"] | None = None,
        *,
        mask: Any = None,
        caches: LayerCaches | None = None,
    ) -> Float[Tensor, "batch length width"]:
        """Each vector, having looked at those before it and at the source.

        Args:
            vectors: the targets.
            source: what they look at; None where the caches hold it.
            mask: which target may attend to which source item.
            caches: what this layer knows of earlier steps; None for all targets at once.
        """
        own = None if caches is None else caches.own
        seen = self.attention(self.attention_norm(vectors), mask="causal", cache=own)
        vectors = vectors + self.dropout(seen)
        known = None if caches is None else caches.source
        seen = self.source_attention(self.source_norm(vectors), source, mask=mask, cache=known)
        return self.connected(vectors + self.dropout(seen))


class Decoder(nn.Module):
    """Layers of self-attention, attention to the source, and fully connected, over embedded targets.

    Args:
        width, layers, heads, hidden, dropout, position, **parts: as in `Encoder`.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), figure 1, right; the notes, 002 and 004, cross-attention.

    Example:
        >>> import torch
        >>> from regard.attention import Lengths
        >>> decoder = Decoder(8, layers=2, heads=2, hidden=16, position="relative")
        >>> decoder(torch.zeros(3, 4, 8), torch.zeros(3, 5, 8), mask=Lengths(key=[5, 2, 0])).shape
        torch.Size([3, 4, 8])
    """

    def __init__(
        self,
        width: int,
        layers: int,
        heads: int,
        *,
        hidden: int,
        dropout: float = 0.0,
        position: Any = None,
        **parts: Any,
    ):
        super().__init__()
        self.position, inside = place_position(position, width)
        self.layers = nn.ModuleList(
            DecoderLayer(width, heads, hidden=hidden, dropout=dropout, position=inside, **parts) for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)

    def forward(
        self,
        vectors: Float[Tensor, "batch length width"],
        source: Float[Tensor, "batch source width"],
        *,
        mask: Any = None,
    ) -> Float[Tensor, "batch length width"]:
        """All targets at once, each knowing those before it. `mask` says which may attend to which source item."""
        if self.position is not None:
            vectors = self.position(vectors)
        for layer in self.layers:
            vectors = layer(vectors, source, mask=mask)
        return self.norm(vectors)

    def start(self, source: Float[Tensor, "batch source width"], lengths: Int[Tensor, " batch"]) -> list[LayerCaches]:
        """What `step` needs: for each layer the source's keys and values, made once, and room for the targets' own."""
        layers: list[Any] = list(self.layers)
        return [LayerCaches(Cache(), layer.source_attention.remember(source, lengths=lengths)) for layer in layers]

    def step(
        self, vectors: Float[Tensor, "batch length width"], caches: list[LayerCaches], *, mask: Any = None
    ) -> Float[Tensor, "batch length width"]:
        """The next targets, one or more: what `forward` gives for them behind all earlier ones. It adds to the caches.

        Example:
            >>> import torch
            >>> decoder = Decoder(8, layers=2, heads=2, hidden=16, position="sinusoidal")
            >>> targets, source = torch.randn(3, 4, 8), torch.randn(3, 5, 8)
            >>> with torch.no_grad():
            ...     caches = decoder.start(source, torch.tensor([5, 5, 5]))
            ...     steps = [decoder.step(target, caches) for target in targets.split(1, dim=1)]
            ...     torch.allclose(torch.cat(steps, 1), decoder(targets, source), atol=1e-5)
            True
        """
        if self.position is not None and caches:
            before = caches[0].own.length
            places = self.position.encode(before + vectors.shape[1])[before:]
            vectors = vectors + places.to(vectors)
        for layer, known in zip(self.layers, caches, strict=True):
            vectors = layer(vectors, mask=mask, caches=known)
        return self.norm(vectors)
