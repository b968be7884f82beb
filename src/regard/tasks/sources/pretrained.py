"""Texts, or words, as a pretrained model of transformers' reads them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, overload

import torch

from regard.errors import ArgumentError
from regard.inputs import Batch, PretrainedTokenizer
from regard.inputs.saved import checked_names
from regard.inputs.text.cased_vocabulary import CasedVocabulary
from regard.page.numbers import counted
from regard.tasks.judging.out_of_distribution import Statistic
from regard.tasks.pretrained.tuning import TUNED, Tuning
from regard.tasks.settings import boolean, integer, integer_or_none, one_of, real, text
from regard.tasks.sources.source import Framed
from regard.tasks.sources.word_source import CUTS, WordSource

if TYPE_CHECKING:
    from regard.tasks.pretrained.embedding import PretrainedEmbedding
    from regard.tasks.pretrained.network import PretrainedNetwork

__all__ = ["Pretrained", "PretrainedEncoder"]

_KEYS = ("base", "config", "tokenizer")
_TOLD = ("most_pieces", "padding")  # for programs that read an export; they follow from the rest
_MOST_PIECES = 512
_CHARACTERS = 16  # a piece, of which most languages have five
_POSITIONS_AFTER_PADDING = (
    "camembert",
    "data2vec-text",
    "ibert",
    "longformer",
    "luke",
    "mpnet",
    "roberta",
    "roberta-prelayernorm",
    "xlm-roberta",
    "xlm-roberta-xl",
    "xmod",
)
"""The architectures of transformers that count positions from that of padding on."""


@dataclass(frozen=True)
class PretrainedEncoder:
    """What is kept of a base beside its weights.

    Args:
        about: its name, the SHA-256 of its weights, and its licence where that is known.
        config: its configuration.
        tokenizer: its tokenizer.
        weights: the folder of its weights, before training; None for a model that was trained.
        cased: the vocabulary with capitals that the tokenizer has and the weights don't, before training.
    """

    about: Mapping[str, str]
    config: Mapping[str, Any]
    tokenizer: PretrainedTokenizer
    weights: Path | None = None
    cased: CasedVocabulary | None = None

    def with_capitals(self) -> "PretrainedEncoder | None":
        """This one with a `CasedVocabulary`; None if its tokenizer keeps capitals itself, or isn't one of WordPiece."""
        found = CasedVocabulary.of(self.tokenizer, max(self.config.get("vocab_size", 0), self.tokenizer.size))
        if found is None:
            return None
        config = {**self.config, "vocab_size": found.start + len(found.lower)}
        return replace(self, config=config, tokenizer=found.tokenizer, cased=found)

    @property
    def vocabulary(self) -> frozenset[str]:
        """The text of each piece."""
        return self.tokenizer.vocabulary

    @property
    def most_pieces(self) -> int:
        """How many pieces of a text the base can read, beside the special tokens."""
        found = self.config.get("max_position_embeddings", self.config.get("n_positions"))
        most = found if isinstance(found, int) and found > 0 else _MOST_PIECES
        if self.config.get("model_type") in _POSITIONS_AFTER_PADDING:
            # MPNet takes padding for 1, whatever it is.
            most -= max(self.padding, 1) + 1
        return min(most - len(self.tokenizer.prefix) - len(self.tokenizer.suffix), _MOST_PIECES)

    @property
    def padding(self) -> int:
        """The id of padding."""
        ends, ids = self.config.get("eos_token_id"), self.config.get("vocab_size", self.tokenizer.size)
        ends = ends if isinstance(ends, list) else [ends]
        candidates = (self.config.get("pad_token_id"), self.tokenizer.padding, *ends)
        return next((each for each in candidates if isinstance(each, int) and 0 <= each < ids), 0)

    def to_json(self) -> dict[str, Any]:
        """The encoder as a JSON object."""
        told = {"most_pieces": self.most_pieces, "padding": self.padding}
        held = {"base": dict(self.about), "config": dict(self.config), "tokenizer": self.tokenizer.to_json()}
        return {**held, **told}

    @classmethod
    def from_json(cls, saved: Any) -> "PretrainedEncoder":
        """The encoder whose `to_json` returned this.

        Raises:
            ArgumentError: something is missing or invalid.
        """
        held = checked_names("reader", saved, (*_KEYS, *_TOLD), required=_KEYS)
        for name in ("base", "config"):
            if not isinstance(held[name], dict):
                raise ArgumentError(f"`{name}` must be a JSON object, but is {held[name]!r:.60}. Save it again.")
        return cls(held["base"], held["config"], PretrainedTokenizer.from_json(held["tokenizer"]))


@dataclass(frozen=True)
class Pretrained(WordSource):
    """Sources that are texts or sentences, read by a pretrained model: a local folder of `save_pretrained`.

    With the network "pretrained" the model is fine-tuned with an output layer of its own, and what is saved loads in
    transformers, too. With another network, and in a seq2seq model, it is an embedding: that network reads its last
    hidden state at each item.

    Args:
        base: the folder of the pretrained model, with its tokenizer. Only training needs it.
        tuned: which weights are trained: "all"; "layers", the last `tuned_layers`; "adapters" (LoRA), of rank
            `adapter_rank`, which are merged with the weights at the end; or "head", the output layer alone.
        tuned_layers, adapter_rank: see `tuned`.
        layer_decay: the learning rate of each layer as a fraction of that of the layer above it.
        head_rate: the learning rate of the output layer, and of all that stands above the model, as a multiple of the
            recipe's, which is that of the model's last layer.
        special_tokens: whether the special tokens around a text, and each piece of a word, are items, as they must be
            for another network than "pretrained".
        longest: how many pieces of a text are read; what follows is cut off. None: as many as the base reads, at most
            512. Sentences of words are never cut.
        cut: how a text is split for a tagger, a name in `CUTS`.
        cased: whether a base that reads lower case alone learns capitals. Its vocabulary then has each piece with a
            first capital and in capitals, too. The default recipe of a tagger sets it.

    Raises:
        ArgumentError: a value of the wrong type or outside its range.
    """

    kind: ClassVar[str] = "pretrained"
    noun: ClassVar[str] = "piece"
    vectors: ClassVar[str] = "the vector that a pretrained model gives each piece, in its context"
    brings_network: ClassVar[bool] = True
    limits: ClassVar[str] = (
        "It knows the language of the pretrained model that it begins from, and may share that model's biases."
    )
    modalities: ClassVar[Mapping[str, int]] = {"text": 1}
    updates: ClassVar[int] = 600
    defaults: ClassVar[Mapping[str, Any]] = {
        "network": "pretrained",
        "epochs": 2,
        "batch_items": 1000,
        "learning_rate": 1e-4,
        "schedule": "linear",
    }

    encoding: ClassVar[str] = (
        "The tokenizer in `encoder.tokenizer` is one of the library tokenizers, which JavaScript reads, too. Special "
        "tokens stand around each text."
    )

    base: str = text()
    tuned: str = one_of("all", *TUNED)
    tuned_layers: int = integer(2, 1)
    adapter_rank: int = integer(8, 1, 1024)
    layer_decay: float = real(0.9, 0.0, 1.0, above=True)
    head_rate: float = real(1.0, 0.0, above=True)
    special_tokens: bool = boolean(False)
    longest: int | None = integer_or_none(1)
    cut: str = one_of("words", *CUTS)
    cased: bool = boolean(False)

    @classmethod
    def suits(cls, source: Any) -> int:
        # Never the default: it needs a base.
        return 1 if isinstance(source, str | list | tuple) else 0

    def check(self, recipe: Any) -> None:
        if self.cased and self.tuned == "head":
            raise ArgumentError(
                "`input.cased` must be false where `input.tuned` is 'head': what capitals say would not be learned."
            )
        own, field = recipe.architecture.of_source, recipe.task.architectures.field
        if recipe.optimizer != "adamw":
            raise ArgumentError(
                f"`optimizer` must be 'adamw' for a base, whose layers have rates of their own, but is "
                f"{recipe.optimizer!r}."
            )
        if own == self.special_tokens:
            raise ArgumentError(
                f"`input.special_tokens` must be {str(not own).lower()} for the {field} {recipe.architecture.name!r}, "
                f"{'which puts them around each text itself' if own else 'which reads what the base gives them, too'}, "
                f"but is {str(own).lower()}."
            )
        if not own and recipe.task.kind == "tagger":
            raise ArgumentError(
                f"`network` must be 'pretrained' for a tagger with a base, as the items of others are pieces and not "
                f"words, but is {recipe.network!r}."
            )

    def own_fields(self, pairs: Sequence[tuple[Any, Any]], task: str, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        from regard.tasks.sources.pretrained_defaults import pretrained_defaults

        own = pretrained_defaults(self._read(words=False).config, pairs, task, asked.get("tuned"))
        if task == "tagger" and asked.get("tuned") != "head" and self._read(words=True, cased=True) is not None:
            return {**own, "input": {**own.get("input", {}), "cased": True}}
        return own

    def fit(self, sources: Iterable[str | Sequence[str]]) -> PretrainedEncoder:
        found = self._read(words=not isinstance(next(iter(sources), ""), str), cased=self.cased)
        if found is None:
            raise ArgumentError(
                f"`input.cased` must be false for {self.base}: its tokenizer keeps capitals, or isn't one of WordPiece."
            )
        return found

    def encoder(self, saved: Any) -> PretrainedEncoder:
        return PretrainedEncoder.from_json(saved)

    def item(self, encoder: PretrainedEncoder, source: str | Sequence[str]) -> list[list[int]]:
        """The ids of the pieces of each word, or of each piece of a text.

        With special tokens as items, each piece of a word is an item of its own.
        """
        own = encoder.tokenizer
        if isinstance(source, str):
            pieces = [[piece] for piece in self._read_pieces(encoder, source)]
        else:
            pieces = own.encode_words(self.words(source))
            if (count := sum(map(len, pieces))) > (most := encoder.most_pieces):
                raise ArgumentError(
                    f"a sentence may have {counted(most, 'piece')}, the positions of the base, but one of "
                    f"{counted(len(source), 'word')} has {count:,}. {self.shorten}"
                )
        if not self.special_tokens or not pieces:
            return pieces
        return [[piece] for piece in (*own.prefix, *chain(*pieces), *own.suffix)]

    def size_of(self, item: Sequence[Sequence[int]]) -> int:
        # A word may have dozens, as an address does: a batch of a thousand such words would need gigabytes.
        return sum(map(len, item))

    def _read_pieces(self, encoder: PretrainedEncoder, text: str) -> list[int]:
        """The ids of the pieces of a text that are read."""
        most = self._most(encoder)
        # To split all of a book for the sake of its first page would take minutes.
        found = encoder.tokenizer.encode(_first_words(text, _CHARACTERS * most))
        return (found if len(found) >= most else encoder.tokenizer.encode(text))[:most]

    def _most(self, encoder: PretrainedEncoder) -> int:
        return min(encoder.most_pieces, self.longest or encoder.most_pieces)

    def from_argument(self, encoder: PretrainedEncoder, argument: str) -> list[tuple[str, Any]]:
        # The text itself: its tokenizer may split it otherwise than its words one by one.
        return [(argument, argument)]

    def preparation(self, sources: Sequence[Any]) -> str | None:
        texts = [source for source in sources if isinstance(source, str)]
        if not texts:
            return None
        encoder = self.fit(texts)
        most = self._most(encoder)
        # A piece has a byte or more, so a shorter text needn't be split.
        long = [source for source in texts if len(source.encode(errors="replace")) > most]
        cut = sum(len(encoder.tokenizer.encode(source)) > most for source in long)
        if not cut:
            return None
        return (
            f"Note: {cut:,} of {len(texts):,} texts are longer than {most:,} pieces, and what follows isn't read. "
            "input.longest of a recipe sets how much is, up to what the base can."
        )

    def ood_statistics(self, encoder: PretrainedEncoder, source: str | Sequence[str]) -> tuple[Statistic, ...]:
        text = source if isinstance(source, str) else " ".join(source)
        if not text.strip():
            return ()
        text = _first_words(text, _CHARACTERS * encoder.most_pieces)
        pieces = len(encoder.tokenizer.encode(text))
        said = f"its {counted(len(text), 'character')} fall into {counted(pieces, 'piece')}"
        of_set = "their characters fall into {} pieces each"
        # A short text of one rare word says little.
        return (Statistic("pieces", pieces, len(text), said, 20, of_set=of_set, shown="{:.2f}".format),)

    def unknown_pieces(self, encoder: PretrainedEncoder, source: str) -> list[str]:
        words, unknown = source.split(), encoder.tokenizer.unknown
        pieces = encoder.tokenizer.encode_words(words)
        return [word for word, own in zip(words, pieces, strict=True) if unknown is not None and unknown in own]

    def batch(self, encoder: PretrainedEncoder, items: Sequence[Sequence[Sequence[int]]]) -> Batch:
        lengths = torch.tensor([len(item) for item in items], dtype=torch.int64)
        most = max((len(pieces) for item in items for pieces in item), default=1)
        vectors = torch.zeros(len(items), int(lengths.max()) if len(items) else 0, most, dtype=torch.int64)
        for row, item in zip(vectors, items, strict=True):
            for place, pieces in enumerate(item):
                # 0 is no piece.
                row[place, : len(pieces)] = torch.tensor(pieces) + 1
        return Batch(vectors, lengths)

    def random_items(self, encoder: PretrainedEncoder, lengths: Sequence[int]) -> list[list[list[int]]]:
        draws, most = torch.Generator().manual_seed(0), encoder.config.get("vocab_size", 2)

        def word() -> list[int]:
            count = 1 if self.special_tokens else int(torch.randint(1, 3, (), generator=draws))
            return torch.randint(0, most, (count,), generator=draws).tolist()

        return [[word() for _ in range(length)] for length in lengths]

    def encoder_file(self, encoder: PretrainedEncoder) -> str:
        return "pretrained"

    def names(self, encoder: PretrainedEncoder, source: str | Sequence[str]) -> list[str]:
        if not isinstance(source, str) and not self.special_tokens:
            return list(source)
        return encoder.tokenizer.names([*chain(*self.item(encoder, source))])

    def framed(self, encoder: PretrainedEncoder, source: Any, item: Sequence[Sequence[int]]) -> Framed:
        if self.special_tokens:
            return Framed(tuple(self.names(encoder, source)))
        own = encoder.tokenizer
        before, after = own.names(own.prefix), own.names(own.suffix)
        ends = [*range(len(before) + 1)]
        for size in [*map(len, item), *[1] * len(after)]:
            ends.append(ends[-1] + size)
        return Framed((*before, *self.names(encoder, source), *after), len(before), tuple(ends))

    @property
    def digests(self) -> Mapping[str, str]:
        return {"base": self._read(words=False).about["sha256"]}

    def origin(self, saved: Mapping[str, Any]) -> Mapping[str, Any]:
        about = saved.get("base", {})
        if not about:
            return {}
        how = {
            "all": "all of its weights",
            "layers": f"its last {counted(self.tuned_layers, 'layer')}",
            "adapters": f"by adapters of rank {self.adapter_rank}, which are merged with its weights",
        }
        frozen = f"trained by regard on the frozen base {about.get('name')}"
        return {
            "what": "weights of the base",
            "how": frozen
            if self.tuned == "head"
            else f"fine-tuned by regard, {how[self.tuned]}, from {about.get('name')}",
            "files": {"weights": about.get("sha256")},
            **about,
        }

    def network(self, encoder: PretrainedEncoder, outputs: int, *, per_item: bool) -> "PretrainedNetwork":
        from regard.tasks.pretrained.network import PretrainedNetwork

        head = "AutoModelForTokenClassification" if per_item else "AutoModelForSequenceClassification"
        return PretrainedNetwork(*self._base(encoder, head, outputs), per_item=per_item, tuning=self._tuning(encoder))

    def embedding(self, encoder: PretrainedEncoder, width: int) -> "PretrainedEmbedding":
        from regard.tasks.pretrained.embedding import PretrainedEmbedding

        # A model with outputs for each piece has no layers that only outputs for a text need.
        model, _, _, padding = self._base(encoder, "AutoModelForTokenClassification", 1)
        return PretrainedEmbedding(model.base_model, padding, width=width, tuning=self._tuning(encoder))

    def _base(self, encoder: PretrainedEncoder, head: str, outputs: int) -> tuple[Any, list[int], list[int], int]:
        """The model with an output layer, the ids of the special tokens around each text, and that of padding."""
        from regard.tasks.pretrained.base import new_model
        from regard.tasks.pretrained.cased_embedding import CasedEmbedding

        config, cased = {**encoder.config, "pad_token_id": encoder.padding}, encoder.cased
        if cased is not None:
            config["vocab_size"] = cased.start
        model = new_model(config, head, outputs, encoder.weights)
        own, table = encoder.tokenizer, model.get_input_embeddings()
        if (size := own.size if cased is None else cased.start) > table.num_embeddings:
            raise ArgumentError(
                f"`base` must have an embedding for each of the {size:,} ids of its tokenizer, but has "
                f"{table.num_embeddings:,}. Save the model and the tokenizer that belong together."
            )
        if cased is not None:
            model.set_input_embeddings(CasedEmbedding(table, cased))
        return model, own.prefix, own.suffix, encoder.padding

    def files(self, encoder: PretrainedEncoder, network: Any, target: Any) -> Mapping[str, bytes]:
        from regard.tasks.pretrained.network import PretrainedNetwork

        if not isinstance(network, PretrainedNetwork):
            # No class of transformers' has regard's networks.
            return {}
        found = {name: text.encode() for name, text in encoder.tokenizer.files.items()}
        names = target.labels or target.questions
        problem = "single_label" if target.labels else "multi_label" if target.questions else ""
        problem = f"{problem}_classification" if problem else "regression"
        return {**found, "config.json": json.dumps(network.config(names, problem), indent=2).encode()}

    @overload
    def _read(self, *, words: bool) -> PretrainedEncoder: ...

    @overload
    def _read(self, *, words: bool, cased: bool) -> PretrainedEncoder | None: ...

    def _read(self, *, words: bool, cased: bool = False) -> PretrainedEncoder | None:
        from regard.tasks.pretrained.base import base_folder

        folder = base_folder(self.base)
        files = sorted((path.name, (told := path.stat()).st_size, told.st_mtime_ns) for path in folder.iterdir())
        return (_read_cased if cased else _read)(folder, tuple(files), words=words)

    def _tuning(self, encoder: PretrainedEncoder) -> Tuning | None:
        """What is trained; None for a model that was trained before."""
        if encoder.weights is None:
            return None
        return Tuning(self.tuned, self.tuned_layers, self.adapter_rank, self.layer_decay, self.head_rate)


def _first_words(text: str, size: int) -> str:
    """The words that end within so many characters, which have the pieces that they have in the text."""
    end = text.rfind(" ", 0, size) if len(text) > size else -1
    return text if end < 0 else text[:end]


@lru_cache(2)
def _read(folder: Path, files: tuple[Any, ...], *, words: bool) -> PretrainedEncoder:
    """Read a base with these files, without its weights, which takes a second or two."""
    from regard.tasks.pretrained.base import about_base, read_config

    # A path of this machine says nothing elsewhere.
    config = {name: value for name, value in read_config(folder).items() if name != "_name_or_path"}
    found = PretrainedEncoder(about_base(folder), config, PretrainedTokenizer.read(folder, words=words), folder)
    if found.most_pieces < 1:
        raise ArgumentError(
            f"`base` must have positions for a piece of text beside its special tokens, but {folder} has "
            f"max_position_embeddings {config.get('max_position_embeddings')}. Choose another base."
        )
    return found


@lru_cache(2)
def _read_cased(folder: Path, files: tuple[Any, ...], *, words: bool) -> PretrainedEncoder | None:
    return _read(folder, files, words=words).with_capitals()
