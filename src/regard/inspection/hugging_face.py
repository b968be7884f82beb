"""A model that Hugging Face's `save_pretrained` wrote, with one text, picture or sound, as a case for `see`."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import safetensors
import torch
from torch import Tensor

from regard.errors import DataError, ModelError
from regard.extras import quiet_transformers, require
from regard.inputs import read_picture
from regard.inspection.cases.case import Case
from regard.inspection.cases.hugging_face_seq2seq import seq2seq_case
from regard.inspection.cases.hugging_face_sound import reads_sounds, sound_case
from regard.inspection.cases.hugging_face_source import Source, failing_as, runner, sequence_length
from regard.inspection.explain.outcomes import Form, Kind
from regard.modules.bounded import Bounded

__all__ = ["Pretrained", "pretrained", "pretrained_case"]

# Quantised weights have eight numbers of four bits in an integer.
_PACKED = 8


def pretrained_case(folder: str | Path, source: str) -> Case:
    """The case of a model in a folder and a source.

    The source is a text, or the name of a file for a model that reads pictures or sounds. What the model predicts
    depends on its class: labels of the whole or of each token, the next token, the masked ones (of a text without a
    mask, each token), each token of the text that an encoder-decoder writes; vectors, if it has no output layer.

    Args:
        folder: what `save_pretrained` wrote of the model and of its tokenizer, image processor or feature extractor.
        source: the text, or the name of a picture or sound.

    Raises:
        MissingExtraError: transformers, or the library that reads such files, isn't installed.
        ModelError: the folder can't be loaded, or the model is of a class that can't be run on one source.
        DataError: the file can't be read, or the text has no token or too many.
    """
    return pretrained(folder).case(source)


def pretrained(folder: str | Path) -> "Pretrained":
    """The model in a folder with what reads its sources, loaded once for many cases.

    Raises:
        MissingExtraError, ModelError: as in `pretrained_case`.
    """
    with quiet_transformers() as transformers:
        return _loaded_with_reader(transformers, Path(folder))


@dataclass(frozen=True, eq=False)
class Pretrained:
    """A model that is ready for sources.

    Args:
        name: the model's name.
        noun: what a source is: "text", "picture" or "sound".
        read: makes the case of a source.
    """

    name: str
    noun: str
    read: Callable[[str], Case]

    def case(self, source: str) -> Case:
        """The model with one source: a text, or the name of a file.

        Raises:
            DataError: the source can't be read.
            ModelError: the model is of a class that can't be run on one source.
        """
        with quiet_transformers(), failing_as(self.name):
            return self.read(source)


def _loaded_with_reader(transformers: Any, path: Path) -> Pretrained:
    config = _loaded(transformers.AutoConfig, path)
    both = getattr(config, "is_encoder_decoder", False)
    usual = transformers.AutoModelForSeq2SeqLM if both else transformers.AutoModel
    # A configuration may ask for any number of layers; building a million of them would take hours.
    with Bounded(_sizes(path)):
        model = _loaded(_class_of(transformers, config) or usual, path).eval()
    name = path.resolve().name
    if reads_sounds(model):
        return Pretrained(name, "sound", _sounds(transformers, path, model, name))
    if both and not (model.can_generate() and model.main_input_name == "input_ids"):
        raise ModelError(
            f"{path} must hold an encoder, a decoder, or both if they read a text and write one, but holds "
            f"{type(model).__name__}. Write a Python file with a function that returns the model and its inputs."
        )
    if _has_tokenizer(path):
        return Pretrained(name, "text", partial(_text, _loaded(transformers.AutoTokenizer, path), model, name))
    if (path / "preprocessor_config.json").is_file():
        return Pretrained(
            name, "picture", partial(_picture, _loaded(transformers.AutoImageProcessor, path), model, name)
        )
    raise ModelError(
        f"{path} must hold a tokenizer or an image processor beside the model, but holds neither. Save it there with "
        "tokenizer.save_pretrained."
    )


def _class_of(transformers: Any, config: Any) -> Any:
    """The class that wrote a folder; None if there is none of that name."""
    names = getattr(config, "architectures", None)
    name = names[0] if isinstance(names, list) and names else None
    found = getattr(transformers, name, None) if isinstance(name, str) else None
    return found if isinstance(found, type) and issubclass(found, transformers.PreTrainedModel) else None


def _sizes(folder: Path) -> list[int]:
    """The number of numbers in each tensor of a folder's weights, as many as it can be packed from."""
    try:
        return [
            _PACKED * math.prod(held.get_slice(name).get_shape())
            for path in folder.glob("*.safetensors")
            for held in [safetensors.safe_open(path, "pt")]
            for name in held.keys()  # noqa: SIM118, it is no dict
        ]
    except (safetensors.SafetensorError, OSError) as error:
        raise ModelError(f"{folder} must hold what save_pretrained wrote, but can't be loaded: {error}") from error


def _loaded(kind: Any, folder: Path) -> Any:
    # Weights in pickles would run code of whoever wrote them.
    more = {"use_safetensors": True} if hasattr(kind, "_from_config") or kind.__name__.startswith("AutoModel") else {}
    try:
        # Left out, transformers would ask whether to run the folder's own code.
        return kind.from_pretrained(folder, local_files_only=True, trust_remote_code=False, **more)
    except Exception as error:
        # Each library that reads a file of the folder has errors of its own.
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise ModelError(f"{folder} must hold what save_pretrained wrote, but can't be loaded: {lines[0]}") from error


def _has_tokenizer(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"))


def _text(tokenizer: Any, model: Any, name: str, source: str) -> Case:
    inputs = dict(tokenizer(source, return_tensors="pt"))
    ids = inputs["input_ids"][0].tolist()
    if not tokenizer(source, add_special_tokens=False)["input_ids"]:
        raise DataError(f"a source must have a token or more, but {source!r:.40} has none. Give {name} a text.")
    most = _positions(model)
    if most is not None and len(ids) > most:
        raise DataError(
            f"a source may have {most:,} tokens, the positions of {name}, but has {len(ids):,}. Give it a shorter text."
        )
    items = tuple(_piece(tokenizer, each) for each in ids)
    if model.config.is_encoder_decoder:
        # Tokenizers that were made without a model may give more than the model takes.
        read = {each: inputs[each] for each in ("input_ids", "attention_mask") if each in inputs}
        return seq2seq_case(model, name, Source(read, items, "token"), partial(_piece, tokenizer))
    every: list[tuple[str, int | None]] = [(name, item) for item, name in enumerate(items)]
    kind, form, places, chosen = "labels", "item", every, None

    classes: Callable[[int], str] = partial(_piece, tokenizer)
    match _head(model):
        case "whole":
            places = [("the whole", _read_from(model, inputs))]
            classes = _label_of(model)
        case "item":
            classes = _label_of(model)
        case "masked":
            places = [every[item] for item, each in enumerate(ids) if each == tokenizer.mask_token_id] or every
        case "next":
            form, chosen = "next", len(items) - 1
        case _:
            kind = "vectors"
    return _case(model, name, inputs, items, places, kind, form, classes, chosen, noun="token")


def _positions(model: Any) -> int | None:
    """The most tokens of a text; None if its length isn't limited."""
    config = model.config.get_text_config(encoder=True)
    found = (getattr(config, each, None) for each in ("max_encoder_position_embeddings", "max_position_embeddings"))
    return next((each for each in found if isinstance(each, int)), None)


def _sounds(transformers: Any, path: Path, model: Any, name: str) -> Callable[[str], Case]:
    if not any((path / name).is_file() for name in ("preprocessor_config.json", "processor_config.json")):
        raise ModelError(
            f"{path} must hold a feature extractor beside the model, but holds none. Save it there with "
            "feature_extractor.save_pretrained."
        )
    if model.can_generate() and not _has_tokenizer(path):
        raise ModelError(
            f"{path} must hold a tokenizer beside the model, but holds none. Save it there with "
            "tokenizer.save_pretrained."
        )
    piece = partial(_piece, _loaded(transformers.AutoTokenizer, path)) if model.can_generate() else str
    extractor = _loaded(transformers.AutoFeatureExtractor, path)
    return lambda source: sound_case(extractor, model, name, source, _label_of(model), piece)


def _picture(processor: Any, model: Any, name: str, source: str) -> Case:
    # The levels from 0 to 1 of what was read are those of 8 bits again, exactly.
    levels = (read_picture(source) * 255).round().byte().numpy()
    picture = require("PIL.Image", extra="image").fromarray(levels)
    inputs = dict(processor(images=picture, return_tensors="pt"))
    config = model.config
    height, width = inputs["pixel_values"].shape[-2:]
    patch = getattr(config, "patch_size", None)
    if not isinstance(patch, int):
        raise ModelError(
            f"{name} must cut pictures into square patches, but its configuration has no patch_size. Write a Python "
            "file with a function that returns the model and its inputs."
        )
    rows, columns = height // patch, width // patch
    patches = [f"{row},{column}" for row in range(1, rows + 1) for column in range(1, columns + 1)]
    # Before the patches stand the class token and registers, if there are any.
    before = ("[CLS]", *["[REG]"] * 8)[: max(0, sequence_length(model, inputs) - len(patches))]
    items = (*before, *patches)
    whole = _head(model) == "whole"
    places = [("the whole", _read_from(model, inputs))] if whole else [(each, item) for item, each in enumerate(items)]
    kind = "labels" if whole else "vectors"
    return _case(model, name, inputs, items, places, kind, "item", _label_of(model), None, noun="patch")


def _case(
    model: Any,
    name: str,
    inputs: dict[str, Any],
    items: tuple[str, ...],
    places: Sequence[tuple[str, int | None]],
    kind: Kind,
    form: Form,
    classes: Callable[[int], str],
    chosen: int | None,
    *,
    noun: str,
) -> Case:
    which = [query for _, query in places]

    def predict(output: Any) -> Tensor:
        if kind == "vectors":
            return output.last_hidden_state if hasattr(output, "last_hidden_state") else output[0]
        logits = output.logits
        return (logits.unsqueeze(1) if logits.ndim == 2 else logits[:, which]).softmax(-1)

    return Case(
        name,
        model,
        inputs,
        runner(model, name),
        predict,
        kind,
        items,
        tuple(places),
        classes=classes,
        form=form,
        chosen=chosen,
        noun=noun,
    )


def _head(model: Any) -> str:
    """What the output layer of a model predicts: "whole", "item", "masked", "next", or "" without one."""
    name = type(model).__name__
    heads = {
        "ForSequenceClassification": "whole",
        "ForImageClassification": "whole",
        "ForTokenClassification": "item",
        "ForMaskedLM": "masked",
        "LMHeadModel": "next",
        "ForCausalLM": "next",
    }
    return next((what for ending, what in heads.items() if name.endswith(ending)), "")


def _label_of(model: Any) -> Callable[[int], str]:
    names = getattr(model.config, "id2label", None) or {}
    return lambda number: str(names.get(number, number))


def _piece(tokenizer: Any, number: int) -> str:
    """The text of a token. Markers of spaces in front are left out, and those of parts of words are kept."""
    token = tokenizer.convert_ids_to_tokens(number)
    token = str(number) if token is None else token
    if token.startswith("##") or number in tokenizer.all_special_ids:
        return token
    return tokenizer.decode([number]).strip() or token


def _read_from(model: Any, inputs: dict[str, Any]) -> int | None:
    """The one item from whose last vector a model predicts for the whole; None if there are several.

    It is the one to which the prediction has a gradient, so that no list of models is needed.
    """
    with torch.enable_grad():
        output = model(**inputs, output_hidden_states=True)
        states = getattr(output, "hidden_states", None)
        if not states or not states[-1].requires_grad:
            return None
        (gradient,) = torch.autograd.grad(output.logits.abs().sum(), states[-1], allow_unused=True)
    if gradient is None:
        return None
    found = gradient[0].abs().sum(-1).nonzero().flatten().tolist()
    return found[0] if len(found) == 1 else None
