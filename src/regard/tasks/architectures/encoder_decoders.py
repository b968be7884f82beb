"""The networks of seq2seq and synthesis: an encoder of sources, and a decoder of texts or of frames of sound."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import nn

from regard import modules
from regard.tasks.architectures.architecture import Architectures, EncoderDecoder, Fixed, of_task
from regard.tasks.architectures.self_attention import WithSelfAttention

__all__ = ["SOUND_NETWORKS", "TEXT_NETWORKS"]


@dataclass(frozen=True)
class Transformer(WithSelfAttention, EncoderDecoder):
    """Attention alone."""

    name: ClassVar[str] = "transformer"
    summary: ClassVar[str] = "Self-attention and attention to the source, and nothing recurrent"
    fixed: ClassVar[Fixed] = {"task.copying": (False, "only generates")}

    hidden: int
    decoder_layers: int = of_task()
    tied: bool = of_task()
    guide: float | None = of_task()
    monotonic: float = of_task()

    def build(self, embedding: nn.Module, target: Any) -> "modules.Seq2Seq":
        network = modules.TransformerSeq2Seq(
            embedding,
            target.vocabulary.size,
            self.width,
            self.layers,
            hidden=self.hidden,
            dropout=self.dropout,
            decoder_layers=self.decoder_layers,
            tied=self.tied,
            guide=_guide(self.guide, target),
            **self.attention.arguments(),
        )
        self.attention.position.draw(network)
        return _with_spelling(network, self, target)


@dataclass(frozen=True)
class Attentive(EncoderDecoder):
    """RNNs with attention to the source."""

    name: ClassVar[str] = "attentive"
    summary: ClassVar[str] = "RNNs, with attention to each state of the source"
    # Queries are states of the decoder and keys those of the encoder: a shared matrix would be another idea.
    fixed: ClassVar[Fixed] = {
        "mask": ("none", "encodes sources by an RNN"),
        "projections": ("usual", "has no self-attention"),
        "approximation": ("none", "has no self-attention"),
    }

    heads: int
    score: str
    weights: str
    attention_dropout: float
    tied: bool = of_task()
    bidirectional: bool = of_task()
    keys: str = of_task()
    values: str = of_task()
    guide: float | None = of_task()
    monotonic: float = of_task()
    copying: bool = of_task()

    def build(self, embedding: nn.Module, target: Any) -> "modules.Seq2Seq":
        network = modules.AttentionSeq2Seq(
            embedding,
            target.vocabulary.size,
            self.width,
            self.layers,
            dropout=self.dropout,
            bidirectional=self.bidirectional,
            tied=self.tied,
            heads=self.heads,
            score=self.score,
            weights=self.weights,
            attention_dropout=self.attention_dropout,
            keys=self.keys,
            values=self.values,
            guide=_guide(self.guide, target),
        )
        return _with_spelling(network, self, target)


@dataclass(frozen=True)
class Recurrent(EncoderDecoder):
    """RNNs through one vector of fixed size."""

    name: ClassVar[str] = "recurrent"
    summary: ClassVar[str] = "RNNs without attention, for comparison: all of a source goes through one vector"
    attends: ClassVar[bool] = False
    fixed: ClassVar[Fixed] = {
        "mask": ("none", "encodes sources by an RNN"),
        "projections": ("usual", "has no attention"),
        "approximation": ("none", "has no attention"),
        "task.guide": (None, "keeps one vector of a source"),
        "task.monotonic": (0, "keeps one vector of a source"),
        "task.copying": (False, "keeps one vector of a source"),
    }

    tied: bool = of_task()
    bidirectional: bool = of_task()

    def build(self, embedding: nn.Module, target: Any) -> "modules.Seq2Seq":
        return modules.RecurrentSeq2Seq(
            embedding,
            target.vocabulary.size,
            self.width,
            self.layers,
            dropout=self.dropout,
            bidirectional=self.bidirectional,
            tied=self.tied,
        )


@dataclass(frozen=True)
class Frames(WithSelfAttention, EncoderDecoder):
    """A Transformer whose decoder predicts frames of sound."""

    name: ClassVar[str] = "synthesis"
    summary: ClassVar[str] = "Self-attention and nothing recurrent"

    hidden: int
    decoder_layers: int = of_task()
    frame_dropout: float = of_task()
    guide: float | None = of_task()
    parts: int | None = of_task()

    @classmethod
    def ignored(cls, values: Mapping[str, Any]) -> Collection[str]:
        return ("parts",) if values["guide"] is None else ()

    def build(self, embedding: nn.Module, target: Any) -> "modules.FrameSeq2Seq":
        network = modules.FrameSeq2Seq(
            embedding,
            target.width,
            self.width,
            self.layers,
            hidden=self.hidden,
            dropout=self.dropout,
            decoder_layers=self.decoder_layers,
            frame_dropout=self.frame_dropout,
            guide=_guide(self.guide, target),
            parts_per_item=self.parts or 1,  # of no effect without a guide
            strides=target.together,
            **self.attention.arguments(),
        )
        self.attention.position.draw(network)
        return network


def _guide(distance: float | None, target: Any) -> "modules.Guide | None":
    return None if distance is None else modules.Guide(distance, target.rate)


def _with_spelling(network: "modules.Seq2Seq", architecture: Transformer | Attentive, target: Any) -> "modules.Seq2Seq":
    """The network with a CTC head, if the loss of that has a weight."""
    if architecture.monotonic:
        network.spelling = modules.CTCHead(architecture.width, target.vocabulary.size)
    return network


# The outputs of several decoders can't be averaged step by step.
_FIXED: Fixed = {
    "members": (1, "is one network"),
    "consistency": (0, "predicts sequences"),
    "head": ("trained", "predicts sequences"),
    "residual": (True, "has a decoder with residual connections"),
}

TEXT_NETWORKS = Architectures(
    "task.architecture",
    {each.name: each for each in (Transformer, Attentive, Recurrent)},
    aliases={"rnn": "recurrent", "attention": "transformer"},
    fixed=_FIXED,
)
"""The networks of seq2seq models."""

SOUND_NETWORKS = Architectures("task.kind", {Frames.name: Frames}, fixed=_FIXED)
"""The network of speech synthesis."""
