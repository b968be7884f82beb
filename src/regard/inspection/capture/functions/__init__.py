"""The functions whose calls are intercepted, each with the reader of its arguments."""

from collections.abc import Callable
from typing import Any

from regard.inspection.capture.call import AttentionCall
from regard.inspection.capture.functions import flex, multi_head, operator, scaled_dot_product, shared

__all__ = ["FUNCTIONS"]

FUNCTIONS: dict[Any, Callable[..., AttentionCall]] = {
    module.FUNCTION: module.read for module in (scaled_dot_product, multi_head, flex, operator, shared)
}
