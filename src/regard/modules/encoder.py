"""The encoder: layers of self-attention and a feed-forward network, each with a residual connection."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from regard.attention import INPUT_POSITIONS, POSITIONS
from regard.attention.positional_encodings import PositionalEncoding
from regard.errors import ArgumentError, UnknownNameError
from regard.modules.attention import MultiHeadAttention
from regard.modules.dropout import Dropout
from regard.modules.slices import by_slices

__all__ = ["Encoder", "EncoderLayer", "resolve_position"]


class EncoderLayer(nn.Module):
    """One layer: x + attention(norm(x)), then x + connected(norm(x)).

    The norm comes before each sublayer (pre-norm), so that the residual path is the identity from input to output, and
    deep stacks train without learning rate warm-up.

    Args:
        width: the size of the vectors.
        heads: the number of heads.
        hidden: the size of the hidden layer of the feed-forward network.
        dropout: the fraction dropped of what each sublayer adds.
        attention: False leaves attention out, so that each vector is transformed alone.
        residual: whether each sublayer adds its input to its output. False is for comparison: gradients then pass
            through every sublayer, and deep stacks hardly train.
        **parts: other arguments of `MultiHeadAttention` (score, weights, position, projections, ...), whose
            `dropout` is called `attention_dropout` here.

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
        attention: bool = True,
        residual: bool = True,
        attention_dropout: float = 0.0,
        **parts: Any,
    ):
        super().__init__()
        self.attention_norm = nn.LayerNorm(width) if attention else None
        self.attention = MultiHeadAttention(width, heads, dropout=attention_dropout, **parts) if attention else None
        self.residual = residual
        self.connected_norm = nn.LayerNorm(width)
        self.connected = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), Dropout(dropout), nn.Linear(hidden, width))
        self.dropout = Dropout(dropout)

    def forward(
        self, vectors: Float[Tensor, "batch length width"], *, mask: Any = None, bias: Tensor | None = None
    ) -> Float[Tensor, "batch length width"]:
        """The vectors after attending to each other; `mask` and `bias` are those of `MultiHeadAttention`."""
        if self.attention is not None and self.attention_norm is not None:
            attended = self.dropout(self.attention(self.attention_norm(vectors), mask=mask, bias=bias))
            vectors = vectors + attended if self.residual else attended
        connected = self.dropout(self.connected(self.connected_norm(vectors)))
        return vectors + connected if self.residual else connected


def resolve_position(position: Any, width: int) -> tuple[PositionalEncoding | None, Any]:
    """Resolve a position scheme to a module that acts on the inputs, or a scheme inside each layer's attention.

    Returns:
        the module or None, and the scheme or None; one of the two is None.

    Raises:
        UnknownNameError: no scheme has that name.
    """
    known = {**POSITIONS, **INPUT_POSITIONS}
    if isinstance(position, str) and position not in known:
        raise UnknownNameError("position", position, known)
    if isinstance(position, str) and position in INPUT_POSITIONS:
        position = INPUT_POSITIONS[position](width)
    return (position, None) if isinstance(position, PositionalEncoding) else (None, position)


class Encoder(nn.Module):
    """A stack of encoder layers over any number of vectors.

    Args:
        width, heads, hidden, dropout, attention, residual, **parts: as in `EncoderLayer`.
        layers: the number of layers.
        position: the name of a scheme that is added to the inputs ("sinusoidal", "learned", ...), or of one that acts
            inside each layer's attention ("relative", "rotary", ...), in which case each layer gets its own, as it does
            from a `PerLayer`. A module or part is used as it is. None: the vectors are a set without order.

    Raises:
        ArgumentError: a `mesh` in `parts`, whose processes pass slices, and a position that is added to the inputs and
            would count from the beginning of each slice.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), figure 1, left; the notes, 001: fully connected layers and
        self-attention alternate.

    Example:
        >>> import torch
        >>> from regard.attention import Lengths
        >>> encoder = Encoder(8, layers=2, heads=2, hidden=16, position="relative")
        >>> encoder(torch.zeros(3, 5, 8), mask=Lengths([5, 2, 0])).shape
        torch.Size([3, 5, 8])
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
        attention: bool = True,
        residual: bool = True,
        position: Any = None,
        **parts: Any,
    ):
        super().__init__()
        self.position, inside = resolve_position(position, width)
        if self.position is not None and parts.get("mesh") is not None:
            raise ArgumentError(
                f"`position` must act inside attention where there is a `mesh`, as its processes pass slices of a "
                f"sequence, in which {type(self.position).__name__} would count from 0. Use 'rotary' or 'relative', or "
                "pass whole sequences: `with encoder.sharing(mesh)`."
            )
        self._shared_by: Any = None
        self.layers = nn.ModuleList(
            self._layer(
                number,
                width,
                heads,
                hidden=hidden,
                dropout=dropout,
                attention=attention,
                residual=residual,
                **({} if not attention else {"position": inside, **parts}),
            )
            for number in range(layers)
        )
        self.norm = nn.LayerNorm(width)

    def _layer(self, number: int, width: int, heads: int, **parts: Any) -> nn.Module:
        """Make layer `number`, from 0: a module (vectors, mask=..., bias=...) -> vectors."""
        return EncoderLayer(width, heads, **parts)

    def forward(
        self, vectors: Float[Tensor, "batch length width"], *, mask: Any = None, bias: Tensor | None = None
    ) -> Float[Tensor, "batch length width"]:
        """The contextual vectors. `mask`, such as `Lengths(lengths)`, and `bias` go to every layer's attention."""
        if self.position is not None:
            vectors = self.position(vectors)

        def layers(vectors: Tensor) -> Tensor:
            for layer in self.layers:
                vectors = layer(vectors, mask=mask, bias=bias)
            return self.norm(vectors)

        return by_slices(self._shared_by, layers, vectors)

    @property
    def shared_by(self) -> Any:
        """The processes that share each sequence inside `sharing`, or None."""
        return self._shared_by

    @property
    def approximated_by(self) -> str | None:
        """The name of an approximation of attention in it, which needs the whole sequence in one process, or None."""
        found = (each.approximation for each in self.modules() if isinstance(each, MultiHeadAttention))
        return min((type(each).__name__ for each in found if each is not None), default=None)

    @contextmanager
    def sharing(self, mesh: Any) -> Iterator[None]:
        """Let several processes share each sequence inside the block, each of which computes the layers for its slice.

        Every process passes the same whole sequences, and gets the whole output. The gradients of the parameters are
        those of one process if all processes compute the same loss of it and their gradients are averaged, as
        `DistributedDataParallel` does.

        Args:
            mesh: a device mesh with one dimension or a process group.

        Raises:
            ArgumentError: attention is approximated, which needs the whole sequence in one process.
        """
        if self.approximated_by is not None:
            raise ArgumentError(
                "`mesh` must be None where there is an `approximation`, which needs the whole sequence in one process."
            )
        attentions = [each for each in self.modules() if isinstance(each, MultiHeadAttention)]
        before = self._shared_by, [each.mesh for each in attentions]
        self._shared_by = mesh
        for each in attentions:
            each.mesh = mesh
        try:
            yield
        finally:
            self._shared_by, meshes = before
            for each, own in zip(attentions, meshes, strict=True):
                each.mesh = own
