"""Whether a model can run on so many items in the memory of this machine: it is asked before, and not by the system."""

import os
from pathlib import Path

from torch import nn

from regard.errors import ArgumentError
from regard.inspection.capture.attention_modules import AttentionModules
from regard.page.numbers import plural

__all__ = ["bytes_per_item", "check_memory", "most_bytes"]

# Of each layer of attention there are queries, keys, values and outputs at the same time, in float32.
_BYTES = 4 * 4
# What else runs needs the other half.
_SHARE = 0.5
# Where the system doesn't say how much memory it has.
_UNKNOWN = 16 * 10**9
# Where Linux says how much a container may have, in its second and its first version of control groups.
_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def check_memory(module: nn.Module, items: int, noun: str) -> None:
    """Refuse an input whose attention alone would need more than half of this machine's memory.

    Args:
        module: the model.
        items: how many items the input has.
        noun: the name of an item, in the singular.

    Raises:
        ArgumentError: it would need more.

    Example:
        >>> check_memory(nn.MultiheadAttention(8, 2), 1000, "word")
    """
    each, most = bytes_per_item(module), most_bytes()
    if not each or items * each <= most:
        return
    fitting = most // each
    # Two digits of it, rounded down.
    power = 10 ** max(0, len(str(fitting)) - 2)
    few = max(1, fitting // power * power)
    raise ArgumentError(
        f"the input must fit into memory, but its {items:,} {plural(noun)} would need {items * each / 1e9:.3g} GB for "
        f"the queries, keys, values and outputs of the model's attention, of which there may be {most / 1e9:.3g} GB: "
        f"half of this machine's memory. Give at most {few:,} {noun if few == 1 else plural(noun)} at a time."
    )


def bytes_per_item(module: nn.Module) -> int:
    """How many bytes each item adds to the attention of a model, at least; 0 if no module is called attention.

    Example:
        >>> bytes_per_item(nn.TransformerEncoderLayer(8, nhead=2)), bytes_per_item(nn.Linear(8, 8))
        (128, 0)
    """
    names = AttentionModules(module).classes
    innermost = [name for name in names if not any(each.startswith(f"{name}.") for each in names if name)]
    modules = dict(module.named_modules())
    return sum(_BYTES * _width(modules[name]) for name in innermost)


def _width(module: nn.Module) -> int:
    """The width of the widest linear map of a module."""
    return max((each.out_features for each in module.modules() if isinstance(each, nn.Linear)), default=0)


def most_bytes() -> int:
    """The most bytes that attention may need: half of this machine's memory, or of its container's if that is less."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        total = _UNKNOWN
    return int(_SHARE * min([total, *filter(None, map(_limit, _LIMITS))]))


def _limit(file: Path) -> int | None:
    """The limit that a file holds; None if it holds none."""
    try:
        text = file.read_text(encoding="ascii").strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None
