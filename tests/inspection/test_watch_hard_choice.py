"""`watch` of attention in which each key chooses one query, as patches choose groups: some rows sum to less than 1."""

import pytest
import torch
from torch import Tensor, nn

from regard.inspection import NothingSeen, Seen, watch
from regard.inspection.capture.by_hand.rules import AsScores


class Assigning(nn.Module):
    """Each key is assigned to the group with the largest score; a group gets the sum of its keys over their number + 1.

    Source: Xu et al. 2022, GroupViT (arXiv 2202.11094), equations 5 to 7.
    """

    def __init__(self, sign: float = 1.0):
        super().__init__()
        self.sign, self.weights = sign, torch.zeros(0)

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        scores = query @ key.mT
        soft = scores.softmax(-2)
        chosen = soft.max(-2, keepdim=True)[1]
        hard = torch.zeros_like(scores).scatter_(-2, chosen, 1.0)
        weights = hard - soft.detach() + soft
        self.weights = self.sign * weights / (weights.sum(-1, keepdim=True) + 1.0)
        return self.weights @ key


QUERY = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]])
KEY = torch.tensor([[[2.0, 1.0], [3.0, 0.0], [0.0, 1.0], [4.0, 1.0]]])


def test_a_hand_worked_choice(tmp_path):
    """The first group gets three keys, the second one, and the third none."""
    with watch(model := Assigning()) as seen:
        output = model(QUERY, KEY)
    expected = torch.tensor([[0.25, 0.25, 0.0, 0.25], [0.0, 0.0, 0.5, 0.0], [0.0, 0.0, 0.0, 0.0]])
    torch.testing.assert_close(seen[0].weights()[0, 0], expected)
    torch.testing.assert_close(output[0], torch.tensor([[2.25, 0.5], [0.0, 0.5], [0.0, 0.0]]))
    assert isinstance(seen[0].normaliser, AsScores)
    assert seen[0].notes == ["Its weights follow no known rule, so they are kept as a table of all pairs."]
    assert seen.verify()[""] < 1e-6
    seen.save(tmp_path / "seen.safetensors")
    assert torch.equal(Seen.load(tmp_path / "seen.safetensors")[0].weights(), seen[0].weights())


def test_numbers_below_zero_are_no_weights():
    with pytest.warns(NothingSeen, match="seen up to its weights"), watch(model := Assigning(-1.0)):
        model(QUERY, KEY)


def test_groupvit_is_seen_whole():
    of = pytest.importorskip("transformers.models.groupvit.modeling_groupvit")
    torch.manual_seed(0)
    model = of.GroupViTAssignAttention(of.GroupViTVisionConfig(hidden_size=8, intermediate_size=8)).eval()
    query, key = torch.randn(2, 5, 8), torch.randn(2, 7, 8)
    with torch.no_grad(), watch(model, rows=5) as seen:
        output = model(query, key)[0]
        # Of tensors without an axis of heads the items stand there.
        plain = model.proj(seen[0].weights()[0] @ model.v_proj(key))
    torch.testing.assert_close(output, plain)
    # So many keys as chose a group, over one more; each key chose one.
    sums = seen[0].weights()[0].sum(-1)
    assert (sums / (1 - sums)).round().sum(-1).tolist() == [7, 7]
