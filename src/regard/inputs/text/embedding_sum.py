"""The sum of the vectors of several ids."""

from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.compilation.traceable import is_traceable

__all__ = ["EmbeddingSum"]


class EmbeddingSum(nn.EmbeddingBag):
    """The sum of the vectors of a row of ids, in which id 0 counts for nothing.

    Args:
        ids: the number of ids.
        width: the size of the vectors.

    Example:
        >>> import torch
        >>> table = EmbeddingSum(3, 2)
        >>> _ = table.weight.data.fill_(1.0)
        >>> table(torch.tensor([[1, 2, 0], [0, 0, 0]])).tolist()
        [[2.0, 2.0], [0.0, 0.0]]
    """

    def __init__(self, ids: int, width: int):
        super().__init__(ids, width, mode="sum", padding_idx=0)

    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Float[Tensor, "row width"]:
        """The sum for each row of `input`, (row, id)."""
        if not is_traceable():
            return super().forward(input, offsets, per_sample_weights)
        # Elsewhere the operation is a loop over the rows. This one holds the vectors of all ids.
        return (nn.functional.embedding(input, self.weight) * (input > 0).unsqueeze(-1)).sum(1)
