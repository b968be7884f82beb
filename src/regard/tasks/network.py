"""The networks of recipes with their embeddings; for taggers and classifiers with a linear output, or several."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.inputs import Batch, Vocabulary
from regard.modules import CopyHead
from regard.modules.dropout import Dropout
from regard.modules.pooling import POOLINGS, Pooling
from regard.special_ids import END, PADDING
from regard.tasks.exporting.traced import TracedNetwork, batch_of
from regard.tasks.linear_part import LinearPart
from regard.tasks.recipe import Recipe

__all__ = ["Ensemble", "SourceNetwork", "encoder_decoder", "source_network"]


class _ItemsOrWhole(TracedNetwork):
    """What networks with outputs for each item, or for the whole of a source, share when they are exported."""

    def outputs_for(self, tensors: Mapping[str, Tensor]) -> Tensor:
        network: Any = self
        batch = batch_of(tensors)
        return network.item_numbers(batch) if network.pooling is None else network(batch)


class SourceNetwork(nn.Module, _ItemsOrWhole):
    """Maps a batch of sources to outputs for each source, or for each of their items.

    Args:
        recipe: the kind of source, the network and, for outputs for each source, the pooling.
        encoder: the encoder of the sources, which determines the sizes of tables.
        outputs: the number of outputs.

    Raises:
        ArgumentError: features of a whole source, which a network for items would ignore.
    """

    def __init__(self, recipe: Recipe, encoder: Any, outputs: int):
        super().__init__()
        self.embedding = recipe.input.embedding(encoder, recipe.width)
        self.dropout = Dropout(recipe.dropout)
        architecture = recipe.architecture
        relations = recipe.input.relations if architecture.attends else 0
        self.network = architecture.build(pair_bias=relations > 0)
        # A bias on the scores for each relation and head, initially 0.
        self.relations = nn.Embedding(relations, recipe.heads) if relations else None
        if self.relations is not None:
            nn.init.zeros_(self.relations.weight)
        pooling = getattr(recipe.task, "pooling", None)
        self.pooling = None if pooling is None else POOLINGS[pooling](recipe.width)
        self.output = nn.Linear(recipe.width, outputs)
        self.linear: LinearPart | None = None
        size = recipe.input.whole_size(encoder)
        if size and pooling is None:
            raise ArgumentError(_no_whole(recipe))
        self.whole = WholeEmbedding(size, recipe.width, recipe.dropout) if size else None

    @property
    def members(self) -> tuple["SourceNetwork"]:
        """The network itself, so that it can be used like an `Ensemble`."""
        return (self,)

    def hidden(self, batch: Batch) -> Float[Tensor, "batch length width"]:
        """The vector of each item in its context."""
        vectors = self.dropout(self.embedding(batch.vectors))
        bias = None
        if self.relations is not None:
            # (batch query key head) -> (batch head query key)
            bias = self.relations(batch.relations).permute(0, 3, 1, 2)
        return self.network(vectors, batch.lengths, batch.mask, bias)

    def features(self, batch: Batch) -> Float[Tensor, "target width"]:
        """The vectors before the output layer: one for each source, or for each item, source by source."""
        hidden = self.hidden(batch)
        if self.pooling is None:
            return hidden[batch.real]
        pooled = self.pooling(hidden, batch.lengths)
        return pooled if self.whole is None else pooled + self.whole(batch.whole)

    def item_numbers(self, batch: Batch) -> Float[Tensor, "batch length output"]:
        """The outputs for each item; those at padding are meaningless."""
        return with_linear(self, self.output(self.hidden(batch)), batch)

    def forward(self, batch: Batch) -> Float[Tensor, "target output"]:
        """The outputs, which a `Target` decodes."""
        if self.pooling is None:
            return self.item_numbers(batch)[batch.real]
        return with_linear(self, self.output(self.features(batch)), batch)


class WholeEmbedding(nn.Module):
    """Maps the features of a whole source to a vector that is added to that of its items.

    It is zeros at first, and stays so for features that training never had.

    Args:
        size: the number of features.
        width: the size of the vector.
        dropout: the fraction dropped of the features.

    Example:
        >>> WholeEmbedding(3, 2, dropout=0.0)(torch.ones(1, 3)).tolist()
        [[0.0, 0.0]]
    """

    def __init__(self, size: int, width: int, dropout: float):
        super().__init__()
        self.dropout = Dropout(dropout)
        self.linear = nn.Linear(size, width)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, whole: Float[Tensor, "batch feature"]) -> Float[Tensor, "batch width"]:
        """The vector of each source."""
        return self.linear(self.dropout(whole))


def encoder_decoder(recipe: Recipe, encoder: Any, target: Any) -> Any:
    """The network of a recipe for seq2seq or synthesis, with its initial weights.

    Args:
        recipe: the recipe.
        encoder: the encoder of the sources, which determines the sizes of tables.
        target: the target of the task.

    Raises:
        ArgumentError: sources with edges, a linear part or features of the whole, which the network would ignore; or
            copying from sources that aren't texts.
    """
    if getattr(recipe.task, "copying", False) and recipe.input.kind != "texts":
        raise ArgumentError(
            f"`task.copying` must be false for {recipe.input.kind}, as only of texts there are pieces to copy, but is "
            "true."
        )
    if getattr(recipe.input, "edges", False):
        kind = recipe.task.kind
        raise ArgumentError(
            f"`input.edges` must be false for {kind}, whose networks attend to all of a source, but is true."
        )
    if getattr(recipe.input, "linear", False):
        raise ArgumentError(
            f"`input.linear` must be false for {recipe.task.kind}, which has no linear part, but is true."
        )
    if recipe.input.whole_size(encoder):
        raise ArgumentError(_no_whole(recipe))
    network = recipe.architecture.build(recipe.input.embedding(encoder, recipe.width), target)
    if getattr(recipe.task, "copying", False):
        network.copying = CopyHead(recipe.width, _copied_ids(encoder, target.vocabulary))
    return network


def _copied_ids(source: Vocabulary, target: Vocabulary) -> Tensor:
    """For each id of the source the id of the same piece in the target; `PADDING` if it has none."""
    known = {target.decode([piece]): piece for piece in range(END + 1, target.size)}
    # The text of an unknown piece, and of a part of a character.
    known["\ufffd"] = PADDING
    ids = [known.get(source.decode([piece]), PADDING) for piece in range(END + 1, source.size)]
    return torch.tensor([PADDING] * (END + 1) + ids)


def _no_linear(recipe: Recipe) -> str:
    if recipe.input.kind == "words":
        wanted = '"affixes" for a tagger, and "words" or "characters" for a classifier'
        return (
            f"`input.linear_ngrams` must be {wanted}, but is {recipe.input.linear_ngrams!r}. Without a linear part, "
            "set `input.linear` to false."
        )
    return f"`input.linear` must be false for a {recipe.task.kind} of {recipe.input.kind}, but is true."


def _no_whole(recipe: Recipe) -> str:
    return (
        f"`input` must have no `counts` and no `fingerprint` for {recipe.task.kind}, whose networks read no features "
        "of a whole source, but has them. Leave them out."
    )


class Ensemble(nn.Module, _ItemsOrWhole):
    """The mean of the outputs of several networks of one recipe.

    The members make different errors, so the error of the mean is smaller than the mean of their errors.

    Args:
        members: two or more networks with different initial weights.

    Source: Lakshminarayanan et al. 2017 (arXiv 1612.01474), section 2.4. They average probabilities. Here the outputs
        before softmax or sigmoid are averaged, so that labels, several labels and numbers are treated alike.
    """

    def __init__(self, members: Sequence[SourceNetwork]):
        super().__init__()
        self.members: Any = nn.ModuleList(members)
        self.linear: LinearPart | None = None

    @property
    def pooling(self) -> Pooling | None:
        """The pooling of the first member; either all members have one, or none."""
        return self.members[0].pooling

    def item_numbers(self, batch: Batch) -> Float[Tensor, "batch length output"]:
        """The outputs for each item, as in `SourceNetwork.item_numbers`."""
        own = torch.stack([member.item_numbers(batch) for member in self.members]).mean(0)
        return with_linear(self, own, batch)

    def forward(self, batch: Batch) -> Float[Tensor, "target output"]:
        """The outputs, which a `Target` decodes."""
        if self.pooling is None:
            return self.item_numbers(batch)[batch.real]
        return with_linear(self, torch.stack([member(batch) for member in self.members]).mean(0), batch)


def with_linear(network: SourceNetwork | Ensemble, given: Float[Tensor, "..."], batch: Batch) -> Float[Tensor, "..."]:
    """The outputs of a network and those of its linear part together, if it has one."""
    return given if network.linear is None else network.linear.joined(given, batch)


def source_network(recipe: Recipe, encoder: Any, outputs: int) -> SourceNetwork | Ensemble:
    """The network of a recipe for a tagger or a classifier, with its initial weights.

    Args:
        recipe, encoder, outputs: as in `SourceNetwork`; `members` of the recipe is the number of members.

    Raises:
        ArgumentError: as in `SourceNetwork`, or a linear part for another kind of output.
    """
    if recipe.architecture.of_source:
        return recipe.input.network(encoder, outputs, per_item=getattr(recipe.task, "pooling", None) is None)
    members = [SourceNetwork(recipe, encoder, outputs) for _ in range(recipe.members)]
    network = Ensemble(members) if len(members) > 1 else members[0]
    network.linear = recipe.input.linear_part(encoder, outputs)
    if network.linear is not None and network.linear.per_item is not (network.pooling is None):
        raise ArgumentError(_no_linear(recipe))
    if network.linear is not None and network.linear.leaves:
        for member in members:
            # Before training, the network leaves what the linear part says as it is.
            nn.init.zeros_(member.output.weight)
            nn.init.zeros_(member.output.bias)
    return network
