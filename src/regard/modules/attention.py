"""Multi-head attention as a module: projections of queries, keys and values, heads, and an output projection."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard import distributed
from regard.attention import POSITIONS, SCORES, WEIGHTS, Lengths, attend
from regard.attention.engines import ENGINES
from regard.attention.masks import as_mask
from regard.attention.positions import Bias
from regard.distributed.layout import check_order
from regard.errors import ArgumentError, UnknownNameError
from regard.modules.cache import Cache
from regard.modules.efficient import APPROXIMATIONS
from regard.modules.efficient.validation import Widths, check_approximation, check_self_attention, simple_mask
from regard.modules.extra_keys import ExtraKeys
from regard.modules.make_part import make_part
from regard.modules.projections import Projections

__all__ = ["MultiHeadAttention"]

_ENGINES = ("auto", *ENGINES)


class MultiHeadAttention(nn.Module):
    """Multi-head attention over [batch, length, width].

    Each head projects the inputs to its own queries, keys and values and attends; the heads' outputs are concatenated
    and mixed by one linear layer. With `heads=1, bias=False, output=False` the parameters are exactly the notes' three
    matrices Wq, Wk, Wv.

    Args:
        width: the size of the query vectors and of the output.
        heads: the number of heads.
        head_size: the size of a head, any number; by default width / heads.
        key_width: the size of the key vectors, if they come from another source (cross-attention).
        value_width: the size of the value vectors; by default that of the keys.
        projections: which of queries, keys and values have a projection of their own, and how many heads the keys have;
            by default all three have one, and keys have as many heads as queries. `multi_query`, `grouped_query`,
            `shared_query_key`, `shared_query_key_value` and `query_only` make modules with other projections.
        bias: whether the projections add a bias.
        output: whether an output projection follows; without it, the output is the concatenated heads, heads x
            head_size wide.
        score, weights, position: as in `regard.attend`. If a name stands for a part with parameters, this module gets
            one of its own, as it does from `PerLayer`; a part that is a module is trained with this one.
        dropout: the fraction of weights dropped in training.
        engine: as in `regard.attend`.
        approximation: what approximates attention over long sequences: a name in
            `regard.modules.efficient.APPROXIMATIONS`, a `PerLayer` or an `Approximation`. It is for self-attention,
            takes the place of the score, the weights, the position, the dropout and the engine, and supports only
            `Lengths` and `Causal`. None: attention is exact.
        mesh: the processes that share each sequence: a device mesh with one dimension or a process group. Each passes
            its own part of the sequence and gets its part of the output, as `regard.distributed.attend`; masks, and the
            tables of positions and of `bias`, are those of the whole. None: each process has sequences of its own.
        order: how the sequence is divided over `mesh`: "contiguous", or "zigzag" as `regard.distributed.shard` does.

    Attributes:
        extra: the `ExtraKeys` of a module made by `with_extra_keys`, or None.

    Raises:
        ArgumentError: `heads` doesn't divide `width` and `head_size` isn't given, the projections don't fit the sizes,
            an input has the wrong size, or `approximation` or `mesh` meets an argument that it can't be combined with.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.2; the notes, 001, 002, 004.

    Example:
        >>> attention = MultiHeadAttention(12, heads=3)
        >>> attention(torch.zeros(2, 5, 12)).shape
        torch.Size([2, 5, 12])
        >>> [name for name, _ in MultiHeadAttention(12, heads=1, bias=False, output=False).named_parameters()]
        ['query.weight', 'key.weight', 'value.weight']
    """

    __call__: Callable[..., Tensor]  # that of nn.Module gives Any

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        head_size: int | None = None,
        key_width: int | None = None,
        value_width: int | None = None,
        projections: Projections = Projections(),
        bias: bool = True,
        output: bool = True,
        score: Any = "scaled_dot",
        weights: Any = "softmax",
        position: Any = None,
        dropout: float = 0.0,
        engine: str = "auto",
        approximation: Any = None,
        mesh: Any = None,
        order: str = "contiguous",
    ):
        super().__init__()
        if heads < 1 or (head_size is None and width % heads):
            raise ArgumentError(
                f"`heads` must divide `width` {width} unless `head_size` is given, but is {heads}. "
                "Choose another number of heads, or pass head_size."
            )
        if head_size is not None and head_size < 1:
            raise ArgumentError(f"`head_size` must be at least 1, but is {head_size}.")
        if not 0.0 <= dropout <= 1.0:
            raise ArgumentError(f"`dropout` must be a fraction from 0 to 1, but is {dropout!r}.")
        if engine not in _ENGINES:
            raise UnknownNameError("engine", engine, _ENGINES)
        if not isinstance(projections, Projections):
            raise ArgumentError(
                f"`projections` must be a regard.modules.Projections, but is {projections!r:.60}. The constructors "
                "multi_query, grouped_query, shared_query_key, shared_query_key_value and query_only make it."
            )
        self.heads, self.kv_heads = heads, projections.key_heads(heads)
        self.head_size = width // heads if head_size is None else head_size
        self.projections = projections
        sizes = {"head_size": self.head_size, "heads": heads}
        self.query, self.key, self.value = projections.layers(
            width, key_width=key_width, value_width=value_width, bias=bias, **sizes
        )
        self.output = nn.Linear(heads * self.head_size, width, bias=bias) if output else None
        self.score = make_part("score", score, SCORES, **sizes)
        self.weights = make_part("weights", weights, WEIGHTS, **sizes)
        self.position = make_part("position", position, POSITIONS, **sizes)
        self.extra: ExtraKeys | None = None
        self.dropout = dropout
        self.engine = engine
        self.approximation = make_part("approximation", approximation, APPROXIMATIONS, **sizes)
        check_order(order)
        if mesh is not None and approximation is not None:
            raise ArgumentError(
                "`mesh` must be None where there is an `approximation`, which needs the whole sequence in one process."
            )
        self.mesh, self.order = mesh, order
        if self.approximation is not None:
            key_width = width if key_width is None else key_width
            widths = Widths(width, key_width, key_width if value_width is None else value_width)
            check_approximation(
                self.approximation,
                projections,
                heads,
                widths,
                score=score,
                weights=weights,
                position=position,
                dropout=dropout,
                engine=engine,
            )

    @classmethod
    def multi_query(cls, width: int, heads: int, **others: Any) -> "MultiHeadAttention":
        """A module whose query heads share one head of keys and values; a cache for decoding is `heads` times smaller.

        Args:
            width, heads, **others: as in `MultiHeadAttention`.

        Source: Shazeer 2019 (arXiv 1911.02150), section 3.

        Example:
            >>> MultiHeadAttention.multi_query(12, heads=3).key.out_features
            4
        """
        return cls(width, heads, projections=Projections(kv_heads=1), **others)

    @classmethod
    def grouped_query(cls, width: int, heads: int, kv_heads: int, **others: Any) -> "MultiHeadAttention":
        """A module in which each of `kv_heads` heads of keys and values serves an equal number of query heads.

        Args:
            width, heads, **others: as in `MultiHeadAttention`.
            kv_heads: the number of heads of keys and values; it divides `heads`.

        Source: Ainslie et al. 2023 (arXiv 2305.13245).

        Example:
            >>> MultiHeadAttention.grouped_query(12, heads=6, kv_heads=2).key.out_features
            4
        """
        return cls(width, heads, projections=Projections(kv_heads=kv_heads), **others)

    @classmethod
    def shared_query_key(cls, width: int, heads: int, **others: Any) -> "MultiHeadAttention":
        """A module whose queries and keys are the same vectors, by one matrix; values have their own.

        Args:
            width, heads, **others: as in `MultiHeadAttention`.

        Source: Kitaev et al. 2020 (arXiv 2001.04451), section 2, shared-QK; the notes, 002: must it be three matrices?

        Example:
            >>> module = MultiHeadAttention.shared_query_key(12, heads=3, bias=False, output=False)
            >>> [name for name, _ in module.named_parameters()]
            ['query.weight', 'value.weight']
        """
        return cls(width, heads, projections=Projections(shared_key=True), **others)

    @classmethod
    def shared_query_key_value(cls, width: int, heads: int, **others: Any) -> "MultiHeadAttention":
        """A module whose queries, keys and values are the same vectors, by one matrix.

        Args:
            width, heads, **others: as in `MultiHeadAttention`.

        Source: the notes, 002: must it be three matrices?

        Example:
            >>> module = MultiHeadAttention.shared_query_key_value(12, heads=3, bias=False, output=False)
            >>> [name for name, _ in module.named_parameters()]
            ['query.weight']
        """
        return cls(width, heads, projections=Projections(shared_key=True, shared_value=True), **others)

    @classmethod
    def query_only(cls, width: int, heads: int, **others: Any) -> "MultiHeadAttention":
        """A module that projects queries only: keys and values are the input vectors, split into heads.

        Args:
            width, heads, **others: as in `MultiHeadAttention`.

        Example:
            >>> module = MultiHeadAttention.query_only(12, heads=3, bias=False, output=False)
            >>> [name for name, _ in module.named_parameters()]
            ['query.weight']
        """
        return cls(width, heads, projections=Projections(query_only=True), **others)

    @classmethod
    def with_extra_keys(
        cls, width: int, heads: int, *, learned: bool = True, zero: bool = False, **others: Any
    ) -> "MultiHeadAttention":
        """A module with keys in addition to the sequence's own, to which every query may attend (attention sinks).

        Args:
            width, heads, **others: as in `MultiHeadAttention`.
            learned, zero: as in `ExtraKeys`.

        Raises:
            ArgumentError: neither `learned` nor `zero`, or there is an `approximation`.

        Example:
            >>> from regard import watch
            >>> attention = MultiHeadAttention.with_extra_keys(4, heads=2)
            >>> with watch(attention) as seen:
            ...     output = attention(torch.zeros(1, 3, 4))
            >>> seen[0].weights().shape
            torch.Size([1, 2, 3, 4])
        """
        module = cls(width, heads, **others)
        if module.approximation is not None:
            raise ArgumentError(
                "`approximation` must be None for extra keys, which it doesn't attend to, but is "
                f"{type(module.approximation).__name__}."
            )
        module.extra = ExtraKeys(module.kv_heads, module.head_size, learned=learned, zero=zero)
        return module

    def forward(
        self,
        query: Float[Tensor, "batch query width"],
        key: Float[Tensor, "batch key key_width"] | None = None,
        value: Float[Tensor, "batch key value_width"] | None = None,
        *,
        mask: Any = None,
        bias: Tensor | None = None,
        cache: Cache | None = None,
        lengths: Tensor | Sequence[int] | None = None,
    ) -> Float[Tensor, "batch query out"]:
        """Attend from `query` to `key` (by default `query`) and sum `value` (by default `key`).

        Args:
            query: the vectors that attend.
            key: the vectors that are attended to.
            value: the vectors that are summed.
            mask: as in `regard.attend`; with an `approximation`, None, `Lengths`, `Causal` or both joined by &.
            bias: a table that is added to the scores, broadcastable to (batch, head, query, key).
            cache: the keys and values of earlier calls; those of this call are added to it. Causal masks and positions
                count from the end, so that a step gives the same output as the full pass. A mask whose pairs change
                with the number of keys is refused, such as a `BigBird` with random blocks.
            lengths: (batch,) the number of real vectors of each item, for a cache whose items differ in length.

        Raises:
            ArgumentError: an argument can't be used.
        """
        if self.approximation is not None:
            check_self_attention(query, key, value, bias=bias, cache=cache, lengths=lengths)
            return self._approximate(query, mask)
        if cache is None:
            return self._pass(query, key, value, mask=mask, bias=bias, cache=None, lengths=lengths)
        if not cache.sealed:
            as_mask(mask).check_growing()
        before = cache.length, cache.lengths
        try:
            return self._pass(query, key, value, mask=mask, bias=bias, cache=cache, lengths=lengths)
        except Exception:
            # A failed call must not leave its keys in the cache: if it is repeated, they would be there twice.
            cache.length, cache.lengths = before
            raise

    def remember(
        self,
        key: Float[Tensor, "batch key key_width"],
        value: Float[Tensor, "batch key value_width"] | None = None,
        *,
        lengths: Tensor | Sequence[int] | None = None,
    ) -> Cache:
        """Project the keys and values of one source once, for all steps of a decoder that attends to it.

        Args:
            key: the vectors that the decoder attends to.
            value: the vectors that are summed; by default `key`.
            lengths: (batch,) the number of real vectors of each item.

        Example:
            >>> attention, encoded = MultiHeadAttention(4, heads=2), torch.ones(1, 5, 4)
            >>> with torch.no_grad():
            ...     memory = attention.remember(encoded)
            ...     torch.equal(attention(torch.ones(1, 1, 4), cache=memory), attention(torch.ones(1, 1, 4), encoded))
            True
        """
        if self.approximation is not None:
            raise ArgumentError(
                "`approximation` must be None for a module that attends to another source, but is "
                f"{type(self.approximation).__name__}."
            )
        cache = Cache(max(key.shape[1], 1))
        cache.append(*self._keys_and_values(key, value, None), lengths)
        cache.sealed = True
        return cache

    @classmethod
    def from_torch(cls, module: nn.Module) -> "MultiHeadAttention":
        """Convert PyTorch's `nn.MultiheadAttention`: the weights are copied, and the output is the same.

        This module is always batch first: transpose (length, batch, width) by `.transpose(0, 1)`, and add a batch axis
        to a single sequence by `.unsqueeze(0)`. `torch_masks` converts PyTorch's masks, in which True hides. To get the
        weights (`need_weights`), `regard.watch` the module; `weights().mean(1)` averages the heads. They are the
        weights before dropout, and the extra keys (`add_bias_kv`, `add_zero_attn`) come first.

        Args:
            module: the module to convert.

        Raises:
            ArgumentError: it isn't an `nn.MultiheadAttention`.

        Example:
            >>> theirs = nn.MultiheadAttention(12, 3, batch_first=True)
            >>> ours, x = MultiHeadAttention.from_torch(theirs), torch.randn(2, 5, 12)
            >>> torch.allclose(ours(x), theirs(x, x, x)[0], atol=1e-6)
            True
        """
        if not isinstance(module, nn.MultiheadAttention):
            raise ArgumentError(f"`module` must be a torch.nn.MultiheadAttention, but is {type(module).__name__}.")
        if type(module).forward is not nn.MultiheadAttention.forward:
            raise ArgumentError(
                f"`module` must compute as torch.nn.MultiheadAttention does, but {type(module).__module__}."
                f"{type(module).__name__} has a forward of its own. Copy its weights into a MultiHeadAttention by hand."
            )
        width, heads, learned = module.embed_dim, module.num_heads, module.bias_k is not None
        ours = cls(
            width,
            heads,
            key_width=module.kdim,
            value_width=module.vdim,
            bias=module.in_proj_bias is not None,
            dropout=module.dropout,
        )
        if learned or module.add_zero_attn:
            ours.extra = ExtraKeys(heads, ours.head_size, learned=learned, zero=module.add_zero_attn)
        ours, packed = ours.to(module.out_proj.weight), module.in_proj_weight
        separate = module.q_proj_weight, module.k_proj_weight, module.v_proj_weight
        weights: Any = separate if packed is None else packed.chunk(3)
        biases: Any = (None,) * 3 if module.in_proj_bias is None else module.in_proj_bias.chunk(3)
        with torch.no_grad():
            for linear, weight, bias in zip(
                (ours.query, ours.key, ours.value, ours.output),
                (*weights, module.out_proj.weight),
                (*biases, module.out_proj.bias),
                strict=True,
            ):
                _copy(linear, "weight", weight)
                _copy(linear, "bias", bias)
            if learned:
                # (1 1 width) -> (head 1 feature)
                for name, vector in (("key", module.bias_k), ("value", module.bias_v)):
                    _copy(ours.extra, name, None if vector is None else vector.view(heads, 1, -1))
        return ours.train(module.training)

    def _pass(
        self,
        query: Tensor,
        key: Tensor | None,
        value: Tensor | None,
        *,
        mask: Any,
        bias: Tensor | None,
        cache: Cache | None,
        lengths: Tensor | Sequence[int] | None,
    ) -> Tensor:
        queries = self._split(self.query, query, "query", self.heads)
        if cache is None and lengths is not None:
            raise ArgumentError("`lengths` belong to a `cache`; without one, pass mask=Lengths(lengths).")
        if cache is not None and cache.sealed:
            if key is not None or value is not None or lengths is not None:
                raise ArgumentError(
                    "`cache` is sealed and holds a whole source: leave out `key`, `value` and `lengths`."
                )
            keys, values = cache.key, cache.value
        else:
            keys, values = self._keys_and_values(query if key is None else key, value, (query, queries))
            if cache is not None:
                keys, values = cache.append(keys, values, lengths)
        if cache is not None and cache.lengths is not None:
            ragged = Lengths(query=None if cache.sealed else lengths, key=cache.lengths)
            mask = ragged if mask is None else ragged & mask
        if self.mesh is not None and (cache is not None or self.extra is not None):
            raise ArgumentError(
                "`mesh` must be None where there is a `cache` or extra keys, which belong to one process, but isn't. "
                "Generate with a module without a mesh: the parameters are the same."
            )
        if self.extra is not None:
            bias = None if bias is None else self.extra.pad_bias(bias, keys.shape[2])
            keys, values = self.extra(keys, values)
            mask = None if mask is None else self.extra.extend_mask(as_mask(mask))
        parts = {"score": self.score, "weights": self.weights, "mask": mask, "position": self._position(bias)}
        dropout = self.dropout if self.training else 0.0
        rest = {"dropout": dropout, "engine": self.engine}
        if self.mesh is None:
            heads = attend(queries, keys, values, **parts, **rest)
        else:
            heads = distributed.attend(queries, keys, values, **parts, **rest, group=self.mesh, order=self.order)
        return self._joined(heads)

    def _approximate(self, vectors: Tensor, mask: Any) -> Tensor:
        """Self-attention by the approximation."""
        queries = self._split(self.query, vectors, "query", self.heads)
        lengths, causal = simple_mask(mask, *vectors.shape[:2])
        keys, values = self._keys_and_values(vectors, None, (vectors, queries))
        return self._joined(self.approximation(queries, keys, values, lengths=lengths, causal=causal))

    def _joined(self, heads: Tensor) -> Tensor:
        """(batch head query feature) -> (batch query width): the heads are concatenated, and mixed by the output."""
        joined = heads.transpose(1, 2).flatten(2)
        return joined if self.output is None else self.output(joined)

    def _keys_and_values(
        self, key: Tensor, value: Tensor | None, known: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, Tensor]:
        """Project keys and values. `known`: the query vectors and their projection, for keys that share it."""
        value = key if value is None else value
        if self.projections.query_only:
            keys = self._split(None, key, "key", self.kv_heads)
            return keys, keys if value is key else self._split(None, value, "value", self.kv_heads)
        if self.key is None and known is not None and key is known[0]:
            keys = known[1]
        else:
            keys = self._split(self.query if self.key is None else self.key, key, "key", self.kv_heads)
        if self.value is None and value is key:
            return keys, keys
        linear = self.query if self.value is None else self.value
        return keys, self._split(linear, value, "value", self.kv_heads)

    def _position(self, bias: Tensor | None) -> Any:
        if bias is None:
            return self.position
        if self.position is None:
            return Bias(bias)
        position: Any = POSITIONS[self.position]() if isinstance(self.position, str) else self.position
        return position + Bias(bias)

    def _split(self, linear: nn.Linear | None, vectors: Tensor, name: str, heads: int) -> Tensor:
        width = heads * self.head_size if linear is None else linear.in_features
        if isinstance(vectors, Tensor) and vectors.is_nested:
            raise ArgumentError(
                f"`{name}` must be vectors (batch, length, {width}), but is a nested tensor. Pad it by "
                "torch.nested.to_padded_tensor and pass mask=Lengths(lengths)."
            )
        if not isinstance(vectors, Tensor) or vectors.ndim != 3 or vectors.shape[-1] != width:
            actual = tuple(vectors.shape) if isinstance(vectors, Tensor) else type(vectors).__name__
            raise ArgumentError(f"`{name}` must be vectors (batch, length, {width}), but is {actual}.")
        projected = vectors if linear is None else linear(vectors)
        # (batch length width) -> (batch head length feature)
        return projected.reshape(*vectors.shape[:2], heads, self.head_size).transpose(1, 2)


def _copy(module: Any, name: str, source: Tensor | None) -> None:
    """Copy one parameter and its `requires_grad`."""
    if source is not None:
        target = getattr(module, name)
        target.copy_(source).requires_grad_(source.requires_grad)
