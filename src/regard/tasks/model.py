"""A trained model: a net, what reads its sources, and what its numbers mean."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import torch
from torch import Tensor

from regard.errors import ArgumentError
from regard.inputs import Batch, as_list
from regard.tasks.answers import Answer, answer_from_json
from regard.tasks.batching import batches_by_length
from regard.tasks.card import model_card
from regard.tasks.measure import Measure
from regard.tasks.network import SourceNetwork
from regard.tasks.recipe import Recipe
from regard.tasks.speech import Speech
from regard.tasks.store import write_model
from regard.tasks.text import Text

__all__ = ["SEEN", "Model"]

# The name under which a saved model keeps the keys of the words of its training.
SEEN = "seen_words"


_Given = TypeVar("_Given", bound=Answer | Text | Speech)


class Model(Generic[_Given]):
    """What every trained model has; `regard.train` makes one, `regard.load` reads one.

    Args:
        network: the net: sources in, numbers out.
        reader: what reads the sources.
        answer: what the numbers mean.
        recipe: how it was trained.
        seen: the keys of the words of training (`word_keys`), to tell apart the words it has never seen.
        about: where it comes from: plain values, for the card.
        name: what to call it.
    """

    kind: ClassVar[str]

    @classmethod
    def read_answer(cls, saved: Any) -> Any:
        """What the numbers of a saved model mean.

        Raises:
            ArgumentError or ModelError: it isn't what an answer's `to_json` writes.
        """
        return answer_from_json(saved)

    @classmethod
    def new_network(cls, recipe: Recipe, reader: Any, answer: Any) -> Any:
        """The net of a recipe, with the weights that training begins with."""
        return SourceNetwork(recipe, reader, answer.outputs)

    def __init__(
        self,
        network: Any,
        reader: Any,
        answer: _Given,
        recipe: Recipe,
        *,
        seen: Tensor | None = None,
        about: dict[str, Any] | None = None,
        name: str | None = None,
    ):
        self.network = network.eval()
        self.reader = reader
        self.answer = answer
        self.recipe = recipe
        self.seen = seen
        self.about = about or {}
        self.name = self.kind if name is None else name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.answer.said}, {self.parameters:,} parameters)"

    @property
    def measure(self) -> Measure:
        """The figure that says how good it is."""
        return self.answer.measure  # pyright: ignore[reportAttributeAccessIssue]  # a writer has its own

    @property
    def parameters(self) -> int:
        """How many numbers the net has learned."""
        return sum(parameter.numel() for parameter in self.network.parameters())

    def encode(self, sources: Iterable[Any]) -> Batch:
        """Sources as one batch, in the order given, where the net is.

        Raises:
            ArgumentError: a source that the model can't read.
        """
        source = self.recipe.input
        items = [source.item(self.reader, each) for each in as_list("sources", sources, "sources")]
        return source.batch(self.reader, items).to(next(self.network.parameters()).device)

    def save(self, folder: str | Path) -> Path:
        """Write the model as one folder: the weights rounded to float16, their description in JSON, and a card.

        Raises:
            ArgumentError: `folder` holds something that isn't a model; nothing is overwritten.
            OSError: the disk is full, or the place can't be written; what was there is as it was.
        """
        description = {
            "kind": self.kind,
            "recipe": self.recipe.to_json(),
            "answer": self.answer.to_json(),
            "reader": self.reader.to_json(),
            "parameters": self.parameters,
            "about": self.about,
        }
        tensors = dict(self.network.state_dict())
        if self.seen is not None:
            tensors[SEEN] = self.seen
        return write_model(folder, tensors, description, model_card(self.name, description))

    def _outputs(self, sources: list[Any], batch_items: int) -> list[Tensor | None]:
        """For each source the net's numbers, (output,) or, for its items, (item, output); None where it has no item."""
        if isinstance(batch_items, bool) or not isinstance(batch_items, int) or batch_items < 1:
            raise ArgumentError(f"`batch_items` must be a whole number, 1 or more, but is {batch_items!r}.")
        source = self.recipe.input
        items = [source.item(self.reader, each) for each in sources]
        found: list[Tensor | None] = [None] * len(items)
        present = [index for index, item in enumerate(items) if len(item)]
        device = next(self.network.parameters()).device
        self.network.eval()
        for places in batches_by_length([len(items[index]) for index in present], batch_items):
            members = [present[place] for place in places]
            batch = source.batch(self.reader, [items[index] for index in members])
            with torch.inference_mode():
                numbers = self.network(batch.to(device)).cpu()
            parts = numbers if self.network.pooling is not None else numbers.split(batch.lengths.tolist())
            for index, part in zip(members, parts, strict=True):
                found[index] = part
        return found
