"""A base whose weights are tuned: what its network and its embedding share."""

from typing import Any

import torch
from jaxtyping import Int64
from torch import Tensor, nn

from regard.tasks.pretrained.cased_embedding import merge_cased
from regard.tasks.pretrained.tuning import Tuning, merge_adapters, prepare, rate_factors
from regard.tasks.training.optimizer import multiplies_bfloat16

__all__ = ["TunedBase"]

_HOLDER = "network."


class TunedBase(nn.Module):
    """A model of transformers', of which something or all is trained.

    In training it computes in bfloat16 where the processor has instructions for it; the weights, and predictions, are
    float32.

    Args:
        model: the model.
        padding: the id of padding.
        tuning: what is trained; None: nothing is, as of a model that is loaded.

    Raises:
        ArgumentError, MissingExtraError: as in `prepare`.
    """

    def __init__(self, model: Any, padding: int, tuning: Tuning | None):
        super().__init__()
        # transformers loads a model in evaluation mode, in which nothing is dropped.
        self.network = model.train()
        self.tuning = tuning
        if tuning is not None:
            prepare(model, tuning)
        self.padding = padding

    def rate_factors(self) -> dict[str, float]:
        """The learning rate of each trained parameter, as a multiple of the recipe's, by its name."""
        if self.tuning is None:
            return {}
        return {f"{_HOLDER}{name}": factor for name, factor in rate_factors(self.network, self.tuning).items()}

    def finish(self) -> None:
        """After training: merge adapters and capitals, so that the tensors are those of the architecture."""
        merge_adapters(self.network)
        merge_cased(self.network)

    def found(self, input_ids: Int64[Tensor, "text piece"], attention_mask: Int64[Tensor, "text piece"]) -> Any:
        """What the model gives for these pieces, as transformers calls it."""
        device = input_ids.device
        fast = self.training and multiplies_bfloat16(device)
        with torch.autocast(device.type, torch.bfloat16, enabled=fast):
            return self.network(input_ids=input_ids, attention_mask=attention_mask)
