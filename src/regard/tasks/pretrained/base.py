"""A base: the folder of a pretrained model, its configuration, its weights, and what is said of it."""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from torch import nn

from regard.errors import ArgumentError
from regard.extras import quiet_transformers
from regard.files import looks_like_path, read_regular

__all__ = ["about_base", "base_folder", "hidden_size", "new_model", "read_config"]

_CONFIG = "config.json"
_MOST_BYTES = 1 << 24  # of a configuration; the longest name thousands of labels
_LICENCE = re.compile(r"^license:\s*[\"']?([\w .+-]{1,60}?)[\"']?\s*$", re.MULTILINE)
_SAVE = (
    "Save a model there where there is a network: model = transformers.AutoModel.from_pretrained(NAME); "
    "model.save_pretrained(FOLDER); transformers.AutoTokenizer.from_pretrained(NAME).save_pretrained(FOLDER)."
)


def base_folder(base: str | Path) -> Path:
    """The folder of a base, after checking that it is one.

    Raises:
        ArgumentError: it is no folder, or none that `save_pretrained` wrote. Nothing is fetched.
    """
    folder = Path(base)
    if not str(base) or not folder.is_dir():
        what = "isn't there" if looks_like_path(base) and not folder.exists() else "is no folder"
        raise ArgumentError(f"`base` must be a local folder that save_pretrained wrote, but {base!r} {what}. {_SAVE}")
    if (folder / "model.json").is_file() and not (folder / _CONFIG).is_file():
        raise ArgumentError(
            f"`base` must be a folder that save_pretrained wrote, but {base} holds a model of regard's that has no "
            "base. Name another folder."
        )
    if not (folder / _CONFIG).is_file():
        raise ArgumentError(
            f"`base` must be a folder that save_pretrained wrote, but {base} holds no {_CONFIG}. {_SAVE}"
        )
    if not [*folder.glob("*.safetensors")]:
        raise ArgumentError(
            f"`base` must hold its weights as safetensors, but {base} doesn't: weights in other formats may run code. "
            "Load it by a transformers that you trust it with, and save it again with save_pretrained."
        )
    return folder


def read_config(folder: Path) -> dict[str, Any]:
    """The configuration of a base, as plain values.

    Raises:
        ArgumentError: it can't be read, or is that of a model that can't be a base.
        MissingExtraError: transformers is not installed.
    """
    path = folder / _CONFIG
    try:
        found = json.loads(read_regular(path, _MOST_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise ArgumentError(
            f"{path} must be a JSON object, but can't be read: {error}. Save the model again."
        ) from error
    if not isinstance(found, dict) or not isinstance(found.get("model_type"), str):
        raise ArgumentError(f"{path} must name its `model_type`, but doesn't. Save the model again.")
    if found.get("is_encoder_decoder"):
        raise ArgumentError(
            f"`base` must be an encoder or a decoder, but {folder} holds an encoder-decoder ({found['model_type']}). "
            "Choose another."
        )
    if found.get("quantization_config"):
        raise ArgumentError(
            f"`base` must hold weights that can be trained, but those in {folder} are quantised. Choose another."
        )
    if found.get("auto_map"):
        raise ArgumentError(
            f"`base` must be a model that transformers has itself, but {folder} brings code of its own, which isn't "
            "run. Choose another."
        )
    try:
        hidden_size(found)
    # The library validates by classes of its own.
    except Exception as error:
        said = " ".join(str(error).split())
        raise ArgumentError(
            f"`base` must have a {_CONFIG} that transformers can read, but that of a {found['model_type']} can't be: "
            f"{said[:200]} Choose another base."
        ) from error
    return found


def hidden_size(config: Mapping[str, Any]) -> int:
    """The size of the vectors of a base with this configuration, as `read_config` gives it."""
    with quiet_transformers() as transformers:
        return transformers.AutoConfig.for_model(**config).get_text_config().hidden_size


def about_base(folder: Path) -> dict[str, str]:
    """What a card says of a base: its name, the SHA-256 of its weights, and the licence that its own card states."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.safetensors")):
        with path.open("rb") as file:
            while block := file.read(1 << 22):
                digest.update(block)
    found = {"name": _name_of(folder), "sha256": digest.hexdigest()}
    try:
        card = read_regular(folder / "README.md", _MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return found
    licence = _LICENCE.search(card[:10_000])
    return found if licence is None else {**found, "licence": licence[1]}


def _name_of(folder: Path) -> str:
    try:
        held = json.loads((folder / _CONFIG).read_text(encoding="utf-8")).get("_name_or_path")
    except (OSError, ValueError):
        held = None
    name = folder.resolve().name
    return f"{name} ({held})" if isinstance(held, str) and held and not Path(held).is_absolute() else name


def new_model(config: Mapping[str, Any], head: str, outputs: int, weights: Path | None = None) -> Any:
    """A model of transformers' with an output layer.

    Args:
        config: the configuration, as `read_config` gives it.
        head: the class of transformers that gives models of any architecture this output layer, such as
            "AutoModelForTokenClassification".
        outputs: the number of outputs.
        weights: the folder of the base, whose weights it has; None: its weights are drawn.

    Raises:
        ArgumentError: transformers knows no such architecture, or none with this output layer; or the weights don't
            fit.
        MissingExtraError: transformers is not installed.
    """
    ours = ("architectures", "torch_dtype", "dtype", "num_labels", "label2id", "id2label", "problem_type")
    ours += ("return_dict", "torchscript", "output_attentions", "output_hidden_states")
    given = {name: value for name, value in config.items() if name not in ours}
    names = {place: f"output {place + 1}" for place in range(outputs)}
    given |= {"id2label": names, "label2id": {name: place for place, name in names.items()}}
    try:
        with quiet_transformers() as transformers:
            kind, settings = getattr(transformers, head), transformers.AutoConfig.for_model(**given)
            if weights is None:
                return kind.from_config(settings, dtype="float32")
            model, told = kind.from_pretrained(
                weights,
                config=settings,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                ignore_mismatched_sizes=True,
                output_loading_info=True,
                dtype="float32",
            )
    except (
        ValueError,
        KeyError,
        OSError,
        AttributeError,
        TypeError,
        ImportError,
        RuntimeError,
        SafetensorError,
    ) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        where = "the base" if weights is None else str(weights)
        raise ArgumentError(
            f"`base` must be a model for which transformers has {head.replace('AutoModel', '...')}, but {where} "
            f"({config.get('model_type')}) can't be loaded as one: {lines[0][:200]} Choose another base."
        ) from error
    prefix = f"{model.base_model_prefix}."
    # An output layer that the base has was trained for other labels.
    for name, each in model.named_modules():
        if isinstance(each, nn.Linear) and not name.startswith(prefix):
            nn.init.normal_(each.weight, std=getattr(model.config, "initializer_range", 0.02))
            if each.bias is not None:
                nn.init.zeros_(each.bias)
    names = [*told["missing_keys"], *(each[0] for each in told["mismatched_keys"])]
    lacking = [name for name in names if name.startswith(prefix) and "pooler" not in name]
    if lacking:
        raise ArgumentError(
            f"`base` must hold the weights that its {_CONFIG} describes, but {weights} lacks {len(lacking)} of them, "
            f"such as {lacking[0]!r}. Save the model again."
        )
    return model
