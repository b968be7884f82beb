"""The selective scans of state-space layers: those of transformers' Mamba models and of mamba_ssm.

They have no attention. Their record holds effective weights: see `regard.inspection.record.effective`.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from regard.attention import Causal, Dot
from regard.inspection.capture.call import AttentionCall
from regard.inspection.capture.outside.call_arguments import given_arguments
from regard.inspection.record.effective import Effective, Gated, StateSpace, split_sums

__all__ = ["OWN_READERS", "READERS"]

# mamba_ssm names some arguments in another way.
_NAMES = {
    "u": "hidden_states",
    "x": "hidden_states",
    "delta": "dt",
    "dt_bias": "delta_bias",
    "dt_softplus": "delta_softplus",
}
_READ = {"hidden_states", "dt", "A", "B", "C", "D", "z", "delta_bias", "delta_softplus", "dt_limit", *_NAMES}
# What has no influence on the weights; options of other kernels, which these functions take and ignore, aside.
_OTHER = {"return_last_state", "return_final_states", "use_mambapy", "use_associative_scan", "chunk_size"}
_OF_PARTS = ("cu_seqlens", "seq_idx")


def _read_channels(function: Callable[..., Any], *args: Any, **kwargs: Any) -> AttentionCall:
    """The scan of the first Mamba: inputs (batch, channel, length), and a head for each channel."""
    given = _given(function, args, kwargs)
    inputs, steps = given["hidden_states"].float(), _steps(given, (1, -1, 1))
    channels = inputs.shape[1]
    writes, reads = (_of_groups(given[name]) for name in ("B", "C"))
    gate = given.get("z")

    def four(tensor: Tensor) -> Tensor:
        return tensor.unsqueeze(-1)

    return _call(
        "selective_scan",
        four(inputs),
        steps,
        StateSpace(reads, writes, given["A"].float(), _groups(channels, reads.shape[1], reads.device)),
        Gated(_skip(given, channels, reads.device), None if gate is None else four(functional.silu(gate.float()))),
        returned=lambda outputs: _with_outputs(function(*args, **kwargs), outputs.squeeze(-1)),
        outputs=lambda result, rows: four(_outputs(result))[:, :, rows],
    )


def _read_heads(function: Callable[..., Any], *args: Any, **kwargs: Any) -> AttentionCall:
    """The scan of Mamba 2: inputs (batch, length, head, feature), which decay alike in a head."""
    given = _given(function, args, kwargs)
    inputs = given["hidden_states"].float().transpose(1, 2)
    # (batch length head) -> (batch head length)
    steps = _steps(given, (1, 1, -1)).clamp(*given.get("dt_limit", (0.0, float("inf")))).transpose(1, 2)
    heads = inputs.shape[1]
    # (batch length group state) -> (batch group length state)
    writes, reads = (given[name].float().transpose(1, 2) for name in ("B", "C"))
    gate = given.get("z")
    gate = None if gate is None else functional.silu(gate.float()).transpose(1, 2)
    return _call(
        "chunk_scan",
        inputs,
        steps,
        StateSpace(reads, writes, given["A"].float()[:, None], _groups(heads, reads.shape[1], reads.device)),
        Gated(_skip(given, heads, reads.device), gate),
        returned=lambda outputs: _with_outputs(function(*args, **kwargs), outputs.transpose(1, 2)),
        outputs=lambda result, rows: _outputs(result).transpose(1, 2)[:, :, rows],
    )


def _read_step(function: Callable[..., Any], *args: Any, **kwargs: Any) -> AttentionCall:
    """One step from a state that is kept, as in generation."""
    raise NotImplementedError("a step from a kept state says nothing of the single items before it")


def _call(
    name: str,
    value: Tensor,
    steps: Tensor,
    part: StateSpace,
    after: Gated,
    returned: Callable[[Tensor], Any],
    outputs: Callable[[Any, Tensor], Tensor],
) -> AttentionCall:
    query, key = split_sums(steps)
    parts = {"score": Dot(), "weights": Effective(), "mask": Causal(), "position": part}
    rows = torch.arange(value.shape[2], device=value.device)
    return AttentionCall(
        name,
        query,
        key,
        value,
        parts,
        0.0,
        returned=lambda heads: returned(after(heads, value, rows)),
        outputs=outputs,
        after=after,
    )


def _given(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by one name each.

    Raises:
        NotImplementedError: an argument changes the weights in a way that isn't read.
    """
    known = _READ | _OTHER | {"kwargs"}
    found = given_arguments(function, args, kwargs, known)
    for name in _OF_PARTS:
        if found.get("kwargs", {}).get(name) is not None:
            raise NotImplementedError(f"`{name}` isn't read")
    found = {_NAMES.get(name, name): value for name, value in found.items()}
    if found["A"].is_complex():
        raise NotImplementedError("complex `A` isn't read")
    if found["A"].ndim > 2 or (found.get("D") is not None and found["D"].ndim > 1):
        raise NotImplementedError("`A` and `D` of this form aren't read")
    return found


def _steps(given: Mapping[str, Any], shape: tuple[int, ...]) -> Tensor:
    """The steps, with the axis of the heads or channels where `shape` has -1."""
    steps, bias = given["dt"], given.get("delta_bias")
    if bias is not None:
        steps = steps + bias.to(steps.dtype).view(shape)
    return functional.softplus(steps).float() if given.get("delta_softplus", False) else steps.float()


def _of_groups(tensor: Tensor) -> Tensor:
    """B or C of the first Mamba, (batch, group, length, state)."""
    if tensor.ndim < 3:
        raise NotImplementedError("`B` and `C` that don't depend on the input aren't read")
    # (batch [group] state length) -> (batch group length state)
    return (tensor.unsqueeze(1) if tensor.ndim == 3 else tensor).transpose(-1, -2).float()


def _groups(heads: int, groups: int, device: torch.device) -> Tensor:
    return torch.arange(heads, device=device) // (heads // groups)


def _skip(given: Mapping[str, Any], heads: int, device: torch.device) -> Tensor:
    skip = given.get("D")
    return torch.zeros(heads, device=device) if skip is None else skip.float()


def _outputs(result: Any) -> Tensor:
    return result[0] if isinstance(result, tuple) else result


def _with_outputs(result: Any, outputs: Tensor) -> Any:
    """What the function returned with other outputs; the last state stays as it is."""
    outputs = outputs.to(_outputs(result).dtype)
    return (outputs, *result[1:]) if isinstance(result, tuple) else outputs


_FAMILIES = ("bamba", "falcon_h1", "falcon_mamba", "granitemoehybrid", "jamba", "mamba", "mamba2", "nemotron_h")
_FAMILIES += ("zamba", "zamba2")

OWN_READERS: dict[tuple[str, str], Callable[..., AttentionCall]] = {
    (f"transformers.models.{family}.modeling_{family}", name): read
    for family in _FAMILIES
    for name, read in (
        ("mamba_selective_scan", _read_channels),
        ("mamba2_chunk_scan", _read_heads),
        ("mamba_selective_state_update", _read_step),
        ("mamba2_selective_state_update", _read_step),
    )
}
"""The functions that only their own module calls: each family has a copy."""

READERS: dict[tuple[str, str], Callable[..., AttentionCall]] = {
    ("mamba_ssm.ops.selective_scan_interface", "selective_scan_fn"): _read_channels,
    ("mamba_ssm.ops.triton.ssd_combined", "mamba_chunk_scan_combined"): _read_heads,
}
