"""A small model with random weights, and inputs for it, of any family of transformers.

A configuration is made small by the names of its fields, and so are those inside of it. What a model needs as inputs
is told by the signature of its `forward`; several guesses are tried, the richest one first.
"""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModel, PreTrainedConfig
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

__all__ = ["NotBuilt", "families", "first_run", "inputs_for", "random_model"]

VOCABULARY, WIDTH, HEADS, HEAD_SIZE = 128, 64, 4, 16
FIRST_SPECIAL = 100  # tokens from here on may mean an image or a sound
MOST_PARAMETERS = 30_000_000
BATCH, LENGTH, TARGET_LENGTH = 2, 12, 7

# The value of a number by the name of its field: the first pattern that is found counts. A number never grows.
SMALL = (
    (r"(kv|key_value)_heads|num_kv|multi_query_group_num", 2),
    (r"heads?$|attention_heads|n_head", HEADS),
    (r"head_dim|head_size|^d_kv$|kv_channels|d_head|^qk_|^v_head", HEAD_SIZE),
    (r"experts_per_tok|top_?k|moe_k|selected_experts", 2),
    (r"n_group|topk_group", 1),
    (r"expert_capacity", VOCABULARY),
    (r"num_.*experts|^n_.*experts|^num_experts|moe_num_experts", 4),
    (r"rank$", 32),
    (r"layers?$|depth$|^n_blocks?|num_blocks|encoder_layers|decoder_layers|num_stack", None),
    (r"max_.*position|max_seq|n_positions|^n_ctx$|context_length|max_length", 256),
    (r"max_source_positions", 50),
    (r"num_queries|num_latents|num_object_queries|query_length|num_query", 8),
    (r"image_size|img_size|patch_size|kernel_size|stride|window_size|chunk_size|block_size|group_size", None),
    (r"(size|dim|dims|width|channels|embd|filters|inner|d_model|d_ff|hidden|rnn|units|features)$", WIDTH),
    (r"^(d_|n_inner|hidden_|intermediate|ffn|dim)", WIDTH),
)
LAYERS = r"layers?$|depth$|^n_blocks?|num_blocks|encoder_layers|decoder_layers|num_stack"


class NotBuilt(Exception):
    """No small model of the family can be made; the message says why."""


def families() -> list[str]:
    """The types of models that an auto class can build from a configuration alone."""
    known = set(CONFIG_MAPPING.keys())
    return sorted(name for name in known if _class_for(name) is not None)


def _class_for(family: str) -> Any:
    """The auto class that builds a family: `AutoModel`, or else the first of those with a head."""
    import transformers

    if family in modeling_auto.MODEL_MAPPING_NAMES:
        return AutoModel
    for name in sorted(vars(modeling_auto)):
        if name.startswith("MODEL_FOR_") and name.endswith("_MAPPING_NAMES"):
            if family in getattr(modeling_auto, name):
                mapping = getattr(modeling_auto, name.removesuffix("_NAMES"))
                return next(
                    (
                        each
                        for each in vars(transformers.models.auto).values()
                        if getattr(each, "_model_mapping", None) is mapping
                    ),
                    None,
                )
    return None


def small_config(family: str, layers: int, own: dict[str, Any]) -> Any:
    """The configuration of a family, made small.

    Args:
        family: the type of the model.
        layers: how many layers there are at most.
        own: what is set besides, by the names of fields; a dict in place of a configuration goes into that one.
    """
    return _small(CONFIG_MAPPING[family](), layers, own)


def _small(config: Any, layers: int, own: dict[str, Any]) -> Any:
    kind = type(config)
    accepted = inspect.signature(kind.__init__).parameters
    values: dict[str, Any] = {}
    special = FIRST_SPECIAL
    for name, value in vars(config).items():
        if name.startswith("_") or name not in accepted and name not in getattr(kind, "sub_configs", {}):
            continue
        if isinstance(value, PreTrainedConfig):
            values[name] = _small(value, layers, own.get(name, {}))
        elif re.search(r"token_id$|token_index$|_id$", name) and isinstance(value, int):
            if value >= FIRST_SPECIAL:
                special += 1
            values[name] = value if value < FIRST_SPECIAL else special
        elif (smaller := _smaller(name, value, config, layers)) is not None and smaller != value:
            values[name] = smaller
    values |= {name: value for name, value in own.items() if not isinstance(values.get(name), PreTrainedConfig)}
    return kind(**values)


def _smaller(name: str, value: Any, config: Any, layers: int) -> Any:
    """The value of a field in a small model; None if it stays."""
    if isinstance(value, dict):
        return _small_rotation(value)
    if isinstance(value, list | tuple):
        if not value or not all(isinstance(each, int) and not isinstance(each, bool) for each in value):
            return None
        return type(value)(_small_stage(name, number, each) for number, each in enumerate(value))
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    if "vocab" in name and "size" in name or name in ("num_embeddings", "n_words"):
        return min(value, VOCABULARY)
    if re.search(r"image_size$|img_size$", name):
        patch = getattr(config, "patch_size", 16)
        return min(value, 4 * (patch if isinstance(patch, int) else 16))
    if re.search(LAYERS, name):
        return min(value, layers)
    found = next((small for pattern, small in SMALL if re.search(pattern, name)), None)
    return None if found is None else min(value, found)


def _small_stage(name: str, number: int, value: int) -> int:
    """A number of one stage of a model, from a field that lists them."""
    if re.search(r"depths?$|layers$|blocks$", name):
        return min(value, 2)
    if re.search(r"heads", name):
        return min(value, 2 ** min(number, 2))
    if re.search(r"hidden_sizes|dims?$|channels|width|embed", name):
        return min(value, HEAD_SIZE * 2 ** min(number, 2))
    if re.search(r"image_size|img_size|input_size", name):
        return min(value, 64)
    return value


def _small_rotation(value: dict[str, Any]) -> dict[str, Any] | None:
    """Sections of a rotation that fit heads of a small size."""
    sections = value.get("mrope_section")
    if not isinstance(sections, list) or not sections:
        return None
    left = HEAD_SIZE // 2
    small = [left // len(sections)] * len(sections)
    small[0] += left - sum(small)
    return {**value, "mrope_section": small}


def random_model(family: str, implementation: str, own: dict[str, Any] | None = None) -> nn.Module:
    """A model whose random weights are large enough that attention isn't uniform.

    Raises:
        NotBuilt: there is none; the error says why.
    """
    errors = []
    for layers in (2, 8):
        try:
            config = small_config(family, layers, own or {})
            kind = _class_for(family)
            with torch.device("meta"):
                size = sum(each.numel() for each in kind.from_config(config).parameters())
        except Exception as error:
            errors.append(_line(error))
            continue
        if size > MOST_PARAMETERS:
            errors.append(f"{size:,} parameters")
            continue
        try:
            torch.manual_seed(0)
            model = kind.from_config(small_config(family, layers, own or {}), attn_implementation=implementation)
        except Exception as error:
            raise NotBuilt(_line(error)) from error
        if layers == 2 and "attention" in str(vars(config).get("layer_types", "")) and not attention_modules(model):
            continue
        return _drawn(model).eval().float()
    raise NotBuilt(errors[0] if errors else "no layer of attention")


def _drawn(model: nn.Module) -> nn.Module:
    with torch.no_grad():
        for each in model.parameters():
            if each.ndim > 1 and each.is_floating_point():
                each.normal_(std=max(each[0].numel(), 1) ** -0.5)
    return model


def attention_modules(model: nn.Module) -> list[str]:
    """The innermost modules whose classes are called attention."""
    names = [name for name, each in model.named_modules() if re.search(r"Attention|Attn", type(each).__name__)]
    outer = {name[:at] for name in names for at in range(len(name)) if name[at] == "."} | ({""} if len(names) > 1 else set())
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
        if words and each in heard:
            yield words | each | decoded
    if "image_grid_thw" in taken:
        yield from _packed_pictures(config, words)
    yield words | decoded
    if "inputs_embeds" in taken:
        for width in _numbers(config, "hidden_size", "d_model"):
            yield {"inputs_embeds": torch.randn(BATCH, LENGTH, width)} | decoded
    for width in _numbers(config, "hidden_size", "d_model", "embed_dim"):
        for name in {main, "hidden_states"} & set(taken):
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


def _packed_pictures(config: Any, words: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Pictures as rows of patches with the sizes of their grids, and one token for each square of merged patches."""
    vision = getattr(config, "vision_config", config)
    patch, times = getattr(vision, "patch_size", 14), getattr(vision, "temporal_patch_size", 1)
    channels = getattr(vision, "in_channels", getattr(vision, "num_channels", 3))
    merged = getattr(vision, "spatial_merge_size", 2) ** 2
    token = getattr(config, "image_token_id", None)
    if token is None or not words:
        return
    ids = torch.cat([words["input_ids"][:1, :4], torch.full((1, 16 // merged), token), words["input_ids"][:1, :4]], 1)
    rows = torch.randn(16, channels * times * patch**2)
    given = {"input_ids": ids, "pixel_values": rows, "image_grid_thw": torch.tensor([[1, 4, 4]])}
    yield given | {"mm_token_type_ids": (ids == token).int()}
    yield given


def _sounds(taken: Any, config: Any) -> Iterator[dict[str, Any]]:
    if "input_features" in taken:
        bins = _numbers(config, "num_mel_bins", "feature_size", "input_feat_per_channel", "feature_projection_input_dim")
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


def first_run(model: Any, guesses: Iterator[dict[str, Any]], own: dict[str, Any] | None = None) -> dict[str, Any]:
    """The first inputs with which the model runs.

    A model that counts other tokens for a picture than it was given says how many there are; it gets those.

    Raises:
        NotBuilt: none of them fits; the error is that of the last one.
    """
    errors: list[str] = []
    for guess in ([own] if own else guesses):
        for given in (guess, None):
            if given is None:
                given = _with_image_tokens(model, guess, errors[-1])
                if given is None:
                    break
            try:
                with torch.no_grad():
                    torch.manual_seed(0)
                    model(**given)
                return given
            except Exception as error:
                errors.append(_line(error))
    raise NotBuilt(" | ".join(dict.fromkeys(errors)) or "no inputs are known")


def _with_image_tokens(model: Any, given: dict[str, Any], error: str) -> dict[str, Any] | None:
    """The inputs with as many tokens for pictures as the error of the model says."""
    token = next((getattr(model.config, each, None) for each in ("image_token_id", "image_token_index")), None)
    token = getattr(model.config, "image_token_index", None) if token is None else token
    found = re.search(r"features:? *(\d+)", error)
    if token is None or found is None or "input_ids" not in given:
        return None
    count, rows = divmod(int(found[1]), BATCH)
    if rows or not 0 < count < 2000:
        return None
    ids = given["input_ids"]
    return {**given, "input_ids": torch.cat([ids[:, :4], torch.full((BATCH, count), token), ids[:, :4]], 1)}


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:160]
