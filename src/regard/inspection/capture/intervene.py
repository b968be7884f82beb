"""Changes in a running model: which change applies to which call, and whether each applied at all."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from torch import Tensor, nn

from regard.attention import attend
from regard.errors import ArgumentError
from regard.inspection.capture.call import AttentionCall
from regard.inspection.capture.encoder_padding import padding_as_outside
from regard.inspection.capture.interception import Interception
from regard.inspection.capture.module_names import ModuleNames
from regard.inspection.explain.changes import Change, unchanged_parts

__all__ = ["Changes", "changed"]


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
        self._names, self._changes, self._always = names, tuple(changes), always
        self._items = (None,) * len(self._changes) if items is None else tuple(items)
        self._used: set[int] = set()
        self._missing: dict[int, str] = {}
        # The numbers of the layers, by name, and what each has.
        self._layers: dict[str, str] = {}
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
        self.batches.add(call.query.shape[0])
        self.dropout = self.dropout or bool(call.dropout)
        found: list[tuple[Change, int | None]] = []
        for index, (change, item) in enumerate(zip(self._changes, self._items, strict=True)):
            if not change.in_layer(number, name):
                continue
            if missing := change.missing(call):
                self._missing[index] = missing
            else:
                self._used.add(index)
                found.append((change, item))
        self.applied = tuple(change for change, _ in found)
        if not found and not self._always:
            return None
        for change, item in found:
            # In place, because what a function returns beside the outputs is made of the parts too.
            call.parts.update(change.parts(call, change.where(item)) or {})
        parts = call.parts if found else unchanged_parts(call)
        outputs = attend(call.query, call.key, call.value, **parts, dropout=call.dropout)
        for change, item in found:
            outputs = change.heads(call, outputs, change.where(item))
        return outputs

    def check(self, reason: str = "") -> None:
        """Check that each change applied to a call.

        Raises:
            ArgumentError: one didn't; the error says what there is.
        """
        for index, change in enumerate(self._changes):
            if index in self._used:
                continue
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


@contextmanager
def changed(
    model: nn.Module, changes: Sequence[Change], items: Sequence[int | None] | None = None, always: bool = False
) -> Iterator[Changes]:
    """Change a model inside of the block, without a record; the arguments are those of `Changes`."""
    names = ModuleNames(model)
    applied = Changes(names, changes, items, always)
    with padding_as_outside(model), Interception(lambda call, result: None, names.current, applied):
        yield applied
    applied.check()
