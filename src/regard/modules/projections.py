"""Which projections an attention module has: for queries, keys and values each, shared ones, or for queries only."""

from dataclasses import dataclass

from torch import nn

from regard.errors import ArgumentError

__all__ = ["PROJECTIONS", "Projections"]


@dataclass(frozen=True)
class Projections:
    """Which matrices project queries, keys and values; by default each has its own, with as many heads.

    Args:
        kv_heads: the number of heads of keys and values, if smaller than the number of query heads: each serves an
            equal number of query heads (grouped queries; 1 is multi-query).
        shared_key: whether queries and keys share one matrix, so that they are the same vectors.
        shared_value: whether values share that matrix, too.
        query_only: whether keys and values are the input vectors, split into heads. In a scaled product one matrix
            is as general as one for queries and one for keys, and the matrix of the values can be merged into the layer
            before or after.

    Raises:
        ArgumentError: only values share the queries' matrix, or keys share it though only queries are projected.

    Source: shared matrices: Kitaev et al. 2020 (arXiv 2001.04451), section 2, shared-QK. Multi-query: Shazeer 2019
        (arXiv 1911.02150), section 3. Grouped queries: Ainslie et al. 2023 (arXiv 2305.13245).

    Example:
        >>> [layer and layer.out_features for layer in Projections(kv_heads=1).layers(12, heads=3, head_size=4)]
        [12, 4, 4]
        >>> [layer and layer.out_features for layer in Projections(shared_key=True).layers(12, heads=3, head_size=4)]
        [12, None, 12]
    """

    kv_heads: int | None = None
    shared_key: bool = False
    shared_value: bool = False
    query_only: bool = False

    def __post_init__(self) -> None:
        if self.shared_value and not self.shared_key:
            raise ArgumentError("`shared_key` must be True where `shared_value` is, but is False.")
        if self.query_only and self.shared_key:
            raise ArgumentError("`shared_key` must be False where only queries are projected, but is True.")

    def key_heads(self, heads: int) -> int:
        """The number of heads of keys and values for `heads` query heads.

        Raises:
            ArgumentError: `kv_heads` doesn't divide `heads`, or differs from it where queries and keys share a matrix.
        """
        if self.kv_heads is None:
            return heads
        if self.kv_heads < 1 or heads % self.kv_heads:
            raise ArgumentError(
                f"`kv_heads` must divide `heads` {heads}, but is {self.kv_heads}. Choose another number."
            )
        if self.shared_key and self.kv_heads != heads:
            raise ArgumentError(
                f"`kv_heads` must be `heads` {heads} where queries and keys share a matrix, but is {self.kv_heads}. "
                "Leave one of the two out."
            )
        return self.kv_heads

    def layers(
        self,
        width: int,
        *,
        heads: int,
        head_size: int,
        key_width: int | None = None,
        value_width: int | None = None,
        bias: bool = True,
    ) -> tuple[nn.Linear, nn.Linear | None, nn.Linear | None]:
        """The linear layers of queries, keys and values, the arguments as in `MultiHeadAttention`.

        None for a layer that doesn't exist: a shared one is given once, as the queries', so that a file of weights
        holds it once.

        Raises:
            ArgumentError: shared layers would have unequal sizes, or vectors that aren't projected another size than
                all key heads together.
        """
        kept = self.key_heads(heads) * head_size
        key_width = width if key_width is None else key_width
        value_width = key_width if value_width is None else value_width
        for name, size, shared in (
            ("key_width", key_width, self.shared_key),
            ("value_width", value_width, self.shared_value),
        ):
            if shared and size != width:
                raise ArgumentError(f"`{name}` must be `width` {width} where one matrix serves both, but is {size}.")
            if self.query_only and size != kept:
                raise ArgumentError(
                    f"`{name}` must be {kept}, the size of all key heads together, where only queries are projected, "
                    f"but is {size}."
                )
        query = nn.Linear(width, heads * head_size, bias=bias)
        key = None if self.shared_key or self.query_only else nn.Linear(key_width, kept, bias=bias)
        value = None if self.shared_value or self.query_only else nn.Linear(value_width, kept, bias=bias)
        return query, key, value


PROJECTIONS: dict[str, Projections] = {
    "separate": Projections(),
    "shared_query_key": Projections(shared_key=True),
    "shared_query_key_value": Projections(shared_key=True, shared_value=True),
    "query_only": Projections(query_only=True),
}
"""Projections by name; the last three are those of the `MultiHeadAttention` constructors of that name."""
