"""The layers of a model that are read as a whole: they run unseen, and are told when they return."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import nn

from regard.inspection.capture.call import AttentionCall
from regard.inspection.capture.interception import Interception
from regard.inspection.capture.interception_disabled import is_interception_disabled
from regard.inspection.capture.layers import deformable, longformer

__all__ = ["layers_read"]

Reader = Callable[[Any, tuple[Any, ...], dict[str, Any], Any], AttentionCall]

_READERS: dict[tuple[str, str], Reader] = {**longformer.READERS, **deformable.READERS}


@contextmanager
def layers_read(model: nn.Module, interception: Interception) -> Iterator[None]:
    """Read the layers of a model that the table knows, inside of the block and in its thread."""
    thread = threading.get_ident()

    def is_seen() -> bool:
        return threading.get_ident() == thread and not is_interception_disabled()

    def begin(*_: Any) -> None:
        if is_seen():
            interception.paused += 1

    def end(read: Reader) -> Callable[..., Any]:
        def ended(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
            if not is_seen():
                return None
            interception.paused -= 1
            # Nothing was returned where the layer raised an error.
            return None if result is None else interception.read_layer(read, module, args, kwargs, result)

        return ended

    with ExitStack() as handles:
        for module in model.modules():
            read = _reader_of(type(module))
            if read is not None:
                for handle in (
                    module.register_forward_pre_hook(begin),
                    module.register_forward_hook(end(read), with_kwargs=True, always_call=True),
                ):
                    handles.callback(handle.remove)
        yield


def _reader_of(kind: type[nn.Module]) -> Reader | None:
    """The reader of a class, or of one that it inherits from and whose `forward` it has."""
    for each in kind.__mro__:
        if "forward" in vars(each):
            return _READERS.get((each.__module__, each.__qualname__))
    return None
