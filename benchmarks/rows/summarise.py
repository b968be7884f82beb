"""Summaries of the weights, in linear memory: their cost beside that of attend itself."""

from rows.row import Bench, Case, Row, Work, forward, part

__all__ = ["ROWS"]


def _summary(bench: Bench, length: int, weights: str = "softmax") -> Case:
    query, key, value = bench.heads(length)

    def run():
        found = part("summarise", query, key, weights=weights, room="")
        return tuple(vars(found).values()) if hasattr(found, "__dict__") else (found,)

    def attend():
        from regard import attend as operator

        return forward(lambda: operator(query, key, value, weights=weights))

    # The scores once; then the pooled map, the top and the masses ask for the weights again.
    work = Work(2 * 8 * length**2 * 64, 8 * length**2)
    return Case(lambda: run, {weights: attend}, work, tolerance=None)


def _memory(bench: Bench) -> Case:
    case = _summary(bench, bench.size(65536))
    return Case(case.ours, {}, case.work, tolerance=None)


ROWS = (
    Row(
        "summarise",
        "summarise, n = 8192",
        "attend",
        ("regard",),
        1.7,
        "1.65 in the prototype: the peer is at the ceiling, and a summary passes over the weights twice",
        lambda bench: _summary(bench, bench.size(8192)),
        most=2,
    ),
    Row(
        "summarise-entmax",
        "summarise, entmax 1.5, n = 4096",
        "attend",
        ("regard",),
        1.5,
        "the threshold, which both need, costs more than what comes on top",
        lambda bench: _summary(bench, bench.size(4096), "entmax"),
    ),
    Row(
        "summarise-long",
        "summarise, n = 65536",
        "attend",
        ("regard",),
        1.7,
        "as at n = 8192: both are quadratic",
        lambda bench: _summary(bench, bench.size(65536)),
        most=2,
        seconds=1,
        rounds=1,
    ),
    Row(
        "summarise-memory",
        "summarise, n = 65536: peak memory",
        "a limit of 1 GiB",
        (),
        300.0,
        "n (top + pool) 8 heads: 16 + 64 numbers a row are 168 MiB; tiles come beside",
        _memory,
        measure="memory",
        limit=1024,
    ),
)
