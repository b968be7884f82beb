"""Sparse normalisers: entmax at 1.5 and sparsemax, beside the entmax package on dense scores."""

from rows.row import Bench, Case, Maker, Row, Work, backward, part

__all__ = ["ROWS"]

# How many of the largest scores the package sorts first; None, its default, sorts all. Too few, and it starts again.
CANDIDATES = (None, 8, 16, 32, 64, 100, 200)


def _sparse(bench: Bench, name: str) -> Case:
    query, key, value = inputs = bench.heads(bench.size(4096), training=True)

    def ours():
        from regard import attend

        weights = part("Entmax", alpha=1.5) if name == "entmax15" else name
        return backward(lambda: attend(query, key, value, weights=weights), inputs)

    def theirs(candidates: int | None) -> Maker:
        def make():
            import entmax

            normalise = getattr(entmax, name)
            return backward(
                lambda: normalise((query * 0.125) @ key.mT, dim=-1, k=candidates) @ value,
                inputs,
            )

        return make

    length = query.shape[2]
    peers = {f"k = {count}": theirs(count) for count in CANDIDATES if count is None or count < length}
    return Case(ours, peers, Work.of(8 * length**2, 64, training=True))


def _growth(bench: Bench) -> Case:
    def maker(length: int) -> Maker:
        def make():
            from regard import attend

            weights = part("Entmax", alpha=1.5)
            inputs = bench.heads(bench.size(length), training=True)
            return backward(lambda: attend(*inputs, weights=weights), inputs)

        return make

    return Case(maker(16384), {"n = 4096": maker(4096)}, tolerance=None)


ROWS = (
    Row(
        "entmax-training",
        "entmax 1.5, n = 4096, forward + backward",
        "entmax package, dense scores",
        ("entmax",),
        5.0,
        "1.25 s to 4.5 s at its best k in the prototypes; topk of 32 768 rows is most of the peer",
        lambda bench: _sparse(bench, "entmax15"),
        least=4,
        seconds=20,
    ),
    Row(
        "sparsemax-training",
        "sparsemax, n = 4096, forward + backward",
        "entmax package, dense scores",
        ("entmax",),
        6.0,
        "11 s for its default; its backward indexes by a mask of n x n, which ours doesn't",
        lambda bench: _sparse(bench, "sparsemax"),
        least=4,
        seconds=20,
    ),
    Row(
        "entmax-memory",
        "entmax 1.5, forward + backward, n = 16384: peak memory",
        "ours at n = 4096",
        ("regard",),
        3.0,
        "O(n): four times the gradients, but tiles of the same size",
        _growth,
        most=4.4,
        measure="memory",
    ),
)
