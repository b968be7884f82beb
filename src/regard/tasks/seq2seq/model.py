"""A trained seq2seq model: it writes a text of any length for a source, such as a translation or a transcript."""

import dataclasses
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor

from regard.errors import ArgumentError, OutOfVocabulary, UnreliablePrediction
from regard.inputs import as_list
from regard.modules import Generated
from regard.modules.seq2seq.seq2seq import Seq2Seq
from regard.special_ids import PADDING
from regard.tasks.examples import Pair, as_pairs
from regard.tasks.exporting.traced import Traced
from regard.tasks.judging.evaluation import Evaluation
from regard.tasks.judging.measure import Measure
from regard.tasks.model import Model, check_sources
from regard.tasks.network import encoder_decoder
from regard.tasks.recipe import Recipe
from regard.tasks.seq2seq.evaluation import evaluate_texts
from regard.tasks.seq2seq.generation import GeneratedText, Search, generated, text_of
from regard.tasks.seq2seq.measures import TEXT_MEASURES
from regard.tasks.seq2seq.target import TextTarget
from regard.tasks.seq2seq.traced import CTCNetwork

if TYPE_CHECKING:
    import regard.inspection
    from regard.inspection import Record

__all__ = ["Seq2SeqModel", "check_texts", "grouped"]


class Seq2SeqModel(Model[TextTarget]):
    """A trained seq2seq model; `regard.train` makes one, `regard.load` loads one.

    Example:
        >>> import regard
        >>> pairs = [("ab", "ba"), ("ba", "ab")]
        >>> recipe = regard.Recipe(
        ...     task={"kind": "seq2seq", "architecture": "recurrent", "vocabulary": "characters", "measure": "error"},
        ...     input={"kind": "texts", "vocabulary": "characters", "piece_dropout": 0.0},
        ...     width=16, heads=1, layers=1, dropout=0.0, epochs=60, patience=60, learning_rate=0.02,
        ... )
        >>> writer = regard.train(pairs, pairs, recipe=recipe, progress="none")
        >>> [written.text for written in writer.write(["ab", "ba"])]
        ['ba', 'ab']
        >>> writer.write([""])
        [None]
    """

    @classmethod
    def read_target(cls, saved: Any) -> TextTarget:
        return TextTarget.from_json(saved)

    @classmethod
    def new_network(cls, recipe: Recipe, encoder: Any, target: TextTarget) -> Seq2Seq:
        return encoder_decoder(recipe, encoder, target)

    @property
    def columns(self) -> tuple[str, ...]:
        return GeneratedText._fields

    @property
    def measure(self) -> Measure:
        return TEXT_MEASURES[self.recipe.task.measure].measure

    def traced(self) -> Traced:
        """The encoder with the CTC head, whose best path is a text; the decoder writes step by step, and stays behind.

        Raises:
            ArgumentError: it has no CTC head.
        """
        if self.network.spelling is None:
            raise ArgumentError(
                f"{self.name} can't be exported: its decoder writes a text step by step, and an ONNX file holds one "
                "step of a computation. A recogniser with a CTC head can be: set `task.monotonic` of its recipe to 0.3."
            )
        vocabulary = self.target.vocabulary
        return Traced(
            CTCNetwork(self.network),
            lambda outputs: outputs.log_softmax(-1),
            "log_probabilities",
            ("batch", "length", "id"),
            "the logarithm of the probability of each id at each item (CTC). Greedy decoding: take the most probable "
            "id of each of the `lengths` items, merge equal neighbours, and leave out id 0, the blank",
            tuple(vocabulary.decode([number]) for number in range(vocabulary.size)),
            '"".join(labels[now] for last, now in zip([0, *row.argmax(-1)], row.argmax(-1)) if now not in (last, 0))',
            "The decoder and its beam search are left out: the text is that of the CTC head. It errs more than "
            "that of both together. With eight bits and data, its score is measured.",
        )

    def with_outputs(self, traced: Traced, run: Callable[[Mapping[str, Tensor]], Tensor]) -> "Seq2SeqModel":
        found = _Recogniser(self.network, self.encoder, self.target, self.recipe, about=self.about, name=self.name)
        found.traced_as, found.run = traced, run
        return found

    def warnings_about(self, source: Any, item: Any) -> Iterator[UnreliablePrediction]:
        """The warnings that `read` gives of a source.

        Among them is `OutOfVocabulary`: it has characters or words that aren't in the vocabulary, which the model can't
        tell apart.
        """
        yield from super().warnings_about(source, item)
        if unknown := self.recipe.input.unknown_pieces(self.encoder, source):
            shown = ", ".join(f"{piece!r:.40}" for piece in unknown[:8]) + (", ..." if len(unknown) > 8 else "")
            yield OutOfVocabulary(
                f"a source has {shown}, which {self.name} hasn't learned: what it writes for them is a guess."
            )

    def write(
        self,
        sources: Iterable[Any],
        *,
        beams: int | None = None,
        length_penalty: float | None = None,
        no_repeat_ngram_size: int | None = None,
        batch_items: int = 4000,
        longest: int | None = None,
    ) -> list[GeneratedText | None]:
        """Write a text for each source.

        Args:
            sources: sources of the kind in the recipe's `input`: texts, paths of recordings, ...
            beams: the number of beams; None: as in the recipe.
            length_penalty: larger values favour longer texts, as in `modules.beam_search`; None: as in the recipe.
            no_repeat_ngram_size: the size of n-grams of pieces that can't occur twice in a text; 0: no limit; None: as
                in the recipe.
            batch_items: the approximate number of items in a batch, over all beams.
            longest: the largest number of items in a source; None for no limit.

        Returns:
            the generated text for each source, in their order; None for an empty source.

        Raises:
            ArgumentError: a source that the model can't read, or that is longer than `longest`, or an invalid setting.
        """
        items = [self.read(each, longest) for each in as_list("sources", sources, "sources")]
        search = Search(beams, length_penalty, no_repeat_ngram_size)
        ids = generated(self.network, self.recipe, self.encoder, items, search, batch_items=batch_items)
        return [None if each is None else text_of(each, self.target) for each in ids]

    def look(self, sources: Iterable[Any], *, longest: int | None = None) -> Iterator["Record"]:
        """Write a text for each source, and record the attention of each piece of the text to the source.

        The `queries` of a record are the generated pieces, its `items` those of the source, and its layers the
        cross-attention between them; a model with the architecture "recurrent" has none.

        Args:
            sources, longest: as in `Model.look`.
        """
        from regard.tasks.seq2seq.recording import record_writing

        check_sources(sources)
        return record_writing(self, sources, longest)

    def case(self, source: Any, *, longest: int | None = None) -> "regard.inspection.Case":
        from regard.tasks.seq2seq.recording import case_of

        return case_of(self, source, longest)

    def evaluate(self, examples: Iterable[Any], *, beams: int | None = None, batch_items: int = 4000) -> Evaluation:
        """Write texts for the sources, and compare them with the targets, any of which is right for a repeated source.

        Empty sources are left out, and counted.

        Args:
            examples: (source, text) pairs, or `Example`s.
            beams, batch_items: as in `write`.

        Raises:
            ArgumentError: no examples, an example of another form, or a target that isn't a text.
            MissingExtraError: sacrebleu or jiwer is not installed.
        """
        given = as_pairs(examples)
        check_texts(given, "examples")
        pairs = grouped(given)
        started = time.perf_counter()
        with warnings.catch_warnings():
            # The score already shows the errors on unusual sources.
            warnings.simplefilter("ignore", UnreliablePrediction)
            said = self.write([source for source, _ in pairs], beams=beams, batch_items=batch_items)
        seconds = time.perf_counter() - started
        answered = [(each.text, right) for each, (_, right) in zip(said, pairs, strict=True) if each is not None]
        if not answered:
            raise ArgumentError("`examples` must hold at least one source that isn't empty, but holds none.")
        texts, right = zip(*answered, strict=True)
        evaluation = evaluate_texts(self.recipe.task, texts, right, thorough=True)
        evaluation = dataclasses.replace(evaluation, empty=said.count(None), seconds=seconds)
        return self._with_set(evaluation, [source for source, _ in pairs])


class _Recogniser(Seq2SeqModel):
    """A model that writes the best path of the CTC head of an exported file, to be evaluated."""

    traced_as: Traced
    run: Callable[[Mapping[str, Tensor]], Tensor]

    def write(self, sources: Iterable[Any], **settings: Any) -> list[GeneratedText | None]:
        found: list[GeneratedText | None] = []
        for source in sources:
            item = self.read(source)
            if not len(item):
                found.append(None)
                continue
            batch = self.recipe.input.batch(self.encoder, [item])
            best = self.run(self.traced_as.network.inputs_of(batch))[0].argmax(-1).unique_consecutive().tolist()
            ids = tuple(each for each in best if each != PADDING)
            found.append(text_of(Generated(ids, 0.0, True), self.target))
        return found


def check_texts(pairs: Sequence[Pair], argument: str) -> None:
    """Refuse a target that isn't a text.

    Example:
        >>> check_texts([("read", 3)], "examples")
        Traceback (most recent call last):
        regard.errors.ArgumentError: the target of `examples[0]` must be a text, but is 3.
    """
    for place, (_, target) in enumerate(pairs):
        if not isinstance(target, str):
            raise ArgumentError(f"the target of `{argument}[{place}]` must be a text, but is {target!r:.60}.")


def grouped(pairs: Iterable[tuple[Any, str]]) -> list[tuple[Any, tuple[str, ...]]]:
    """Each source once, with all its right texts; only sources that are texts can be compared.

    Example:
        >>> grouped([("read", "R EH D"), ("red", "R EH D"), ("read", "R IY D")])
        [('read', ('R EH D', 'R IY D')), ('red', ('R EH D',))]
    """
    found: list[tuple[Any, tuple[str, ...]]] = []
    places: dict[str, int] = {}
    for source, right in pairs:
        if isinstance(source, str) and source in places:
            known = found[places[source]][1]
            found[places[source]] = (source, known if right in known else (*known, right))
            continue
        if isinstance(source, str):
            places[source] = len(found)
        found.append((source, (right,)))
    return found
