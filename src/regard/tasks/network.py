"""The tagger's net: words to vectors, an encoder that lets them look at each other, a linear to the labels."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import Lengths, Relative
from regard.inputs import WordEncoder
from regard.modules import Encoder, EncoderLayer
from regard.tasks.recipe import Recipe

__all__ = ["TaggerNetwork"]


class TaggerNetwork(nn.Module):
    """Feature ids of words in, scores of labels out.

    Args:
        recipe: the sizes, and whether there is attention.
        reader: what makes the feature ids; it fixes the sizes of the tables.
        labels: how many labels.
    """

    def __init__(self, recipe: Recipe, reader: WordEncoder, labels: int):
        super().__init__()
        self.words = recipe.input.embedding(reader, recipe.width)
        self.dropout = nn.Dropout(recipe.dropout)
        parts = {"score": recipe.score, "weights": recipe.weights, "attention_dropout": recipe.attention_dropout}
        relative = recipe.position == "relative"
        self.encoder = Encoder(
            recipe.width,
            recipe.layers,
            recipe.heads,
            hidden=recipe.hidden,
            dropout=recipe.dropout,
            attention=recipe.attention,
            position=None if relative or recipe.position == "none" else recipe.position,
            **parts,
        )
        for layer in self.encoder.layers:
            # Each layer has vectors of its own: "three words ago" matters differently in the second layer.
            if relative and isinstance(layer, EncoderLayer) and layer.attention is not None:
                layer.attention.position = Relative(recipe.width // recipe.heads, recipe.reach)
        self.output = nn.Linear(recipe.width, labels)

    def hidden(
        self, features: Int[Tensor, "batch length feature"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch length width"]:
        """Each word's vector in context."""
        vectors = self.dropout(self.words(features))
        return self.encoder(vectors, mask=Lengths(lengths))

    def forward(
        self, features: Int[Tensor, "batch length feature"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch length label"]:
        """The scores of each word's labels, before the softmax."""
        return self.output(self.hidden(features, lengths))
