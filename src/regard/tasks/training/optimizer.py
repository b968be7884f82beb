"""The optimiser of a recipe, AdamW or Muon: groups with and without weight decay, and the learning rate schedule."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.tasks.recipe import Recipe

__all__ = ["Muon", "make_optimizer", "multiplies_bfloat16", "orthogonalise", "set_rate", "share_of_rate"]


def make_optimizer(
    module: nn.Module, recipe: Recipe, factors: Mapping[str, float] | None = None
) -> torch.optim.Optimizer:
    """AdamW or Muon, for all parameters of a module.

    Args:
        module: the module.
        recipe: how to train.
        factors: the learning rates of parameters as multiples of the recipe's, by name; 1 for the others.

    Weight decay applies to matrices that mix features. It would only shrink the embeddings of rare words, and biases
    and norms need none.
    """
    tables = {id(p) for m in module.modules() if isinstance(m, nn.Embedding | nn.EmbeddingBag) for p in m.parameters()}
    decayed = [p for p in module.parameters() if p.ndim > 1 and id(p) not in tables]
    kept = [p for p in module.parameters() if p.ndim <= 1 or id(p) in tables]
    groups = [{"params": decayed, "weight_decay": recipe.weight_decay}, {"params": kept, "weight_decay": 0.0}]
    if factors:
        # Where nothing is trained, an optimiser wants parameters all the same.
        groups = _by_factor(groups, {id(p): factors.get(name, 1.0) for name, p in module.named_parameters()}) or groups
    settings: dict[str, Any] = {"lr": recipe.learning_rate, "betas": (0.9, recipe.beta2)}
    if recipe.optimizer == "adamw":
        return torch.optim.AdamW(groups, **settings, fused=True)
    # Muon takes matrices only; the filters of a convolution have a third axis.
    matrices = [p for p in decayed if p.ndim == 2]
    groups[0]["params"] = [p for p in decayed if p.ndim != 2]
    turned = {"params": matrices, "weight_decay": recipe.weight_decay}
    return Muon([{**group, "matrices": False} for group in groups] + [{**turned, "matrices": True}], **settings)


def _by_factor(groups: Iterable[dict[str, Any]], factors: Mapping[int, float]) -> list[dict[str, Any]]:
    """The trained parameters of each group, in a group for each factor of their learning rate."""
    found = []
    for group in groups:
        trained = [p for p in group["params"] if p.requires_grad]
        for factor in sorted({factors[id(p)] for p in trained}):
            own = [p for p in trained if factors[id(p)] == factor]
            found.append({**group, "params": own, "factor": factor})
    return found


def set_rate(optimizer: torch.optim.Optimizer, recipe: Recipe, done: float) -> None:
    """Set the learning rate for the next update; `done` is the fraction of the training that is done."""
    for group in optimizer.param_groups:
        group["lr"] = group.get("factor", 1.0) * recipe.learning_rate * share_of_rate(recipe, done)


def share_of_rate(recipe: Recipe, done: float) -> float:
    """The learning rate as a fraction of the recipe's, after the fraction `done` of the training.

    Example:
        >>> recipe = Recipe(warm_up=0.5)
        >>> [round(share_of_rate(recipe, done), 3) for done in (0.25, 0.5, 0.75)]
        [0.502, 1.0, 0.5]
    """
    if done < recipe.warm_up:
        # At a rate of zero the first batch would have no effect.
        return min(1.0, (done + 1e-3) / recipe.warm_up)
    rest = (done - recipe.warm_up) / (1 - recipe.warm_up)
    return 1 - rest if recipe.schedule == "linear" else 0.5 * (1 + math.cos(math.pi * rest))


# The polynomial a x + b x^3 + c x^5, applied five times, maps values in (0, 1] close to 1.
_POLYNOMIAL = 3.4445, -4.7750, 2.0315
_TIMES = 5


class Muon(torch.optim.Optimizer):
    """Orthogonalised momentum for some matrices, AdamW for all other parameters.

    The largest singular values of a gradient dominate the update; AdamW scales each entry on its own and doesn't change
    that. The update is scaled to the size of AdamW's, so that both use the same learning rate and weight decay.

    Args:
        groups: parameter groups as for torch's optimisers. Groups whose "matrices" is true hold only matrices, whose
            updates are orthogonalised; at least one group must be left to AdamW.
        lr, betas: the learning rate of both, and the betas of AdamW.
        momentum: the decay of the moving average of the gradients.
        dtype: the type in which the update is orthogonalised. None: bfloat16 if the processor has instructions for it,
            else float32, since bfloat16 without them is many times slower. The rounding has no visible effect.

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
        # It has no state of its own: each step gives it the state and the groups of this optimiser.
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
        # Nesterov momentum: the average after another gradient like this one.
        ahead = gradient.lerp(state["momentum"], self.momentum)
        dtype = self.dtype or (torch.bfloat16 if multiplies_bfloat16(matrix.device) else torch.float32)
        step = orthogonalise(ahead.to(dtype)).to(matrix.dtype)
        # The mean square of the entries is 1 / (longer side) in an orthogonal matrix, and about 0.2^2 in an AdamW step.
        matrix.mul_(1 - rate * decay).sub_(step, alpha=0.2 * rate * max(matrix.shape) ** 0.5)


def orthogonalise(matrix: Float[Tensor, "row column"]) -> Float[Tensor, "row column"]:
    """Bring the singular values of a matrix to between 0.68 and 1.14, except those far below its norm.

    Source: Jordan et al. 2024: five Newton-Schulz iterations, with a polynomial that is steep at 0 and doesn't converge
    to 1.

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


def multiplies_bfloat16(device: torch.device) -> bool:
    """Whether this device has bfloat16 instructions; False for a CPU if this PyTorch is too old to tell."""
    if device.type != "cpu":
        return True
    able = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(able.get("avx512_bf16") or able.get("amx_bf16"))
