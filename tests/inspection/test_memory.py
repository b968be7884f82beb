"""An input that wouldn't fit into memory is refused before the model runs, in a sentence with its numbers."""

import re

import pytest
import torch
from torch import nn

from regard.errors import ArgumentError
from regard.inspection import Case, see
from regard.inspection.cases import memory
from regard.inspection.cases.memory import bytes_per_item, check_memory


class Counted(nn.Module):
    """A layer of attention that counts its runs."""

    def __init__(self):
        super().__init__()
        self.attention, self.runs = nn.MultiheadAttention(8, 2, batch_first=True), 0

    def forward(self, vectors):
        self.runs += 1
        return self.attention(vectors, vectors, vectors, need_weights=False)[0]


def case_of(model, count):
    items = tuple(map(str, range(count)))
    places = tuple((item, number) for number, item in enumerate(items))
    return Case(
        "toy", model, torch.zeros(1, count, 8), model, lambda output: output, "vectors", items, places, noun="patch"
    )


def test_what_does_not_fit_is_refused_before_the_model_runs(monkeypatch):
    model = Counted().eval()
    # Queries, keys, values and outputs of eight float32 each.
    assert bytes_per_item(model) == 4 * 8 * 4
    monkeypatch.setattr(memory, "most_bytes", lambda: 100 * 128)
    assert len(see(case_of(model, 100), effects=False).items) == 100
    before = model.runs
    expected = (
        "the input must fit into memory, but its 101 patches would need 1.29e-05 GB for the queries, keys, values and "
        "outputs of the model's attention, of which there may be 1.28e-05 GB: half of this machine's memory. Give at "
        "most 100 patches at a time."
    )
    with pytest.raises(ArgumentError, match=re.escape(expected)):
        see(case_of(model, 101), effects=False)
    assert model.runs == before


@pytest.mark.parametrize(
    ("most", "said"), [(128 * 2_987_654, "2,900,000"), (128 * 99, "99"), (128 * 7, "7"), (128 * 1_000, "1,000")]
)
def test_the_number_that_fits_is_round_and_never_too_many(monkeypatch, most, said):
    monkeypatch.setattr(memory, "most_bytes", lambda: most)
    with pytest.raises(ArgumentError, match=rf"Give at most {said} words at a time\."):
        check_memory(Counted(), 10**7, "word")
    check_memory(Counted(), int(said.replace(",", "")), "word")


def test_the_memory_of_a_system_that_does_not_say_it(monkeypatch):
    def unknown(name):
        raise ValueError(name)

    monkeypatch.setattr(memory.os, "sysconf", unknown)
    monkeypatch.setattr(memory, "_LIMITS", ())
    assert memory.most_bytes() == 8 * 10**9


def test_a_container_may_have_less(monkeypatch, tmp_path):
    whole, limit = memory.most_bytes(), tmp_path / "memory.max"
    monkeypatch.setattr(memory, "_LIMITS", (tmp_path / "none", limit))
    limit.write_text("1000000\n")
    assert memory.most_bytes() == 500_000
    limit.write_text("max\n")
    assert memory.most_bytes() >= whole


def test_attention_within_attention_counts_once():
    layer = nn.TransformerEncoderLayer(16, 2, 64)
    assert bytes_per_item(nn.Sequential(layer, layer.__class__(16, 2, 64))) == 2 * 4 * 16 * 4
    assert bytes_per_item(nn.Linear(4, 4)) == 0


def test_ten_million_words_for_a_bundled_tagger(monkeypatch):
    import regard

    tagger = regard.load("english-pos")
    assert bytes_per_item(tagger.network) == 2 * 4 * 128 * 4
    monkeypatch.setattr(memory, "most_bytes", lambda: 12 * 10**9)
    with pytest.raises(ArgumentError, match=r"its 10,000,000 words would need 41 GB .* Give at most 2,900,000 words"):
        check_memory(tagger.network, 10**7, "word")
    monkeypatch.setattr(memory, "most_bytes", lambda: 4096 * 3)
    with pytest.raises(ArgumentError, match="its 4 words would need"):
        tagger.see("I saw a saw")
