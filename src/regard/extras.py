"""Optional libraries: imported when first used, with an error that names the extra that installs them."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from regard.errors import MissingExtraError

__all__ = ["quiet_transformers", "require"]


def require(module: str, *, extra: str) -> Any:
    """Import an optional library.

    Args:
        module: the dotted name to import.
        extra: the extra of regard that installs it.

    Raises:
        MissingExtraError: the library is not installed.

    Example:
        >>> require("json", extra="data").dumps([1])
        '[1]'
    """
    try:
        imported: ModuleType = importlib.import_module(module)
    except ModuleNotFoundError as error:
        # Only a missing library is reported so; an installed but broken library raises its own error.
        if error.name is not None and error.name.split(".")[0] == module.split(".")[0]:
            raise MissingExtraError(module.split(".")[0], extra=extra) from error
        raise
    return imported


@contextmanager
def quiet_transformers() -> Iterator[Any]:
    """Import transformers for a block of code, in which it shows no progress bars and gives no advice.

    Raises:
        MissingExtraError: it is not installed.
    """
    transformers = require("transformers", extra="huggingface")
    logging = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield transformers
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
