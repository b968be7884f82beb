"""Parts given what they can't be made of say so in a sentence; shape annotations aren't checked, as for a user."""

import json
import subprocess
import sys

import pytest
import torch

from regard.attention import Blocks, attend
from regard.errors import ArgumentError

WRONG = {
    "Softmax(temperature='warm')": "`temperature` must be a number, or a tensor () or (head,), but is 'warm'.",
    "Softmax(temperature=[1.0])": "`temperature` must be a number, or a tensor () or (head,), but is [1.0].",
    "Softmax(temperature=torch.ones(2, 2))": "`temperature` must be a number, () or (head,), but is (2, 2).",
    "Sigmoid('b')": "`bias` must be a number, or a tensor () or (head,), but is 'b'.",
    "LearnedSigmoid(0)": "`length` must be how many keys a query typically sees, 1 or more, but is 0.",
    "Relu('n')": "`divisor` must be a number, but is 'n'.",
    "Entmax(None)": "`alpha` must be a number, or a tensor () or (head,), but is None.",
    "LearnedEntmax(alpha='1.5')": "`alpha` must be a number, but is '1.5'.",
    "LearnedEntmax(2.5)": "`heads` must be how many heads there are, 1 or more, but is 2.5.",
    "LearnedSigmoid(5, 'two')": "`heads` must be how many heads there are, 1 or more, but is 'two'.",
    "Budget(torch.tensor(1.5))": "`budget` must be a number, but is a tensor ().",
    "TopK('3')": "`keys` must be how many keys a query attends to at most, 1 or more, but is '3'.",
    "Dot('one')": "`scale` must be a number, but is 'one'.",
    "Cosine('one')": "`scale` must be a number, or a tensor () or (head,), but is 'one'.",
    "Additive([1.0, 2.0])": "`vector` must be a tensor (feature,) or (head, feature), but is a list. torch.as_tensor",
    "Additive(torch.ones(4), [1.0])": "`bias` must be a tensor (feature,) or (head, feature), but is a list.",
    "Additive(torch.ones(4), slope='0.2')": "`slope` must be a number, but is '0.2'.",
    "Additive(torch.ones(4).bool())": "`vector` must hold real numbers, but holds torch.bool.",
    "Bilinear([[1.0]])": "`matrix` must be a tensor (query_feature, key_feature), or (head,",
    "Bilinear(torch.ones(4))": "`matrix` must be (query_feature, key_feature), or (head, query_",
    "Bias([[1.0]])": "`table` must be a tensor of two to four axes up to (batch, head, query, key), but is a list.",
    "Bias(torch.ones(2, 2).numpy())": "(batch, head, query, key), but is a ndarray. torch.as_tensor makes one",
    "Alibi('four')": "`heads` must be how many heads there are, 1 or more, but is 'four'.",
    "Alibi(0)": "`heads` must be how many heads there are, 1 or more, but is 0.",
    "Rotary('a')": "`size` must be how many features to rotate in pairs, 0 or more, but is 'a'.",
    "Rotary(base='a')": "`base` must be a number, but is 'a'.",
    "Relative('a')": "`head_size` must be the feature size of a head, 0 or more, but is 'a'.",
    "Relative(4, reach=1.5)": "`reach` must be a distance, 0 or more, but is 1.5.",
    "Relative(4, heads=True)": "`heads` must be how many there are, 1 or more, but is True.",
    "Bucketed('a')": "`heads` must be how many heads there are, 1 or more, but is 'a'.",
    "Bucketed(2, buckets=8.0)": "`buckets` must be how many biases a head has, 2 or more, but is 8.0.",
    "Bucketed(2, reach='far')": "`reach` must be a number, but is 'far'.",
    "alibi.Slopes([0.5])": "`slopes` must be a tensor () or (head,), but is a list.",
    "alibi.Slopes(torch.ones(2, 1))": "`slopes` must be () or (head,), but is (2, 1).",
    "bucketed.Buckets([0.5])": "`table` must be a tensor (bucket,) or (head, bucket), but is a list.",
    "bucketed.Buckets(torch.ones(2, 3, 4))": "`table` must be (bucket,) or (head, bucket), but is (2, 3, 4).",
    "relative.RelativeKeys([[0.5]])": "`table` must be a tensor (2 reach + 1, feature) or (head, 2 reach + 1, feature)",
    "relative.RelativeValues(torch.ones(3))": "`table` must be (2 reach + 1, value) or (head, 2 reach + 1, value), but",
    "Sinusoidal('a')": "`width` must be the size of the vectors, 1 or more, but is 'a'.",
    "Learned(4, length=None)": "`length` must be how many positions are learned, 0 or more, but is None.",
    "Recurrent(4, layers=0)": "`layers` must be how many RNN layers there are, 1 or more, but is 0.",
    "Lengths(10)": "`lengths` of Lengths must be whole numbers of shape (batch,), but is torch.int64 of shape ().",
    "Lengths('ten')": "`lengths` of Lengths must be whole numbers of shape (batch,), but is 'ten'.",
    "Edges(None)": "`edge_index` of Edges must be (2, edges) node numbers: from which key, to which query, but",
    "Documents(None)": "`ids` of Documents must be document numbers, (key,) or (batch, length), but is None.",
    "Blocks(None, 2)": "`table` of Blocks must be a bool table (query block, key block), or (2, pairs) numbers",
}


@pytest.fixture(scope="module")
def said() -> dict[str, list[str]]:
    """What each of them raises, (kind, sentence), in a process without the hook that checks annotations."""
    code = f"""
import json
import torch
from regard.attention import *
from regard.attention.positions import alibi, bucketed, relative
said = {{}}
for expression in {list(WRONG)!r}:
    try:
        eval(expression)
        said[expression] = ["nothing", ""]
    except Exception as error:
        said[expression] = [type(error).__name__, str(error)]
print(json.dumps(said))
"""
    return json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize("expression", WRONG)
def test_what_no_part_can_be_made_of(said, expression):
    kind, sentence = said[expression]
    assert kind == "ArgumentError"
    assert WRONG[expression] in sentence
    assert "\n" not in sentence


def test_a_table_of_blocks_names_them_all():
    """Too small a table hid what it didn't name; pairs of blocks name but those that may attend."""
    x = torch.zeros(1, 1, 6, 4)
    with pytest.raises(ArgumentError, match=r"must be for 3 blocks of queries, as 6 make of 2 each, but is for 2"):
        attend(x, x, x, mask=Blocks(torch.ones(2, 3, dtype=torch.bool), size=2))
    with pytest.raises(ArgumentError, match=r"must be for 3 blocks of keys, as 6 make of 2 each, but is for 4"):
        attend(x, x, x, mask=Blocks(torch.ones(3, 4, dtype=torch.bool), size=2))
    assert attend(x, x, x, mask=Blocks(torch.tensor([[0, 1], [0, 0]]), size=2)).shape == x.shape
