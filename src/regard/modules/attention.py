"""Attention as a module: Q, K, V from one or several sources, heads, one linear behind."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention import POSITIONS, SCORES, WEIGHTS, Lengths, attend, weigh
from regard.attention.engines import ENGINES
from regard.attention.masks import as_mask
from regard.attention.positions import Bias
from regard.errors import ArgumentError, UnknownNameError
from regard.modules.cache import Cache
from regard.modules.extra_keys import ExtraKeys
from regard.modules.named import part_by_name

__all__ = ["MultiHeadAttention", "Observation", "ObserverHandle"]

_ENGINES = ("auto", *ENGINES)
_SHARES = ("none", "query_key", "all")
_PROJECTS = ("all", "query")


@dataclass(frozen=True)
class Observation:
    """What an observer is told of one pass: the module, and its weights (batch, head, query, key), detached."""

    module: nn.Module
    weights: Tensor


_Observers = dict[object, Callable[[Observation], None]]


class ObserverHandle:
    """What `observe` returns: `remove()` ends the observation, and so does leaving a `with` block."""

    def __init__(self, observers: "_Observers", observer: Callable[[Observation], None]):
        self._observers = observers
        # Not by the observer: the same function may observe twice, and each handle ends its own. Nor by the handle,
        # which nobody need keep: another may stand at its address then.
        self._key = object()
        observers[self._key] = observer

    def remove(self) -> None:
        """Stop observing; a second call does nothing."""
        self._observers.pop(self._key, None)

    def __enter__(self) -> "ObserverHandle":
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class MultiHeadAttention(nn.Module):
    """Multi-head attention over [batch, length, width].

    Each head projects the sources to queries, keys and values of its own, attends, and the heads' outputs are
    concatenated and mixed by one linear. With `heads=1, bias=False, output=False` the parameters are exactly the
    notes' three matrices Wq, Wk, Wv.

    Args:
        width: the size of the query vectors and of the output.
        heads: how many heads.
        head_size: the size of a head; by default width / heads, but any size will do.
        key_width: the size of the key vectors, where they come from elsewhere (cross-attention).
        value_width: the size of the value vectors; by default that of the keys.
        kv_heads: how many heads of keys and values there are, where fewer than `heads`: each serves as many queries
            (grouped queries; with 1, multi-query).
        share: which projections are one matrix (the notes: must it be three?): "none", "query_key" (queries are
            keys), or "all" (queries, keys and values are the same vectors).
        project: "all", or "query": keys and values are the vectors as they come, cut into heads. One matrix says all
            that those of queries and keys say in a scaled product; the values' can stand before or behind.
        bias: whether the projections add a bias.
        output: whether a linear follows; without, the output is the heads side by side, heads x head_size wide.
        score, weights, position: as in `regard.attend`; the name of a part with parameters makes one of this module's
            own, and a module is trained with this one.
        dropout: the share of weights dropped in training.
        engine: as in `regard.attend`.
        extra: keys beside the sequence's own, to which every query may attend.

    Raises:
        ArgumentError: `heads` doesn't divide `width` and `head_size` isn't given, `kv_heads` doesn't divide `heads`,
            what is shared has unequal sizes, or vectors of the wrong size arrive.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.2; the notes, 001, 002, 004. Shared matrices: Kitaev et
        al. 2020 (arXiv 2001.04451), section 2, shared-QK. Grouped queries: Ainslie et al. 2023 (arXiv 2305.13245).

    Example:
        >>> attention = MultiHeadAttention(12, heads=3)
        >>> attention(torch.zeros(2, 5, 12)).shape
        torch.Size([2, 5, 12])
        >>> [name for name, _ in MultiHeadAttention(12, heads=1, bias=False, output=False).named_parameters()]
        ['query.weight', 'key.weight', 'value.weight']
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        head_size: int | None = None,
        key_width: int | None = None,
        value_width: int | None = None,
        kv_heads: int | None = None,
        share: str = "none",
        project: str = "all",
        bias: bool = True,
        output: bool = True,
        score: Any = "scaled_dot",
        weights: Any = "softmax",
        position: Any = None,
        dropout: float = 0.0,
        engine: str = "auto",
        extra: ExtraKeys | None = None,
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
            raise ArgumentError(f"`dropout` must be a share from 0 to 1, but is {dropout!r}.")
        named = (("engine", engine, _ENGINES), ("share", share, _SHARES), ("project", project, _PROJECTS))
        for kind, name, known in named:
            if name not in known:
                raise UnknownNameError(kind, name, known)
        self.heads = heads
        self.kv_heads = heads if kv_heads is None else kv_heads
        if self.kv_heads < 1 or heads % self.kv_heads:
            raise ArgumentError(f"`kv_heads` must divide `heads` {heads}, but is {kv_heads}. Choose another number.")
        self.head_size = width // heads if head_size is None else head_size
        key_width = width if key_width is None else key_width
        value_width = key_width if value_width is None else value_width
        shared = {"none": 0, "query_key": 1, "all": 2}[share]
        for name, size, least in (("key_width", key_width, 1), ("value_width", value_width, 2)):
            if shared >= least and size != width:
                raise ArgumentError(
                    f"`{name}` must be `width` {width} where one matrix serves both (share={share!r}), but is {size}."
                )
        if shared and self.kv_heads != heads:
            raise ArgumentError(
                f"`kv_heads` must be `heads` {heads} where queries and keys share a matrix (share={share!r}), "
                f"but is {kv_heads}. Leave one of the two out."
            )
        inner, kept = heads * self.head_size, self.kv_heads * self.head_size
        self.project = project
        if project == "query":
            if shared:
                raise ArgumentError(f'`share` must be "none" where only queries are projected, but is {share!r}.')
            for name, size in (("key_width", key_width), ("value_width", value_width)):
                if size != kept:
                    raise ArgumentError(
                        f"`{name}` must be {kept}, the heads of keys side by side, where only queries are projected, "
                        f"but is {size}."
                    )
        self.query = nn.Linear(width, inner, bias=bias)
        # What is shared stands once, under the name of the first: a file of weights must not hold it twice.
        self.key = nn.Linear(key_width, kept, bias=bias) if shared < 1 and project == "all" else None
        self.value = nn.Linear(value_width, kept, bias=bias) if shared < 2 and project == "all" else None
        self.output = nn.Linear(inner, width, bias=bias) if output else None
        sizes = {"head_size": self.head_size, "heads": heads}
        self.score = part_by_name("score", score, SCORES, **sizes)
        self.weights = part_by_name("weights", weights, WEIGHTS, **sizes)
        self.position = part_by_name("position", position, POSITIONS, **sizes)
        self.extra = extra
        self.dropout = dropout
        self.engine = engine
        self._observers: _Observers = {}

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
        """Attend from `query` to `key` (by default to itself) and sum `value` (by default what `key` came from).

        Args:
            query: the vectors that look.
            key: the vectors looked at.
            value: the vectors summed.
            mask: as in `regard.attend`.
            bias: a table added to the scores, broadcastable to (batch, head, query, key), where one exists already.
            cache: keys and values of earlier calls; those of this one are added to it. Causal masks and positions count
                from the end, so that a step's output is that of the full pass.
            lengths: (batch,) how many of these vectors each item really has, where a cache serves unequal items.

        Raises:
            ArgumentError: an argument can't be used.
        """
        if cache is None:
            return self._pass(query, key, value, mask, bias, None, lengths)
        before = cache.length, cache.lengths
        try:
            return self._pass(query, key, value, mask, bias, cache, lengths)
        except Exception:
            # A call that fails must not leave its keys behind: it will be made again.
            cache.length, cache.lengths = before
            raise

    def remember(
        self,
        key: Float[Tensor, "batch key key_width"],
        value: Float[Tensor, "batch key value_width"] | None = None,
        *,
        lengths: Tensor | Sequence[int] | None = None,
    ) -> Cache:
        """The keys and values of one source, projected once for every step of a decoder that looks at it.

        Args:
            key: the vectors looked at.
            value: the vectors summed; by default what `key` came from.
            lengths: (batch,) how many of them each item really has.

        Example:
            >>> attention, encoded = MultiHeadAttention(4, heads=2), torch.ones(1, 5, 4)
            >>> with torch.no_grad():
            ...     memory = attention.remember(encoded)
            ...     torch.equal(attention(torch.ones(1, 1, 4), cache=memory), attention(torch.ones(1, 1, 4), encoded))
            True
        """
        cache = Cache(max(key.shape[1], 1))
        cache.append(*self._keys_and_values(key, value, None), lengths)
        cache.sealed = True
        return cache

    @classmethod
    def from_torch(cls, module: nn.Module) -> "MultiHeadAttention":
        """The same attention as one of PyTorch's: copies of its weights, equal output.

        Ours is always batch first: (length, batch, width) wants `.transpose(0, 1)`, a single sequence `.unsqueeze(0)`.
        `torch_masks` turns its masks, where True hides, into ours. For its weights (`need_weights`) observe the module,
        or take `.weights.mean(1)` for the average over the heads; they are those before dropout, and those of extra
        keys (`add_bias_kv`, `add_zero_attn`) stand in front.

        Args:
            module: what to copy.

        Raises:
            ArgumentError: it is no `nn.MultiheadAttention`.

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
        extra = None
        if learned or module.add_zero_attn:
            extra = ExtraKeys(heads, width // heads, learned=learned, zero=module.add_zero_attn)
        packed = module.in_proj_weight
        ours = cls(
            width,
            heads,
            key_width=module.kdim,
            value_width=module.vdim,
            bias=module.in_proj_bias is not None,
            dropout=module.dropout,
            extra=extra,
        ).to(module.out_proj.weight)
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
                for name, learned_one in (("key", module.bias_k), ("value", module.bias_v)):
                    _copy(extra, name, None if learned_one is None else learned_one.view(heads, 1, -1))
        return ours.train(module.training)

    def observe(self, observer: Callable[[Observation], None]) -> ObserverHandle:
        """Call `observer` with the weights of every pass until the handle is removed.

        The weights are computed only while somebody observes, and beside the pass: its output doesn't change.

        Example:
            >>> attention, seen = MultiHeadAttention(4, heads=2), []
            >>> with attention.observe(seen.append):
            ...     output = attention(torch.zeros(1, 3, 4))
            >>> seen[0].weights.shape
            torch.Size([1, 2, 3, 3])
        """
        return ObserverHandle(self._observers, observer)

    def _pass(
        self,
        query: Tensor,
        key: Tensor | None,
        value: Tensor | None,
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
                    "`cache` is sealed, it remembers its source whole: leave `key`, `value` and `lengths` out."
                )
            keys, values = cache.key, cache.value
        else:
            keys, values = self._keys_and_values(query if key is None else key, value, (query, queries))
            if cache is not None:
                keys, values = cache.append(keys, values, lengths)
        if cache is not None and cache.lengths is not None:
            ragged = Lengths(query=None if cache.sealed else lengths, key=cache.lengths)
            mask = ragged if mask is None else ragged & mask
        if self.extra is not None:
            bias = None if bias is None else self.extra.widen(bias, keys.shape[2])
            keys, values = self.extra(keys, values)
            mask = None if mask is None else self.extra.beside(as_mask(mask))
        parts = {"score": self.score, "weights": self.weights, "mask": mask, "position": self._position(bias)}
        dropout = self.dropout if self.training else 0.0
        heads = attend(queries, keys, values, **parts, dropout=dropout, engine=self.engine)
        if self._observers:
            with torch.no_grad():
                seen = Observation(self, weigh(queries, keys, **parts))
            for observer in tuple(self._observers.values()):
                observer(seen)
        # (batch head query feature) -> (batch query width): the heads side by side.
        joined = heads.transpose(1, 2).flatten(2)
        return joined if self.output is None else self.output(joined)

    def _keys_and_values(
        self, key: Tensor, value: Tensor | None, known: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, Tensor]:
        """Projected keys and values; `known`: the query's vectors and their projection, to be used again if shared."""
        value = key if value is None else value
        if self.project == "query":
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
            found = tuple(vectors.shape) if isinstance(vectors, Tensor) else type(vectors).__name__
            raise ArgumentError(f"`{name}` must be vectors (batch, length, {width}), but is {found}.")
        projected = vectors if linear is None else linear(vectors)
        # (batch length width) -> (batch head length feature)
        return projected.reshape(*vectors.shape[:2], heads, self.head_size).transpose(1, 2)


def _copy(module: Any, name: str, source: Tensor | None) -> None:
    """Copy one parameter, and whether it is trained."""
    if source is not None:
        target = getattr(module, name)
        target.copy_(source).requires_grad_(source.requires_grad)
