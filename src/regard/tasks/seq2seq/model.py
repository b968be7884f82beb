"""A trained seq2seq model: a source in, a text of any length out: a translation, a transcript, a pronunciation."""

import dataclasses
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from regard.errors import ArgumentError, OutOfVocabulary, UnreliablePrediction
from regard.inputs import Characters, Words, as_list
from regard.inspection import Record
from regard.modules.seq2seq import Seq2Seq
from regard.tasks.evaluation import Evaluation
from regard.tasks.examples import Pair, as_pairs
from regard.tasks.measure import Measure
from regard.tasks.model import Model, check_sources
from regard.tasks.recipe import Recipe
from regard.tasks.seq2seq.evaluation import evaluate_texts
from regard.tasks.seq2seq.generation import GeneratedText, written
from regard.tasks.seq2seq.measures import TEXT_MEASURES
from regard.tasks.seq2seq.network import seq2seq_network
from regard.tasks.seq2seq.recording import record_writing
from regard.tasks.seq2seq.target import TextTarget

__all__ = ["Seq2SeqModel", "check_texts", "grouped"]


class Seq2SeqModel(Model[TextTarget]):
    """A trained seq2seq model; `regard.train` makes one, `regard.load` reads one.

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
        return seq2seq_network(recipe, encoder, target)

    @property
    def columns(self) -> tuple[str, ...]:
        return GeneratedText._fields

    @property
    def measure(self) -> Measure:
        return TEXT_MEASURES[self.recipe.task.measure].measure

    def read(self, source: Any, longest: int | None = None) -> Any:
        """A source, read, as `Model.read` does.

        Warns:
            LongerThanTrained: see there.
            OutOfVocabulary: it has characters or words that the model hasn't learned, where its vocabulary is of these:
                all of them are one to it.
        """
        item = super().read(source, longest)
        if isinstance(self.encoder, Characters | Words) and (unknown := self.encoder.unknown_pieces(source)):
            shown = ", ".join(f"{piece!r:.40}" for piece in unknown[:8]) + (", ..." if len(unknown) > 8 else "")
            warnings.warn(
                f"a source has {shown}, which {self.name} hasn't learned: what it makes of it is a guess.",
                OutOfVocabulary,
                stacklevel=2,
            )
        return item

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
            sources: what the recipe's `input` reads: texts, paths of recordings, ...
            beams: how many texts are followed at a time; by default as the recipe has it.
            length_penalty: how much longer texts are favoured, as in `modules.beam_search`; by default as the recipe
                has it.
            no_repeat_ngram_size: no text has the same so many pieces in a row twice; 0 for no limit; by default as the
                recipe has it.
            batch_items: about how many items go through the net at a time, with all beams.
            longest: how many items a source may have; None for any number.

        Returns:
            for each source, in the order given, what was written; None for a source that holds nothing.

        Raises:
            ArgumentError: a source that the model can't read, or that is longer than `longest`, or a number that can't
                be.
        """
        items = [self.read(each, longest) for each in as_list("sources", sources, "sources")]
        return written(
            self.network,
            self.recipe,
            self.encoder,
            self.target,
            items,
            beams=beams,
            length_penalty=length_penalty,
            no_repeat_ngram_size=no_repeat_ngram_size,
            batch_items=batch_items,
        )

    def look(self, sources: Iterable[Any], *, longest: int | None = None) -> Iterator[Record]:
        """Write for each source, and keep where in it each piece of the text looked.

        A record's `queries` are the pieces written, its `items` those of the source, and its layers the attention from
        one to the other: none of a "recurrent" writer.

        Args:
            sources, longest: as in `Model.look`.
        """
        check_sources(sources)
        return record_writing(self, sources, longest)

    def evaluate(self, examples: Iterable[Any], *, beams: int | None = None, batch_items: int = 4000) -> Evaluation:
        """Write where the right text is known, and compare. Where a source stands several times, all texts are right.

        A source that holds nothing is left out, and counted.

        Args:
            examples: (source, text) pairs, or `Example`s.
            beams, batch_items: as in `write`.

        Raises:
            ArgumentError: no examples, or an example of another form, or its target is no text.
            MissingExtraError: sacrebleu or jiwer is not installed.
        """
        given = as_pairs(examples)
        check_texts(given, "examples")
        pairs = grouped(given)
        started = time.perf_counter()
        with warnings.catch_warnings():
            # How much what is unlike training costs, the score tells.
            warnings.simplefilter("ignore", UnreliablePrediction)
            said = self.write([source for source, _ in pairs], beams=beams, batch_items=batch_items)
        seconds = time.perf_counter() - started
        answered = [(each.text, right) for each, (_, right) in zip(said, pairs, strict=True) if each is not None]
        if not answered:
            raise ArgumentError("`examples` must hold at least one source that isn't empty, but holds none.")
        texts, right = zip(*answered, strict=True)
        evaluation = evaluate_texts(self.recipe.task, texts, right, thorough=True)
        return dataclasses.replace(evaluation, empty=said.count(None), seconds=seconds)


def check_texts(pairs: Sequence[Pair], argument: str) -> None:
    """Refuse a target that is no text.

    Example:
        >>> check_texts([("read", 3)], "examples")
        Traceback (most recent call last):
        regard.errors.ArgumentError: the target of `examples[0]` must be a text, but is 3.
    """
    for place, (_, target) in enumerate(pairs):
        if not isinstance(target, str):
            raise ArgumentError(f"the target of `{argument}[{place}]` must be a text, but is {target!r:.60}.")


def grouped(pairs: Iterable[tuple[Any, str]]) -> list[tuple[Any, tuple[str, ...]]]:
    """Each source once, with all its right texts; only texts can be the same source twice.

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
