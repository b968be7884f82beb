"""The attention functions of Hugging Face's models: "sdpa" of all, and "eager" of a family's module.

They are called as their models call them: the mask is added to the scores, the dtype's lowest number where it hides.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from torch import Tensor

from regard.extras import require
from regard.jury.candidates.candidate import Candidate, source_of
from regard.jury.claims import Claims

__all__ = ["FAMILIES", "HUGGING_FACE"]

FAMILIES = ("bart", "bert", "gemma2", "gpt2", "llama", "mistral", "qwen2", "siglip", "vit", "whisper")

# Their eager functions normalise in float32, whatever the dtype: float64 isn't claimed.
CLAIMS = Claims(
    mask="mask",
    bias="bias",
    causal="causal",
    scale="scale",
    dropout="dropout",
    dtypes=("float32", "bfloat16", "float16"),
)


def huggingface(
    kind: str,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    causal: bool = False,
    scale: float | None = None,
    dropout: float = 0.0,
) -> Tensor:
    import importlib

    import torch

    layer: Any = torch.nn.Module()
    layer.num_key_value_groups = query.shape[1] // key.shape[1]
    layer.is_causal, layer.scaling, layer.layer_idx = causal, scale or query.shape[-1] ** -0.5, 0
    layer.config = type("Config", (), {"scale_attn_by_inverse_layer_idx": False, "_attn_implementation": kind})()
    layer.scale_attn_weights, layer.scale_attn_by_inverse_layer_idx, layer.head_dim = True, False, query.shape[-1]
    layer.train(dropout > 0)
    rows, columns = query.shape[2], key.shape[2]
    if causal:
        allowed = torch.ones(rows, columns, dtype=torch.bool, device=query.device).tril(columns - rows)
        mask = allowed.expand(query.shape[0], 1, rows, columns)
    if mask is not None:
        lowest = torch.finfo(query.dtype).min
        bias = torch.zeros(mask.shape, dtype=query.dtype, device=query.device).masked_fill(~mask, lowest)
    if kind == "sdpa":
        module = importlib.import_module("transformers.integrations.sdpa_attention")
        run = module.sdpa_attention_forward
    else:
        run = importlib.import_module(f"transformers.models.{kind}.modeling_{kind}").eager_attention_forward
    output, _ = run(layer, query, key, value, bias, scaling=layer.scaling, dropout=dropout, is_causal=False)
    return output.transpose(1, 2)


def _made(kind: str, name: str) -> Candidate:
    require("transformers", extra="huggingface")
    # A model's own module says whether it repeats the heads of keys.
    grouped = kind in ("sdpa", "gemma2", "llama", "mistral", "qwen2")
    claims = replace(CLAIMS, grouped=grouped)
    source = source_of(huggingface, attention=f"huggingface({kind!r}, *tensors, **options)")
    return Candidate(name, partial(huggingface, kind), claims, source)


def _named(kind: str) -> Callable[[], Candidate]:
    name = "transformers-sdpa" if kind == "sdpa" else f"transformers-{kind}"
    return lambda: _made(kind, name)


HUGGING_FACE: dict[str, Callable[[], Candidate]] = {
    "transformers-sdpa": _named("sdpa"),
    **{f"transformers-{family}": _named(family) for family in FAMILIES},
}
