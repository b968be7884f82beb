"""What a watched model attended to: its calls of attention, in their order."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, SupportsIndex, overload

from regard.errors import ArgumentError, DataError, RecordWarning
from regard.inspection.capture.flex_tables import without_functions
from regard.inspection.capture.interception_disabled import interception_disabled
from regard.inspection.record.joined_about import joined_about
from regard.inspection.record.joining import joined_calls
from regard.inspection.record.seen_layer import SeenLayer, checked_layer
from regard.inspection.record.storage import read_layers, write_layers
from regard.inspection.record.unsharded import unsharded_calls

__all__ = ["RecordDiffers", "Seen"]


class RecordDiffers(RecordWarning):
    """A layer gave other outputs than its record does."""


@dataclass(eq=False)
class Seen(Sequence[SeenLayer]):
    """The calls of attention of a watched model, in their order; see `regard.watch`.

    Attributes:
        layers: the calls.
        nothing: if there is none, a sentence that says what was found instead.
        about: what the calls are about, as plain values; see `save_record`.
    """

    layers: list[SeenLayer] = field(default_factory=list)
    nothing: str = ""
    about: dict[str, Any] | None = None

    @overload
    def __getitem__(self, which: SupportsIndex | str) -> SeenLayer: ...

    @overload
    def __getitem__(self, which: slice) -> list[SeenLayer]: ...

    def __getitem__(self, which: Any) -> Any:
        """The call of this number, from 0, or the first one in the module of this name."""
        if not isinstance(which, str):
            return self.layers[which]
        found = next((layer for layer in self.layers if layer.name == which), None)
        if found is None:
            raise ArgumentError(f"`which` must be one of {', '.join(dict.fromkeys(self.names))}, but is {which!r}.")
        return found

    def __len__(self) -> int:
        return len(self.layers)

    def __iter__(self) -> Iterator[SeenLayer]:
        return iter(self.layers)

    @property
    def names(self) -> list[str]:
        """The names of the modules, one for each call."""
        return [layer.name for layer in self.layers]

    def joined(self) -> "Seen":
        """The calls of each module as one, for a model that runs step by step, as `generate` of Hugging Face does.

        Such a model calls each module once for a step, with the queries of the step and all keys so far, or in
        cross-attention all keys of the source. These calls become one with the queries of all steps, in their order,
        the keys and values of the last one, and a mask that hides from each query what its step hadn't: `Causal` for
        growing keys. Its weights are those of the steps, and those of a single pass over all items.

        Calls are joined if the keys and values that one attends to are the first ones of the next, and if its parts
        mean the same there. Others stay as they are, and their `notes` say why. Nothing is copied but queries and
        outputs.

        What the calls are about is kept, but for layers of which only some calls were joined, or joined with those of
        another layer: the `notes` of the first call name them.

        Example:
            >>> import torch
            >>> from torch.nn import functional
            >>> from regard.inspection import watch
            >>> class Model(torch.nn.Module):
            ...     def forward(self, query, keys):
            ...         return functional.scaled_dot_product_attention(query, keys, keys)
            >>> model, x = Model(), torch.randn(1, 2, 5, 4)
            >>> with watch(model) as seen:
            ...     for step in range(5):
            ...         output = model(x[:, :, step : step + 1], x[:, :, : step + 1])
            >>> seen.joined()[0].query.shape, seen.joined()[0].mask
            (torch.Size([1, 2, 5, 4]), Causal())
        """
        found = joined_calls(self.layers)
        layers = [layer for layer, _ in found]
        about = self.about
        if about is not None:
            about, said = joined_about(about, self.layers, [numbers for _, numbers in found])
            if layers and said:
                layers[0] = replace(layers[0], notes=[*layers[0].notes, *said])
        return Seen(layers, self.nothing, about)

    def unshard(self, group: Any = None) -> "Seen":
        """The calls of all processes that shared them, as one process would have seen them: with all queries.

        Every process of the group must call it, and has the whole then. Each one's record has all keys, but only its
        own queries (`SeenLayer.query_numbers`), and needs no other to be read. Calls that weren't shared stay as they
        are.

        Args:
            group: the processes that shared the calls, as `regard.distributed.attend` takes it.

        Raises:
            ArgumentError: processes have seen different calls, or there is no such group.
            RegardError: another process has ended.

        Example:
            >>> import torch
            >>> import torch.distributed as dist
            >>> from regard.inspection import watch
            >>> from regard.modules import MultiHeadAttention
            >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
            >>> attention = MultiHeadAttention(8, heads=2, mesh=dist.group.WORLD)
            >>> with watch(attention) as seen:
            ...     output = attention(torch.randn(1, 5, 8), mask="causal")
            >>> seen.unshard()[0].weights().shape
            torch.Size([1, 2, 5, 5])
            >>> dist.destroy_process_group()
        """
        return Seen(unsharded_calls(self.layers, group), self.nothing, self.about)

    def verify(self) -> dict[str, float | None]:
        """For each module, the largest difference between what it gave and what the record gives; see `SeenLayer`.

        Raises:
            ArgumentError: nothing was seen; the error says what was found instead.
        """
        if not self.layers:
            raise ArgumentError(self.nothing or "Nothing was seen yet: run the model inside of the block.")
        found: dict[str, float | None] = {}
        for layer in self.layers:
            error, before = layer.verify(), found.get(layer.name)
            found[layer.name] = error if before is None else before if error is None else max(error, before)
        return found

    def check(self) -> None:
        """Warn of layers that gave other outputs than their record does; `watch` calls it at the end of its block.

        Warns:
            RecordDiffers: the difference is larger than rounding explains.
        """
        for layer in self.layers:
            with interception_disabled():
                error = layer.verify()
            if error is not None and not error <= layer.tolerance:
                warnings.warn(
                    f"The record of {layer.name or 'the model itself'} ({layer.function}) differs from what the layer "
                    f"gave by {error:.2g}. Its weights may not be those that it used.",
                    RecordDiffers,
                    stacklevel=2,
                )

    def save(self, path: str | Path) -> None:
        """Write the calls to one file, which `Seen.load` reads without the model.

        The file is of the safetensors format, and grows linearly with the length, unless a mask or bias is a table. The
        functions of flex attention are kept as what they evaluate to, if a call has at most 2^24 pairs (items x heads
        x queries x keys).

        Args:
            path: the file, such as "seen.safetensors"; an old one is replaced, in one step.

        Raises:
            ArgumentError: a part of a layer is a function of your own, which a file can't hold.
            OSError: the disk is full, or the folder isn't writable.

        Example:
            >>> import tempfile
            >>> import torch
            >>> from regard.inspection import watch
            >>> layer = torch.nn.TransformerEncoderLayer(8, nhead=2, batch_first=True).eval()
            >>> with watch(layer) as seen:
            ...     output = layer(torch.randn(1, 5, 8))
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     seen.save(f"{folder}/seen.safetensors")
            ...     again = Seen.load(f"{folder}/seen.safetensors")
            >>> again.names, torch.equal(again[0].weights(), seen[0].weights())
            (['self_attn'], True)
        """
        write_layers(path, [without_functions(layer) for layer in self.layers], self.nothing, self.about)

    @classmethod
    def load(cls, path: str | Path) -> "Seen":
        """Read the calls that `save` wrote; their tensors are on the CPU.

        Raises:
            DataError: the file can't be used; the error says what it must be and what it is.
        """
        # Here and not above: a record is made of what is seen.
        from regard.inspection.record.record_storage import check_about

        layers, nothing, about = read_layers(path, checked_layer)
        if not isinstance(about, dict | None):
            raise DataError("the file must say in an object what its calls are about, but doesn't.", path=path)
        seen = cls(layers, nothing, about)
        check_about(seen, path)
        return seen

    def __str__(self) -> str:
        if not self.layers:
            return self.nothing or "Nothing was seen yet: run the model inside of the block."
        return "\n".join(map(str, self.layers))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What a notebook shows: the calls as text, and those with as many queries as keys as a live page."""
        # Here and not above: records and their views are made of what is seen.
        from regard.inspection.record.record_storage import record_of
        from regard.inspection.views.notebook import in_notebook

        return in_notebook(record_of(self)) | {"text/plain": str(self)}
