"""A trained writer: a source in, a text of a length of its own out: a translation, a transcript, a pronunciation."""

import dataclasses
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from regard.errors import ArgumentError, DoubtfulAnswer, UnknownPieces
from regard.inputs import Characters, Words, as_list
from regard.inspection import Record
from regard.modules.seq2seq import Seq2Seq
from regard.tasks.examples import Pair, as_pairs
from regard.tasks.judging import Judged
from regard.tasks.measure import Measure
from regard.tasks.model import Model, check_sources
from regard.tasks.recipe import Recipe
from regard.tasks.text import Text
from regard.tasks.text_judging import judge_texts
from regard.tasks.text_measures import TEXT_MEASURES
from regard.tasks.writer_looking import look_while_writing
from regard.tasks.writing_network import writing_network
from regard.tasks.written import Written, written

__all__ = ["Writer", "check_texts", "grouped"]


class Writer(Model[Text]):
    """A trained writer; `regard.train` makes one, `regard.load` reads one.

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

    kind = "seq2seq"
    verb = "write"
    decides_length = True

    @classmethod
    def read_answer(cls, saved: Any) -> Text:
        return Text.from_json(saved)

    @classmethod
    def new_network(cls, recipe: Recipe, reader: Any, answer: Text) -> Seq2Seq:
        return writing_network(recipe, reader, answer)

    @property
    def measure(self) -> Measure:
        return TEXT_MEASURES[self.recipe.task.measure].measure

    def read(self, source: Any, longest: int | None = None) -> Any:
        """A source, read, as `Model.read` does.

        Warns:
            LongerThanTrained: see there.
            UnknownPieces: it has characters or words that the model hasn't learned, where its vocabulary is of these:
                all of them are one to it.
        """
        item = super().read(source, longest)
        if isinstance(self.reader, Characters | Words) and (unknown := self.reader.unknown(source)):
            shown = ", ".join(f"{piece!r:.40}" for piece in unknown[:8]) + (", ..." if len(unknown) > 8 else "")
            warnings.warn(
                f"a source has {shown}, which {self.name} hasn't learned: what it makes of it is a guess.",
                UnknownPieces,
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
    ) -> list[Written | None]:
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
            self.reader,
            self.answer,
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
        return look_while_writing(self, sources, longest)

    def evaluate(self, examples: Iterable[Any], *, beams: int | None = None, batch_items: int = 4000) -> Judged:
        """Write where the right text is known, and compare. Where a source stands several times, all texts are right.

        A source that holds nothing is left out, and counted.

        Args:
            examples: (source, text) pairs, or `Example`s.
            beams, batch_items: as in `write`.

        Raises:
            ArgumentError: there is nothing to judge, or an example is not of that form, or its target is no text.
            MissingExtraError: sacrebleu or jiwer is not installed.
        """
        given = as_pairs(examples)
        check_texts(given, "examples")
        pairs = grouped(given)
        started = time.perf_counter()
        with warnings.catch_warnings():
            # How much what is unlike training costs, the score tells.
            warnings.simplefilter("ignore", DoubtfulAnswer)
            said = self.write([source for source, _ in pairs], beams=beams, batch_items=batch_items)
        seconds = time.perf_counter() - started
        answered = [(each.text, right) for each, (_, right) in zip(said, pairs, strict=True) if each is not None]
        if not answered:
            raise ArgumentError("`examples` must hold at least one source that isn't empty, but holds none.")
        texts, right = zip(*answered, strict=True)
        judged = judge_texts(self.recipe.task, texts, right, thorough=True)
        return dataclasses.replace(judged, empty=said.count(None), seconds=seconds)


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
