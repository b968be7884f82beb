"""Taggers: a label, or a number, for each item of a source."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from regard.tasks.task import CALIBRATED, NUMBERS, Task

if TYPE_CHECKING:
    from regard.tasks.baselines import Baseline

__all__ = ["TASK"]

_HELP = """Train a tagger, evaluate it on dev, and save it with a model card.

A tagger predicts a label for each word of a sentence, frame of a recording or node of a graph. Your own data can be a
.conllu file, a .conll file with a word and its labels on each line, or a .txt file with the same content or with lines
of word/TAG, which is split into train, dev and test by a hash of each sentence; a folder with one such file for each
split, named like en-train.conllu; or a folder with profiles.csv and edges.csv. A run that was killed or stopped by
Ctrl-C continues with --resume and ends with the same weights as an uninterrupted one.

A recipe is a JSON object; fields that it leaves out have their defaults: {"width": 64, "epochs": 5}.

\b
Examples:
  regard train tagger --data ud-english-ewt --out english
  regard train tagger --data ud-english-ewt --out english --resume
  regard train tagger --data fsdd-strings --label frames --out frames
  regard train tagger --data mine.conllu --out mine --seed 7
  regard train tagger --data ner.conll --label column4 --out names
  regard train tagger --data my-treebank/ --out mine --recipe small.json
  regard train tagger --data my-treebank/ --out mine --base all-MiniLM-L6-v2/
  regard evaluate mine --data my-treebank/
"""

_CANDIDATES: dict[str, dict[str, dict[str, Any]]] = {
    "words": {"bidirectional": {"network": "bidirectional"}},
}


_MOST_ROWS, _MOST_WEIGHTS = 1 << 15, 1 << 22
# On dev of English EWT a network with the linear part was as good as one without it at 49,000 words, much better with
# fewer, and 0.8 points worse with all 204,000: with so many words a network learns more alone.
_MOST_WORDS = 50_000


def _linear_settings(pairs: Sequence[tuple[Any, Any]]) -> dict[str, Any]:
    """The linear part of a tagger of words: several rows of its table for each word, until words share features."""
    # Targets of another form are refused when they are checked.
    rows_of_targets = [targets for _, targets in pairs if isinstance(targets, list | tuple)]
    words = sum(map(len, rows_of_targets))
    labels = max(1, len({each for targets in rows_of_targets for each in targets if isinstance(each, str)}))
    most = min(_MOST_ROWS, 1 << ((_MOST_WEIGHTS // labels).bit_length() - 1))
    rows = max(1 << 12, min(most, 1 << (4 * words).bit_length()))
    return {"linear": words <= _MOST_WORDS, "linear_ngrams": "affixes", "linear_rows": rows}


class _Tagger(Task):
    name = "tagger"
    noun = "tagger"
    verb = "tag"
    value = "for each item, a word with its label or its number"
    commands = ("tag", "predict")
    targets = ("items",)
    help = _HELP
    summary = "Label each word, frame or node of a source."
    # Tables don't hold targets for items, so there is no column to name.
    options_without = ("column", "header")
    gives: ClassVar = {
        "label": "A tagger: it predicts one of {labels} for each {item}.",
        "number": "A tagger: it predicts a number for each {item}.",
    }
    limits: ClassVar = {"label": CALIBRATED, "number": NUMBERS}
    examples: ClassVar = {"words": '["I", "saw", "a", "saw", "."]'}
    per_item = True

    @property
    def settings(self) -> Any:
        from regard.tasks.tagger.settings import TaggerSettings

        return TaggerSettings

    @property
    def data(self) -> Any:
        from regard.tasks.tagger.data import TaggerData

        return TaggerData

    @property
    def model(self) -> Any:
        from regard.tasks.tagger.model import Tagger

        return Tagger

    def command(self, source: str) -> str:
        from regard.tasks.sources import INPUTS

        return "tag" if INPUTS[source].of_words else "predict"

    def suits(self, pairs: Sequence[tuple[Any, Any]]) -> bool:
        from regard.tasks.examples import answers_questions, first_target

        return isinstance(first_target(pairs), list | tuple) and not answers_questions(pairs)

    def example(self, examples: Sequence[Any]) -> Any:
        """A short sentence, of a tagger of words."""
        from regard.tasks.examples import as_pairs

        sentences = [source for source, _ in as_pairs(examples) if isinstance(source, list | tuple)]
        short = [words for words in sentences if 3 <= len(words) <= 9]
        return list((short or sentences)[0][:9]) if sentences else None

    def warnings(self, model: Any, splits: Mapping[str, Sequence[Any]], scores: Mapping[str, Any]) -> Iterator[str]:
        from regard.tasks.examples import as_pairs
        from regard.tasks.judging.model_warnings import label_warnings

        yield from label_warnings(model, splits, scores)
        yield from model.recipe.input.target_warnings(as_pairs(splits["train"]))

    def baseline(self, model: Any) -> "Baseline | None":
        from regard.tasks.baselines.items import ItemBaseline
        from regard.tasks.baselines.words import CountingTagger

        if model.recipe.input.is_text:
            return CountingTagger() if model.labels else None
        return ItemBaseline(partial(model.recipe.input.simple_items, model.encoder), model.target)

    def candidates(self, recipe: Any) -> Mapping[str, Mapping[str, Any]]:
        # Beside a linear part it is no better, and it has no attention to show.
        beside_linear = getattr(recipe.input, "linear", False)
        return {} if beside_linear else _CANDIDATES.get(recipe.input.kind, {})

    def defaults(self, source: str) -> Mapping[str, Any]:
        return {"pretrained": {"epochs": 4, "learning_rate": 2e-4}}.get(source, {})

    def fitted(self, pairs: Sequence[tuple[Any, Any]], source: str) -> Mapping[str, Any]:
        return {"input": _linear_settings(pairs)} if source == "words" else {}

    def most_epochs(self, recipe: Any) -> int:
        if recipe.input.kind != "words":
            return {"pretrained": 15}.get(recipe.input.kind, 100)
        # What a linear part leaves is learned within a few.
        return 14 if recipe.input.linear else 60


TASK = _Tagger()
