import torch
from torch import nn

from regard.attention import Lengths
from regard.inspection import look
from regard.modules import Encoder


class Toy:
    """A tagger of numbers: each word is one, and its label is whether it is odd."""

    name = "toy"
    labels = ("even", "odd")

    def __init__(self, layers=2):
        torch.manual_seed(0)
        self.network = Encoder(4, layers=layers, heads=2, hidden=5).eval() if layers else nn.Identity()
        self.batches = []

    def encode(self, sentences):
        self.batches.append(len(sentences))
        lengths = [len(words) for words in sentences]
        numbers = torch.zeros(len(sentences), max(lengths))
        for row, words in enumerate(sentences):
            numbers[row, : len(words)] = torch.tensor([float(word) for word in words])
        return numbers, lengths

    def score(self, batch):
        numbers, lengths = batch
        if isinstance(self.network, Encoder):
            self.network(numbers[..., None] * torch.ones(4), mask=Lengths(lengths))
        return torch.stack([1 - numbers % 2, numbers % 2], dim=-1)


def test_each_sentence_gets_its_own_words_labels_and_weights():
    sentences = [["1", "2", "3"], ["4"], ["5", "7", "8", "9", "10"]]
    tagger = Toy()
    records = list(look(tagger, sentences))
    assert tagger.batches == [3]
    assert [list(record.items) for record in records] == sentences
    assert records[0].labels == ("odd", "even", "odd")
    assert records[0].model == "toy"
    for record, words in zip(records, sentences, strict=True):
        assert [layer.name for layer in record.layers] == ["layer 1", "layer 2"]
        for layer in record.layers:
            assert layer.weights.shape == (2, len(words), len(words))
            # The padding of the batch took nothing: what is left still sums to 1.
            torch.testing.assert_close(layer.weights.sum(-1), torch.ones(2, len(words)))


def test_a_batch_shows_what_each_sentence_alone_shows():
    sentences = [["1", "2", "3"], ["4"], ["5", "7", "8", "9", "10"]]
    together = list(look(Toy(), sentences))
    for record, words in zip(together, sentences, strict=True):
        (alone,) = look(Toy(), [words])
        torch.testing.assert_close(record.layers[1].weights, alone.layers[1].weights)


def test_sentences_are_grouped_by_what_their_weights_take(monkeypatch):
    monkeypatch.setattr("regard.inspection.looking._MOST_WEIGHTS", 2 * 3**2)
    tagger = Toy()
    records = list(look(tagger, [["1"] * 3, ["2"] * 3, ["3"] * 3, ["4"] * 7, ["5"]]))
    assert tagger.batches == [2, 1, 1, 1]
    assert [record.items[0] for record in records] == ["1", "2", "3", "4", "5"]


def test_a_long_sentence_is_tagged_without_its_weights(monkeypatch):
    monkeypatch.setattr("regard.inspection.looking.MOST_WORDS", 5)
    (record,) = look(Toy(), [["1"] * 7])
    assert record.labels == ("odd",) * 7
    assert record.layers == ()


def test_a_model_without_attention_leaves_no_layers():
    (record,) = look(Toy(layers=0), [["1", "2"]])
    assert record.labels == ("odd", "even")
    assert record.layers == ()
