"""The decoder: layers of causal self-attention, cross-attention to the source, and a feed-forward network."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention.masks import Causal, as_mask, conjuncts
from regard.attention.validation import check_count
from regard.errors import ArgumentError
from regard.modules.attention import MultiHeadAttention
from regard.modules.cache import Cache
from regard.modules.dropout import Dropout
from regard.modules.encoder import Encoder, EncoderLayer, resolve_position

__all__ = ["Decoder", "DecoderLayer", "LayerCaches", "encoder_and_decoder"]


@dataclass(frozen=True)
class LayerCaches:
    """What a layer caches while decoding: the keys and values of the targets so far, and those of the source."""

    own: Cache
    source: Cache


class DecoderLayer(nn.Module):
    """One layer: x + attention(norm(x)), x + source_attention(norm(x), source), then x + connected(norm(x)).

    Args:
        width, heads, hidden, dropout, attention_dropout: as in `EncoderLayer`.
        position: the position scheme of self-attention; cross-attention has none.
        target_mask: which targets each target may attend to; None allows all, as for targets without an order.
        **parts: other arguments of `MultiHeadAttention`, for both kinds of attention.

    Raises:
        ArgumentError: an argument is invalid.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.1; Xiong et al. 2020 (arXiv 2002.04745), pre-norm.
    """

    __call__: Callable[..., Tensor]  # that of nn.Module gives Any

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        hidden: int,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        position: Any = None,
        target_mask: Any = "causal",
        **parts: Any,
    ):
        super().__init__()
        as_mask(target_mask)  # raises here, before training, if it is no mask
        self.target_mask = target_mask
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
        """The target vectors after attending to the targets that `target_mask` allows, and to the source.

        Args:
            vectors: the targets.
            source: the encoded source; None if the caches hold it.
            mask: which target may attend to which source item.
            caches: the caches of earlier steps; None for all targets at once.
        """
        target_cache = None if caches is None else caches.own
        attended = self.attention(self.attention_norm(vectors), mask=self.target_mask, cache=target_cache)
        vectors = vectors + self.dropout(attended)
        source_cache = None if caches is None else caches.source
        attended = self.source_attention(self.source_norm(vectors), source, mask=mask, cache=source_cache)
        return self.connected(vectors + self.dropout(attended))


class Decoder(nn.Module):
    """A stack of decoder layers over embedded targets.

    Args:
        width, layers, heads, hidden, dropout, position, **parts: as in `Encoder`; `target_mask` as in `DecoderLayer`.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), figure 1, right; the notes, 002 and 004, cross-attention.

    Example:
        >>> import torch
        >>> from regard.attention import Lengths
        >>> decoder = Decoder(8, layers=2, heads=2, hidden=16, position="relative")
        >>> decoder(torch.zeros(3, 4, 8), torch.zeros(3, 5, 8), mask=Lengths(key=[5, 2, 0])).shape
        torch.Size([3, 4, 8])
    """

    __call__: Callable[..., Tensor]  # that of nn.Module gives Any

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
        self.position, layer_position = resolve_position(position, width)
        self.layers = nn.ModuleList(
            DecoderLayer(width, heads, hidden=hidden, dropout=dropout, position=layer_position, **parts)
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)

    def forward(
        self,
        vectors: Float[Tensor, "batch length width"],
        source: Float[Tensor, "batch source width"],
        *,
        mask: Any = None,
    ) -> Float[Tensor, "batch length width"]:
        """Decode all targets at once. Each attends to those that `target_mask` allows, by default those up to itself.

        Args:
            vectors: the targets.
            source: the encoded source.
            mask: which target may attend to which source item.
        """
        return self.norm(self._states(vectors, source, mask)[-1])

    def after_each_layer(
        self,
        vectors: Float[Tensor, "batch length width"],
        source: Float[Tensor, "batch source width"],
        *,
        mask: Any = None,
    ) -> list[Float[Tensor, "batch length width"]]:
        """What `forward` would return if each layer were the last one, for losses on all of them.

        Example:
            >>> import torch
            >>> decoder = Decoder(8, layers=3, heads=2, hidden=16)
            >>> targets, source = torch.randn(1, 4, 8), torch.randn(1, 5, 8)
            >>> outputs = decoder.after_each_layer(targets, source)
            >>> len(outputs), torch.equal(outputs[-1], decoder(targets, source))
            (3, True)
        """
        return [self.norm(state) for state in self._states(vectors, source, mask)[1:]]

    def _states(self, vectors: Tensor, source: Tensor, mask: Any) -> list[Tensor]:
        """The vectors before the first layer and after each one."""
        states = [vectors if self.position is None else self.position(vectors)]
        for layer in self.layers:
            states.append(layer(states[-1], source, mask=mask))
        return states

    def start(self, source: Float[Tensor, "batch source width"], lengths: Int[Tensor, " batch"]) -> list[LayerCaches]:
        """The caches that `step` needs: for each layer the source's keys and values, and an empty cache for targets.

        Raises:
            ArgumentError: the target mask isn't causal, so a target would need later ones.
        """
        self._check_causal()
        layers: list[Any] = list(self.layers)
        return [LayerCaches(Cache(), layer.source_attention.remember(source, lengths=lengths)) for layer in layers]

    def step(
        self, vectors: Float[Tensor, "batch length width"], caches: list[LayerCaches], *, mask: Any = None
    ) -> Float[Tensor, "batch length width"]:
        """Decode the next targets, one or more, as `forward` would after all earlier ones, and add them to the caches.

        Raises:
            ArgumentError: the target mask isn't causal.

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
        self._check_causal()
        if self.position is not None and caches:
            decoded = caches[0].own.length
            encodings = self.position.encode(decoded + vectors.shape[1])[decoded:]
            vectors = vectors + encodings.to(vectors)
        for layer, layer_caches in zip(self.layers, caches, strict=True):
            vectors = layer(vectors, mask=mask, caches=layer_caches)
        return self.norm(vectors)

    def _check_causal(self) -> None:
        layers: list[Any] = list(self.layers)
        for layer in layers:
            if not any(isinstance(mask, Causal) for mask in conjuncts(as_mask(layer.target_mask))):
                raise ArgumentError(
                    f"`target_mask` must be causal for decoding step by step, but is {layer.target_mask!r:.60}. Decode "
                    "all targets at once, by calling the decoder."
                )


def encoder_and_decoder(
    width: int, layers: int, heads: int, *, decoder_layers: int | None, approximation: Any = None, **parts: Any
) -> tuple[Encoder, Decoder]:
    """An encoder and a decoder with the same parts.

    Args:
        width, heads, **parts: as in `Encoder` and `Decoder`, the same for both.
        layers: the number of layers of the encoder, and of the decoder unless `decoder_layers` is given.
        decoder_layers: the number of layers of the decoder.
        approximation: as in `Encoder`; the decoder has none, because it attends to the source and has a cache.

    Raises:
        ArgumentError: `layers` isn't an integer of 0 or more, the decoder would have no layer, or another argument is
            invalid.
    """
    decoder_layers = layers if decoder_layers is None else decoder_layers
    check_count("layers", layers, "how many layers the encoder has", least=0)
    # A decoder without layers would never attend to the source.
    check_count("decoder_layers", decoder_layers, "how many layers the decoder has")
    encoder = Encoder(width, layers, heads, approximation=approximation, **parts)
    return encoder, Decoder(width, decoder_layers, heads, **parts)
