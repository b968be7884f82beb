"""PyTorch's `scaled_dot_product_attention`: as it chooses, and each backend alone."""

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor

from regard.jury.candidates.candidate import Candidate, source_of
from regard.jury.claims import Claims

__all__ = ["SDPA"]

CLAIMS = Claims(
    causal="is_causal",
    mask="attn_mask",
    bias="attn_mask",
    scale="scale",
    dropout="dropout_p",
    grouped="enable_gqa",
    value_size=True,
)


def sdpa(query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
    from torch.nn.functional import scaled_dot_product_attention

    return scaled_dot_product_attention(query, key, value, **options)


def sdpa_by(backend: str, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    with sdpa_kernel(getattr(SDPBackend, backend)):
        return scaled_dot_product_attention(query, key, value, **options)


def _by(backend: str, name: str) -> Candidate:
    source = source_of(sdpa_by, attention=f"sdpa_by({backend!r}, *tensors, **options)")
    return Candidate(name, partial(sdpa_by, backend), CLAIMS, source)


SDPA: dict[str, Callable[[], Candidate]] = {
    "sdpa": lambda: Candidate("sdpa", sdpa, CLAIMS, source_of(sdpa, attention="sdpa(*tensors, **options)")),
    "sdpa-math": lambda: _by("MATH", "sdpa-math"),
    "sdpa-flash": lambda: _by("FLASH_ATTENTION", "sdpa-flash"),
    "sdpa-efficient": lambda: _by("EFFICIENT_ATTENTION", "sdpa-efficient"),
    "sdpa-cudnn": lambda: _by("CUDNN_ATTENTION", "sdpa-cudnn"),
}
