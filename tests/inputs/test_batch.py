"""A batch says what is wrong with it, and padding is zeros behind what is real."""

import pytest
import torch

from regard.errors import ArgumentError
from regard.inputs import IGNORED, Batch, OneHotWords, pad_labels


def test_pad_puts_zeros_behind():
    batch = Batch.pad([torch.full((2, 3), 5.0), torch.full((0, 3), 5.0), torch.full((5, 3), 5.0)])
    assert batch.vectors.shape == (3, 5, 3)
    assert batch.lengths.tolist() == [2, 0, 5]
    assert torch.equal(batch.real.sum(1), batch.lengths)
    assert torch.equal(batch.vectors[..., 0] == 5, batch.real)
    assert (batch.vectors[~batch.real] == 0).all()
    assert len(batch) == 3


def test_labels_are_ignored_at_padding():
    assert pad_labels([[7], [], [2, 3]], torch.tensor([1, 0, 2])).tolist() == [
        [7, IGNORED],
        [IGNORED, IGNORED],
        [2, 3],
    ]
    # The very number that PyTorch's loss skips.
    scores = torch.zeros(1, 11)
    assert torch.nn.functional.cross_entropy(scores, torch.tensor([IGNORED]), reduction="sum") == 0


def test_a_batch_moves_with_its_labels():
    batch = Batch.pad([torch.ones(2, 3)], labels=[[5, 7]]).to("meta")
    assert batch.labels is not None
    assert {batch.vectors.device.type, batch.lengths.device.type, batch.labels.device.type} == {"meta"}
    assert Batch.pad([torch.ones(2, 3)]).to("cpu").labels is None


def test_a_batch_of_nothing_is_a_batch():
    empty = Batch(torch.zeros(0, 0, 3), torch.zeros(0, dtype=torch.int64))
    assert len(empty) == 0
    assert empty.real.shape == (0, 0)


@pytest.mark.parametrize(
    ("vectors", "lengths", "labels", "message"),
    [
        (torch.zeros(2, 3), [2, 3], None, r"`vectors` must have 3 axes .* shape is \(2, 3\)\. .* vectors\[None\]"),
        (torch.zeros(2, 3, 5, dtype=torch.int32), [1, 1], None, r"`vectors` must be floats, or int64 .* torch\.int32"),
        (torch.zeros(2, 3, 5), [1], None, r"`lengths` must be int64 of shape \(2,\).* shape \(1,\)"),
        (torch.zeros(2, 3, 5), [1.0, 2.0], None, r"`lengths` must be int64 .* is torch\.float32"),
        (torch.zeros(2, 3, 5), [1, 4], None, r"`lengths` must lie between 0 and 3, .* but one is 4"),
        (torch.zeros(2, 3, 5), [-1, 3], None, r"`lengths` must lie between 0 and 3, .* but one is -1"),
        (torch.zeros(2, 3, 5), [1, 3], torch.zeros(2, 2, dtype=torch.int64), r"`labels` .* \(2, 3\).* shape \(2, 2\)"),
        (torch.zeros(2, 3, 5), [1, 3], torch.zeros(2, 3), r"`labels` must be int64 .* is torch\.float32"),
    ],
)
def test_what_does_not_go_together_is_refused(vectors, lengths, labels, message):
    with pytest.raises(ArgumentError, match=message):
        Batch(vectors, torch.tensor(lengths), labels)


def test_relations_are_of_all_pairs():
    vectors, relations = torch.zeros(2, 3, 5), torch.ones(2, 3, 3, dtype=torch.int64)
    batch = Batch(vectors, torch.tensor([3, 2]), relations=relations)
    assert torch.equal(batch.to("cpu").relations, relations)
    assert batch.to("meta").relations.device.type == "meta"
    for wrong in (relations[:1], relations[..., :2], relations.float()):
        with pytest.raises(ArgumentError, match=r"`relations` must be int64 of shape \(2, 3, 3\)"):
            Batch(vectors, torch.tensor([3, 2]), relations=wrong)


def test_pad_refuses_what_it_cannot_pad():
    with pytest.raises(ArgumentError, match="at least one tensor"):
        Batch.pad([])
    with pytest.raises(ArgumentError, match=r"of one width, but the shapes are \(2, 3\), \(2, 5\)"):
        Batch.pad([torch.zeros(2, 3), torch.zeros(2, 5)])
    with pytest.raises(ArgumentError, match="`sequences` must be tensors"):
        Batch.pad([torch.zeros(2)])
    with pytest.raises(ArgumentError, match=r"so \[2\] .* but it has \[1\]"):
        Batch.pad([torch.zeros(2, 3)], labels=[[5]])


def test_one_hot_words_are_all_equally_far_apart():
    # Note 001: nothing in a one-hot vector says that a cat is more like a dog than like an apple.
    words = OneHotWords.fit([["cat", "dog"], ["apple", "cat"]])
    batch = words.encode([["cat", "dog", "apple"], ["pear"]], labels=[[0, 0, 1], [1]])
    assert words.vocabulary == ("cat", "dog", "apple")
    assert words.width == batch.vectors.shape[2] == 3
    assert torch.equal(batch.vectors[0], torch.eye(3))
    assert torch.cdist(batch.vectors[0], batch.vectors[0])[~torch.eye(3, dtype=torch.bool)].unique().numel() == 1
    # A word never seen, and padding, are all zeros; only the length tells them apart.
    assert not batch.vectors[1].any()
    assert batch.lengths.tolist() == [3, 1]


def test_one_hot_words_refuse():
    with pytest.raises(ArgumentError, match="each word once"):
        OneHotWords(["cat", "cat"])
    with pytest.raises(ArgumentError, match="must be a list of words, but is the text"):
        OneHotWords(["cat"]).encode(["cat"])  # type: ignore[list-item]
