"""Standard output that its reader closes, as `head` does when it has read enough."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["discard_output", "outliving_reader"]


def discard_output() -> None:
    """Discard what is still to be written to standard output: at exit, Python would try to write it and complain."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def outliving_reader(files: bool) -> Iterator[None]:
    """Print, and go on if the reader of standard output has closed it: files that were asked for are still written.

    Args:
        files: whether there are such files; without them the command ends.
    """
    try:
        yield
        # Now, and not when the process ends.
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):
        # rich ends the process for a closed pipe.
        if not files:
            raise
        discard_output()
