"""The engines of regard."""

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor

from regard.attention.engines import ENGINES as _KNOWN
from regard.jury.candidates.candidate import Candidate, source_of
from regard.jury.claims import Claims

__all__ = ["ENGINES", "regard_engine"]

CLAIMS = Claims(
    causal="causal",
    mask="mask",
    bias="bias",
    scale="scale",
    dropout="dropout",
    seed="seed",
    grouped=True,
    value_size=True,
)


def regard_engine(
    engine: str,
    edges: str,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    causal: bool = False,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    dropout: float = 0.0,
    seed: int | None = None,
) -> Tensor:
    import torch

    from regard.attention import Bias, Causal, Dot, Edges, Mask, attend

    class Table(Mask):
        def __init__(self, table: Tensor) -> None:
            self.table = table

        def allows(self, at: Any) -> Tensor:
            return self.table[at.batch, at.head, at.query, at.key]

    hidden = None if mask is None else Table(mask)
    if edges == "always" or (edges == "masks" and mask is not None):
        # What such a kernel takes is a list of pairs, the same for all heads.
        table = query.new_ones(query.shape[0], query.shape[2], key.shape[2], dtype=torch.bool)
        if mask is not None:
            if (mask != mask[:, :1]).any():
                raise NotImplementedError("a list of edges is the same for all heads")
            table = mask[:, 0]
        hidden = Edges([item.nonzero().T.flip(0) for item in table])
    late = Causal() if causal else None
    return attend(
        query,
        key,
        value,
        score="scaled_dot" if scale is None else Dot(scale),
        mask=hidden & late if hidden is not None and late is not None else hidden or late,
        position=None if bias is None else Bias(bias),
        dropout=dropout,
        seed=seed,
        engine=engine,
    )


_EDGES = {"jit": "always", "triton": "masks"}
"""Engines whose kernels take the jury's masks as lists of edges, and `jit`, which has no other for inner products."""


def _made(engine: str) -> Candidate:
    edges = _EDGES.get(engine, "never")
    source = source_of(regard_engine, attention=f"regard_engine({engine!r}, {edges!r}, *tensors, **options)")
    return Candidate(f"regard-{engine}", partial(regard_engine, engine, edges), CLAIMS, source)


ENGINES: dict[str, Callable[[], Candidate]] = {
    # `banded` takes windows alone, for which no law asks.
    f"regard-{engine}": partial(_made, engine)
    for engine in ("auto", *_KNOWN)
    if engine != "banded"
}
