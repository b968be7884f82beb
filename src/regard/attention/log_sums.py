"""The output of a call and the log-sums of its rows as one tensor, whose last column are the log-sums.

So an engine, autograd, a transform or a compiler has one result to pass on, with log-sums as without.
"""

import torch
from torch import Tensor

__all__ = ["joined", "split"]


def joined(output: Tensor, log_sums: Tensor) -> Tensor:
    """(..., query, value) and (..., query) as (..., query, value + 1), in the dtype of the log-sums."""
    return torch.cat([output.to(log_sums.dtype), log_sums.unsqueeze(-1)], dim=-1)


def split(result: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """What was joined: the output in this dtype, and the log-sums.

    Example:
        >>> split(joined(torch.ones(1, 2, dtype=torch.bfloat16), torch.zeros(1)), torch.bfloat16)
        (tensor([[1., 1.]], dtype=torch.bfloat16), tensor([0.]))
    """
    return result[..., :-1].to(dtype).contiguous(), result[..., -1].contiguous()
