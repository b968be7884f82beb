"""How far a result may be from the same thing in float64: a share of the largest number in it, by dtype."""

import torch
from torch import Tensor

SHARE = {torch.float32: 5e-6, torch.float64: 2e-13}


def assert_close(found: Tensor, true: Tensor, *, times: float = 1.0, least: float = 1e-3) -> None:
    assert found.shape == true.shape
    if not true.numel():
        return
    gap = float((found.double() - true).abs().max())
    allowed = times * SHARE[found.dtype] * max(float(true.abs().max()), least)
    assert gap <= allowed, f"off by {gap:.1e}, where {allowed:.1e} is allowed"
