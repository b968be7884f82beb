"""`create_block_mask` and `create_mask` as PyTorch has them, and the rule that a BlockMask stands for."""

import inspect
import weakref
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask

from regard.attention import Index, Lengths, Mask
from regard.attention.compilation.call_spec import untraced
from regard.attention.validation import check_count
from regard.errors import ArgumentError
from regard.flex.closures import State, state
from regard.flex.masks import ASKED, FULL, HIDDEN
from regard.flex.mods import MASK, SCORE, Mod
from regard.flex.rules import BlockKinds, find_rule

__all__ = ["WHOLE", "create_block_mask", "create_mask", "rule_of"]

_BLOCK = 128
WHOLE = 1 << 30  # PyTorch's size of blocks that hold all pairs, whatever the lengths


@untraced
def create_block_mask(
    mask_mod: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor],
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = _BLOCK,
    _compile: bool = False,
    separate_full_blocks: bool = True,
    compute_dq_write_order: bool = False,
    dq_kv_order: bool = True,
) -> BlockMask:
    """PyTorch's `create_block_mask`, in memory that grows with the lengths: a few rows are asked at a time.

    Args:
        mask_mod: a function (b, h, q_idx, kv_idx) of four integer tensors () -> a bool tensor (), True = may attend.
        B, H: the batch size and the number of query heads; None: all have the mask of the first.
        Q_LEN, KV_LEN: how many queries and keys there are.
        device: where the tables are; None: on the current accelerator, or else on the CPU.
        BLOCK_SIZE: how many queries and keys a block has; it doesn't change what `flex_attention` here computes.
        separate_full_blocks: whether blocks in which every pair is allowed have a table of their own.
        _compile, compute_dq_write_order, dq_kv_order: for PyTorch's kernels; only their defaults can be used.

    Returns:
        PyTorch's own BlockMask, which PyTorch's flex_attention takes too.

    Raises:
        ArgumentError: an argument can't be used.

    Source: PyTorch's torch.nn.attention.flex_attention; Dong et al. 2024 (arXiv 2412.05496).

    Example:
        >>> create_block_mask(lambda b, h, i, j: i >= j, None, None, 512, 512, device="cpu").sparsity()
        37.5
    """
    if compute_dq_write_order:
        raise ArgumentError(
            "`compute_dq_write_order` must be False: it is for a kernel of PyTorch alone. Make the BlockMask by "
            "PyTorch's create_block_mask; flex_attention here takes it too."
        )
    _check_lengths(Q_LEN, KV_LEN)
    where = _device(device)
    height, width = size = _block_size(BLOCK_SIZE)
    mod = Mod(MASK, mask_mod, where, torch.float32)
    kinds = torch.full((B or 1, H or 1, -(-Q_LEN // height), -(-KV_LEN // width)), ASKED, device=where)
    found = find_rule(mod, BlockKinds(kinds, size, Q_LEN, KV_LEN))
    full = (found.counts == height * width) & separate_full_blocks
    tables = [*_ordered((found.counts > 0) & ~full), *(_ordered(full) if separate_full_blocks else (None, None))]
    made = BlockMask.from_kv_blocks(*tables, BLOCK_SIZE=size, mask_mod=mask_mod, seq_lengths=(Q_LEN, KV_LEN))
    _keep(made, _state_of(made), found.rule)
    return made


@untraced
def create_mask(
    mod_fn: Callable[..., Tensor], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None
) -> Bool[Tensor, "batch head query key"]:
    """PyTorch's `create_mask`: which pairs a mask_mod allows, or a score_mod doesn't set to minus infinity.

    Args:
        mod_fn: a mask_mod (b, h, q_idx, kv_idx) or a score_mod (score, b, h, q_idx, kv_idx).
        B, H: the batch size and the number of query heads; None: 1.
        Q_LEN, KV_LEN: how many queries and keys there are.
        device: where the table is; None: on the current accelerator, or else on the CPU.

    Raises:
        ArgumentError: the function takes neither four nor five arguments, or can't be used.

    Example:
        >>> create_mask(lambda b, h, q_idx, kv_idx: q_idx >= kv_idx, None, None, 2, 3, device="cpu")
        tensor([[[[ True, False, False],
                  [ True,  True, False]]]])
    """
    _check_lengths(Q_LEN, KV_LEN)
    where = _device(device)
    kind = _kind_of(mod_fn)
    mod = Mod(kind, mod_fn, where, torch.float32)
    batch, heads = B or 1, H or 1
    group, row, key = (torch.arange(size, device=where) for size in (batch * heads, Q_LEN, KV_LEN))
    at = Index((group // heads).view(-1, 1, 1), (group % heads).view(-1, 1, 1), row.view(1, -1, 1), key.view(1, 1, -1))
    zeros = None if kind == MASK else torch.zeros(len(group), Q_LEN, KV_LEN, device=where)
    found = mod(mod.trained, zeros, at)
    return (found if kind == MASK else ~torch.isneginf(found)).unflatten(0, (batch, heads))


def rule_of(block_mask: BlockMask, batch: int, queries: int, keys: int) -> Mask:
    """The mask of `attend` that a BlockMask stands for.

    The blocks are those of its tables, and the mask_mod decides within the partial ones, as where PyTorch compiles it.
    What was found is kept with the BlockMask, until it or something that its mask_mod captures has changed.

    Args:
        block_mask: PyTorch's.
        batch, queries, keys: the sizes of the call, which are those of the BlockMask.
    """
    now = _state_of(block_mask)
    kept = _RULES.get(block_mask)
    if kept is not None and now is not None and kept[0] == now:
        rule = kept[1]
    else:
        mod = Mod(MASK, block_mask.mask_mod, block_mask.kv_indices.device, torch.float32)
        rule = find_rule(mod, _kinds(block_mask, queries, keys)).rule
        _keep(block_mask, now, rule)
    if type(rule) is Lengths and len(rule.of_keys) == 1:  # pyright: ignore[reportArgumentType]
        return Lengths(key=rule.of_keys.expand(batch))  # pyright: ignore[reportOptionalMemberAccess]
    return rule


_RULES: weakref.WeakKeyDictionary[BlockMask, tuple[State, Mask]] = weakref.WeakKeyDictionary()


def _keep(block_mask: BlockMask, found: State | None, rule: Mask) -> None:
    if found is not None:
        _RULES[block_mask] = found, rule


def _state_of(block_mask: BlockMask) -> State | None:
    """What the rule of a BlockMask depends on."""
    return state(
        block_mask.mask_mod,
        block_mask.kv_num_blocks,
        block_mask.kv_indices,
        block_mask.full_kv_num_blocks,
        block_mask.full_kv_indices,
        block_mask.BLOCK_SIZE,
        block_mask.seq_lengths,
    )


def _kinds(block_mask: BlockMask, queries: int, keys: int) -> BlockKinds:
    """The blocks as the tables of a BlockMask list them."""
    size = block_mask.BLOCK_SIZE
    tables = [(block_mask.kv_num_blocks, block_mask.kv_indices, ASKED)]
    if block_mask.full_kv_num_blocks is not None and block_mask.full_kv_indices is not None:
        tables.append((block_mask.full_kv_num_blocks, block_mask.full_kv_indices, FULL))
    (items, heads), device = torch.broadcast_shapes(*(t[1].shape[:-2] for t in tables))[-2:], tables[0][1].device
    shape = items, heads, -(-queries // size[0]), -(-keys // size[1])
    kinds = torch.full(shape, HIDDEN, device=device)
    for counts, columns, kind in tables:
        columns = columns.expand(*shape[:2], *columns.shape[-2:])[:, :, : shape[2]]
        listed = torch.arange(columns.shape[3], device=device) < counts.expand(*shape[:2], -1)[:, :, : shape[2], None]
        item, head, row, _ = places = listed.nonzero().unbind(1)
        column = columns[places].long()
        there = column < shape[3]
        kinds[item[there], head[there], row[there], column[there]] = kind
    return BlockKinds(kinds, size, queries, keys)


def _ordered(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """How many blocks of keys each block of queries has, and which: these first, then the others."""
    order = blocks.int().argsort(dim=-1, descending=True, stable=True)
    return blocks.sum(-1).int(), order.int()


def _device(device: Any) -> torch.device:
    if device is not None:
        return torch.device(device)
    return torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")


def _check_lengths(queries: Any, keys: Any) -> None:
    check_count("Q_LEN", queries, "the number of queries", 0)
    check_count("KV_LEN", keys, "the number of keys", 0)


def _block_size(size: Any) -> tuple[int, int]:
    pair = (size, size) if isinstance(size, int) else size
    if not (isinstance(pair, tuple | list) and len(pair) == 2 and all(isinstance(n, int) and n > 0 for n in pair)):
        raise ArgumentError(f"`BLOCK_SIZE` must be how many queries and keys a block has, 1 or more, but is {size!r}.")
    return pair[0], pair[1]


def _kind_of(function: Any) -> str:
    """Whether a function is a mask_mod or a score_mod, by how many arguments it takes."""
    if not callable(function):
        raise ArgumentError(f"`mod_fn` must be a function, a mask_mod or a score_mod, but is {function!r:.100}.")
    called = function.forward if isinstance(function, torch.nn.Module) else function
    needed = [each for each in inspect.signature(called).parameters.values() if each.default is each.empty]
    if len(needed) not in (4, 5):
        raise ArgumentError(
            "`mod_fn` must take (b, h, q_idx, kv_idx), or (score, b, h, q_idx, kv_idx), but takes "
            f"{inspect.signature(called)}."
        )
    return MASK if len(needed) == 4 else SCORE
