"""The base of the kinds of sources: settings, an encoder, encoded sources, batches, and an embedding."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.inputs import Batch, as_list
from regard.tasks.examples import Pair, as_pairs
from regard.tasks.judging.out_of_distribution import Statistic
from regard.tasks.settings import Settings

if TYPE_CHECKING:
    from regard.inspection import DrawnInput
    from regard.tasks.baselines import SimpleFeatures
    from regard.tasks.linear_part import LinearPart

__all__ = ["Framed", "Source"]


class Framed(NamedTuple):
    """The items of a source as a network attends to them.

    Args:
        names: the names of all items, those that the network adds included.
        first: the number of items that it adds in front.
        bounds: if an item is several of the network's vectors, the number of the first one of each item, from 0, and
            that after the last one; see `LayerRecord`.
    """

    names: tuple[str, ...]
    first: int = 0
    bounds: tuple[int, ...] | None = None


class Source(Settings):
    """The settings of a kind of source, which determine how sources become vectors. Each kind is a subclass.

    The encoder holds what is learned from the training sources, such as a vocabulary or a mean. It may be any object
    with `to_json`. An encoded source may be any object whose length is the number of its vectors.
    """

    noun: ClassVar[str]
    """The noun for one item of a source, which becomes one vector."""
    source_noun: ClassVar[str] = "source"
    """The noun for one source."""
    given: ClassVar[str]
    """For the documentation: what a source may be in Python."""
    vectors: ClassVar[str]
    """For the documentation: what its vectors are."""
    counted: ClassVar[tuple[str, str]] = ("sources", "items")
    """The nouns for sources and items where those of a tagger are counted."""
    argument: ClassVar[str] = "text"
    """The form of a source on the command line: a "text" itself, or the name of a "file" or "folder"."""
    is_text: ClassVar[bool] = False
    """Whether a source is a text or a list of words."""
    of_words: ClassVar[bool] = False
    """Whether an item is a word of a sentence, so that `regard tag` tags its items."""
    brings_network: ClassVar[bool] = False
    """Whether it can bring a network of its own, for the network "pretrained" of a recipe."""
    shorten: ClassVar[str] = "Cut it into parts."
    """The advice for a source with too many items."""
    example: ClassVar[str]
    """For the model card: an example of a source, as Python."""
    limits: ClassVar[str] = "It knows what is like its data, and nothing else."
    """For the model card: a sentence on what a model for such sources knows, and what it doesn't."""
    modalities: ClassVar[Mapping[str, int]] = {}
    """How well this kind suits data sets of these modalities (`Dataset.modality`), as `suits` says it of a source."""
    column: ClassVar[str] = "text"
    """The standard name of the column of a table that holds such sources, if they are texts."""
    recognised_by: ClassVar[str] = "the column `{column}`"
    """What shows that users' files hold such sources: the path of their `data`, or a `column` of theirs."""
    split_key: ClassVar[Callable[[Any], Any] | None] = None
    """What sources have in common that must not be separated by a split; None: their text, as in `split_by_source`."""
    updates: ClassVar[int] = 2000
    """The number of updates that a default recipe aims at. If there are few examples, it takes more epochs."""
    encoding: ClassVar[str] = "The inputs must be those that regard computes."
    """For exported models: what it takes to encode a source elsewhere, in a sentence or two."""
    defaults: ClassVar[Mapping[str, Any]] = {}
    """The settings of a default recipe that differ from those of `Recipe`."""

    @classmethod
    def suits(cls, source: Any) -> int:
        """How well this kind suits a source: 3 if it is meant for it, less if it can read it too, 0 if it can't.

        The kind that suits a source best is the default. Any text is a 3 for words, so a kind of text with a meaning of
        its own, such as dates, says 4.
        """
        return 0

    @classmethod
    def fitted(cls, pairs: Sequence[tuple[Any, Any]]) -> Mapping[str, Any]:
        """The settings of a default recipe that follow from the training examples, as in `defaults`."""
        return {}

    def target_warnings(self, pairs: Sequence[tuple[Any, Any]]) -> Iterator[str]:
        """What the training targets show that users should know of, as sentences."""
        yield from ()

    def check(self, recipe: Any) -> None:
        """Check what these settings ask of the rest of a recipe.

        Raises:
            ArgumentError: the recipe has something else.
        """

    def fit(self, sources: Iterable[Any]) -> Any:
        """Make the encoder from the training sources."""
        raise NotImplementedError(f"{type(self).__name__} must make an encoder")

    def encoder(self, saved: Any) -> Any:
        """Load the encoder of a saved model.

        Raises:
            ArgumentError or ModelError: `saved` isn't a result of the encoder's `to_json`.
        """
        raise NotImplementedError(f"{type(self).__name__} must make an encoder")

    def item(self, encoder: Any, source: Any) -> Any:
        """Encode a source. The length of the result is the number of its vectors.

        Raises:
            ArgumentError: it isn't a source of this kind.
            DataError: it is a file that can't be read.
        """
        raise NotImplementedError(f"{type(self).__name__} must encode sources")

    def size_of(self, item: Any) -> int:
        """What an encoded source counts for in a batch of `Recipe.batch_items`: the number of its vectors."""
        return len(item)

    def training_item(self, encoder: Any, source: Any) -> Any:
        """Encode a source for training; `batch` may augment the result differently each time."""
        return self.item(encoder, source)

    def itemised(self, source: Any) -> Any:
        """A source as `tag` takes it: a list of its items if it is made of them, else the source itself."""
        return source

    def as_itemised(self, sources: Iterable[Any]) -> list[Any]:
        """Check that sources are a list of what `itemised` gives.

        Raises:
            ArgumentError: they aren't.
        """
        return as_list("sources", sources, "sources")

    def as_labelled(self, examples: Iterable[Any], *, argument: str = "examples") -> Sequence[Pair]:
        """Check the examples of a tagger, and convert them to pairs of a source and the targets of its items.

        Raises:
            ArgumentError: an example has another form.
        """
        return as_pairs(examples, argument=argument)

    def item_keys(self, sources: Iterable[Any]) -> Tensor | None:
        """A key for each item of sources, by which a saved model knows those in training; None if items don't recur."""
        return None

    def unknown_pieces(self, encoder: Any, source: Any) -> list[str]:
        """The pieces of a source that aren't in the vocabulary, so that an encoder can't tell them apart."""
        return []

    def preparation(self, sources: Sequence[Any]) -> str | None:
        """A sentence on the preprocessing of sources, if users should know of it; else None."""
        return None

    def why_no_argument(self, encoder: Any) -> str | None:
        """Why a source of a model with this encoder can't be an argument on the command line; None if it can."""
        return None

    def from_argument(self, encoder: Any, argument: str) -> list[tuple[str, Any]]:
        """The sources that an argument on the command line stands for, each with its name for the output.

        Raises:
            ArgumentError: a file or folder is to be named, but the argument is empty.
            DataError: several sources are read from a file, and it can't be read.
        """
        if self.argument != "text" and not argument.strip():
            raise ArgumentError(f"a source must be the name of a {self.argument}, but is empty.")
        return [(argument, argument)]

    def ood_statistics(self, encoder: Any, source: Any) -> tuple[Statistic, ...]:
        """The statistics that show whether a source is out of distribution; empty if none are measured."""
        return ()

    def known_text(self, encoder: Any) -> str:
        """The concatenated vocabulary of an encoder of texts; "" for other encoders."""
        return ""

    def batch(self, encoder: Any, items: Sequence[Any]) -> Batch:
        """Make a batch of sources that `item` or `training_item` encoded."""
        return Batch.pad(items)

    def random_items(self, encoder: Any, lengths: Sequence[int]) -> list[Any]:
        """Encoded sources of these numbers of items with random content, the same each time.

        An exporter traces the network with them, and checks what it has made. A kind whose sources all have one number
        of items has that number.
        """
        raise NotImplementedError(f"{type(self).__name__} must make items to export models")

    def encoder_file(self, encoder: Any) -> str | None:
        """The module of `tasks.exporting.encoders` that encodes such sources without PyTorch; None if there is none."""
        return None

    def numpy_example(self, encoder: Any) -> str | None:
        """A source that `encoder_file` encodes, as Python, for the usage of exported models; None: a text."""
        return None

    def embedding(self, encoder: Any, width: int) -> nn.Module:
        """The module that maps the vectors of a batch to vectors of this width."""
        raise NotImplementedError(f"{type(self).__name__} must have an embedding")

    def own_fields(self, pairs: Sequence[tuple[Any, Any]], task: str, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        """The settings of a default recipe that depend on files that these settings name, as in `defaults`.

        Args:
            pairs: the training examples.
            task: the kind of the task.
            asked: those of these settings that were asked for, which must stay so.
        """
        return {}

    @property
    def digests(self) -> Mapping[str, str]:
        """A digest of each file that these settings name, which determines the trained weights beside the recipe."""
        return {}

    def origin(self, saved: Mapping[str, Any]) -> Mapping[str, Any]:
        """For the model card: where the weights come from that training began with; empty if from nowhere.

        Args:
            saved: what the encoder's `to_json` gave.

        Returns:
            "what" they are, the "name", the "licence" if one is stated, and "files", the SHA-256 of each.
        """
        return {}

    @property
    def linear_model(self) -> str:
        """For the model card: the linear part (`linear_part`)."""
        return (
            "a linear model of the mean of the items and of features of the whole, and the mean of both is the answer"
        )

    def linear_part(self, encoder: Any, outputs: int) -> "LinearPart | None":
        """The linear part of a model with so many outputs, to be fitted before training; None if it has none."""
        return None

    def linear_inputs(self, encoder: Any, items: Sequence[Any]) -> Iterator[Any]:
        """What the linear part is fitted to, for each encoded source: by default a batch of it alone."""
        return (self.batch(encoder, [item]) for item in items)

    def linear_key(self, encoder: Any, item: Any) -> Hashable:
        """What is the same for equal encoded sources, which the linear part must not be told one of by the other."""
        batch = self.batch(encoder, [item])
        held = (batch.vectors, batch.whole)
        return tuple(each.numpy().tobytes() for each in held if each is not None)

    def simple_features(self, encoder: Any) -> "SimpleFeatures":
        """The features of a whole source for the baseline that stands beside a model's score.

        By default statistics of its vectors; a kind whose vectors differ in width from batch to batch gives others.
        """
        from regard.tasks.baselines.features import ItemStatistics

        return ItemStatistics(self, encoder)

    def simple_items(self, encoder: Any, source: Any) -> Any:
        """The vectors (item, feature) of the items of a source, for a baseline: those of a batch of it alone."""
        return self.batch(encoder, [self.item(encoder, source)]).vectors[0]

    @property
    def relations(self) -> int:
        """The number of relations between items that a batch distinguishes; 0 if it has none."""
        return 0

    def whole_size(self, encoder: Any) -> int:
        """The number of features of a whole source (`Batch.whole`) that the network reads beside its items.

        A linear part may read more."""
        return 0

    def names(self, encoder: Any, source: Any) -> list[str]:
        """The names of the items of a source, for views of attention."""
        raise NotImplementedError(f"{type(self).__name__} must name its vectors")

    def framed(self, encoder: Any, source: Any, item: Any) -> Framed:
        """The items of a source, and what a network attends to beside them.

        Args:
            encoder: the encoder.
            source: the source.
            item: the same source, encoded.
        """
        return Framed(tuple(self.names(encoder, source)))

    def network(self, encoder: Any, outputs: int, *, per_item: bool) -> nn.Module:
        """The network that a kind brings (`brings_network`), in place of one of regard's.

        Args:
            encoder: the encoder.
            outputs: the number of outputs.
            per_item: whether there are outputs for each item.
        """
        raise NotImplementedError(f"{type(self).__name__} brings no network")

    def files(self, encoder: Any, network: nn.Module, target: Any) -> Mapping[str, bytes]:
        """Further files of a saved model's folder, by which other programs read it.

        Args:
            encoder: the encoder.
            network: the trained network.
            target: the target, which decodes its outputs.
        """
        return {}

    def grid(self, encoder: Any, source: Any) -> tuple[int, int] | None:
        """The (rows, columns) of the items of a source, if they form a grid; else None."""
        return None

    def drawn(self, encoder: Any, source: Any) -> "DrawnInput | None":
        """What a page draws of a source, as the model is given it; None if the names of its items say all."""
        return None
