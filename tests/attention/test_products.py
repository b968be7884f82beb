"""The products of a tile are the same by either library: which one runs depends on the processor."""

import pytest
import torch

from attention.cases import seeded
from regard.attention.engines.blocked import products

KNOWN = hasattr(torch.ops.mkldnn, "_linear_pointwise")


@pytest.mark.parametrize(
    "linear",
    [False, pytest.param(True, marks=pytest.mark.skipif(not KNOWN, reason="this PyTorch was built without oneDNN"))],
)
@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize(("rows", "columns"), [(256, 512), (7, 4096), (1, 1), (255, 1001)])
@pytest.mark.parametrize("layout", ["contiguous", "heads last"])
def test_the_products_are_those_of_the_definition(monkeypatch, linear, groups, rows, columns, layout):
    monkeypatch.setattr(products, "_LINEAR_IS_FASTER", linear)
    monkeypatch.setattr(products, "SMALL", 1)

    def matrix(*shape: int) -> torch.Tensor:
        one, two, three = shape
        drawn = torch.randn(shape if layout == "contiguous" else (two, one, three), generator=seeded(sum(shape)))
        return drawn if layout == "contiguous" else drawn.transpose(0, 1)

    query, key, scores = matrix(groups, rows, 64), matrix(groups, columns, 64), matrix(groups, rows, columns)
    for found, one, two in (
        (products.times_key(query, key), query, key.mT),
        (products.averaged(scores, key), scores, key),
        (products.times_query(scores, query), scores.mT, query),
    ):
        torch.testing.assert_close(found.double(), one.double() @ two.double(), rtol=1e-4, atol=1e-4)
