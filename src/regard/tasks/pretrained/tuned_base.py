"""A base whose weights are tuned, on batches of words or pieces: what its networks and its embedding share."""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from regard.attention.compilation.traceable import is_traceable
from regard.tasks.pretrained.tuning import Tuning, merge_adapters, prepare, rate_factors
from regard.tasks.training.optimizer import multiplies_bfloat16

__all__ = ["Pieces", "TunedBase", "at_first", "pieces_of"]

_HOLDER = "network."


class Pieces(NamedTuple):
    """A batch as a model of transformers' reads it.

    Args:
        input_ids: (text, piece) int64, with special tokens and padding.
        attention_mask: (text, piece) int64: 1 where there is no padding.
        first: (text, item) int64, the place of each item's first piece.
    """

    input_ids: Int64[Tensor, "text piece"]
    attention_mask: Int64[Tensor, "text piece"]
    first: Int64[Tensor, "text item"]


def pieces_of(vectors: Int64[Tensor, "text item piece"], prefix: Tensor, suffix: Tensor, padding: int) -> Pieces:
    """The pieces of the items of each text, one after the other, between the special tokens.

    Args:
        vectors: ids from 1 on; 0 is none.
        prefix, suffix: the ids of the special tokens before and after each text.
        padding: the id of padding.

    Example:
        >>> vectors = torch.tensor([[[5, 0], [6, 7]], [[8, 0], [0, 0]]])
        >>> pieces = pieces_of(vectors, torch.tensor([101]), torch.tensor([102]), padding=0)
        >>> pieces.input_ids.tolist(), pieces.first.tolist()
        ([[101, 4, 5, 6, 102], [101, 7, 102, 0, 0]], [[1, 2], [1, 2]])
    """
    # `len` would fix the number in a trace.
    texts, held = vectors.shape[0], vectors > 0
    counts, flat = held.sum(-1), held.flatten(1)
    lengths = len(prefix) + flat.sum(1)
    # A number that depends on a tensor can't be traced: there the size is the largest that is possible.
    most = flat.shape[1] if is_traceable() else int(flat.sum(1).max())
    size = len(prefix) + most + len(suffix)
    # What is no piece goes to a place behind all others, which is cut off.
    places = torch.where(flat, len(prefix) + flat.cumsum(1) - 1, size)
    input_ids = vectors.new_full((texts, size + 1), padding)
    input_ids = input_ids.scatter(1, places, vectors.flatten(1) - 1)[:, :size]
    input_ids = torch.cat([prefix.expand(texts, -1), input_ids[:, len(prefix) :]], 1)
    ends = lengths[:, None] + torch.arange(len(suffix), device=vectors.device)
    input_ids = input_ids.scatter(1, ends, suffix.expand(texts, -1))
    mask = torch.arange(size, device=vectors.device) < (lengths + len(suffix))[:, None]
    return Pieces(input_ids, mask.long(), len(prefix) + counts.cumsum(1) - counts)


class TunedBase(nn.Module):
    """A model of transformers', of which something or all is trained, on the pieces of words or texts.

    In training it computes in bfloat16 where the processor has instructions for it; the weights, and predictions, are
    float32.

    Args:
        model: the model.
        prefix, suffix: the ids of the special tokens before and after each text.
        padding: the id of padding.
        tuning: what is trained; None: nothing is, as of a model that is loaded.

    Raises:
        ArgumentError, MissingExtraError: as in `prepare`.
    """

    prefix: Tensor
    suffix: Tensor

    def __init__(self, model: Any, prefix: list[int], suffix: list[int], padding: int, tuning: Tuning | None):
        super().__init__()
        # transformers loads a model in evaluation mode, in which nothing is dropped.
        self.network = model.train()
        self.tuning = tuning
        if tuning is not None:
            prepare(model, tuning)
        self.register_buffer("prefix", torch.tensor(prefix, dtype=torch.int64), persistent=False)
        self.register_buffer("suffix", torch.tensor(suffix, dtype=torch.int64), persistent=False)
        self.padding = padding

    def pieces(self, vectors: Int64[Tensor, "text item piece"]) -> Pieces:
        """What the model reads of the vectors of a batch."""
        return pieces_of(vectors, self.prefix, self.suffix, self.padding)

    def rate_factors(self) -> dict[str, float]:
        """The learning rate of each trained parameter, as a multiple of the recipe's, by its name."""
        if self.tuning is None:
            return {}
        return {f"{_HOLDER}{name}": factor for name, factor in rate_factors(self.network, self.tuning).items()}

    def finish(self) -> None:
        """After training: merge the adapters, so that the tensors are those of the architecture."""
        merge_adapters(self.network)

    def found(self, input_ids: Int64[Tensor, "text piece"], attention_mask: Int64[Tensor, "text piece"]) -> Any:
        """What the model gives for these pieces, as transformers calls it."""
        device = input_ids.device
        fast = self.training and multiplies_bfloat16(device)
        with torch.autocast(device.type, torch.bfloat16, enabled=fast):
            return self.network(input_ids=input_ids, attention_mask=attention_mask)


def at_first(vectors: Float[Tensor, "text piece vector"], first: Int64[Tensor, "text item"]) -> Tensor:
    """The vectors of the first piece of each item; meaningless at padding."""
    places = first.clamp(max=vectors.shape[1] - 1)
    return vectors.gather(1, places[..., None].expand(-1, -1, vectors.shape[-1]))
