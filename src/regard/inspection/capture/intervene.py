"""Changes in a running model: which change applies to which call, and whether each applied at all."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from regard.attention import attend
from regard.attention.masks import as_mask
from regard.errors import ArgumentError
from regard.inspection.capture.call import AttentionCall
from regard.inspection.capture.encoder_padding import padding_as_outside
from regard.inspection.capture.interception import Interception
from regard.inspection.capture.layers.read_layers import layers_read
from regard.inspection.capture.module_names import ModuleNames
from regard.inspection.explain.changes import Change, unchanged_parts
from regard.inspection.explain.random_directions import RandomDirection

__all__ = ["Changes", "changed"]

# A change, and the only item of the batch that it changes; None: all.
_Applied = tuple[Change, int | None]


class Changes:
    """Applies changes to calls, in their order.

    Args:
        names: the names of the model's modules.
        changes: the changes.
        items: for each change, the only item of the batch that it changes, from 0; None for all items.
        always: whether outputs are computed anew where nothing changes too, as if something did, which shows the error
            of rounding.

    Attributes:
        applied: the changes of the latest call.
        batches: the batch sizes of the calls.
        dropout: whether a call dropped weights at random.

    Raises:
        ArgumentError: something is no change.
    """

    def __init__(
        self,
        names: ModuleNames,
        changes: Sequence[Change],
        items: Sequence[int | None] | None = None,
        always: bool = False,
    ):
        for each in changes:
            if not isinstance(each, Change):
                raise ArgumentError(f"`changes` must hold changes such as RemoveHead(1, 2), but holds {each!r}.")
        given = (None,) * len(changes) if items is None else tuple(items)
        self._names, self._always = names, always
        # A change of several places is those of each, one after another.
        self._changes = [(member, item) for each, item in zip(changes, given, strict=True) for member in each.members]
        self._used: set[int] = set()
        self._missing: dict[int, str] = {}
        # The numbers of the layers, by name, and what each has.
        self._layers: dict[str, str] = {}
        self._turns: Counter[str] = Counter()
        self.applied: tuple[Change, ...] = ()
        self.batches: set[int] = set()
        self.dropout = False

    def __call__(self, call: AttentionCall) -> Tensor | None:
        """The outputs of the heads; None if nothing changes. The call gets the changed parts."""
        name = self._names.current()
        if name is None or call.why_unrecorded:
            return None
        self._layers.setdefault(name, "")
        number = list(self._layers).index(name) + 1
        self._layers[name] = f"{call.query.shape[1]} heads, {call.query.shape[2]} queries and {call.key.shape[2]} keys"
        call.module, call.turn = name, self._turns[name]
        self._turns[name] += 1
        self.batches.add(call.query.shape[0])
        self.dropout = self.dropout or bool(call.dropout)
        found: list[_Applied] = []
        for index, (change, item) in enumerate(self._changes):
            if not change.in_layer(number, name):
                continue
            if change.needs_all_queries and as_mask(call.parts.get("mask")).origin is not None:
                raise ArgumentError(
                    "`changes` must not have one that needs the queries of all processes where they share a call, "
                    f"but {change} does. Make it in a module without a mesh: the parameters are the same."
                )
            if missing := change.missing(call):
                self._missing[index] = missing
            else:
                self._used.add(index)
                found.append((change, item))
        self.applied = tuple(change for change, _ in found)
        if not found and not self._always:
            return None
        plain = [each for each in found if not isinstance(each[0], RandomDirection)]
        if not found:
            return _outputs(call, unchanged_parts(call), ())
        # In place, because what a function returns beside the outputs is made of the parts too.
        call.parts.update(_parts(call, plain))
        outputs = _outputs(call, call.parts, plain)
        turned = [(each, item) for each, item in found if isinstance(each, RandomDirection)]
        return _turned(call, outputs, plain, turned) if turned else outputs

    def check(self, reason: str = "") -> None:
        """Check that each change applied to a call.

        Raises:
            ArgumentError: one didn't; the error says what there is.
        """
        for index, (change, _) in enumerate(self._changes):
            if index in self._used:
                continue
            change = change.change if isinstance(change, RandomDirection) else change
            kind = type(change).__name__
            if not self._layers:
                raise ArgumentError(f"`changes`: {kind} changed nothing. {reason or 'No attention was seen.'}")
            layers = "; ".join(
                f"layer {number}{name and f' ({name})'} with {sizes}"
                for number, (name, sizes) in enumerate(self._layers.items(), 1)
            )
            name = self._missing.get(index, "layer")
            raise ArgumentError(
                f"`{name}` of {kind} must be one that the model has, but is {getattr(change, name)!r}. "
                f"There is: {layers}."
            )


def _parts(call: AttentionCall, changes: Sequence[_Applied]) -> dict[str, Any]:
    """The parts of a call after changes, one after another."""
    parts = dict(call.parts)
    for change, item in changes:
        parts.update(change.parts(replace(call, parts=parts), change.where(item)) or {})
    return parts


def _outputs(call: AttentionCall, parts: dict[str, Any], changes: Sequence[_Applied]) -> Tensor:
    """The outputs of the heads, given the parts, after changes of the outputs, one after another."""
    outputs = attend(call.query, call.key, call.value, **parts, dropout=call.dropout)
    return _changed_heads(replace(call, parts=parts), outputs, changes)


def _changed_heads(call: AttentionCall, outputs: Tensor, changes: Sequence[_Applied]) -> Tensor:
    for change, item in changes:
        outputs = change.heads(call, outputs, change.where(item))
    return outputs


def _turned(
    call: AttentionCall,
    outputs: Tensor,
    plain: Sequence[_Applied],
    turned: Sequence[tuple[RandomDirection, int | None]],
) -> Tensor:
    """The outputs, to which what other changes would do to them is added, in random directions.

    Args:
        call: the call, with the parts that it has after `plain`.
        outputs: the outputs after `plain`.
        plain: the changes that are made as they are.
        turned: those in random directions.
    """
    # What acts on items of its own is computed together, and so is what is turned together.
    groups: dict[int | None, list[tuple[RandomDirection, int | None]]] = defaultdict(list)
    for change, item in turned:
        groups[change.seed if item is None else None].append((change, item))
    found = outputs.clone()
    for group in groups.values():
        inner = [(change.change, item) for change, item in group]
        parts = _parts(call, inner)
        same = all(parts[name] is part for name, part in call.parts.items()) and len(parts) == len(call.parts)
        start = outputs if same else _outputs(call, parts, plain)
        difference = _changed_heads(replace(call, parts=parts), start, inner) - outputs
        for item, change in {item: change for change, item in group}.items():
            rows = slice(None) if item is None else slice(item, item + 1)
            found[rows] += change.rotated(difference[rows])
    return found


@contextmanager
def changed(
    model: nn.Module, changes: Sequence[Change], items: Sequence[int | None] | None = None, always: bool = False
) -> Iterator[Changes]:
    """Change a model inside of the block, without a record; the arguments are those of `Changes`."""
    names = ModuleNames(model)
    applied = Changes(names, changes, items, always)
    interception = Interception(lambda call, result: None, names.current, applied)
    with padding_as_outside(model), layers_read(model, interception), interception:
        yield applied
    applied.check()
