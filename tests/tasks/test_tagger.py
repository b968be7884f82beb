import subprocess
import sys

import pytest
import torch
from toys import BY_HEART, SAWS, generated, tiny

from regard.errors import ArgumentError
from regard.inspection import watch
from regard.tasks import TaggedWord, train


@pytest.fixture(scope="module")
def tagger():
    return train(SAWS, SAWS, recipe=tiny(**BY_HEART | {"epochs": 12}), progress="none", device="cpu")


@pytest.mark.filterwarnings("ignore::regard.errors.OutOfDistribution")
def test_the_order_given_is_the_order_returned(tagger):
    sentences = [words for words, _ in generated(31)]
    together = tagger.tag(sentences)
    assert [[word.text for word in words] for words in together] == sentences
    for small in (1, 13):
        for one, other in zip(together, tagger.tag(sentences, batch_items=small), strict=True):
            assert [word.label for word in one] == [word.label for word in other]
            torch.testing.assert_close(
                [word.score for word in one], [word.score for word in other], rtol=1e-4, atol=1e-5
            )


def test_lengths_0_and_1(tagger):
    assert tagger.tag([]) == []
    assert tagger.tag([[], []]) == [[], []]
    alone = tagger.tag([["I"]])
    assert isinstance(alone[0][0], TaggedWord)
    assert [[word.text for word in words] for words in tagger.tag([[], ["I"], [], ["a", "saw"]])] == [
        [],
        ["I"],
        [],
        ["a", "saw"],
    ]


def test_predict_takes_texts_and_words_alike(tagger):
    predictions = tagger.predict(["I saw a saw", ["I", "saw", "a", "saw"], ""])
    assert [each.value for each in predictions] == [
        *tagger.tag([["I", "saw", "a", "saw"]] * 2),
        [],
    ]
    with pytest.raises(ArgumentError, match="`sources` must be a list"):
        tagger.predict("I saw")


def test_an_iterator_of_tuples_will_do(tagger):
    assert len(tagger.tag(iter([("I", "saw"), ("a",)]))) == 2
    assert [word.text for word in tagger.tag([(letter for letter in "ab")])[0]] == ["a", "b"]


@pytest.mark.filterwarnings("ignore::regard.errors.OutOfDistribution")
def test_scores_are_probabilities_of_the_label_given(tagger):
    words = ["a", "never", "seen", "saw"]
    probabilities = (tagger.score(tagger.encode([words]))[0] / tagger.target.temperature).softmax(-1)
    for word, row in zip(tagger.tag([words])[0], probabilities, strict=True):
        assert 0 < word.score <= 1
        assert word.score == pytest.approx(row.max().item())
        assert tagger.labels[int(row.argmax())] == word.label


def test_what_is_not_a_list_of_lists_of_words_is_refused(tagger):
    with pytest.raises(ArgumentError, match="`sentences` must be a list of lists of words, but is the text"):
        tagger.tag("I saw a saw.")
    with pytest.raises(ArgumentError, match=r"`sentences\[1\]` must be a list of words, but is the text"):
        tagger.tag([["I"], "saw"])
    with pytest.raises(ArgumentError, match=r"`sentences\[0\]` must be a list of words, but holds 3"):
        tagger.tag([["I", 3]])
    with pytest.raises(ArgumentError, match="`sentences` must be a list of lists of words, but is None"):
        tagger.tag(None)
    with pytest.raises(ArgumentError, match=r"`sentences\[0\]` must be a list of words, but is None"):
        tagger.tag([None])
    with pytest.raises(ArgumentError, match=r"`examples` must be a list of \(words, labels\) pairs, but is None"):
        tagger.evaluate(None)
    with pytest.raises(ArgumentError, match="`batch_items` must be a whole number"):
        tagger.tag([["I"]], batch_items=0)


def test_tagging_leaves_no_trace(tagger):
    torch.manual_seed(7)
    before = torch.get_rng_state()
    first = tagger.tag([["I", "saw"]])
    assert torch.equal(torch.get_rng_state(), before)
    tagger.network.train()
    assert tagger.tag([["I", "saw"]]) == first


def test_watching_changes_no_bit(tagger):
    plain = tagger.tag([SAWS[0][0]])
    with watch(tagger.network) as seen:
        assert tagger.tag([SAWS[0][0]]) == plain
    assert [tuple(sighting.weights().shape) for sighting in seen] == [(1, 2, 5, 5)] * 2


def test_evaluate_counts_words_that_training_never_had(tagger):
    scores = tagger.evaluate([(["I", "zzz"], ["PRON", "X"]), ([], [])])
    assert (scores.examples, scores.sources, scores.empty) == (2, 1, 1)
    assert (scores.out_of_vocabulary, scores.out_of_vocabulary_accuracy) == (1, 0.0)
    assert tagger.evaluate(SAWS).out_of_vocabulary == 0


@pytest.mark.parametrize("examples", [[], [([], [])]])
def test_nothing_to_evaluate(tagger, examples):
    with pytest.raises(ArgumentError, match="`examples` must hold a target that is known"):
        tagger.evaluate(examples)


def test_labels_of_something_else_are_refused(tagger):
    with pytest.raises(ArgumentError, match=r"`examples` must have labels that occur in training \(DET, NOUN, .*'prn'"):
        tagger.evaluate([(["I", "saw"], ["prn", "vrb"])])
    with pytest.raises(ArgumentError, match=r"`dev` must have labels that occur in training"):
        train(SAWS, [(["I", "saw"], ["prn", "vrb"])], recipe=tiny(), progress="none", device="cpu")


def test_tagging_needs_no_optional_library(tmp_path, tagger):
    tagger.save(tmp_path / "model")
    code = (
        "import sys, regard; t = regard.load(sys.argv[1]); t.tag([['I', 'saw']]); "
        "print(sorted({m.split('.')[0] for m in sys.modules} & "
        "{'lightning', 'lightning_fabric', 'pytorch_lightning', 'torchmetrics', 'sklearn', 'scipy', 'conllu', 'pooch', "
        "'opencc', 'numba'}))"
    )
    ended = subprocess.run([sys.executable, "-c", code, tmp_path / "model"], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"
