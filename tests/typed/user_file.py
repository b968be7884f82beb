"""A user's file, which type checkers read and nobody runs: what they see is what is asserted."""

from pathlib import Path
from typing import assert_type

import torch
from torch import Tensor, nn

import regard
from regard import attend, plan, watch
from regard.attention import Causal, Plan, Window
from regard.inspection import Record, Seen, save_page
from regard.modules import MultiHeadAttention
from regard.tasks import Classifier, Tagger

query, key, value = (torch.randn(1, 2, 5, 4) for _ in range(3))
mask = Causal() & Window(2, 0)
assert_type(attend(query, key, value, mask=mask), Tensor)
assert_type(attend(query, key, value, log_sums=True), tuple[Tensor, Tensor])
assert_type(regard.weigh(query, key, weights="entmax"), Tensor)
assert_type(plan(query, key, value), Plan)
assert_type(plan(query, key, value).engine, str)


class Layer(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.attention = MultiHeadAttention(width, heads=2)

    def forward(self, vectors: Tensor) -> Tensor:
        return vectors + self.attention(vectors, mask=Causal())


assert_type(MultiHeadAttention(8, heads=2)(torch.randn(1, 5, 8)), Tensor)
with watch(Layer(8)) as seen:
    assert_type(seen, Seen)
    assert_type(seen[0].weights(), Tensor)

tagger = regard.load("english-pos")
assert_type(tagger, Tagger)
assert_type(tagger.see("I saw a saw ."), Record)
assert_type(regard.load("english-sentiment"), Classifier)
recipe = regard.Recipe(width=16, epochs=2)
own: Tagger = regard.train([(["a", "saw"], ["DET", "NOUN"])], recipe=recipe)
assert_type(own.save("mine"), Path)
again: Tagger = regard.load(Path("mine"))
save_page(again.see("I saw a saw ."), "saw.html")
