"""Which weights of a base are trained, and how fast: all, the last layers, adapters, or the output layer alone."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from regard.errors import ArgumentError
from regard.extras import require
from regard.tasks.pretrained.cased_embedding import CasedEmbedding

__all__ = ["TUNED", "Tuning", "merge_adapters", "prepare", "rate_factors"]

TUNED = ("all", "layers", "adapters", "head")
"""What of a base can be trained."""

_CASE_RATE = 10.0
"""The learning rate of what is learned of capitals, which begins from zero, as a multiple of that of the last layer."""


@dataclass(frozen=True)
class Tuning:
    """Which weights of a base are trained, and how fast.

    Args:
        tuned: "all"; "layers", the last few; "adapters", low-rank matrices beside those of each layer, which are merged
            with them at the end; or "head", the output layer alone.
        layers: how many layers of "layers".
        rank: the rank of adapters.
        layer_decay: the learning rate of a layer, as a fraction of that of the layer above it.
        head_rate: the learning rate of what stands above the base, as a multiple of that of its last layer.

    Source: Howard and Ruder 2018 (arXiv 1801.06146), section 3.2, for rates by layer; Hu et al. 2021 (arXiv
        2106.09685), section 4, for adapters.
    """

    tuned: str = "all"
    layers: int = 2
    rank: int = 8
    layer_decay: float = 0.9
    head_rate: float = 1.0


def prepare(model: Any, tuning: Tuning) -> None:
    """Freeze what isn't trained, and add adapters.

    Raises:
        ArgumentError: the model's layers can't be told apart, but have to be.
        MissingExtraError: peft is not installed, which adapters need.
    """
    if tuning.tuned == "all":
        return
    if tuning.tuned == "head":
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(not _in_base(model, name))
        return
    (depths, top), cases = _depths(model), _cases(model)
    for name, parameter in model.named_parameters():
        in_last = tuning.tuned == "layers" and depths[name] >= top - tuning.layers
        parameter.requires_grad_(depths[name] == top or in_last or name in cases)
    if tuning.tuned == "adapters":
        peft = require("peft", extra="lora")
        # Those of the layers: what comes before and after them has the depth of none.
        inside = {name.rpartition(".")[0] for name, depth in depths.items() if 0 < depth < top}
        names = [
            name
            for name, each in model.named_modules()
            if name in inside and (isinstance(each, nn.Linear) or type(each).__name__ == "Conv1D")
        ]
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        settings = peft.LoraConfig(r=tuning.rank, lora_alpha=2 * tuning.rank, lora_dropout=0.05, target_modules=names)
        peft.inject_adapter_in_model(settings, model)
        # The library freezes all but its own matrices.
        for parameter in trained:
            parameter.requires_grad_(True)


@torch.no_grad()
def merge_adapters(model: Any) -> None:
    """Add the product of each adapter to the matrix that it stands beside, and remove the adapter."""
    held = [(name, each) for name, each in model.named_modules() if hasattr(each, "get_base_layer")]
    for name, each in held:
        each.merge(safe_merge=True)
        parent, _, own = name.rpartition(".")
        setattr(model.get_submodule(parent), own, each.get_base_layer())


def rate_factors(model: Any, tuning: Tuning) -> dict[str, float]:
    """The learning rate of each trained parameter, as a multiple of the recipe's, by its name."""
    trained = [name for name, parameter in model.named_parameters() if parameter.requires_grad]
    own = dict.fromkeys(_cases(model), _CASE_RATE)
    if _layers(model) is None:
        return {name: own.get(name, 1.0 if _in_base(model, name) else tuning.head_rate) for name in trained}
    depths, top = _depths(model)
    rates = {depth: tuning.layer_decay ** (top - 1 - depth) for depth in range(top)} | {top: tuning.head_rate}
    return {name: own.get(name, rates[depths[name]]) for name in trained}


def _layers(model: Any) -> tuple[str, int] | None:
    """The name of the list of a model's layers, and their number; None if it has none, as ALBERT, which shares one."""
    count = getattr(model.config.get_text_config(), "num_hidden_layers", None)
    found = [name for name, each in model.named_modules() if isinstance(each, nn.ModuleList) and len(each) == count]
    return None if not found or count is None else (found[0], count)


def _cases(model: Any) -> list[str]:
    """The names of what a base learns of capitals, which it had no vectors for."""
    return [f"{name}.case" for name, each in model.named_modules() if isinstance(each, CasedEmbedding)]


def _in_base(model: Any, name: str) -> bool:
    """Whether a parameter is one of the base, and not of the output layer or what pools the text for it."""
    alone = model.base_model is model
    return (alone or name.startswith(f"{model.base_model_prefix}.")) and "pooler" not in name


def _depths(model: Any) -> tuple[dict[str, int], int]:
    """The depth of each parameter: 0 for embeddings, the number of its layer, and one more for the output layer.

    The second value is that of the output layer, whether there is one or not.

    A last norm belongs to the last layer.

    Raises:
        ArgumentError: the layers can't be told apart.
    """
    found = _layers(model)
    if found is None:
        raise ArgumentError(
            f"`input.tuned` must be 'all' or 'head' for a {type(model).__name__}, whose layers can't be told apart."
        )
    layers, count = found
    tables = {
        f"{name}.{own}"
        for name, each in model.named_modules()
        if isinstance(each, nn.Embedding)
        for own, _ in each.named_parameters()
    }
    depths, begun = {}, False
    for name, _ in model.named_parameters():
        if name.startswith(f"{layers}."):
            begun = True
            depths[name] = 1 + int(name[len(layers) + 1 :].split(".")[0])
        elif not _in_base(model, name):
            depths[name] = count + 1
        else:
            depths[name] = count if begun and name not in tables else 0
    return depths, count + 1
