"""Classifiers: a label, several labels, or a number for a source."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from regard.errors import ArgumentError
from regard.inputs.lines import parse_number, with_point
from regard.tasks.task import CALIBRATED, NUMBERS, Task

if TYPE_CHECKING:
    from regard.tasks.baselines import Baseline

__all__ = ["TASK"]

_HELP = """Train a classifier, evaluate it on dev, and save it with a model card.

A classifier predicts one label, several labels, or a number for each source; the targets of your data decide which.
Your own data can be a table (.csv, .tsv, .jsonl, or .txt with the content of one). Its columns are called text, path or
smiles, and label or number; name other columns with --column. For several labels, give each a column with 1, 0 or
nothing, and name each with --column labels=NAME. Your data can also be a folder that holds a folder of recordings or
pictures for each class, or hold series: a .ts file of the UEA & UCR archive; a table with the numbers of a series and
its label in each row; or an .npz file with an array (item, width) for each series and an array `labels` with a label or
a number for each. All are split into train, dev and test by a hash of each source. To use your own splits, name
a folder with train.csv, dev.csv and test.csv, or with a folder of classes for each split. The first line of the output
says how the data are read. A column called smiles holds molecules; --input texts reads them as plain text. A run that
was killed or stopped by Ctrl-C continues with --resume and ends with the same weights as an uninterrupted one.

A recipe is a JSON object; fields that it leaves out have their defaults: {"width": 64, "input": {"kind": "speech"}}.

\b
Examples:
  regard train classifier --data sst2 --out sentiment
  regard train classifier --data fsdd --label speaker --out speakers
  regard train classifier --data reviews.csv --out mine
  regard train classifier --data series.npz --out mine
  regard train classifier --data photos/ --out mine --seed 7
  regard train classifier --data my-reviews/ --out mine --column text=review --column label=stars
  regard train classifier --data reviews.csv --out mine --labels 0=negative,1=positive
  regard train classifier --data reviews.csv --out mine --base all-MiniLM-L6-v2/
  regard train classifier --data reviews.csv --out mine --vectors glove.6B.100d.txt
  regard train classifier --data reviews.csv --out mine --skip-broken broken.jsonl
  regard evaluate mine --data my-reviews/
"""


_FEW_LABELS = 20
_DEFAULTS: dict[str, dict[str, Any]] = {
    "words": {
        "input": {"linear": True},
        "layers": 1,
        "dropout": 0.4,
        "average": 0.98,
        "epochs": 4,
        # What the linear part leaves is little: larger steps only disturb it.
        "learning_rate": 1e-3,
        "best_by": "loss",
        "cross_validate": True,
        "patience": 3,
    },
    "speech": {
        "input": {
            "together": 4,
            "standardise": True,
            "stretch": 0.15,
            "frame_dropout": 0.15,
            "band_dropout": 10,
            "linear": True,
        },
    },
    "molecules": {"input": {"descriptors": True, "linear": True}},
    # A mean over neighbours can't count, so their number at each distance and the counts of the whole are read, too.
    "graphs": {"input": {"edges": False, "reach": 3, "counts": True, "linear": True}, "learning_rate": 0.003},
}
_LABELLED_SERIES: dict[str, Any] = {
    "task": {"kind": "classifier", "pooling": "mean"},
    "width": 64,
    "hidden": 128,
    "layers": 1,
    "dropout": 0.4,
    "attention_dropout": 0.0,
    "position": "none",
    "smoothing": 0.1,
    "learning_rate": 2e-3,
    "average": 0.98,
}
"""For labels: numbers may depend on a few exact values, which a mean over parts loses."""


class _Classifier(Task):
    name = "classifier"
    noun = "classifier"
    verb = "classify"
    value = "a label and its probability; a probability for each question; or a number"
    commands = ("classify", "predict")
    targets = ("label", "number", "labels")
    help = _HELP
    summary = "Predict a label or a number for each source."
    gives: ClassVar = {
        "label": "A classifier: it predicts one of {labels} for a source.",
        "several": "A classifier: it answers {count} questions about a source with yes or no ({names}).",
        "number": "A classifier: it predicts a number for a source.",
    }
    limits: ClassVar = {"label": CALIBRATED, "several": CALIBRATED, "number": NUMBERS}

    @property
    def settings(self) -> Any:
        from regard.tasks.classifier.settings import ClassifierSettings

        return ClassifierSettings

    @property
    def data(self) -> Any:
        from regard.tasks.classifier.data import ClassifierData

        return ClassifierData

    @property
    def model(self) -> Any:
        from regard.tasks.classifier.model import Classifier

        return Classifier

    def suits(self, pairs: Sequence[tuple[Any, Any]]) -> bool:
        from regard.tasks.examples import answers_questions, first_target, is_sound, mostly_different

        first = first_target(pairs)
        if isinstance(first, list | tuple):
            return answers_questions(pairs)
        return not is_sound(first) and not mostly_different(pairs)

    def check_labels(self, examples: Sequence[Any], name: str) -> None:
        """Refuse target texts as labels: most occur only once, and a classifier can't predict new ones."""
        labels = [label for label in self.known_targets(examples) if isinstance(label, str)]
        if len(labels) > _FEW_LABELS and 2 * len({*labels}) > len(labels):
            step = "To train a model that writes texts, use regard train seq2seq."
            if all(parse_number(with_point(label)) is not None for label in labels):
                point = (
                    ", with decimal points in a table divided by commas" if any("," in each for each in labels) else ""
                )
                step = f"They are numbers. To predict numbers, name their column as such{point}: --column number=label."
            raise ArgumentError(
                f"`data` must have labels that repeat, to be for a classifier, but {len({*labels}):,} of "
                f"{len(labels):,} in {name} are different. {step}"
            )

    def warnings(self, model: Any, splits: Mapping[str, Sequence[Any]], scores: Mapping[str, Any]) -> Iterator[str]:
        from regard.tasks.judging.model_warnings import label_warnings

        return label_warnings(model, splits, scores)

    def baseline(self, model: Any) -> "Baseline | None":
        from regard.tasks.baselines.sources import SourceBaseline

        return SourceBaseline(model.recipe.input.simple_features(model.encoder), model.target)

    def defaults(self, source: str) -> Mapping[str, Any]:
        return _DEFAULTS.get(source, {})

    def fitted(self, pairs: Sequence[tuple[Any, Any]], source: str) -> Mapping[str, Any]:
        if source != "vectors" or not any(isinstance(target, str) for _, target in pairs):
            return {}
        from regard.tasks.sources.vectors import labelled_series

        return {**_LABELLED_SERIES, "input": labelled_series(pairs)}

    def most_epochs(self, recipe: Any) -> int:
        return {"words": 10, "graphs": 60, "pictures": 160, "pretrained": 15}.get(recipe.input.kind, 100)


TASK = _Classifier()
