"""What every kind of source has: settings, an encoder, encoded sources, batches, and an embedding."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from torch import nn

from regard.inputs import Batch
from regard.tasks.out_of_distribution import Statistic
from regard.tasks.settings import Settings

__all__ = ["Source"]


class Source(Settings):
    """Settings that say what a source is and how it becomes vectors. Subclass it, one file for each kind.

    What is learned from the training sources to read others, a vocabulary or a mean, is the encoder: whatever the kind
    needs, with `to_json`. A source that was read, as an item of a list, is kept in memory: it has a length.
    """

    noun: ClassVar[str]
    """What one of its vectors is called."""
    source_noun: ClassVar[str] = "source"
    """What one source is called."""
    argument: ClassVar[str] = "text"
    """How one is given on the command line: "text" as it is, "file" or "folder" by its name."""
    is_text: ClassVar[bool] = False
    """Whether one is a text, or the words of one."""
    shorten: ClassVar[str] = "Cut it into parts."
    """What to do with a source that has too many of them."""

    def fit(self, sources: Iterable[Any]) -> Any:
        """The encoder, having seen the training sources."""
        raise NotImplementedError(f"{type(self).__name__} must make an encoder")

    def encoder(self, saved: Any) -> Any:
        """The encoder that a model's description holds.

        Raises:
            ArgumentError or ModelError: it isn't what the reader's `to_json` writes.
        """
        raise NotImplementedError(f"{type(self).__name__} must make an encoder")

    def item(self, encoder: Any, source: Any) -> Any:
        """A source, read: its length is the number of its vectors.

        Raises:
            ArgumentError: it is no source of this kind.
            DataError: it is a file that can't be read.
        """
        raise NotImplementedError(f"{type(self).__name__} must say how it is read")

    def training_item(self, encoder: Any, source: Any) -> Any:
        """A source, read to be trained on: an item, or what `batch` makes another item of each time."""
        return self.item(encoder, source)

    def preparation(self, sources: Sequence[Any]) -> str | None:
        """A sentence on what is done to sources before they become vectors, where a user should know; else None."""
        return None

    def why_no_argument(self, encoder: Any) -> str | None:
        """Why no source can be given on the command line, of a model with this encoder; None where one can."""
        return None

    def ood_statistics(self, encoder: Any, source: Any) -> tuple[Statistic, ...]:
        """The statistics that show whether a source is out of distribution; empty if none are measured."""
        return ()

    def known_text(self, encoder: Any) -> str:
        """The words or pieces that an encoder of texts has learned, one after the other; "" where it learned none."""
        return ""

    def batch(self, encoder: Any, items: Sequence[Any]) -> Batch:
        """Sources that were read, by `item` or `training_item`, side by side."""
        return Batch.pad(items)

    def embedding(self, encoder: Any, width: int) -> nn.Module:
        """The module that makes vectors of this size of a batch's."""
        raise NotImplementedError(f"{type(self).__name__} must say its vectors")

    @property
    def relations(self) -> int:
        """How many relations between items a batch tells apart; 0 if none."""
        return 0

    def names(self, encoder: Any, source: Any) -> list[str]:
        """What to call each vector of a source, for showing."""
        raise NotImplementedError(f"{type(self).__name__} must name its vectors")

    def grid(self, encoder: Any, source: Any) -> tuple[int, int] | None:
        """Of how many rows and columns the vectors of a source are, row by row; None where they have no such places."""
        return None
