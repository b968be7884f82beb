"""`regard.watch`: see the attention of any PyTorch model while it runs."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch import nn

from regard.attention.validation import check_count
from regard.errors import ArgumentError, RecordWarning
from regard.inspection.capture.attention_modules import AttentionModules
from regard.inspection.capture.call import AttentionCall
from regard.inspection.capture.encoder_padding import padding_as_outside
from regard.inspection.capture.growing_keys import GrowingKeys
from regard.inspection.capture.interception import Interception
from regard.inspection.capture.intervene import Changes
from regard.inspection.capture.layers.read_layers import layers_read
from regard.inspection.capture.module_names import ModuleNames
from regard.inspection.capture.recorded_call import recorded_call
from regard.inspection.explain.changes import Change, is_expressed_by_parts
from regard.inspection.record.seen import Seen

__all__ = ["NothingSeen", "PartlySeen", "intervene", "record_calls", "watch"]

_ROWS = 16


class NothingSeen(RecordWarning):
    """A watched model ran without a call of attention that can be seen."""


class PartlySeen(RecordWarning):
    """A watched model has attention that isn't in the record."""


@contextmanager
def watch(model: nn.Module, *, rows: int = _ROWS, changes: Sequence[Change] = ()) -> Iterator[Seen]:
    """See each call of attention that a model makes inside of the block.

    Seen are PyTorch's `scaled_dot_product_attention`, `multi_head_attention_forward` (so `nn.MultiheadAttention` and
    PyTorch's transformers) and `flex_attention`, `regard.attend`, `regard.distributed.attend` (of which each process
    records its own queries with all keys), and attention that is written out: weights over the last axis, by softmax,
    relu, sigmoid, sparsemax or entmax, that are multiplied by values, as matrices or elementwise with a sum over the
    keys. So models of Hugging Face and timm are seen, and your own. Of functions outside of PyTorch
    those of flash-attn and xformers are seen, which are led through PyTorch's function protocol inside of the block. So
    are the scans of state-space layers, whose record has effective weights (`SeenLayer.is_effective`). A few layers of
    Hugging Face are read as a whole: those of Longformer, of LED's encoder, and deformable attention.

    Nothing of PyTorch and of the model is patched, nothing stays after the block, and other threads aren't seen. The
    queries, keys and values of each call are copied as they were multiplied; calls of a module whose keys begin alike,
    as in generation, share them. Masks and biases are kept as rules, so the memory grows linearly with the length.
    Inside of the block compiled functions run uncompiled, in all threads.

    Args:
        model: the model; its modules name the layers.
        rows: for how many queries of each call the outputs are kept. The record is checked against them at the end of
            the block, and again by `verify`.
        changes: changes of the heads, such as `RemoveHead(2, 4)` or `HideKey(3)`, with whose outputs the model goes on.
            The record has the rules as they are then; a removed head keeps its weights there.

    Yields:
        The calls, as they are made.

    Warns:
        NothingSeen: the block ended without an error, and no call was seen.
        PartlySeen: some attention was seen, but other attention only up to its weights, or it is approximated, runs
            inside of `torch.vmap`, or is of tensors that can't be recorded, such as those of float8; or no weights were
            recognised in a module that is called attention.
        RecordDiffers: what a layer gave isn't what its record gives.

    Raises:
        ArgumentError: `model` isn't a module, or `rows` is below 0; or, at the end of the block, a change applied to no
            call.

    Example:
        >>> layer = nn.TransformerEncoderLayer(8, nhead=2, batch_first=True).eval()
        >>> with watch(layer) as seen:
        ...     output = layer(torch.randn(1, 5, 8))
        >>> seen.names, seen[0].weights().shape, seen.verify()["self_attn"] < 1e-5
        (['self_attn'], torch.Size([1, 2, 5, 5]), True)
    """
    with record_calls(model, rows=rows, changes=changes) as seen:
        yield seen
    if not seen.layers:
        warnings.warn(seen.nothing, NothingSeen, stacklevel=3)


@contextmanager
def record_calls(model: nn.Module, *, rows: int = _ROWS, changes: Sequence[Change] = ()) -> Iterator[Seen]:
    """`watch` without a warning if nothing was seen, for models that may have no attention."""
    if not isinstance(model, nn.Module):
        raise ArgumentError(f"`model` must be a torch.nn.Module, but is {type(model).__name__}.")
    check_count("rows", rows, "a number of queries", least=0)
    seen, names, attention = Seen(), ModuleNames(model), AttentionModules(model)
    change = Changes(names, changes) if changes else None
    unrecorded: dict[str, str] = {}
    growing = GrowingKeys()

    def add(call: AttentionCall, result: Any) -> None:
        name = names.current()
        if name is None:
            return
        if why := call.why_unrecorded:
            unrecorded[name] = why
            return
        layer = recorded_call(name, call, result, rows, growing)
        if change is not None and change.applied:
            layer.notes.append(f"Changed: {'; '.join(map(str, change.applied))}.")
            layer.removed = not all(is_expressed_by_parts(each, call) for each in change.applied)
        seen.layers.append(layer)

    interception = Interception(add, names.current, change)
    with padding_as_outside(model), attention.followed(), layers_read(model, interception), interception:
        yield seen
    seen.check()
    unrecorded |= interception.unrecorded
    told = [*interception.missed, *unrecorded, *names.approximations]
    unrecognised = {name: attention.classes[name] for name in attention.unseen([*seen.names, *told])}
    said = (
        _missed(interception.missed),
        _unrecorded(unrecorded),
        _approximated(names.approximations),
        _unrecognised(unrecognised, _outside(model)),
    )
    missed = " ".join(filter(None, said))
    if not seen.layers:
        seen.nothing = missed or _found_instead(model, interception.calls)
    elif missed:
        warnings.warn(missed, PartlySeen, stacklevel=3)
    if change is not None:
        change.check(seen.nothing)


def intervene(model: nn.Module, *changes: Change, rows: int = _ROWS) -> AbstractContextManager[Seen]:
    """Change attention inside of the block: `watch` with changes.

    Example:
        >>> from regard.inspection import RemoveHead
        >>> layer = nn.TransformerEncoderLayer(8, nhead=2, batch_first=True).eval()
        >>> with intervene(layer, RemoveHead(layer=1, head=2)) as seen:
        ...     output = layer(torch.randn(1, 5, 8))
        >>> seen[0].notes
        ['Changed: remove head 2 of layer 1.']
    """
    return watch(model, rows=rows, changes=changes)


def _missed(modules: list[str]) -> str:
    """That the attention of some modules isn't in the record, as a sentence; "" if there are none."""
    if not modules:
        return ""
    return (
        f"Attention in {_named(modules)} was seen up to its weights, but how they are multiplied by values isn't "
        "recognised, so it isn't in the record."
    )


def _unrecorded(modules: Mapping[str, str]) -> str:
    """That the attention of some modules can't be recorded, as sentences; "" if there are none."""
    alike: dict[str, list[str]] = {}
    for name, why in modules.items():
        alike.setdefault(why, []).append(name)
    return " ".join(f"Attention in {_named(names)} isn't in the record: {why}." for why, names in alike.items())


def _approximated(modules: Mapping[str, str]) -> str:
    """That some modules only approximate attention, as a sentence; "" if there are none."""
    if not modules:
        return ""
    return (
        f"Attention in {_named(list(modules))} is approximated by {', '.join(sorted(set(modules.values())))}, without "
        "a weight for each pair of vectors, so it isn't in the record. Train with approximation 'none' to see weights."
    )


def _unrecognised(modules: Mapping[str, str], outside: str) -> str:
    """That nothing was recognised in some modules that are called attention, as sentences; "" if there are none."""
    if not modules:
        return ""
    kinds = ", ".join(dict.fromkeys(modules.values()))
    return f"No attention was seen in {_named(list(modules))} ({kinds}). " + (
        outside
        or "Either it has no weight for each pair of vectors, as linear attention and gates have none, or it computes "
        "its weights in a way that isn't recognised. It isn't in the record."
    )


def _outside(model: nn.Module) -> str:
    """That the model calls a kernel outside of PyTorch, as a sentence; "" if it doesn't say so."""
    implementation = getattr(getattr(model, "config", None), "_attn_implementation", "")
    if isinstance(implementation, str) and "flash" in implementation:
        return (
            f"The model calls {implementation!r}, a kernel outside of PyTorch. Load it with attn_implementation='sdpa'."
        )
    return ""


def _named(modules: list[str]) -> str:
    return ", ".join(each or "the model itself" for each in modules[:6]) + (" and others" if len(modules) > 6 else "")


def _found_instead(model: nn.Module, calls: int) -> str:
    """Why nothing was seen, as a sentence."""
    kinds = sorted({type(each).__name__ for each in model.modules() if next(each.children(), None) is None})
    named = ", ".join(kinds[:6]) + (" and others" if len(kinds) > 6 else "")
    if any(isinstance(each, torch.jit.ScriptModule) for each in model.modules()):
        return "No attention was seen: the model was compiled by torch.jit, whose calls can't be intercepted."
    if not calls:
        return "No attention was seen: PyTorch wasn't called in this thread. Run the model inside of the block."
    if outside := _outside(model):
        return f"No attention was seen: {outside[0].lower()}{outside[1:]}"
    return (
        f"No attention was seen in {calls:,} calls of PyTorch's functions. The model is built of {named}. Weights are "
        "recognised where they are multiplied by values after a softmax, relu or sigmoid over the last axis."
    )
