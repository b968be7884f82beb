"""What kernels on a GPU shall reach: each beside the best that anybody has for it, and our error against float64.

If nothing else is said, there are 8 heads of 64 features, 8192 queries and keys, and bfloat16. What was predicted is
what a prototype of the kernels did.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from rows import graph
from rows.positions import BUCKETS, FAR, REACH, buckets
from rows.row import Bench, Case, Maker, Row, Run, Work, backward, forward, part, wave

__all__ = ["ROWS"]

HALF = torch.bfloat16
WINDOW = 128
Call = Callable[..., Mapping[str, Any]]
Wrap = Callable[[Callable[[], Tensor]], Run]


def _no_parts(*_: Tensor) -> Mapping[str, Any]:
    return {}


def _case(
    inputs: Sequence[Tensor],
    call: Call = _no_parts,
    peers: Callable[[Wrap], Mapping[str, Maker]] = lambda _: {},
    *,
    learned: Sequence[Tensor] = (),
    pairs: float = 0.0,
    tolerance: float | None = 2e-2,
    stand_ins: Callable[[Wrap], Mapping[str, Maker]] = lambda _: {},
) -> Case:
    """Our call beside its peers: forward, and backward too if the inputs want gradients.

    `call` makes the keywords of `attend` out of what is `learned`; `pairs` counts those of a query and a key that are
    computed, all heads together, if products of matrices are what takes the time.
    """
    query, key, value = inputs
    training = query.requires_grad
    feature = query.shape[-1]

    def wrap(function: Callable[[], Tensor]) -> Run:
        return backward(function, (*inputs, *learned)) if training else forward(function)

    def ours() -> Run:
        from regard import attend

        named = call(*learned)
        return wrap(lambda: attend(query, key, value, **named))

    def exact() -> list[tuple[Any, Tensor]]:
        from regard import attend

        # One head is enough, if none of what is learned is shared by all heads.
        heads = query.shape[1] if any(len(table) != query.shape[1] for table in learned) else 1
        few = [each[:, :heads].detach().double().requires_grad_(training) for each in inputs]
        tables = [table[:heads] if len(table) == query.shape[1] else table for table in learned]
        tables = [table.detach().double().requires_grad_(training) for table in tables]
        named = call(*tables)

        def run() -> Tensor:
            return attend(*few, **named, engine="dense")

        found = (backward(run, (*few, *tables), rounded=query.dtype) if training else forward(run))()
        places = [(slice(None), slice(heads))] * (4 if training else 1) + [slice(len(table)) for table in tables]
        return list(zip(places, found, strict=False))

    def engine() -> str:
        from regard import plan

        return plan(query, key, value, **call(*learned)).engine

    work = Work.of(pairs, feature, training=training, half=query.dtype == HALF) if pairs else None
    return Case(ours, peers(wrap), work, tolerance, exact, engine, stand_ins(wrap))


def _compiled(bench: Bench, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a peer, compiled; on a CPU, where nothing is timed in earnest, as it is."""
    return torch.compile(function, dynamic=False) if bench.device == "cuda" else function


def _sdpa(inputs: Sequence[Tensor], **options: Any) -> Callable[[Wrap], Mapping[str, Maker]]:
    return lambda wrap: {"": lambda: wrap(lambda: F.scaled_dot_product_attention(*inputs, **options))}


def _flex(bench: Bench, inputs: Sequence[Tensor], **mods: Any) -> Callable[[Wrap], Mapping[str, Maker]]:
    """Compiled flex_attention; a mask is made into blocks once and kept."""

    def peers(wrap: Wrap) -> Mapping[str, Maker]:
        def make() -> Run:
            from torch.nn.attention.flex_attention import create_block_mask, flex_attention

            kept = dict(mods)
            if mask := kept.pop("mask_mod", None):
                length = inputs[0].shape[2]
                kept["block_mask"] = create_block_mask(mask, None, None, length, length, device=bench.device)
            function = _compiled(bench, flex_attention)
            return wrap(lambda: function(*inputs, **kept))

        return {"": make}

    return peers


def _softmax(bench: Bench, *, causal: bool, training: bool, length: int = 8192) -> Case:
    inputs = bench.heads(bench.size(length), dtype=HALF, training=training)
    pairs = 8 * inputs[0].shape[2] ** 2 / (2 if causal else 1)
    return _case(inputs, lambda: {"mask": "causal"} if causal else {}, _sdpa(inputs, is_causal=causal), pairs=pairs)


def _host(bench: Bench, call: Call) -> Case:
    """A call so short that the processor's work before the kernel is what takes the time; the peer's is plain SDPA."""
    inputs = bench.heads(128, dtype=HALF)
    return _case(inputs, call, _sdpa(inputs), tolerance=None)


def _window(bench: Bench, *, training: bool) -> Case:
    inputs = bench.heads(bench.size(8192), dtype=HALF, training=training)
    length = inputs[0].shape[2]
    reach = min(WINDOW, length - 1)

    def near(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return (query - key).abs() <= WINDOW

    return _case(
        inputs,
        lambda: {"mask": part("Window", WINDOW, WINDOW)},
        _flex(bench, inputs, mask_mod=near),
        pairs=8.0 * (length * (2 * reach + 1) - reach * (reach + 1)),
    )


def _documents(bench: Bench, *, training: bool) -> Case:
    inputs = bench.heads(bench.size(8192), dtype=HALF, training=training)
    length, each = inputs[0].shape[2], bench.size(1000)
    ids = torch.arange(length, device=bench.device) // each
    mask = part("Documents", ids)

    def together(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return ids[query] == ids[key]

    pairs = 8.0 * int(ids.bincount().square().sum())
    return _case(inputs, lambda: {"mask": mask}, _flex(bench, inputs, mask_mod=together), pairs=pairs)


def _sigmoid(bench: Bench, *, training: bool) -> Case:
    query, key, value = inputs = bench.heads(bench.size(8192), dtype=HALF, training=training)
    bias = -math.log(query.shape[2])

    def plain() -> Tensor:
        return torch.sigmoid((query @ key.mT) * 0.125 + bias) @ value

    return _case(
        inputs,
        lambda: {"weights": part("Sigmoid", bias=bias)},
        lambda wrap: {"": lambda: wrap(_compiled(bench, plain))},
        pairs=8 * query.shape[2] ** 2,
    )


def _sigmoid_backward(bench: Bench) -> Case:
    """Backward alone, of a graph that is kept."""
    inputs = bench.heads(bench.size(8192), dtype=HALF, training=True)
    length = inputs[0].shape[2]
    weights = part("Sigmoid", bias=-math.log(length))

    def ours() -> Run:
        from regard import attend

        output = attend(*inputs, weights=weights)
        gradient = wave(output)
        return lambda: torch.autograd.grad(output, inputs, gradient, retain_graph=True)

    case = _case(inputs, lambda: {"weights": weights})
    exact = case.exact
    assert exact is not None
    # The products are two to compute the scores' gradients and the scores again, and three for those of the inputs.
    work = Work(10 * 8 * length**2 * 64, half=True)
    return dataclasses.replace(case, ours=ours, work=work, exact=lambda: exact()[1:])


def _relu(bench: Bench) -> Case:
    inputs = bench.heads(bench.size(8192), dtype=HALF, training=True)
    pairs = 8 * inputs[0].shape[2] ** 2
    # The peer computes another function, in fewer steps than anything that isn't softmax has been computed in.
    return _case(inputs, lambda: {"weights": "relu"}, _sdpa(inputs), pairs=pairs, tolerance=None)


def _entmax(bench: Bench, alpha: float, *, causal: bool = False) -> Case:
    query, key, value = inputs = bench.heads(bench.size(8192), dtype=HALF, training=True)
    names = ("adasplash",) if causal else ("adasplash_v1", "adasplash_no_block_mask")

    def package(name: str) -> Callable[[Wrap], Maker]:
        def make_of(wrap: Wrap) -> Maker:
            def make() -> Run:
                import adasplash

                function = getattr(adasplash, name)
                return wrap(lambda: function(query, key, value, alpha=alpha, is_causal=causal))

            return make

        return make_of

    def dense(wrap: Wrap) -> Maker:
        def make() -> Run:
            import entmax

            length = query.shape[2]
            hidden = torch.ones(length, length, dtype=torch.bool, device=bench.device).triu_(1) if causal else None
            known = {1.5: entmax.entmax15, 2.0: entmax.sparsemax}

            def run() -> Tensor:
                scores = (query * 0.125) @ key.mT
                scores = scores if hidden is None else scores.masked_fill(hidden, -torch.inf)
                weights = known[alpha](scores, dim=-1, k=64) if alpha in known else entmax.entmax_bisect(scores, alpha)
                return weights @ value

            return wrap(run)

        return make

    return _case(
        inputs,
        lambda: {"weights": part("Entmax", alpha)} | ({"mask": "causal"} if causal else {}),
        lambda wrap: {name: package(name)(wrap) for name in names},
        pairs=8 * query.shape[2] ** 2 / (2 if causal else 1),
        # Both sides round scores to another place, which moves a threshold, and with it all weights of a row.
        tolerance=5e-2,
        stand_ins=lambda wrap: {"the entmax package, dense scores": dense(wrap)},
    )


def _additive(bench: Bench, *, training: bool) -> Case:
    query, key, value = inputs = bench.heads(bench.size(1024), training=training)
    vector = (bench.normal(8, 64) / 8).requires_grad_(training)

    def broadcast() -> Tensor:
        scores = (torch.tanh(query.unsqueeze(3) + key.unsqueeze(2)) * vector[:, None, None]).sum(-1)
        return torch.softmax(scores, -1) @ value

    return _case(
        inputs,
        lambda vector: {"score": part("Additive", vector, activation="tanh")},
        lambda wrap: {"": lambda: wrap(_compiled(bench, broadcast))},
        learned=(vector,),
        tolerance=1e-3,
    )


def _relative(bench: Bench, peer: str) -> Case:
    query, key, value = inputs = bench.heads(bench.size(4096), dtype=HALF, training=True)
    table = (bench.normal(2 * REACH + 1, 64) / 8).to(HALF).requires_grad_()
    length = query.shape[2]
    place = torch.arange(length, device=bench.device)
    clipped = (place - place[:, None]).clamp(-REACH, REACH) + REACH

    def products() -> Tensor:
        return (query * 0.125) @ table.T

    def biased() -> Tensor:
        bias = products().gather(-1, clipped.expand(1, 8, length, length))
        return F.scaled_dot_product_attention(query, key, value, attn_mask=bias)

    def captured() -> Run:
        from torch.nn.attention.flex_attention import flex_attention

        def whole(query: Tensor, key: Tensor, value: Tensor, found: Tensor) -> Tensor:
            def add(score: Tensor, batch: Tensor, head: Tensor, row: Tensor, column: Tensor) -> Tensor:
                return score + found[batch, head, row, (column - row).clamp(-REACH, REACH) + REACH]

            return flex_attention(query, key, value, score_mod=add)

        function = _compiled(bench, whole)
        return backward(lambda: function(query, key, value, products()), (*inputs, table))

    return _case(
        inputs,
        lambda table: {"position": part("RelativeKeys", table, room="attention.positions")},
        lambda wrap: {"": captured if peer == "flex" else lambda: wrap(biased)},
        learned=(table,),
        pairs=8 * length**2,
        # The peer rounds its biases to bfloat16.
        tolerance=5e-2,
    )


def _bucketed(bench: Bench, peer: str) -> Case:
    query, key, value = inputs = bench.heads(bench.size(4096), dtype=HALF, training=True)
    table = bench.normal(8, BUCKETS).to(HALF).requires_grad_()
    length = query.shape[2]
    found = buckets(torch.arange(1 - length, length, device=bench.device))

    def biased() -> Tensor:
        # Row i of the bias is a stretch of the 2n - 1 offsets: the first row is the last stretch.
        bias = table[:, found].unfold(-1, length, 1).flip(-2)
        return F.scaled_dot_product_attention(query, key, value, attn_mask=bias[None])

    def captured() -> Run:
        from torch.nn.attention.flex_attention import flex_attention

        def whole(query: Tensor, key: Tensor, value: Tensor, table: Tensor) -> Tensor:
            def add(score: Tensor, batch: Tensor, head: Tensor, row: Tensor, column: Tensor) -> Tensor:
                return score + table[head, found[column - row + length - 1]]

            return flex_attention(query, key, value, score_mod=add)

        function = _compiled(bench, whole)
        return backward(lambda: function(query, key, value, table), (*inputs, table))

    return _case(
        inputs,
        lambda table: {"position": part("Buckets", table, FAR, room="attention.positions")},
        lambda wrap: {"": captured if peer == "flex" else lambda: wrap(biased)},
        learned=(table,),
        pairs=8 * length**2,
        tolerance=5e-2,
    )


def _edges(bench: Bench) -> Case:
    case = graph.transformer(bench)
    kept = {name: make for name, make in case.peers.items() if ("compile" in name) == (bench.device == "cuda")}
    # Where PyTorch Geometric is missing, the one peer says so.
    return dataclasses.replace(case, peers=kept or case.peers, work=None)


def _decoding(bench: Bench) -> Case:
    length = bench.size(8192)
    shapes = ((8, 8, 1, 64), (8, 8, length, 64), (8, 8, length, 64))
    inputs = [bench.normal(*shape, dtype=HALF) for shape in shapes]
    return _case(inputs, lambda: {"mask": "causal"}, _sdpa(inputs))


def _long(bench: Bench) -> Case:
    """Rows in float64 are those at the end, which attend to most."""
    inputs = bench.heads(bench.size(131_072), dtype=HALF, training=True)
    length = inputs[0].shape[2]
    rows = range(length - 16, length)

    def exact() -> list[tuple[Any, Tensor]]:
        from regard.attention import attend_rows

        query, key, value = (each[:, :1].detach().double() for each in inputs)
        place = (slice(None), slice(1), slice(rows.start, rows.stop))
        return [(place, attend_rows(query, key, value, rows, mask="causal"))]

    case = _case(inputs, lambda: {"mask": "causal"}, pairs=8 * length**2 / 2)
    return dataclasses.replace(case, exact=exact)


def _row(
    name: str,
    what: str,
    peer: str,
    case: Callable[[Bench], Case],
    *,
    prototype: float | None,
    packages: Sequence[str] = ("torch",),
    **wanted: Any,
) -> Row:
    why = "nobody had measured it" if prototype is None else "what an untuned prototype of the kernel did"
    return Row(name, what, peer, tuple(packages), prototype, why, case, **wanted)


def _both_passes(
    name: str,
    what: str,
    peer: str,
    case: Callable[..., Case],
    prototypes: tuple[float, float],
    least: tuple[float, float],
) -> tuple[Row, Row]:
    """A row forward and one of both passes."""
    forwards = _row(
        f"{name}-forward",
        f"{what}, forward",
        peer,
        lambda bench: case(bench, training=False),
        prototype=prototypes[0],
        least=least[0],
    )
    both = _row(
        f"{name}-both",
        f"{what}, both",
        peer,
        lambda bench: case(bench, training=True),
        prototype=prototypes[1],
        least=least[1],
    )
    return forwards, both


_ADASPLASH = ("adasplash", "entmax")
_COMPILED = "the broadcast form under torch.compile"

ROWS = (
    *_both_passes(
        "softmax", "softmax, full", "SDPA", lambda *a, **k: _softmax(*a, causal=False, **k), (0.81, 0.79), (0.97, 0.97)
    ),
    *_both_passes(
        "causal", "softmax, causal", "SDPA", lambda *a, **k: _softmax(*a, causal=True, **k), (0.89, 0.76), (0.97, 0.97)
    ),
    *(
        _row(
            f"host-{name}",
            f"{what}, n = 128, forward: the processor's time of a call",
            "SDPA, no mask",
            lambda bench, call=call: _host(bench, call),
            prototype=None if limit == 60 else 32,
            limit=limit,
            measure="host",
        )
        for name, what, call, limit in (
            ("softmax", "softmax, full", _no_parts, 60),
            ("causal", "softmax, causal", lambda: {"mask": "causal"}, 60),
            ("window", "window 16", lambda: {"mask": part("Window", 16, 16)}, 80),
            ("sigmoid", "sigmoid, full", lambda: {"weights": "sigmoid"}, 80),
        )
    ),
    *_both_passes("window", "window 128", "flex, mask kept", _window, (1.1, 3.4), (1.3, 4)),
    *_both_passes("documents", "documents of 1000", "flex, mask kept", _documents, (0.43, 0.62), (1.2, 1.2)),
    _row(
        "sigmoid-forward",
        "sigmoid, full, forward",
        "the formula under torch.compile; published 445 TFLOP/s",
        lambda bench: _sigmoid(bench, training=False),
        prototype=336,
        least=445,
        measure="rate",
    ),
    _row(
        "sigmoid-backward",
        "sigmoid, full, backward alone",
        "published 325 TFLOP/s",
        _sigmoid_backward,
        prototype=297,
        packages=(),
        least=340,
        measure="rate",
    ),
    _row(
        "sigmoid-both",
        "sigmoid, full, both",
        "the formula under torch.compile",
        lambda bench: _sigmoid(bench, training=True),
        prototype=2.6,
    ),
    _row("relu-both", "relu, full, both", "SDPA's softmax", _relu, prototype=0.95, least=1.2),
    _row(
        "entmax-causal-both",
        "entmax 1.5, causal, both",
        "AdaSplash-2",
        lambda bench: _entmax(bench, 1.5, causal=True),
        prototype=1.0,
        packages=_ADASPLASH,
        least=1.5,
    ),
    _row(
        "entmax-both",
        "entmax 1.5, full, both",
        "AdaSplash-1",
        lambda bench: _entmax(bench, 1.5),
        prototype=5.2,
        packages=_ADASPLASH,
        least=8,
    ),
    _row(
        "sparsemax-both",
        "sparsemax, full, both",
        "AdaSplash-1",
        lambda bench: _entmax(bench, 2.0),
        prototype=None,
        packages=_ADASPLASH,
        least=3,
    ),
    _row(
        "entmax-1.3-both",
        "entmax 1.3, full, both",
        "AdaSplash-1",
        lambda bench: _entmax(bench, 1.3),
        prototype=None,
        packages=_ADASPLASH,
        least=3,
    ),
    *_both_passes("additive", "additive, n = 1024, float32", _COMPILED, _additive, (2.2, 1.0), (4, 4)),
    _row(
        "additive-memory",
        "additive, n = 1024, float32, both: peak memory",
        _COMPILED,
        lambda bench: _additive(bench, training=True),
        prototype=None,
        least=100,
        measure="memory",
    ),
    _row(
        "relative-flex-both",
        "relative (Shaw), n = 4096, both, with the table",
        "flex with a captured table",
        lambda bench: _relative(bench, "flex"),
        prototype=None,
        least=2,
    ),
    _row(
        "relative-bias-both",
        "relative (Shaw), n = 4096, both, with the table",
        "SDPA given the n x n bias",
        lambda bench: _relative(bench, "sdpa"),
        prototype=None,
        least=3,
    ),
    _row(
        "bucketed-flex-both",
        "bucketed (T5), n = 4096, both, with the table",
        "flex with a captured table",
        lambda bench: _bucketed(bench, "flex"),
        prototype=None,
        least=2,
    ),
    _row(
        "bucketed-bias-both",
        "bucketed (T5), n = 4096, both, with the table",
        "SDPA given the n x n bias",
        lambda bench: _bucketed(bench, "sdpa"),
        prototype=None,
        least=3,
    ),
    _row(
        "edges-both",
        "20 000 nodes, 400 000 edges, 8 x 8, float32, whole layer, both",
        "PyTorch Geometric",
        _edges,
        prototype=None,
        packages=("torch-geometric",),
        least=4,
    ),
    _row("decoding", "decoding, cache of 8192, batch 8", "SDPA", _decoding, prototype=None, least=1.0),
    _row(
        "long-memory",
        "causal, n = 131 072, both: peak memory beside the inputs",
        "",
        _long,
        prototype=None,
        packages=(),
        limit=round(2e9 / 2**20),
        measure="memory",
    ),
)
