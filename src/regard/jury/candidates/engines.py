"""The engines of regard."""

from collections.abc import Callable
from functools import partial

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
    from regard.attention import Bias, Causal, Dense, Dot, Mask, attend

    class Table(Mask):
        def __init__(self, table: Tensor) -> None:
            self.table = table

        def allows(self, at):
            return self.table[at.batch, at.head, at.query, at.key]

    hidden = Table(mask) if mask is not None else Dense()
    return attend(
        query,
        key,
        value,
        score="scaled_dot" if scale is None else Dot(scale),
        mask=hidden & Causal() if causal else hidden if mask is not None else None,
        position=None if bias is None else Bias(bias),
        dropout=dropout,
        seed=seed,
        engine=engine,
    )


def _made(engine: str) -> Candidate:
    source = source_of(regard_engine, attention=f"regard_engine({engine!r}, *tensors, **options)")
    return Candidate(f"regard-{engine}", partial(regard_engine, engine), CLAIMS, source)


def _named(engine: str) -> Callable[[], Candidate]:
    return lambda: _made(engine)


ENGINES: dict[str, Callable[[], Candidate]] = {f"regard-{engine}": _named(engine) for engine in ("auto", *_KNOWN)}
