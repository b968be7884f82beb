"""Muon: an optimiser whose steps turn a matrix in all its directions alike."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

__all__ = ["Muon", "orthogonalise"]

# The polynomial a x + b x^3 + c x^5, applied so often, brings what lies in (0, 1] near 1.
_POLYNOMIAL = 3.4445, -4.7750, 2.0315
_TIMES = 5


class Muon(torch.optim.Optimizer):
    """AdamW for some parameters; for others, matrices, momentum with all of its singular values brought near 1.

    A gradient's largest directions drown the others, which AdamW's scale for each number doesn't mend: it knows rows
    and columns no more than the rest of the matrix does. The step is then as large as AdamW's would be, so that one
    learning rate and one weight decay do for both.

    Args:
        groups: as torch's optimisers take them; those with "matrices" true are turned, and hold only matrices; one at
            least is left to AdamW.
        lr, betas: the rate of both, and AdamW's averages.
        momentum: the share kept of the last steps.
        dtype: of the product that evens a step out; None: bfloat16 where the processor multiplies in it, else float32,
            since without such instructions it takes many times as long. What is lost in rounding doesn't show.

    Source: Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks"; the size of the step: Liu et
        al. 2025 (arXiv 2502.16982), section 2.2. torch.optim.Muon is in bfloat16 everywhere, and takes matrices alone.

    Example:
        >>> matrix, bias = torch.nn.Linear(3, 2).parameters()
        >>> muon = Muon([{"params": [matrix], "matrices": True}, {"params": [bias], "matrices": False}], lr=0.1)
        >>> before = matrix.detach().clone()
        >>> torch.nn.functional.linear(torch.ones(1, 3), matrix, bias).sum().backward()
        >>> muon.step()
        >>> bool(torch.equal(before, matrix))
        False
    """

    def __init__(
        self,
        groups: Iterable[dict[str, Any]],
        *,
        lr: float,
        betas: tuple[float, float] = (0.9, 0.98),
        momentum: float = 0.95,
        dtype: torch.dtype | None = None,
    ):
        groups = [*groups]
        # It has the rule, and no state: before each step it is lent what is here.
        self._adamw = torch.optim.AdamW([each for each in groups if not each["matrices"]], lr, betas, fused=True)
        super().__init__(groups, {"lr": lr, "weight_decay": 0.01})
        self.momentum = momentum
        self.dtype = dtype

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._adamw.state = self.state
        self._adamw.param_groups = [group for group in self.param_groups if not group["matrices"]]
        self._adamw.step()
        for group in self.param_groups:
            if group["matrices"]:
                for matrix in group["params"]:
                    if matrix.grad is not None:
                        self._turn(matrix, matrix.grad, group["lr"], group["weight_decay"])
        return loss

    def _turn(self, matrix: Tensor, gradient: Tensor, rate: float, decay: float) -> None:
        state = self.state[matrix]
        if not state:
            state["momentum"] = torch.zeros_like(matrix)
        state["momentum"].lerp_(gradient, 1 - self.momentum)
        # Nesterov's: where momentum will have led after the next gradient, if it is like this one.
        ahead = gradient.lerp(state["momentum"], self.momentum)
        dtype = self.dtype or (torch.bfloat16 if _multiplies_bfloat16(matrix.device) else torch.float32)
        step = orthogonalise(ahead.to(dtype)).to(matrix.dtype)
        # Entries of an orthogonal matrix have a mean square of 1 / its longer side, AdamW's steps one of about 0.2^2.
        matrix.mul_(1 - rate * decay).sub_(step, alpha=0.2 * rate * max(matrix.shape) ** 0.5)


def orthogonalise(matrix: Float[Tensor, "row column"]) -> Float[Tensor, "row column"]:
    """The matrix with singular values between 0.68 and 1.14 for its own, those far below its norm excepted.

    Source: Jordan et al. 2024: five times Newton-Schulz, with a polynomial that is steep at 0 and doesn't settle at 1.

    Example:
        >>> orthogonalise(torch.diag(torch.tensor([3.0, 1.0, 0.1]))).diag().round(decimals=1)
        tensor([0.8000, 1.1000, 1.1000])
    """
    a, b, c = _POLYNOMIAL
    tall = matrix.shape[0] > matrix.shape[1]
    turned = matrix.mT if tall else matrix
    turned = turned / turned.norm().clamp(min=1e-7)
    for _ in range(_TIMES):
        squared = turned @ turned.mT
        turned = torch.addmm(turned, torch.addmm(squared, squared, squared, beta=b, alpha=c), turned, beta=a)
    return turned.mT if tall else turned


def _multiplies_bfloat16(device: torch.device) -> bool:
    """Whether this device has instructions for it; an older PyTorch, which doesn't say so of a CPU, hasn't."""
    if device.type != "cpu":
        return True
    able = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(able.get("avx512_bf16") or able.get("amx_bf16"))
