"""A small model with random weights, and inputs for it, of any family of transformers.

A configuration is made small by the names of its fields, and so are those inside of it. What a model needs as inputs
is told by the signature of its `forward`; several guesses are tried, the richest one first.
"""

import inspect
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
import transformers
from torch import Tensor, nn
from transformers import AutoModel, PreTrainedConfig
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

__all__ = ["NotBuilt", "NotRun", "attention_modules", "families", "running"]

VOCABULARY = 128
FIRST_SPECIAL = 100  # tokens from here on may mean an image or a sound
MOST_PARAMETERS = 60_000_000
BATCH, LENGTH, TARGET_LENGTH = 2, 12, 7


class Sizes(NamedTuple):
    """How large a model is at most."""

    layers: int
    width: int
    heads: int
    head_size: int


UNBOUNDED = 1 << 30
SIZES = (
    Sizes(2, 64, 4, 16),
    Sizes(8, 64, 4, 16),  # for models of which only every fourth or eighth layer attends
    Sizes(2, 256, 2, 128),  # for rotations that have a fixed number of features
    Sizes(2, *3 * [UNBOUNDED]),  # for convolutions whose sizes depend on each other
)
"""What is tried, in this order, until a model runs."""

LAYERS = r"layers?$|depth$|^n_blocks?|num_blocks|num_stack"
# What stays, whatever else of the name fits.
KEPT = r"patch_size|kernel_size|stride|window_size|chunk_size|block_size|group_size|lora|_groups$|num_channels|in_chan"


def _size_of(name: str, sizes: Sizes, is_alike: bool) -> int | None:
    """The largest value of a number by the name of its field: the first pattern that is found counts.

    Args:
        name: the field.
        sizes: how large the model is at most.
        is_alike: whether the model has as many heads of keys as of queries.
    """
    small = (
        (KEPT, None),
        (r"mamba.*heads", 2 * min(sizes.width // sizes.head_size, 64)),
        (r"(kv|key_value)_heads|num_kv|multi_query_group_num", sizes.heads // (1 if is_alike else 2)),
        (r"heads?$|attention_heads|n_head", sizes.heads),
        (
            r"head_dim|head_size|^d_kv$|kv_channels|d_head|^qk_|^v_head|rotary_dim|attention_key|attention_value",
            sizes.head_size,
        ),
        (r"n_group|topk_group", 1),
        (r"experts_per_tok|top_?k|moe_k|selected_experts", 2),
        (r"num_.*experts|^n_.*experts", 4),
        (r"rank$", 32),
        (LAYERS, sizes.layers),
        (r"max_source_positions", 50),
        (r"max_.*position|max_seq|n_positions|^n_ctx$|context_length|max_length", 256),
        (r"num_queries|num_latents|num_object_queries|query_length|num_query", 8),
        (r"(size|dim|dims|width|channels|embd|filters|inner|d_model|d_ff|hidden|rnn|units|features)$", sizes.width),
        (r"^(d_|n_inner|hidden_|intermediate|ffn|dim)", sizes.width),
    )
    return next((most for pattern, most in small if re.search(pattern, name)), None)


class NotBuilt(Exception):
    """No small model of the family can be made; the message says why."""


class NotRun(Exception):
    """No inputs are known with which a model runs; the message says why."""


def families() -> list[str]:
    """The types of models that an auto class can build from a configuration alone."""
    known = set(CONFIG_MAPPING.keys())
    return sorted(name for name in known if _class_for(name) is not None)


def _class_for(family: str) -> Any:
    """The auto class that builds a family: `AutoModel`, or else the first of those with a head."""
    if family in modeling_auto.MODEL_MAPPING_NAMES:
        return AutoModel
    held = (name for name in sorted(vars(modeling_auto)) if re.fullmatch(r"MODEL_FOR_.*_MAPPING_NAMES", name))
    name = next((name for name in held if family in getattr(modeling_auto, name)), None)
    if name is None:
        return None
    mapping = getattr(modeling_auto, name.removesuffix("_NAMES"))
    classes = vars(transformers.models.auto).values()
    return next((each for each in classes if getattr(each, "_model_mapping", None) is mapping), None)


def small_config(family: str, sizes: Sizes, own: dict[str, Any]) -> Any:
    """The configuration of a family, made small.

    Args:
        family: the type of the model.
        sizes: how large it is at most.
        own: what is set besides, by the names of fields; a dict in place of a configuration goes into that one.
    """
    return _small(CONFIG_MAPPING[family](), sizes, own)


def _small(config: Any, sizes: Sizes, own: dict[str, Any]) -> Any:
    kind = type(config)
    accepted = inspect.signature(kind.__init__).parameters
    values: dict[str, Any] = {}
    special = FIRST_SPECIAL
    for name, value in vars(config).items():
        if name.startswith("_") or (name not in accepted and name not in getattr(kind, "sub_configs", {})):
            continue
        if isinstance(value, PreTrainedConfig):
            values[name] = _small(value, sizes, own.get(name, {}))
        elif re.search(r"token_id$|token_index$|_id$", name) and isinstance(value, int):
            if value >= FIRST_SPECIAL:
                special += 1
            values[name] = value if value < FIRST_SPECIAL else special
        elif (smaller := _smaller(name, value, config, sizes)) is not None and smaller != value:
            values[name] = smaller
        elif isinstance(value, int | float | str) and getattr(accepted.get(name), "default", None) not in (None, value):
            # The configuration around this one has defaults of its own for it.
            values[name] = value
    values |= {name: value for name, value in own.items() if not isinstance(values.get(name), PreTrainedConfig)}
    return kind(**values)


def _smaller(name: str, value: Any, config: Any, sizes: Sizes) -> Any:
    """The value of a field in a small model; None if it stays."""
    if name == "head_dim" and value is None and sizes.head_size < sizes.width:
        return sizes.head_size
    if isinstance(value, dict):
        return _small_rotation(value, sizes)
    if isinstance(value, list | tuple):
        if not value or not all(isinstance(each, int) and not isinstance(each, bool) for each in value):
            return None
        return type(value)(_small_stage(name, number, each, sizes) for number, each in enumerate(value))
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    if ("vocab" in name and "size" in name) or name in ("num_embeddings", "n_words"):
        return min(value, VOCABULARY)
    if re.search(r"image_size$|img_size$", name):
        patch = getattr(config, "patch_size", 16)
        patch = patch if isinstance(patch, int) else 16
        return min(value, patch * max(64 // patch, 2))
    every = [other for field, other in vars(config).items() if re.search(r"heads?$", field) and "mamba" not in field]
    found = _size_of(name, sizes, every.count(value) > 1)
    return None if found is None else min(value, found)


def _small_stage(name: str, number: int, value: int, sizes: Sizes) -> int:
    """A number of one stage of a model, from a field that lists them."""
    if re.search(r"depths?$|layers$|blocks$", name):
        return min(value, 2)
    if sizes.width == UNBOUNDED:
        return min(value, 64) if re.search(r"image_size|img_size|input_size", name) else value
    if re.search(r"heads", name):
        return min(value, 2 ** min(number, 2))
    if re.search(r"hidden_sizes|dims?$|channels|width|embed", name):
        return min(value, sizes.head_size * 2 ** min(number, 2))
    if re.search(r"image_size|img_size|input_size", name):
        return min(value, 64)
    return value


def _small_rotation(value: dict[str, Any], sizes: Sizes) -> dict[str, Any] | None:
    """Sections of a rotation that fit heads of a small size."""
    sections = value.get("mrope_section")
    if not isinstance(sections, list) or not sections or sizes.head_size > 2 * sum(sections):
        return None
    left = sizes.head_size // 2
    small = [left // len(sections)] * len(sections)
    small[0] += left - sum(small)
    return {**value, "mrope_section": small}


def running(family: str, implementation: str, own: dict[str, Any]) -> tuple[nn.Module, dict[str, Any]]:
    """A model whose random weights are large enough that attention isn't uniform, and inputs with which it runs.

    Args:
        family: the type of the model.
        implementation: "eager" or "sdpa".
        own: what is set besides, by the names of the configuration's fields.

    Raises:
        NotBuilt: no model of any of `SIZES` can be built.
        NotRun: one can, but with no inputs that are known it runs.
    """
    unbuilt: list[str] = []
    unrun: list[str] = []
    for sizes in SIZES:
        try:
            model = _built(family, implementation, sizes, own)
        except Exception as error:
            unbuilt.append(_line(error))
            continue
        try:
            return model, _first_run(model)
        except NotRun as error:
            unrun.append(str(error))
    if unrun:
        raise NotRun(" | ".join(dict.fromkeys(unrun)))
    raise NotBuilt(" | ".join(dict.fromkeys(unbuilt)))


def _built(family: str, implementation: str, sizes: Sizes, own: dict[str, Any]) -> Any:
    kind = _class_for(family)
    with torch.device("meta"):
        count = sum(each.numel() for each in kind.from_config(small_config(family, sizes, own)).parameters())
    if count > MOST_PARAMETERS:
        raise NotBuilt(f"{count:,} parameters")
    torch.manual_seed(0)
    model = kind.from_config(small_config(family, sizes, own), attn_implementation=implementation)
    return _drawn(model).eval().float()


def _drawn(model: nn.Module) -> nn.Module:
    with torch.no_grad():
        for each in model.parameters():
            if each.ndim > 1 and each.numel() and each.is_floating_point():
                each.normal_(std=each[0].numel() ** -0.5)
    return model


def attention_modules(model: nn.Module) -> list[str]:
    """The innermost modules whose classes are called attention."""
    names = [name for name, each in model.named_modules() if re.search(r"Attention|Attn", type(each).__name__)]
    outer = {name[:at] for name in names for at in range(len(name)) if name[at] == "."} | (
        {""} if len(names) > 1 else set()
    )
    return [name for name in names if name not in outer]


def inputs_for(model: Any) -> Iterator[dict[str, Any]]:
    """Guesses of what the model takes, the richest one first."""
    taken = inspect.signature(model.forward).parameters
    main = getattr(model, "main_input_name", "input_ids")
    config = model.config
    words: dict[str, Any] = {}
    if "input_ids" in taken:
        words["input_ids"] = _ids(LENGTH)
    if "bbox" in taken:
        words["bbox"] = torch.arange(4).mul(9).expand(BATCH, LENGTH, 4).contiguous()
    decoded = {"decoder_input_ids": _ids(TARGET_LENGTH)} if "decoder_input_ids" in taken else {}
    seen = list(_pictures(taken, config))
    heard = list(_sounds(taken, config))
    for picture in seen:
        if words:
            yield words | picture | decoded
    for each in (*seen, *heard):
        yield each | decoded
    for each in heard if words else ():
        yield words | each | decoded
    if {"image_grid_thw", "grid_thw"} & set(taken):
        yield from _packed_pictures(taken, config, words)
    yield words | decoded
    if "inputs_embeds" in taken:
        for width in _numbers(config, "hidden_size", "d_model"):
            yield {"inputs_embeds": torch.randn(BATCH, LENGTH, width)} | decoded
    for width in _numbers(config, "hidden_size", "d_model", "embed_dim"):
        for name in {*([main] if isinstance(main, str) else main), "hidden_states"} & set(taken):
            yield {name: torch.randn(BATCH, LENGTH, width)}
    if "past_values" in taken:
        yield from _series(taken, config)


def _ids(length: int) -> Tensor:
    return torch.randint(3, FIRST_SPECIAL, (BATCH, length), generator=torch.Generator().manual_seed(1))


def _numbers(config: Any, *names: str) -> list[int]:
    """The different values of these fields, in this configuration and those inside of it."""
    found = [getattr(config, name, None) for name in names]
    for each in vars(config).values():
        if isinstance(each, PreTrainedConfig):
            found += _numbers(each, *names)
    return list(dict.fromkeys(each for each in found if isinstance(each, int) and not isinstance(each, bool)))


def _pictures(taken: Any, config: Any) -> Iterator[dict[str, Any]]:
    name = next((each for each in ("pixel_values", "pixel_values_videos") if each in taken), None)
    if name is None:
        return
    channels = (_numbers(config, "num_channels", "in_channels", "in_chans") or [3])[0]
    sizes = _numbers(config, "image_size", "img_size")
    for size in [*sizes[:2], *(64, 32, 224)]:
        shape = channels, size, size
        for frames in _numbers(config, "num_frames")[:1]:
            yield {name: torch.randn(BATCH, frames, *shape)}
        yield {name: torch.randn(BATCH, *shape)}


def _packed_pictures(taken: Any, config: Any, words: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Pictures as rows of patches with the sizes of their grids, and one token for each square of merged patches."""
    vision = getattr(config, "vision_config", config)
    patch, times = getattr(vision, "patch_size", 14), getattr(vision, "temporal_patch_size", 1)
    channels = getattr(vision, "in_channels", getattr(vision, "num_channels", 3))
    merged = getattr(vision, "spatial_merge_size", 2) ** 2
    token = getattr(config, "image_token_id", None)
    rows, grid = torch.randn(16, channels * times * patch**2), torch.tensor([[1, 4, 4]])
    if "grid_thw" in taken:
        name = next((each for each in ("hidden_states", "pixel_values") if each in taken), "")
        yield {name: rows, "grid_thw": grid}
    if token is None or not words:
        return
    ids = torch.cat([words["input_ids"][:1, :4], torch.full((1, 16 // merged), token), words["input_ids"][:1, :4]], 1)
    given = {"input_ids": ids, "pixel_values": rows, "image_grid_thw": grid}
    yield given | {"mm_token_type_ids": (ids == token).int()}
    yield given


def _sounds(taken: Any, config: Any) -> Iterator[dict[str, Any]]:
    if "input_features" in taken:
        bins = _numbers(
            config, "num_mel_bins", "feature_size", "input_feat_per_channel", "feature_projection_input_dim"
        )
        bins += _numbers(config, "input_dim", "mel_bins", "n_mels")
        frames = [2 * each for each in _numbers(config, "max_source_positions")[:1]]
        for size in dict.fromkeys([*bins, 80, 128]):
            for length in (*frames, 64, 128):
                yield {"input_features": torch.randn(BATCH, size, length)}
                yield {"input_features": torch.randn(BATCH, length, size)}
                yield {"input_features": torch.randn(BATCH, 1, length, size)}
    if "input_values" in taken:
        yield {"input_values": torch.randn(BATCH, 4000)}
        yield {"input_values": torch.randn(BATCH, 1, 4000)}
        for size in _numbers(config, "num_mel_bins"):
            yield {"input_values": torch.randn(BATCH, getattr(config, "max_length", 128), size)}


def _series(taken: Any, config: Any) -> Iterator[dict[str, Any]]:
    """Time series with what was seen of them and when."""
    past = getattr(config, "context_length", 16) + max(getattr(config, "lags_sequence", None) or [0])
    future, channels = getattr(config, "prediction_length", None) or 4, getattr(config, "num_input_channels", 1)
    times = max(getattr(config, "num_time_features", 0), 0)
    series = {"past_values": torch.randn(BATCH, past)} if channels == 1 else {}
    more = {
        "past_time_features": torch.randn(BATCH, past, times),
        "past_observed_mask": torch.ones(BATCH, past),
        "future_values": torch.randn(BATCH, future),
        "future_time_features": torch.randn(BATCH, future, times),
    }
    yield {name: each for name, each in (series | more).items() if name in taken}
    yield {"past_values": torch.randn(BATCH, past, channels)}
    yield {"past_values": [torch.randn(past) for _ in range(BATCH)], "freq": [0] * BATCH}


def _first_run(model: Any) -> dict[str, Any]:
    """The first inputs with which the model runs.

    A model that counts other tokens for a picture than it was given says how many there are; it gets those.
    """
    errors: list[str] = []
    for guess in inputs_for(model):
        given: dict[str, Any] | None = guess
        while given is not None:
            try:
                with torch.no_grad():
                    torch.manual_seed(0)
                    model(**given)
                return given
            except Exception as error:
                errors.append(_line(error))
            given = _with_image_tokens(model, guess, errors[-1]) if given is guess else None
    raise NotRun(" | ".join(dict.fromkeys(errors)) or "no inputs are known")


def _with_image_tokens(model: Any, given: dict[str, Any], error: str) -> dict[str, Any] | None:
    """The inputs with as many tokens for pictures as the error of the model says."""
    token = next((getattr(model.config, each, None) for each in ("image_token_id", "image_token_index")), None)
    token = getattr(model.config, "image_token_index", None) if token is None else token
    found = re.search(r"features:? *(\d+)", error)
    if token is None or found is None or "input_ids" not in given:
        return None
    ids = given["input_ids"]
    count, rows = divmod(int(found[1]), len(ids))
    if rows or not 0 < count < 2000:
        return None
    return {**given, "input_ids": torch.cat([ids[:, :4], torch.full((len(ids), count), token), ids[:, :4]], 1)}


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:160]
