"""Importing torch without the garbage collector, which would visit its objects again and again."""

import gc
import sys

__all__ = ["import_torch"]


def import_torch() -> None:
    """Import torch, collect no garbage meanwhile, and leave what the import made out of later collections.

    Importing torch makes 280,000 objects that live until the process ends. Collections during the import and at the end
    of the process visit all of them, which takes a quarter of the time of a short command. Where torch has been
    imported already, nothing is done: other objects are there by then, some of them garbage.

    Source: `gc.freeze` in the documentation of Python.
    """
    if "torch" in sys.modules or not gc.isenabled():
        return
    gc.disable()
    try:
        import torch  # noqa: F401
    finally:
        gc.freeze()
        gc.enable()
