"""`attend`, the one operator, and `weigh`, its weights."""

from collections.abc import Sequence
from typing import Any, Literal, overload

import torch
from jaxtyping import Float
from torch import Tensor
from torch.compiler import is_compiling
from torch.nn import Parameter
from torch.overrides import handle_torch_function, has_torch_function

from regard.attention.compilation import custom_operator
from regard.attention.compilation.traceable import is_traceable
from regard.attention.engines import ENGINES, dense
from regard.attention.fast_path import fast_path
from regard.attention.gradients import autograd, function_transforms
from regard.attention.keywords import NoSuch, refuse_keywords
from regard.attention.log_sums import split
from regard.attention.plan import choose
from regard.attention.precision import no_autocast
from regard.attention.pytorch_internals import in_forward_mode, in_transform, sees_calls
from regard.attention.request import Request
from regard.attention.validation import selected_rows
from regard.errors import RefusedError

__all__ = ["attend", "attend_rows", "run", "weigh"]


@overload
def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    score: Any = ...,
    weights: Any = ...,
    mask: Any = ...,
    position: Any = ...,
    dropout: float = ...,
    seed: int | None = ...,
    engine: str = ...,
    log_sums: Literal[False] = ...,
    **unknown: NoSuch,
) -> Tensor: ...


@overload
def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    score: Any = ...,
    weights: Any = ...,
    mask: Any = ...,
    position: Any = ...,
    dropout: float = ...,
    seed: int | None = ...,
    engine: str = ...,
    log_sums: Literal[True],
    **unknown: NoSuch,
) -> tuple[Tensor, Tensor]: ...


def attend(
    query: Float[Tensor, "batch head query feature"],
    key: Float[Tensor, "batch key_head key key_feature"],
    value: Float[Tensor, "batch key_head key value"],
    *,
    score: Any = "scaled_dot",
    weights: Any = "softmax",
    mask: Any = None,
    position: Any = None,
    dropout: float = 0.0,
    seed: int | None = None,
    engine: str = "auto",
    log_sums: bool = False,
    **unknown: NoSuch,
) -> (
    Float[Tensor, "batch head query value"]
    | tuple[Float[Tensor, "batch head query value"], Float[Tensor, "batch head query"]]
):
    """Score every key for every query, normalise, and sum the values by the weights: O_i = sum_j w(s(q_i, k_j)) v_j.

    Args:
        query: (batch, head, query, feature), what each query looks for.
        key: what each key is matched by; the number of its heads divides that of `query`.
        value: what each key contributes to the output.
        score: how well a key matches a query: a name ("dot", "scaled_dot", "cosine"), a part such as
            `Additive(vector)`, or a function (query, key) -> scores.
        weights: how scores become weights: a name ("softmax", "relu", "sigmoid", "sparsemax", "entmax", "hard"), a part
            such as `Entmax(1.3)`, or a function (scores, allowed) -> weights.
        mask: which query may attend to which key: None, "causal", "no_self", a mask such as `Window(2, 2) & Causal()`,
            or a function (batch, head, query, key) -> bool, True = may attend.
        position: how distance matters: None, or a part such as `Relative(head_size)`.
        dropout: the fraction of weights set to zero; the rest is scaled up. Keyed by `seed` and absolute position.
        seed: the same seed gives the same dropout, on every engine and device. None draws one from torch's generator.
        engine: "auto" (the fastest that can, never quadratic memory), or the name of one, such as "blocked" (it takes
            every part) or "dense" (the definition).
        log_sums: whether to return log sum_j exp(s(q_i, k_j) / T) of each query i too, by which outputs over several
            sets of keys are merged; T is the temperature. For softmax only.

    Returns:
        The outputs, in the dtype of `query`. A query that may attend to nothing gets zeros. With `log_sums` a pair:
        the outputs, and the log-sums (batch, head, query) in float32 or wider, before dropout; minus infinity for a
        query that may attend to nothing.

    Raises:
        ArgumentError: an argument can't be used.
        RefusedError: `engine` names an engine that can't do this.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.2; the notes, 000 to 004.

    Example:
        >>> import torch
        >>> query = torch.tensor([[[[1.0, 0, 2], [2, 2, 2], [2, 1, 3]]]])
        >>> key = torch.tensor([[[[0.0, 1, 1], [4, 4, 0], [2, 3, 1]]]])
        >>> value = torch.tensor([[[[1.0, 2, 3], [2, 8, 0], [2, 6, 3]]]])
        >>> attend(query, key, value, score="dot")[0, 0]
        tensor([[1.9366, 6.6831, 1.5951],
                [2.0000, 7.9640, 0.0540],
                [1.9997, 7.7599, 0.3584]])
    """
    if unknown:
        refuse_keywords(attend, unknown)
    if type(query) in (Tensor, Parameter) and has_torch_function((query,)) and (is_compiling() or sees_calls()):
        # A mode is active, such as that of `regard.watch`: it sees the call, as it sees those of PyTorch's functions.
        named: dict[str, Any] = {"score": score, "weights": weights, "mask": mask, "position": position}
        named |= {"dropout": dropout, "seed": seed, "engine": engine, "log_sums": log_sums}
        return handle_torch_function(attend, (query,), query, key, value, **named)
    # While tracing or inside a transform, tensor values are unavailable, so no engine can be chosen yet.
    compiling = custom_operator.is_tracing(query)
    if compiling and is_traceable():
        return dense.run(Request.traceable(query, key, value, score, weights, mask, position))
    if compiling or ((in_transform() or in_forward_mode()) and engine != "dense"):
        later = custom_operator.attend if compiling else function_transforms.attend
        result = later((query, key, value), (score, weights, mask, position), dropout, seed, engine, log_sums)
        return split(result, query.dtype) if log_sums else result
    if dropout == 0 and not log_sums:
        output = fast_path(query, key, value, score, weights, mask, position, engine)
        if output is not None:
            return output
    if seed is None:
        if dropout and query.is_cuda and torch.cuda.is_current_stream_capturing():
            raise RefusedError(
                "A CUDA graph would repeat the `dropout` it was captured with: the seed is drawn on the CPU. Pass a "
                "`seed` to accept that, or capture without dropout."
            )
        seed = int(torch.randint(2**62, (1,), device="cpu").item()) if dropout else 0
    request = Request.of(
        query,
        key,
        value,
        score=score,
        weights=weights,
        mask=mask,
        position=position,
        dropout=dropout,
        seed=seed,
        log_sums=log_sums,
    )
    name = choose(request, engine)
    # As `run` does, without the call of one more function, of which a small request notices each.
    with no_autocast(query):
        if hasattr(ENGINES[name], "run"):
            result = ENGINES[name].run(request)
        else:
            result = autograd.run_recomputing(request.expanded, ENGINES[name])
    return split(result, query.dtype) if log_sums else result


def run(request: Request, engine: str) -> Tensor:
    """The output of a request, (batch, head, query, value), with its log-sums if they are asked for, by an engine."""
    name = choose(request, engine)
    with no_autocast(request.query):
        if hasattr(ENGINES[name], "run"):
            return ENGINES[name].run(request)
        return autograd.run_recomputing(request.expanded, ENGINES[name])


def weigh(
    query: Float[Tensor, "batch head query feature"],
    key: Float[Tensor, "batch key_head key key_feature"],
    *,
    score: Any = "scaled_dot",
    weights: Any = "softmax",
    mask: Any = None,
    position: Any = None,
    rows: Sequence[int] | Tensor | None = None,
    **unknown: NoSuch,
) -> Float[Tensor, "batch head row key"]:
    """The attention weights of all queries, in quadratic memory, or of a few.

    Takes the arguments of `attend` and returns the weights that it would average the values by, before dropout, in
    float32 or wider.

    Args:
        query, key, score, weights, mask, position: as in `attend`.
        rows: the row numbers of the queries whose weights are computed; None: all.

    Raises:
        ArgumentError: an argument can't be used.

    Example:
        >>> import torch
        >>> query = torch.tensor([[[[1.0, 0, 2]]]])
        >>> key = torch.tensor([[[[0.0, 1, 1], [4, 4, 0], [2, 3, 1]]]])
        >>> weigh(query, key, score="dot")[0, 0]
        tensor([[0.0634, 0.4683, 0.4683]])
    """
    if unknown:
        refuse_keywords(weigh, unknown)
    request = Request.of(
        query, key, key, score=score, weights=weights, mask=mask, position=position, dropout=0.0, seed=0
    )
    selected = selected_rows(rows, query.shape[2], query.device)
    with no_autocast(query):
        return dense.weigh(request, selected)


def attend_rows(
    query: Float[Tensor, "batch head query feature"],
    key: Float[Tensor, "batch key_head key key_feature"],
    value: Float[Tensor, "batch key_head key value"],
    rows: Sequence[int] | Tensor,
    *,
    score: Any = "scaled_dot",
    weights: Any = "softmax",
    mask: Any = None,
    position: Any = None,
    **unknown: NoSuch,
) -> Float[Tensor, "batch head row value"]:
    """The outputs of `attend` for a few queries, by the reference implementation: to check what another one gave.

    Args:
        query, key, value, score, weights, mask, position: as in `attend`.
        rows: the row numbers of the queries.

    Raises:
        ArgumentError: an argument can't be used.

    Example:
        >>> import torch
        >>> x = torch.eye(3).view(1, 1, 3, 3)
        >>> attend_rows(x, x, x, [2], mask="causal")[0, 0]
        tensor([[0.2645, 0.2645, 0.4711]])
    """
    if unknown:
        refuse_keywords(attend_rows, unknown)
    request = Request.of(
        query, key, value, score=score, weights=weights, mask=mask, position=position, dropout=0.0, seed=0
    )
    with no_autocast(query):
        return dense.run(request, selected_rows(rows, query.shape[2], query.device))
