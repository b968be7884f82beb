"""A fine-tuned base as a network: a model of transformers', on batches of words or pieces."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from regard.inputs import Batch
from regard.tasks.exporting.traced import TracedNetwork
from regard.tasks.pretrained.tuned_base import TunedBase
from regard.tasks.pretrained.tuning import Tuning

__all__ = ["Pieces", "PretrainedNetwork", "pieces_of"]

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
    held = vectors > 0
    counts, flat = held.sum(-1), held.flatten(1)
    lengths = len(prefix) + flat.sum(1)
    size = len(prefix) + int(flat.sum(1).max()) + len(suffix)
    input_ids = vectors.new_full((len(vectors), size), padding)
    input_ids[:, : len(prefix)] = prefix
    rows, places = flat.nonzero(as_tuple=True)
    input_ids[rows, len(prefix) + flat.cumsum(1)[rows, places] - 1] = vectors.flatten(1)[rows, places] - 1
    ends = lengths[:, None] + torch.arange(len(suffix), device=vectors.device)
    input_ids.scatter_(1, ends, suffix.expand(len(vectors), -1))
    mask = torch.arange(size, device=vectors.device) < (lengths + len(suffix))[:, None]
    return Pieces(input_ids, mask.long(), len(prefix) + counts.cumsum(1) - counts)


class PretrainedNetwork(TunedBase, TracedNetwork):
    """A model of transformers' with an output layer of its own, as the network of a tagger or a classifier.

    Its tensors have the names that transformers gives them, so that a saved folder loads there, too.

    Args:
        model, padding, tuning: as in `TunedBase`; the model has an output layer.
        prefix, suffix: the ids of the special tokens before and after each text.
        per_item: whether its outputs are for each item, read from its first piece.

    Raises:
        ArgumentError, MissingExtraError: as in `prepare`.
    """

    input_axes: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "input_ids": ("batch", "pieces"),
        "attention_mask": ("batch", "pieces"),
        "first": ("batch", "length"),
        "lengths": ("batch",),
    }
    item_axis: ClassVar[str] = "pieces"
    input_meanings: ClassVar[Mapping[str, str]] = {
        "input_ids": "the ids of the pieces of each text, with special tokens, filled up with that of padding",
        "attention_mask": "1 for each piece, 0 at padding",
        "first": "the place of the first piece of each word, filled up with zeros",
        "lengths": "the number of words of each sentence, 1 or more",
    }

    linear = None
    prefix: Tensor
    suffix: Tensor

    def __init__(
        self,
        model: Any,
        prefix: list[int],
        suffix: list[int],
        padding: int,
        *,
        per_item: bool,
        tuning: Tuning | None,
    ):
        super().__init__(model, padding, tuning)
        self.register_buffer("prefix", torch.tensor(prefix, dtype=torch.int64), persistent=False)
        self.register_buffer("suffix", torch.tensor(suffix, dtype=torch.int64), persistent=False)
        # Where there is one output for a text, the model's own output layer pools.
        self.pooling = None if per_item else nn.Identity()
        self.output = nn.Identity()
        self.register_state_dict_post_hook(_without_holder)
        self.register_load_state_dict_pre_hook(_with_holder)

    @property
    def members(self) -> tuple["PretrainedNetwork"]:
        """The network itself, so that it can be used like an `Ensemble`."""
        return (self,)

    def item_numbers(self, batch: Batch) -> Float[Tensor, "text item output"]:
        """The outputs for each item; those at padding are meaningless."""
        pieces = self.pieces(batch.vectors)
        return _at(self._outputs(pieces.input_ids, pieces.attention_mask), pieces.first)

    def forward(self, batch: Batch) -> Float[Tensor, "target output"]:
        """The outputs, which a `Target` decodes."""
        if self.pooling is None:
            return self.item_numbers(batch)[batch.real]
        pieces = self.pieces(batch.vectors)
        return self._outputs(pieces.input_ids, pieces.attention_mask)

    def features(self, batch: Batch) -> Float[Tensor, "target output"]:
        """The outputs: where the output layer begins is not the same in every architecture."""
        return self(batch)

    def pieces(self, vectors: Int64[Tensor, "text item piece"]) -> Pieces:
        """What the model reads of the vectors of a batch."""
        return pieces_of(vectors, self.prefix, self.suffix, self.padding)

    def config(self, names: Sequence[str], problem: str) -> dict[str, Any]:
        """The configuration of the model, for transformers.

        Args:
            names: the names of the outputs; empty for a number.
            problem: what they are, as transformers calls it.
        """
        held = self.network.config.to_dict()
        held.pop("_name_or_path", None)
        called = dict(enumerate(names or ("number",)))
        return {
            **held,
            "problem_type": problem,
            "architectures": [type(self.network).__name__],
            # The file has float16.
            "dtype": "float32",
            "id2label": {str(place): name for place, name in called.items()},
            "label2id": {name: place for place, name in called.items()},
        }

    def inputs_of(self, batch: Batch) -> dict[str, Tensor]:
        pieces = self.pieces(batch.vectors)
        found = {"input_ids": pieces.input_ids, "attention_mask": pieces.attention_mask}
        if self.pooling is not None:
            return found
        return {**found, "first": pieces.first * batch.real, "lengths": batch.lengths}

    def outputs_for(self, tensors: Mapping[str, Tensor]) -> Tensor:
        outputs = self._outputs(tensors["input_ids"], tensors["attention_mask"])
        if self.pooling is not None:
            return outputs
        first = tensors["first"]
        real = torch.arange(first.shape[1], device=first.device) < tensors["lengths"][:, None]
        return _at(outputs, first) * real[..., None]

    def _outputs(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return self.found(input_ids, attention_mask).logits.float()


def _at(outputs: Float[Tensor, "text piece output"], first: Int64[Tensor, "text item"]) -> Tensor:
    """The outputs of the first piece of each item; meaningless at padding."""
    places = first.clamp(max=outputs.shape[1] - 1)
    return outputs.gather(1, places[..., None].expand(-1, -1, outputs.shape[-1]))


def _without_holder(module: nn.Module, state: dict[str, Any], prefix: str, *_: Any) -> None:
    """Name the tensors as transformers does."""
    for name in [name for name in state if name.startswith(prefix + _HOLDER)]:
        state[prefix + name.removeprefix(prefix + _HOLDER)] = state.pop(name)


def _with_holder(module: nn.Module, state: dict[str, Any], prefix: str, *_: Any) -> None:
    for name in [name for name in state if name.startswith(prefix)]:
        state[prefix + _HOLDER + name.removeprefix(prefix)] = state.pop(name)
