"""The gradient of one prediction with respect to the outputs of the heads of each call of attention."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.inspection.capture.call import AttentionCall
from regard.inspection.capture.interception import Interception
from regard.inspection.capture.interception_disabled import interception_disabled
from regard.inspection.capture.layers.read_layers import layers_read
from regard.inspection.capture.module_names import ModuleNames
from regard.inspection.cases.case import Case

__all__ = ["head_gradients"]


class _AddZeros(Interception):
    """Adds zeros to the outputs of all heads: the gradient with respect to them is that of the outputs.

    So a gradient reaches the heads of a model whose parameters need none, whatever function computes attention. The
    function itself runs, since its record may lack a gradient: that of a table, or of a bias that was computed.

    Attributes:
        zeros: for each call, what was added.
    """

    def __init__(self, model: nn.Module):
        self._names = ModuleNames(model)
        super().__init__(lambda call, result: None, self._names.current)
        self.zeros: list[Tensor] = []

    def _attended(self, call: AttentionCall, run: Callable[[], Any]) -> Any:
        result = run()
        if self._names.current() is None:
            return result
        with interception_disabled():
            shape = *call.query.shape[:3], call.value.shape[3]
            zeros = torch.zeros(shape, dtype=call.value.dtype, device=call.value.device, requires_grad=True)
            self.zeros.append(zeros)
            # What a function makes of the outputs is linear but for a bias, which cancels.
            more, less = call.returned(zeros), call.returned(zeros.detach())
            if isinstance(result, tuple):
                return (result[0] + (more[0] - less[0]), *result[1:])
            return result + (more - less)


def head_gradients(case: Case, place: int) -> list[Tensor]:
    """The gradient of what is predicted at a place, for each call of attention in its order.

    It is that of the probability of the label, or of the number.

    Args:
        case: the model and its input.
        place: the number of the place, from 0.

    Returns:
        For each call (batch, head, query, feature). Zeros where the prediction doesn't depend on the call.

    Raises:
        ArgumentError: the output is a vector, or it has no gradient.

    Example:
        >>> layer = torch.nn.TransformerEncoderLayer(8, nhead=2, batch_first=True).eval()
        >>> def predict(output):
        ...     return output[:, :, :3].softmax(-1)
        >>> places = (("a", 0), ("b", 1), ("c", 2))
        >>> case = Case("toy", layer, torch.randn(1, 3, 8), layer, predict, "labels", ("a", "b", "c"), places)
        >>> [each.shape for each in head_gradients(case, 0)]
        [torch.Size([1, 2, 3, 4])]
    """
    if case.kind == "vectors":
        raise ArgumentError(
            "`attribution` must not be gradient-weighted here: it needs the gradient of a number, and the output is a "
            "vector. Use another one, or a Case whose `predict` gives probabilities or a number."
        )
    adding = _AddZeros(case.module)
    with torch.inference_mode(False), torch.enable_grad():
        with layers_read(case.module, adding), adding:
            predicted = case.predict(case.run(case.inputs))[0, place]
        if case.kind == "numbers":
            answer = 0
        else:
            answer = int(predicted.argmax()) if case.answers is None else case.answers[place]
        if not predicted.requires_grad:
            raise ArgumentError(
                "`attribution` must not be gradient-weighted here: the model computes without gradients. Use another "
                "one."
            )
        found = torch.autograd.grad(predicted[answer], adding.zeros, allow_unused=True)
    return [zeros if each is None else each for each, zeros in zip(found, adding.zeros, strict=True)]
