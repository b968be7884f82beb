"""A trained model: a network, the encoder of its sources, and its target."""

import copy
import dataclasses
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import torch
from torch import Tensor

from regard.errors import ArgumentError, LongerThanTrained, OutOfDistribution, UnreliablePrediction
from regard.inputs import Batch, as_list, detect_script
from regard.modules.inference import maximum_positions
from regard.page.numbers import counted
from regard.tasks.exporting.onnx_session import OnnxNetwork
from regard.tasks.exporting.traced import Traced
from regard.tasks.judging.evaluation import Evaluation
from regard.tasks.judging.measure import Measure
from regard.tasks.judging.out_of_distribution import Difference, Threshold, saved_thresholds
from regard.tasks.judging.whole_sets import SourceTally
from regard.tasks.judging.writing_systems import MOST_READ, ForeignLetters, count_letters, foreign_letters
from regard.tasks.network import source_network
from regard.tasks.prediction import Prediction
from regard.tasks.recipe import Recipe
from regard.tasks.registry import TASKS
from regard.tasks.saving.card import model_card
from regard.tasks.saving.saved_target import SavedTarget
from regard.tasks.saving.store import write_model
from regard.tasks.targets import target_from_json
from regard.tasks.task import Task
from regard.tasks.training.batching import batches_by_length

if TYPE_CHECKING:
    import regard.inspection
    from regard.inspection import Record

__all__ = ["SEEN", "Model", "check_sources"]

# The name of the tensor that holds the keys of the words in training.
SEEN = "seen_words"


_Given = TypeVar("_Given", bound=SavedTarget)


class Model(Generic[_Given]):
    """The base of trained models; `regard.train` makes one, `regard.load` loads one.

    Args:
        network: the network, which maps encoded sources to outputs.
        encoder: the encoder of the sources.
        target: the target, which decodes the outputs.
        recipe: the recipe that it was trained with.
        seen: the keys of the words in training (`Source.item_keys`), by which out-of-vocabulary words are found.
        about: where it comes from, as plain values for the card.
        name: its name.
    """

    @classmethod
    def read_target(cls, saved: Any) -> Any:
        """The target of a saved model.

        Raises:
            ArgumentError or ModelError: `saved` isn't a result of the target's `to_json`.
        """
        return target_from_json(saved)

    @classmethod
    def new_network(cls, recipe: Recipe, encoder: Any, target: Any) -> Any:
        """The network of a recipe, with its initial weights."""
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
        """The name of its task in `TASKS`."""
        return self.recipe.task.kind

    @property
    def task(self) -> Task:
        """Its task."""
        return TASKS[self.kind]

    @property
    def measure(self) -> Measure:
        """The measure of its score."""
        return self.target.measure  # pyright: ignore[reportAttributeAccessIssue]  # a seq2seq model has its own

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of which one is predicted, in the order of the outputs; empty if it predicts something else."""
        return ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a table of its predictions, without the source."""
        raise NotImplementedError(f"{type(self).__name__} must name what it predicts")

    @property
    def missing(self) -> tuple[str, ...]:
        """The columns that are null in the JSON for an empty source; the others are left out."""
        return self.columns[:1]

    @property
    def parameters(self) -> int:
        """The number of parameters."""
        return sum(parameter.numel() for parameter in self.network.parameters())

    @cached_property
    def position_limit(self) -> int | None:
        """The largest number of items in a source, for what is learned by position; None for no limit."""
        limits = [maximum_positions(self.network), self.recipe.architecture.position_limit]
        return min((each for each in limits if each is not None), default=None)

    @cached_property
    def ood_thresholds(self) -> dict[str, Threshold]:
        """The threshold of each out-of-distribution statistic; empty if dev gave none."""
        return saved_thresholds(self.about.get("training", {}).get("out_of_distribution"))

    @cached_property
    def script(self) -> str | None:
        """The Chinese script of its training data, a name in `inputs.SCRIPTS`; None for none or both."""
        return detect_script(self.recipe.input.known_text(self.encoder))

    def other_script(self, source: Any) -> str | None:
        """The script of a source, if it is Chinese in another script than the training data; else None."""
        if self.script is None or not self.recipe.input.is_text:
            return None
        script = detect_script("".join(source))
        return None if script == self.script else script

    @cached_property
    def _known_letters(self) -> Counter[str]:
        return count_letters(self.recipe.input.known_text(self.encoder))

    def foreign_letters(self, source: Any) -> ForeignLetters | None:
        """In which letters a text is, if its writing system isn't that of the training data; else None."""
        kind = self.recipe.input
        if not kind.is_text:
            return None

        def unknown() -> float | None:
            statistics = kind.ood_statistics(self.encoder, source)
            return next((each.amount / each.size for each in statistics if each.name == "unknown words"), None)

        text = source if isinstance(source, str) else " ".join(source[:MOST_READ])
        return foreign_letters(text, self._known_letters, unknown)

    def read(self, source: Any, longest: int | None = None, *, warn: bool = True) -> Any:
        """Read a source. The length of the result is the number of its items.

        Args:
            source: a source of the kind in the recipe's `input`.
            longest: the largest number of items; None for no limit.
            warn: whether the warnings below are given; else `warnings_about` has them.

        Raises:
            ArgumentError: the model can't read it, or it has too many items.
            DataError: it is a file that can't be used.

        Warns:
            LongerThanTrained: it has more items than any source in training, and the model decides on the length of its
                prediction. Such models seldom generalise to longer sources.
            OutOfDistribution: it is in letters, or in a Chinese script, that the training data hardly has; or an
                out-of-distribution statistic (unknown words, many pieces, low contrast) is higher than for all but one
                in 200 sources of dev.
        """
        kind = self.recipe.input
        item = kind.item(self.encoder, source)
        limits = (
            (self.position_limit, f"the number of positions that {self.name} has learned"),
            (longest, "for the time it takes"),
        )
        for most, why in limits:
            if most is not None and len(item) > most:
                raise ArgumentError(
                    f"a source may have {counted(most, kind.noun)}, {why}, but one has {len(item):,}. {kind.shorten}"
                )
        for warning in self.warnings_about(source, item) if warn else ():
            warnings.warn(warning, stacklevel=2)
        return item

    def warnings_about(self, source: Any, item: Any) -> Iterator[UnreliablePrediction]:
        """The warnings that `read` gives of a source.

        Args:
            source: the source.
            item: what `read` returned for it.
        """
        kind = self.recipe.input
        trained = self.about.get("training", {}).get("longest")
        if self.task.decides_length and isinstance(trained, int) and len(item) > trained:
            yield LongerThanTrained(
                f"a source has {counted(len(item), kind.noun)}, but none that {self.name} was trained on has more than "
                f"{trained:,}: the prediction may end too early, or be wrong. {kind.shorten}"
            )
        if (script := self.other_script(source)) is not None:
            yield OutOfDistribution(
                f"{_shown(source)} is in {script} characters, but {self.name} was trained on {self.script} ones, and "
                f"is wrong more often on others. Convert it by --script {self.script}; from Python: "
                f"regard.inputs.convert_script(text, {self.script!r})."
            )
            return
        if (foreign := self.foreign_letters(source)) is not None:
            yield OutOfDistribution(
                f"{_shown(source)} is in {foreign.found}, but {self.name} was trained on texts in {foreign.known}. The "
                "answer may be wrong."
            )
            return
        for each in kind.ood_statistics(self.encoder, source) if self.ood_thresholds and len(item) else ():
            if (usual := self.ood_thresholds.get(each.name)) is not None and usual.exceeded(each):
                yield OutOfDistribution(
                    f"{_shown(source)} is unlike what {self.name} was made for: {each.description}. The answer may be "
                    "wrong."
                )
                return

    def encode(self, sources: Iterable[Any]) -> Batch:
        """Encode sources as one batch, in their order, on the device of the network.

        Raises:
            ArgumentError: a source that the model can't read.
        """
        return self._batch([self.read(each) for each in as_list("sources", sources, "sources")])

    def numbers(self, items: Sequence[Any]) -> Sequence[Tensor]:
        """The outputs of the network for sources that were `read`: (output,) for each source, or (item, output)."""
        batch = self._batch(items)
        self._set_evaluation_mode()
        with torch.inference_mode():
            numbers = self.network(batch).cpu()
        return numbers.unbind() if self.network.pooling is not None else numbers.split(batch.lengths.tolist())

    def traced(self) -> Traced:
        """What of the model is exported (`regard.tasks.export_onnx`).

        Raises:
            ArgumentError: a model of this kind can't be exported.
        """
        per_item = ("length",) if self.network.pooling is None else ()
        name, axis, meaning, shown = self.target.exported  # pyright: ignore[reportAttributeAccessIssue]
        labels = self.target.labels or self.target.questions  # pyright: ignore[reportAttributeAccessIssue]
        values = self.target.values  # pyright: ignore[reportAttributeAccessIssue]
        return Traced(self.network, values, name, ("batch", *per_item, axis), meaning, labels, shown)

    def with_outputs(self, traced: Traced, run: Callable[[Mapping[str, Tensor]], Tensor]) -> Self:
        """The model with the outputs of an exported file in the place of those of its network, to be evaluated.

        Args:
            traced: what was exported.
            run: the output of the file for tensors by name.
        """
        found = copy.copy(self)
        found.network = OnnxNetwork(self.network, traced, self.target.outputs_of, run)  # pyright: ignore
        return found

    def answer_of(self, names: Sequence[str], numbers: Tensor | None) -> Any:
        """The prediction for a source, given the names of its items and the outputs; None for an empty source."""
        raise NotImplementedError(f"{type(self).__name__} must decode its outputs")

    def predict(self, sources: Iterable[Any], *, longest: int | None = None) -> list[Prediction]:
        """Predict for each source, whatever kind of model it is.

        The `value` of a prediction is what the model's own method returns: `tag`, `classify`, `write`, `say`, or what
        else `model.task.verb` names. That method has more settings. This one also accepts texts for a tagger of words.

        Args:
            sources: sources of the kind in the recipe's `input`.
            longest: the largest number of items in a source; None for no limit.

        Returns:
            a prediction for each source, in their order.

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
        """The prediction for a source, made from the value that the model's own method or a record returned."""
        return Prediction(source, value, self.columns, self.missing)

    def count(self, tally: SourceTally, source: Any, value: Any) -> None:
        """Count a source of a set, with its prediction as `predict` gives it, for `unlike`."""
        doubts = [each for each in self._doubts(value) if each is not None]
        (item,) = self._itemised([source])
        statistics = self.recipe.input.ood_statistics(self.encoder, item) if self.ood_thresholds else ()
        tally.add(statistics, (sum(doubts), len(doubts)))

    def unlike(self, tally: SourceTally) -> tuple[Difference, ...]:
        """In what a set of sources as a whole is unlike the data that the model was made on; empty if in nothing.

        For each statistic that single sources are compared by, and for the confidence, the mean over the set is tested
        against that over dev. Of the sets that are drawn from the model's own data, one in a thousand fails, about. A
        model of an earlier version kept less of dev; it fails fewer sets, or says nothing.

        Args:
            tally: at least ten sources, each of which was given to `count`.

        Example:
            >>> import regard
            >>> from regard.tasks.judging.whole_sets import SourceTally
            >>> model, tally = regard.load("english-pos"), SourceTally()
            >>> for each in model.predict(["Ein Mann geht in den Park ."] * 20):
            ...     model.count(tally, each.source, each.value)
            >>> [each.name for each in model.unlike(tally)]
            ['unknown words', 'confidence']
        """
        return tally.differences(self.ood_thresholds, self.about)

    def _doubts(self, value: Any) -> list[float | None]:
        """One minus the probability of each prediction of a source; empty if it has none."""
        return []

    def _with_set(
        self, scores: Evaluation, sources: Sequence[Any], outputs: Sequence[Tensor | None] | None = None
    ) -> Evaluation:
        """An evaluation, with what its sources as a whole are unlike in.

        Args:
            scores: the evaluation.
            sources: the sources.
            outputs: the outputs for each, as `_outputs` gives them; None: there are no probabilities.
        """
        tally = SourceTally()
        for place, source in enumerate(sources):
            numbers = None if outputs is None else outputs[place]
            value = None if numbers is None else self.answer_of([""] * len(numbers), numbers)
            self.count(tally, source, value)
        return dataclasses.replace(scores, doubt=tally.doubt if tally.doubt.count else None, unlike=self.unlike(tally))

    def evaluate(self, examples: Iterable[Any]) -> Evaluation:
        """Predict for the sources of examples, and compare with their known targets."""
        raise NotImplementedError(f"{type(self).__name__} must compare its predictions with targets")

    def look(self, sources: Iterable[Any], *, longest: int | None = None) -> Iterator["Record"]:
        """Predict for each source, and keep what it attended to, in memory that grows linearly with the length.

        Short sources are batched.

        Args:
            sources: an iterable of sources of the kind in the recipe's `input`; it may be infinite.
            longest: the largest number of items in a source; None for no limit.

        Yields:
            a record for each source, in their order; `regard.inspection` makes pages of them.

        Raises:
            ArgumentError: a source that the model can't read, or that is longer than `longest`, or a text
                instead of a list.

        Example:
            >>> import regard
            >>> (record,) = regard.load("english-pos").look(["I saw it"])
            >>> record.labels, len(record.layers), record.layers[0].weights().shape
            (('PRON', 'VERB', 'PRON'), 2, torch.Size([4, 3, 3]))
        """
        from regard.tasks.recording import look

        check_sources(sources)
        return look(self, sources, longest)

    def see(
        self,
        source: Any,
        *,
        effects: bool | None = None,
        longest: int | None = None,
        noise: int = 0,
        changes: "Sequence[regard.inspection.Change]" = (),
    ) -> "Record":
        """Predict for one source, and measure what mattered: each item is hidden and each head removed in turn.

        Args:
            source: a source of the kind in the recipe's `input`.
            effects: whether to measure; None: as in `regard.inspection.see`.
            longest: the largest number of items in the source; None for no limit.
            noise: how many changes in random directions give each effect its noise floor; see `regard.inspection.see`.
            changes: changes that the model is seen with, such as `RemoveHead(2, 4)`.

        Raises:
            ArgumentError: the model can't read the source, there is no item in it, or a change applies to nothing.

        Example:
            >>> import regard
            >>> record = regard.load("english-pos").see("I saw a saw .")
            >>> record.labels[3], record.outcomes.hidden[2][3].label
            ('NOUN', 'VERB')
        """
        from regard.inspection import see

        return see(self.case(source, longest=longest), effects=effects, noise=noise, changes=changes)

    def case(self, source: Any, *, longest: int | None = None) -> "regard.inspection.Case":
        """The model with one source, as `regard.inspection.see` takes it.

        Raises:
            ArgumentError: the model can't read the source, or there is no item in it.
        """
        from regard.tasks.recording import case_of

        return case_of(self, source, longest)

    def save(self, folder: str | Path) -> Path:
        """Save the model as a folder with the weights rounded to float16, their description in JSON, and a card.

        Raises:
            ArgumentError: `folder` holds something that isn't a model; nothing is overwritten.
            OSError: the disk is full or not writable; the folder is then unchanged.
        """
        tensors = dict(self.network.state_dict())
        if self.seen is not None:
            tensors[SEEN] = self.seen
        beside = self.recipe.input.files(self.encoder, self.network, self.target)
        return write_model(folder, tensors, self._description, self.card, beside)

    @property
    def card(self) -> str:
        """The model card, in Markdown: README.md of a saved model."""
        return model_card(self.name, self._description)

    @property
    def _description(self) -> dict[str, Any]:
        """The content of model.json."""
        return {
            "kind": self.kind,
            "recipe": self.recipe.to_json(),
            "answer": self.target.to_json(),
            "reader": self.encoder.to_json(),
            "parameters": self.parameters,
            "about": self.about,
        }

    def _itemised(self, sources: list[Any]) -> list[Any]:
        """Convert sources to the form that the model's own method takes."""
        return sources

    def _set_evaluation_mode(self) -> None:
        """Switch the network to evaluation mode if needed; to visit all modules takes a tenth of a sentence's time."""
        if self.network.training:
            self.network.eval()

    def _batch(self, items: Sequence[Any]) -> Batch:
        return self.recipe.input.batch(self.encoder, items).to(next(self.network.parameters()).device)

    def _outputs(self, sources: list[Any], batch_items: int, longest: int | None = None) -> list[Tensor | None]:
        """The outputs for each source, as in `numbers`; None for an empty source."""
        items = [self.read(each, longest) for each in sources]
        found: list[Tensor | None] = [None] * len(items)
        present = [index for index, item in enumerate(items) if len(item)]
        for places in batches_by_length([self.recipe.input.size_of(items[index]) for index in present], batch_items):
            members = [present[place] for place in places]
            for index, part in zip(members, self.numbers([items[index] for index in members]), strict=True):
                found[index] = part
        return found


def _shown(source: Any) -> str:
    """The name of a source in a warning: the path of a file, the beginning of a text."""
    if isinstance(source, Path):
        return str(source)
    text = " ".join(source) if isinstance(source, list | tuple) else source
    return repr(text if len(text) <= 40 else f"{text[:40]}...") if isinstance(text, str) else "a source"


def check_sources(sources: Any) -> None:
    """Refuse a text instead of a list of sources: its letters would be taken for sources."""
    if isinstance(sources, str):
        raise ArgumentError(f"`sources` must be a list of sources, but is the text {sources!r:.60}. Put it in a list.")
