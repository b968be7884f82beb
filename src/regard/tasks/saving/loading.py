"""`regard.load`: load a bundled model by its name, or another model by its folder."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import torch
from torch import Tensor

from regard.errors import ArgumentError, ModelError, UnknownNameError
from regard.files import looks_like_path
from regard.modules.bounded import Bounded, TooLargeError
from regard.tasks.model import SEEN
from regard.tasks.recipe import Recipe
from regard.tasks.registry import TASKS
from regard.tasks.saving.folders import find_folder, folder_name
from regard.tasks.saving.store import DESCRIPTION, FILES, read_model

if TYPE_CHECKING:
    from regard.tasks.classifier.model import Classifier
    from regard.tasks.seq2seq.model import Seq2SeqModel
    from regard.tasks.synthesis.model import Synthesizer
    from regard.tasks.tagger.model import Tagger

__all__ = ["bundled", "load"]

_MODELS = Path(__file__).parents[1] / "models"


def bundled() -> dict[str, Path]:
    """The models that come with the package, as name -> folder.

    Example:
        >>> all((folder / "model.json").is_file() for folder in bundled().values())
        True
    """
    return {folder.name: folder for folder in sorted(_MODELS.glob("*")) if (folder / DESCRIPTION).is_file()}


# The bundled models, for type checkers; those in folders may be of any kind.
@overload
def load(
    name_or_folder: Literal["chinese-pos", "chinese-segmentation", "english-pos"], *, edited: bool = ...
) -> "Tagger": ...


@overload
def load(
    name_or_folder: Literal[
        "chinese-sentiment",
        "english-sentiment",
        "solubility",
        "speaker",
        "spoken-digit",
        "toxicity",
        "written-digit",
    ],
    *,
    edited: bool = ...,
) -> "Classifier": ...


@overload
def load(
    name_or_folder: Literal["chinese-english", "german-english", "letters-to-phonemes", "spoken-strings"],
    *,
    edited: bool = ...,
) -> "Seq2SeqModel": ...


@overload
def load(name_or_folder: Literal["synthesis"], *, edited: bool = ...) -> "Synthesizer": ...


@overload
def load(name_or_folder: str | Path, *, edited: bool = ...) -> Any: ...


def load(name_or_folder: str | Path, *, edited: bool = False) -> Any:
    """Load a saved model.

    Args:
        name_or_folder: the name of a bundled model, or a folder that `Model.save` or `regard train` wrote. (For a
            folder with the name of a bundled model, write ./NAME.)
        edited: whether to load a model whose description (model.json) was edited since it was saved. The description
            decides what the weights mean, so an edit may make every prediction wrong; saving the model again keeps it.

    Raises:
        ArgumentError: it is neither a name nor a path.
        UnknownNameError: there is no such model or folder; the error suggests the nearest name.
        ModelError: the folder can't be read, its model was damaged or edited, or this version can't use it; the error
            names the file and the reason.

    Warns:
        UncheckedModel: an earlier version of regard saved it, so that an edit isn't noticed.

    Example:
        >>> import regard
        >>> regard.load("englsh-pos")
        Traceback (most recent call last):
            ...
        regard.errors.UnknownNameError: ...
    """
    if not isinstance(name_or_folder, str | os.PathLike):
        raise ArgumentError(f"`name_or_folder` must be a name or a path, but is {name_or_folder!r:.60}.")
    if "\0" in str(name_or_folder):
        raise ArgumentError(f"the name or the folder of a model has no zero byte, but {name_or_folder!r:.60} does.")
    try:
        folder, name = _found(name_or_folder)
        return _load(folder, name, edited)
    except OSError as error:
        place = name_or_folder if error.filename is None else error.filename
        raise ModelError(f"{place} can't be read: {error.strerror}. Make it readable, or copy it again.") from error
    except RecursionError as error:
        raise ModelError(
            f"{name_or_folder} can't be used: {DESCRIPTION} is nested too deeply. Copy it again."
        ) from error


def _found(name_or_folder: str | Path) -> tuple[Path, str]:
    """The folder of a model, and its name."""
    known = bundled()
    if isinstance(name_or_folder, str) and name_or_folder in known:
        return known[name_or_folder], name_or_folder
    folder = find_folder(name_or_folder, FILES)
    is_name = isinstance(name_or_folder, str) and not looks_like_path(name_or_folder)
    if is_name and (not name_or_folder or not folder.exists()):
        error = UnknownNameError("model", str(name_or_folder), known)
        # Added afterwards, so that "or a folder" isn't suggested as a name.
        error.args = (str(error).replace(", but is", " or a folder, but is", 1),)
        raise error
    # The folder of a run holds the model in a folder of its own, beside the checkpoints.
    inner = find_folder(folder / "model", FILES)
    if not (folder / DESCRIPTION).exists() and (inner / DESCRIPTION).exists():
        folder = inner
    return folder, folder_name(name_or_folder)


def _load(folder: Path, name: str, edited: bool) -> Any:
    tensors, description = read_model(folder, edited=edited)
    if not isinstance(description["kind"], str) or description["kind"] not in TASKS:
        known = " or ".join(repr(kind) for kind in TASKS)
        raise ModelError(f"{folder / DESCRIPTION} must be of kind {known}, but is {description['kind']!r:.60}.")
    kind = TASKS[description["kind"]].model
    try:
        recipe = Recipe.from_json(description["recipe"])
        if recipe.task.kind != description["kind"]:
            raise ModelError(f"its recipe is that of a {recipe.task.kind}, but it is a {description['kind']}.")
        _check_object("reader", description["reader"])
        encoder = recipe.input.encoder(description["reader"])
        target = kind.read_target(description["answer"])
        about = _check_about(description["about"])
    except (ArgumentError, ModelError) as error:
        raise ModelError(f"{folder / DESCRIPTION} can't be used: {error}") from error
    except (MemoryError, OverflowError) as error:  # an encoder of a thousand million suffixes
        raise ModelError(
            f"{folder / DESCRIPTION} can't be used: its encoder needs too much memory ({error})."
        ) from error
    seen = tensors.pop(SEEN, None)
    # The initial weights are drawn and then overwritten; the state of torch's generator must not change.
    # (The meta device would draw none, but its first use imports modules for a second.)
    with torch.random.fork_rng(devices=[]):
        try:
            with Bounded(tensor.numel() for tensor in tensors.values()):
                network = kind.new_network(recipe, encoder, target)
        except TooLargeError as error:
            raise ModelError(
                f"{folder / DESCRIPTION} can't be used: its recipe describes a larger network than model.safetensors "
                "holds. Copy the whole folder again."
            ) from error
        except ArgumentError as error:
            raise ModelError(f"{folder / DESCRIPTION} can't be used: {error}") from error
        except (RuntimeError, MemoryError, OverflowError) as error:  # a width of a thousand million
            raise ModelError(f"{folder / DESCRIPTION} can't be used: {error}. Copy it again.") from error
    _check_tensors(folder, tensors, network.state_dict())
    network.load_state_dict(tensors, assign=True)
    return kind(network, encoder, target, recipe, seen=seen, about=about, name=name)


def _check_about(about: Any) -> dict[str, Any]:
    _check_object("about", about)
    for part in ("data", "training", "scores"):
        _check_object(f"about[{part!r}]", about.get(part, {}))
    return about


def _check_object(name: str, value: Any) -> None:
    if not isinstance(value, dict):
        raise ArgumentError(f"`{name}` must be a JSON object, but is {value!r:.60}.")


def _check_tensors(folder: Path, tensors: dict[str, Tensor], wanted: dict[str, Tensor]) -> None:
    path = folder / "model.safetensors"
    for name, tensor in wanted.items():
        if name not in tensors:
            raise ModelError(
                f"{path} has no tensor {name!r}, which the recipe in {DESCRIPTION} needs. Copy it "
                "again or, if another version of regard wrote it, train it anew."
            )
        if tensors[name].shape != tensor.shape or tensors[name].dtype != tensor.dtype:
            raise ModelError(
                f"{path}: {name!r} must be {tuple(tensor.shape)}, as {DESCRIPTION} says, but is "
                f"{tuple(tensors[name].shape)} of {tensors[name].dtype}. Copy the whole folder again."
            )
    for name in tensors:
        if name not in wanted:
            raise ModelError(
                f"{path}: a network of the recipe in {DESCRIPTION} has no tensor {name!r}. Copy the whole folder again."
            )
