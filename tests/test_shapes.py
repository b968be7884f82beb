"""The shapes in signatures hold in every test: what conftest installs does check them."""

import pytest
import torch
from jaxtyping import TypeCheckError

from regard import attend
from regard.inputs import pad_labels
from regard.modules import Encoder


@pytest.mark.parametrize(
    "call",
    [
        lambda: attend(torch.ones(2, 3), torch.ones(2, 3), torch.ones(2, 3), engine=0),
        lambda: Encoder(4, layers=1, heads=1, hidden=4)(torch.zeros(2, 4)),
        lambda: pad_labels([[5]], torch.ones(1, 1, dtype=torch.int64)),
    ],
    ids=["attention", "modules", "inputs"],
)
def test_a_wrong_shape_is_found(call):
    with pytest.raises(TypeCheckError):
        call()
