"""A trained model: a network, the encoder of its sources, and its target."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

from regard.errors import ArgumentError, LongerThanTrained, OutOfDistribution
from regard.inputs import Batch, as_list, detect_script
from regard.inspection import Record
from regard.modules.inference import maximum_positions
from regard.page.numbers import counted
from regard.tasks.card import model_card
from regard.tasks.ensemble import source_network
from regard.tasks.measure import Measure
from regard.tasks.out_of_distribution import Threshold, saved_thresholds
from regard.tasks.prediction import Prediction
from regard.tasks.recipe import Recipe
from regard.tasks.recording import look
from regard.tasks.registry import TASKS
from regard.tasks.seq2seq.target import TextTarget
from regard.tasks.store import write_model
from regard.tasks.synthesis.target import SpeechTarget
from regard.tasks.targets import Target, target_from_json
from regard.tasks.task import Task
from regard.tasks.training.batching import batches_by_length

__all__ = ["SEEN", "Model", "check_sources"]

# The name under which a saved model keeps the keys of the words of its training.
SEEN = "seen_words"


_Given = TypeVar("_Given", bound=Target | TextTarget | SpeechTarget)


class Model(Generic[_Given]):
    """What every trained model has; `regard.train` makes one, `regard.load` reads one.

    Args:
        network: the net: sources in, numbers out.
        encoder: of the sources.
        target: what the numbers mean.
        recipe: how it was trained.
        seen: the keys of the words of training (`word_keys`), to tell apart the words it has never seen.
        about: where it comes from: plain values, for the card.
        name: what to call it.
    """

    @classmethod
    def read_target(cls, saved: Any) -> Any:
        """What the numbers of a saved model mean.

        Raises:
            ArgumentError or ModelError: it isn't what an answer's `to_json` writes.
        """
        return target_from_json(saved)

    @classmethod
    def new_network(cls, recipe: Recipe, encoder: Any, target: Any) -> Any:
        """The net of a recipe, with the weights that training begins with."""
        return source_network(recipe, encoder, target.outputs)

    def __init__(
        self,
        network: Any,
        encoder: Any,
        target: _Given,
        recipe: Recipe,
        *,
        seen: Tensor | None = None,
        about: dict[str, Any] | None = None,
        name: str | None = None,
    ):
        self.network = network.eval()
        self.encoder = encoder
        self.target = target
        self.recipe = recipe
        self.seen = seen
        self.about = about or {}
        self.name = self.kind if name is None else name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.target.description}, {self.parameters:,} parameters)"

    @property
    def kind(self) -> str:
        """The name of its kind of task, one in `TASKS`."""
        return self.recipe.task.kind

    @property
    def task(self) -> Task:
        """What differs from one kind of task to another."""
        return TASKS[self.kind]

    @property
    def measure(self) -> Measure:
        """The figure that says how good it is."""
        return self.target.measure  # pyright: ignore[reportAttributeAccessIssue]  # a seq2seq model has its own

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a table of its predictions, beside the source."""
        raise NotImplementedError(f"{type(self).__name__} must name what it predicts")

    @property
    def missing(self) -> tuple[str, ...]:
        """Those of the columns that JSON has, as null, for a source that holds nothing."""
        return self.columns[:1]

    @property
    def parameters(self) -> int:
        """How many numbers the net has learned."""
        return sum(parameter.numel() for parameter in self.network.parameters())

    @cached_property
    def position_limit(self) -> int | None:
        """How many items a source may have, where positions were learned one by one; None where any number will do."""
        return maximum_positions(self.network)

    @cached_property
    def ood_thresholds(self) -> dict[str, Threshold]:
        """For each statistic, how much of it the sources have that it was made for; none where that isn't known."""
        return saved_thresholds(self.about.get("training", {}).get("out_of_distribution"))

    @cached_property
    def script(self) -> str | None:
        """The script of Chinese that it has learned, a name in `inputs.SCRIPTS`; None where it's none, or both."""
        return detect_script(self.recipe.input.known_text(self.encoder))

    def other_script(self, source: Any) -> str | None:
        """The script of a source, if it is Chinese in another script than the model has learned; else None."""
        if self.script is None or not self.recipe.input.is_text:
            return None
        script = detect_script("".join(source))
        return None if script == self.script else script

    def read(self, source: Any, longest: int | None = None) -> Any:
        """A source, read: its length is the number of its items.

        Args:
            source: what the recipe's `input` reads.
            longest: how many items it may have; None for any number.

        Raises:
            ArgumentError: the model can't read it, or it has too many items.
            DataError: it is a file that can't be used.

        Warns:
            LongerThanTrained: it has more items than any source of the training of a model that decides how long its
                answer is. Such models seldom learn to go on for longer than they have seen.
            OutOfDistribution: it is Chinese in another script than the model has learned; or it has more of what is
                rare in dev (unknown words, pieces, hardly any contrast) than all but one in two hundred sources of dev.
        """
        kind = self.recipe.input
        item = kind.item(self.encoder, source)
        limits = (
            (self.position_limit, f"as many as {self.name} has learned positions of"),
            (longest, "for the time it takes"),
        )
        for most, why in limits:
            if most is not None and len(item) > most:
                raise ArgumentError(
                    f"a source may have {counted(most, kind.noun)}, {why}, but one has {len(item):,}. {kind.shorten}"
                )
        trained = self.about.get("training", {}).get("longest")
        if self.task.decides_length and isinstance(trained, int) and len(item) > trained:
            warnings.warn(
                f"a source has {counted(len(item), kind.noun)}, but none that {self.name} was trained on has more than "
                f"{trained:,}: what it makes of it may end too early, or be wrong. {kind.shorten}",
                LongerThanTrained,
                stacklevel=2,
            )
        if (script := self.other_script(source)) is not None:
            warnings.warn(
                f"{_shown(source)} is in {script} characters, but {self.name} was trained on {self.script} ones, and "
                f"is wrong more often on others. Convert it by --script {self.script}; from Python: "
                f"regard.inputs.convert_script(text, {self.script!r}).",
                OutOfDistribution,
                stacklevel=2,
            )
            return item
        for each in kind.ood_statistics(self.encoder, source) if self.ood_thresholds and len(item) else ():
            if (usual := self.ood_thresholds.get(each.name)) is not None and usual.exceeded(each):
                warnings.warn(
                    f"{_shown(source)} is unlike what {self.name} was made for: {each.description}. The answer may be wrong.",
                    OutOfDistribution,
                    stacklevel=2,
                )
                break
        return item

    def encode(self, sources: Iterable[Any]) -> Batch:
        """Sources as one batch, in the order given, where the net is.

        Raises:
            ArgumentError: a source that the model can't read.
        """
        return self._batch([self.read(each) for each in as_list("sources", sources, "sources")])

    def numbers(self, items: Sequence[Any]) -> Sequence[Tensor]:
        """What the net gives for sources that were `read`: for each (output,) or, of its items, (item, output)."""
        batch = self._batch(items)
        self._set_evaluation_mode()
        with torch.inference_mode():
            numbers = self.network(batch).cpu()
        return numbers.unbind() if self.network.pooling is not None else numbers.split(batch.lengths.tolist())

    def answer_of(self, names: Sequence[str], numbers: Tensor | None) -> Any:
        """The answer for a source: its items' names, and the net's numbers; None where it has no item."""
        raise NotImplementedError(f"{type(self).__name__} must say what its numbers mean")

    def predict(self, sources: Iterable[Any], *, longest: int | None = None) -> list[Prediction]:
        """Predict for each source, whatever kind of model it is.

        | kind | the method of its own | a prediction's `value`, which that method returns |
        | --- | --- | --- |
        | tagger | `tag` | a list with a `TaggedWord` or a `NumberedItem` for each item |
        | classifier | `classify` | (label, probability), a dict question -> probability, or a number |
        | seq2seq | `write` | a `GeneratedText` |
        | synthesis | `say` | a `SynthesizedSpeech` |

        Its own method has more settings; and a tagger of words takes texts here, too.

        Args:
            sources: what the recipe's `input` reads.
            longest: how many items a source may have; None for any number.

        Returns:
            for each source, in the order given, its prediction.

        Raises:
            ArgumentError: a source that the model can't read, or that is longer than `longest`.

        Example:
            >>> import regard
            >>> [word.label for word in regard.load("english-pos").predict(["I saw a saw ."])[0].value]
            ['PRON', 'VERB', 'DET', 'NOUN', 'PUNCT']
            >>> (found,) = regard.load("english-sentiment").predict(["a warm film"])
            >>> found.value[0], list(found.to_json())
            ('positive', ['source', 'label', 'score'])
        """
        given = as_list("sources", sources, "sources")
        values = getattr(self, self.task.verb)(self._itemised(given), longest=longest)
        return [self.prediction(source, value) for source, value in zip(given, values, strict=True)]

    def prediction(self, source: Any, value: Any) -> Prediction:
        """The prediction for a source of which the method of its own, or a record, gives this value."""
        return Prediction(source, value, self.columns, self.missing)

    def look(self, sources: Iterable[Any], *, longest: int | None = None) -> Iterator[Record]:
        """Predict for each source, and keep the attention weights.

        Sources go through together where they are short. Of one of more than 2 000 items the record holds the weights
        of the pooling, if it has any, but no layers: those alone would fill the memory.

        Args:
            sources: what the recipe's `input` reads, one after the other: it may be an iterator that never ends.
            longest: how many items a source may have; None for any number.

        Yields:
            a record for each source, in the order given; `regard.inspection` makes pages of them.

        Raises:
            ArgumentError: a source that the model can't read, or that is longer than `longest`; or a text alone.

        Example:
            >>> import regard
            >>> (record,) = regard.load("english-pos").look(["I saw it"])
            >>> record.labels, len(record.layers), record.layers[0].weights.shape
            (('PRON', 'VERB', 'PRON'), 2, torch.Size([4, 3, 3]))
        """
        check_sources(sources)
        return look(self, sources, longest)

    def save(self, folder: str | Path) -> Path:
        """Write the model as one folder: the weights rounded to float16, their description in JSON, and a card.

        Raises:
            ArgumentError: `folder` holds something that isn't a model; nothing is overwritten.
            OSError: the disk is full, or the place can't be written; what was there is as it was.
        """
        description = {
            "kind": self.kind,
            "recipe": self.recipe.to_json(),
            "answer": self.target.to_json(),
            "reader": self.encoder.to_json(),
            "parameters": self.parameters,
            "about": self.about,
        }
        tensors = dict(self.network.state_dict())
        if self.seen is not None:
            tensors[SEEN] = self.seen
        return write_model(folder, tensors, description, model_card(self.name, description))

    def _itemised(self, sources: list[Any]) -> list[Any]:
        """Sources as the method of its own takes them."""
        return sources

    def _set_evaluation_mode(self) -> None:
        """Put the net into evaluation mode if it isn't: visiting each module takes a tenth of a sentence's time."""
        if self.network.training:
            self.network.eval()

    def _batch(self, items: Sequence[Any]) -> Batch:
        return self.recipe.input.batch(self.encoder, items).to(next(self.network.parameters()).device)

    def _outputs(self, sources: list[Any], batch_items: int, longest: int | None = None) -> list[Tensor | None]:
        """For each source the net's numbers, as `numbers` has them; None where it has no item."""
        items = [self.read(each, longest) for each in sources]
        found: list[Tensor | None] = [None] * len(items)
        present = [index for index, item in enumerate(items) if len(item)]
        for places in batches_by_length([len(items[index]) for index in present], batch_items):
            members = [present[place] for place in places]
            for index, part in zip(members, self.numbers([items[index] for index in members]), strict=True):
                found[index] = part
        return found


def _shown(source: Any) -> str:
    """What to call a source in a warning: a file by its name, a text by its beginning."""
    if isinstance(source, Path):
        return str(source)
    text = " ".join(source) if isinstance(source, list | tuple) else source
    return repr(text if len(text) <= 40 else f"{text[:40]}...") if isinstance(text, str) else "a source"


def check_sources(sources: Any) -> None:
    """Refuse a text where a list of sources is wanted: its letters would be taken for them."""
    if isinstance(sources, str):
        raise ArgumentError(f"`sources` must be a list of sources, but is the text {sources!r:.60}. Put it in a list.")
