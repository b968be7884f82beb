"""Attention functions that people use, judged by the laws of `regard.jury`: which hold, which fail, and by how much.

    python benchmarks/league.py                  all, in about ten minutes on two cores
    python benchmarks/league.py sdpa flex        only some, into the same table

Each function is called as its own library calls it (src/regard/jury/candidates/). Those of libraries that are no
dependency of regard are adapted here: x-transformers, local-attention, PyTorch Geometric. One that isn't
installed is left out, and the table says so. An error in a row is the worst of all cases, in units of its bound.
"""

import argparse
import json
import math
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import torch
from measuring import RESULTS, conditions, save
from torch import Tensor

from regard.jury import CANDIDATES, Candidate, Claims, Judgement, Verdict, candidate, check

COLUMNS = ("function", "laws that hold", "laws that fail, by how many bounds", "not offered")
NOT_HERE = ("regard-triton", "sdpa-efficient", "sdpa-cudnn", "flex-compiled")
"""They need a GPU, and the last compiles anew for each size: on a CPU it takes hours."""
WORSE = 1e6


def x_transformers(
    query: Tensor, key: Tensor, value: Tensor, *, mask: Tensor | None = None, causal: bool = False, flash: bool = False
) -> Tensor:
    from x_transformers.attend import Attend

    output, _ = Attend(causal=causal, flash=flash)(query, key, value, mask=mask)
    return output


def x_transformers_flash(query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
    return x_transformers(query, key, value, flash=True, **options)


def local_attention(query: Tensor, key: Tensor, value: Tensor, *, mask: Tensor | None = None) -> Tensor:
    """One window that holds everything, so that local attention is attention."""
    from local_attention import LocalAttention

    length = max(query.shape[2], key.shape[2])
    if query.shape[2] != key.shape[2]:
        raise NotImplementedError("as many queries as keys")
    layer = LocalAttention(window_size=length, causal=False, look_backward=0, look_forward=0, use_rotary_pos_emb=False)
    if mask is not None:
        raise NotImplementedError("its mask is of keys")
    return layer(query, key, value)


def transformer_conv(query: Tensor, key: Tensor, value: Tensor, *, mask: Tensor | None = None) -> Tensor:
    """PyG's TransformerConv: messages and their softmax over the edges of each node, with projections left out."""
    from torch_geometric.nn import TransformerConv

    batch, heads, rows, feature = query.shape
    keys = key.shape[2]
    convolution = TransformerConv(1, feature, heads)
    flat = [tensor.transpose(1, 2).flatten(0, 1) for tensor in (query, key, value)]  # (b item) h feature
    allowed = query.new_ones(batch, heads, rows, keys, dtype=torch.bool) if mask is None else mask
    if (allowed != allowed[:, :1]).any():
        raise NotImplementedError("edges are the same for all heads")
    item, to, source = allowed[:, 0].nonzero(as_tuple=True)
    edges = torch.stack([source + item * keys, to + item * rows])
    sizes = (batch * keys, batch * rows)
    output = convolution.propagate(edges, query=flat[0], key=flat[1], value=flat[2], edge_attr=None, size=sizes)
    return output.view(batch, rows, heads, feature).transpose(1, 2)


# Its softmax is in float32, whatever the dtype: float64 isn't claimed.
X_TRANSFORMERS = Claims(mask="mask", causal="causal", dtypes=("float32", "bfloat16", "float16"))
OTHERS: dict[str, tuple[str, Callable[..., Tensor], Claims]] = {
    "x-transformers": ("x_transformers", x_transformers, X_TRANSFORMERS),
    "x-transformers, flash": ("x_transformers", x_transformers_flash, X_TRANSFORMERS),
    "local-attention": ("local_attention", local_attention, Claims()),
    "PyG TransformerConv": ("torch_geometric", transformer_conv, Claims(mask="mask")),
}


def chosen(name: str) -> Candidate | None:
    """The function of a name; None where its library isn't installed."""
    if name in CANDIDATES:
        return candidate(name)
    package, function, claims = OTHERS[name]
    return Candidate(name, function, claims) if find_spec(package) else None


def told(verdict: Verdict) -> str:
    """A law that fails, and by how much."""
    worst = verdict.worst
    ratio = math.inf if worst is None else worst.ratio
    if worst is not None and not math.isfinite(worst.error):
        return f"{verdict.law.name} (not finite)"
    return f"{verdict.law.name} ({f'{ratio:,.3g}' if ratio < WORSE else 'any'})"


def row(judgement: Judgement) -> list[str]:
    answers = [verdict.answer for verdict in judgement.verdicts]
    lost = ", ".join(told(verdict) for verdict in judgement.failed)
    absent = ", ".join(verdict.law.name for verdict in judgement.verdicts if verdict.answer.startswith("not"))
    return [judgement.name, str(answers.count("holds")), lost or "none", absent or "none"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("functions", nargs="*", help="names; all if there is none")
    names = parser.parse_args().functions or [name for name in (*CANDIDATES, *OTHERS) if name not in NOT_HERE]
    path = RESULTS / "league.json"
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"rows": []}
    rows = {each[0]: each for each in before["rows"]}
    left_out = []
    for name in names:
        function = chosen(name)
        if function is None:
            left_out.append(name)
            continue
        begin = time.monotonic()
        rows[name] = row(check(function))
        print(f"{name}: {' | '.join(rows[name][1:])}, {time.monotonic() - begin:.0f} s", flush=True)
    ordered = [rows[name] for name in (*CANDIDATES, *OTHERS) if name in rows]
    made = conditions(
        "transformers",
        "x-transformers",
        "local-attention",
        "torch-geometric",
        "regard",
        left_out=", ".join([*NOT_HERE, *left_out]),
    )
    save("league", COLUMNS, ordered, made)


if __name__ == "__main__":
    main()
