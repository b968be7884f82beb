"""The products of a tile are the same by either library: which one runs depends on the processor."""

from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from attention.cases import seeded
from regard.attention.engines.blocked import matmul

KNOWN = hasattr(torch.ops.mkldnn, "_linear_pointwise")


@pytest.mark.parametrize(
    "linear",
    [False, pytest.param(True, marks=pytest.mark.skipif(not KNOWN, reason="this PyTorch was built without oneDNN"))],
)
@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize(("rows", "columns"), [(256, 512), (7, 4096), (1, 1), (255, 1001)])
@pytest.mark.parametrize("layout", ["contiguous", "heads last"])
def test_the_products_are_those_of_the_definition(monkeypatch, linear, groups, rows, columns, layout):
    monkeypatch.setattr(matmul, "_LINEAR_IS_FASTER", linear)
    monkeypatch.setattr(matmul, "SMALL", 1)

    def matrix(*shape: int) -> torch.Tensor:
        one, two, three = shape
        drawn = torch.randn(shape if layout == "contiguous" else (two, one, three), generator=seeded(sum(shape)))
        return drawn if layout == "contiguous" else drawn.transpose(0, 1)

    query, key, scores = matrix(groups, rows, 64), matrix(groups, columns, 64), matrix(groups, rows, columns)
    for found, one, two in (
        (matmul.matmul_nt(query, key), query, key.mT),
        (matmul.matmul_nn(scores, key), scores, key),
        (matmul.matmul_tn(scores, query), scores.mT, query),
    ):
        torch.testing.assert_close(found.double(), one.double() @ two.double(), rtol=1e-4, atol=1e-4)


class Columns(TorchDispatchMode):
    """Keeps how the columns lay that oneDNN was given."""

    def __init__(self) -> None:
        super().__init__()
        self.dense: list[bool] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.mkldnn._linear_pointwise.default:
            self.dense.append(args[1].is_contiguous() or args[1].T.is_contiguous())
        return func(*args, **(kwargs or {}))


@pytest.mark.skipif(not KNOWN, reason="this PyTorch was built without oneDNN")
@pytest.mark.usefixtures("only_on_a_cpu")
@pytest.mark.parametrize("size", [1, 16])
def test_one_d_n_n_is_given_no_columns_with_gaps(monkeypatch, size):
    monkeypatch.setattr(matmul, "_LINEAR_IS_FASTER", True)
    monkeypatch.setattr(matmul, "SMALL", 1)
    # Two heads of a row side by side, and a matrix of which some columns are left out: on those it is a thousand times
    # as slow.
    query, key = (torch.randn(1, length, 2, size, generator=seeded(0))[:, :, 0] for length in (5, 7))
    scores = torch.randn(1, 5, 9, generator=seeded(0))[:, :, :7]
    with Columns() as seen:
        found = matmul.matmul_nt(query, key), matmul.matmul_nn(scores, key), matmul.matmul_tn(scores, query)
    assert seen.dense == [True] * 3
    for given, one, two in zip(found, (query, scores, scores.mT), (key.mT, key, query), strict=True):
        torch.testing.assert_close(given, one @ two)
