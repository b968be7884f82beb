"""Sequence to sequence: a text for a source, of a length that the model decides."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from regard.tasks.task import ENCODER_DECODER, Task

if TYPE_CHECKING:
    from regard.tasks.baselines import Baseline

__all__ = ["TASK"]

_HELP = """Train a model that writes a text for each source, evaluate it on dev, and save it with a model card.

Such a model translates, transcribes or spells, and decides how long the text is. Your own data is a table (.csv, .tsv,
.jsonl, or .txt with the content of one) with the columns text or path, and target; name other columns with --column. It
is split into train, dev and test by a hash of each source. To use your own splits, name a folder with train.csv,
dev.csv and test.csv. A run that was killed or stopped by Ctrl-C continues with --resume and ends with the same weights
as an uninterrupted one.

A recipe is a JSON object; fields that it leaves out have their defaults: {"task": {"kind": "seq2seq", "architecture":
"attentive", "measure": "word error rate"}, "input": {"kind": "speech"}}. The architectures are transformer, attentive
(RNNs with attention) and recurrent (RNNs through one vector of fixed size).

\b
Examples:
  regard train seq2seq --data multi30k --label de-en --out translator
  regard train seq2seq --data fsdd-strings --out transcriber
  regard train seq2seq --data pairs.csv --out mine
  regard train seq2seq --data pairs.csv --base minilm/ --out begun
  regard evaluate mine --data pairs.csv
"""


_INPUTS: dict[str, dict[str, Any]] = {
    "graphs": {"edges": False},
    "speech": {"together": 4},
    "texts": {"piece_dropout": 0.0},
}

_OF_BASE: dict[str, Any] = {
    "network": "attention",
    "layers": 1,
    "epochs": 14,
    "batch_items": 1500,
    "schedule": "cosine",
    "learning_rate": 1e-4,
    "input": {"head_rate": 20.0, "special_tokens": True},
}
"""Where the encoder is a base: the decoder learns from nothing, so its rate and epochs are those without a base."""


class _Seq2Seq(Task):
    name = "seq2seq"
    noun = "seq2seq model"
    verb = "write"
    value = "a text, and whether the model ended it"
    commands = ("translate", "transcribe", "predict")
    targets = ("text",)
    help = _HELP
    summary = "Write a text for each source."
    # A text is no label.
    options_without = ("renamed", "ensemble")
    gives: ClassVar = {"text": "A seq2seq model: it writes a text for a source, and decides its length."}
    limits: ClassVar = {
        "text": (
            "{knows} What it writes reads well even where it is wrong, above all "
            "for sources longer than those in training. {attention}"
        )
    }
    decides_length = True
    text_source = "texts"
    batches = 16

    @property
    def settings(self) -> Any:
        from regard.tasks.seq2seq.settings import Seq2SeqSettings

        return Seq2SeqSettings

    @property
    def data(self) -> Any:
        from regard.tasks.seq2seq.data import Seq2SeqData

        return Seq2SeqData

    @property
    def model(self) -> Any:
        from regard.tasks.seq2seq.model import Seq2SeqModel

        return Seq2SeqModel

    def suits(self, pairs: Sequence[tuple[Any, Any]]) -> bool:
        """Texts that repeat are labels."""
        from regard.tasks.examples import mostly_different

        return mostly_different(pairs)

    def describe_targets(self, examples: Sequence[Any]) -> str:
        return "texts"

    def warnings(self, model: Any, splits: Mapping[str, Sequence[Any]], scores: Mapping[str, Any]) -> Iterator[str]:
        from regard.tasks.judging.model_warnings import text_warnings

        return text_warnings(model, splits["dev"])

    def baseline(self, model: Any) -> "Baseline | None":
        from regard.tasks.baselines.pairs import PairsBaseline

        return PairsBaseline(model.recipe.task) if model.recipe.input.is_text else None

    def defaults(self, source: str) -> Mapping[str, Any]:
        own = {"smoothing": 0.1, "learning_rate": 2e-3, "average": 0.98, "input": _INPUTS.get(source, {})}
        return {**ENCODER_DECODER, **own, **(_OF_BASE if source == "pretrained" else {})}

    def fitted(self, pairs: Sequence[tuple[Any, Any]], source: str) -> Mapping[str, Any]:
        from regard.tasks.seq2seq.settings import fitted_settings

        task = fitted_settings(pairs, source)
        # Much less is to be learned where most is copied: one layer makes no more errors than two.
        # After a hundred recordings, the character error rate is 10 % by Muon, and 31 % by AdamW.
        fields = {"layers": 1} if task.get("copying") else {"optimizer": "muon"} if task.get("monotonic") else {}
        return {"task": task, **fields}

    def least_batches(self, recipe: Any) -> int:
        return self.batches // 2 if recipe.task.copying else self.batches


TASK = _Seq2Seq()
