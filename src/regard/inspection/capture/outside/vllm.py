"""vLLM, by its registry of attention backends: a backend that does what another does, and records each call.

vLLM keeps keys and values in blocks of a cache that all requests share. A table says which blocks a request has, in
their order. The calls are recorded request by request, with the keys that the request has so far.
"""

import warnings
from typing import Any

import torch
from torch import Tensor

from regard.attention import Dot
from regard.attention.validation import check_count
from regard.errors import RecordWarning
from regard.inspection.capture.call import AttentionCall
from regard.inspection.capture.growing_keys import GrowingKeys
from regard.inspection.capture.interception_disabled import interception_disabled
from regard.inspection.capture.outside.call_arguments import window_mask
from regard.inspection.capture.recorded_call import recorded_call
from regard.inspection.record.seen import Seen
from regard.modules.huggingface import SoftCapped

__all__ = ["NotRecorded", "watched_backend"]

# What a layer may have that changes its weights and isn't read.
_UNREAD = ("alibi_slopes", "sinks", "use_alibi_sqrt", "use_irope", "kv_sharing_target_layer_name")


class NotRecorded(RecordWarning):
    """A layer of vLLM attends in a way that isn't recorded."""


def watched_backend(backend: type, *, rows: int = 16) -> Any:
    """A backend of vLLM's attention that does what another one does, and records each call in its `seen`.

    Register it as vLLM's custom backend, and run the engine without CUDA graphs and in one process, so that its calls
    reach the record. A record has one call for each request in each step; `seen.joined()` makes one of the steps.

    Args:
        backend: a backend with the keys and values of a block in an axis of their own, such as vLLM's
            TritonAttentionBackend or FlashAttentionBackend.
        rows: for how many queries of each call the outputs are kept, for `verify`.

    Returns:
        A subclass of the backend, called "CUSTOM", with the attribute `seen`.

    Warns:
        NotRecorded: a layer has something that isn't read (sinks, ALiBi, a cache in fewer bits); it runs as ever.

    Raises:
        ArgumentError: `rows` is below 0.

    Source: vLLM, vllm/v1/attention/backends/registry.py, and the interfaces in vllm/v1/attention/backend.py.
    """
    check_count("rows", rows, "a number of queries", least=0)
    record = _PagedRecord(backend, rows)
    implementation: Any = backend.get_impl_cls()  # pyright: ignore[reportAttributeAccessIssue]

    class WatchedImplementation(implementation):
        def forward(
            self,
            layer: Any,
            query: Any,
            key: Any,
            value: Any,
            kv_cache: Any,
            attn_metadata: Any,
            *args: Any,
            **kwargs: Any,
        ) -> Any:
            result = super().forward(layer, query, key, value, kv_cache, attn_metadata, *args, **kwargs)
            # Without metadata vLLM only measures its memory.
            if attn_metadata is not None:
                record.add(self, layer, query, kv_cache, attn_metadata, result)
            return result

    class WatchedBackend(backend):
        seen = record.seen

        @staticmethod
        def get_name() -> str:
            return "CUSTOM"

        @staticmethod
        def get_impl_cls() -> Any:
            return WatchedImplementation

    return WatchedBackend


class _PagedRecord:
    """The calls of a backend whose keys and values stand in blocks."""

    def __init__(self, backend: Any, rows: int):
        self.seen = Seen()
        self._backend, self._rows, self._growing = backend, rows, GrowingKeys()
        self._told: set[str] = set()

    def add(self, implementation: Any, layer: Any, query: Tensor, cache: Tensor, metadata: Any, output: Tensor) -> None:
        name = str(getattr(layer, "layer_name", ""))
        try:
            with interception_disabled(), torch.no_grad():
                for call, result in self._calls(implementation, query, cache, metadata, output):
                    self.seen.layers.append(recorded_call(name, call, result, self._rows, self._growing))
        except Exception as error:
            # What only looks on raises no error in a server.
            if name not in self._told:
                warnings.warn(f"Attention in {name or 'a layer'} isn't recorded: {error}.", NotRecorded, stacklevel=2)
            self._told.add(name)

    def _calls(self, implementation: Any, query: Tensor, cache: Tensor, metadata: Any, output: Tensor) -> Any:
        for name in _UNREAD:
            # A flag, or tensors.
            if (given := getattr(implementation, name, None)) is not None and given is not False:
                raise NotImplementedError(f"its `{name}` isn't read")
        keys, values = cache.unbind(self._axis_of_pairs())
        if keys.dtype != query.dtype:
            raise NotImplementedError(f"its cache is of {keys.dtype}, and its queries of {query.dtype}")
        heads = int(implementation.num_heads)
        score, window = _score(implementation), _window(implementation, metadata)
        starts, lengths = metadata.query_start_loc.tolist(), metadata.seq_lens.tolist()
        for request, length in enumerate(lengths):
            first, last = starts[request], starts[request + 1]
            if last > first:
                blocks = metadata.block_table[request, : -(-length // keys.shape[1])].long()
                own_keys, own_values = (
                    # (block place head feature) -> (1 head key feature)
                    each[blocks].flatten(0, 1)[:length].transpose(0, 1).unsqueeze(0)
                    for each in (keys, values)
                )
                queries, outputs = (
                    # (token (head feature)) -> (1 head query feature)
                    each[first:last].reshape(last - first, heads, -1).transpose(0, 1).unsqueeze(0)
                    for each in (query, output)
                )
                parts = {"score": score, "mask": window_mask(*window, last - first, length)}
                yield _call(queries, own_keys, own_values, parts), outputs

    def _axis_of_pairs(self) -> int:
        """Which axis of the cache holds keys and values, told by the shape that the backend gives for such sizes."""
        sizes = 1009, 16, 3, 32
        shape = tuple(self._backend.get_kv_cache_shape(*sizes))
        axis = shape.index(2) if shape.count(2) == 1 else -1
        if axis < 0 or (*shape[:axis], *shape[axis + 1 :]) != sizes:
            raise NotImplementedError(f"the layout of its cache isn't known: {shape} for {sizes}")
        return axis


def _score(implementation: Any) -> Dot | SoftCapped:
    cap, scale = float(getattr(implementation, "logits_soft_cap", None) or 0.0), float(implementation.scale)
    return SoftCapped(scale, cap) if cap else Dot(scale)


def _window(implementation: Any, metadata: Any) -> tuple[int | None, int | None]:
    """How many keys before and after its own position a query may attend to; None: all of them."""
    window = getattr(implementation, "sliding_window", None) or (-1, -1)
    before, after = (None if each < 0 else int(each) for each in window)
    return before, 0 if getattr(metadata, "causal", True) else after


def _call(query: Tensor, key: Tensor, value: Tensor, parts: dict[str, Any]) -> AttentionCall:
    return AttentionCall(
        "a backend of vLLM",
        query,
        key,
        value,
        parts,
        0.0,
        returned=lambda outputs: outputs,
        outputs=lambda given, rows: given[:, :, rows],
    )
