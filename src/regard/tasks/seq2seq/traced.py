"""What is exported of a recogniser: its encoder and CTC head, which spell a text without the decoder."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from regard.tasks.exporting.traced import TracedNetwork, batch_of

__all__ = ["CTCNetwork"]


class CTCNetwork(nn.Module, TracedNetwork):
    """The encoder and the CTC head of a seq2seq network: a score of each id for each item of a source.

    Args:
        network: a `Seq2Seq` with a CTC head.
    """

    def __init__(self, network: Any):
        super().__init__()
        self.network = network

    def outputs_for(self, tensors: Mapping[str, Tensor]) -> Tensor:
        batch = batch_of(tensors)
        memory = self.network.encode(batch.vectors, batch.lengths)
        return self.network.spelling(memory.part("keys"))
