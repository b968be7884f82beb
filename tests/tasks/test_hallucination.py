"""Training pairs that are made of others: what is exchanged, joined or played faster, and what stays."""

import dataclasses

import pytest
import torch

from regard import Recipe, load, train
from regard.errors import ArgumentError
from regard.inputs import Sound
from regard.inputs.sound.sound_augmentation import with_random_speed
from regard.tasks.seq2seq.data import Seq2SeqData
from regard.tasks.seq2seq.hallucination import Hallucination, common_part, mean_common

SOUND = Sound(torch.zeros(1, 800), 8000)
PAIRS = [("walk PST", "walked"), ("answer PST", "answered"), ("machen PTCP", "gemacht"), ("be PST", "were")]
RECIPE = Recipe(
    task={
        "kind": "seq2seq",
        "architecture": "attentive",
        "vocabulary": "characters",
        "measure": "error",
        "copying": True,
        "hallucination": 0.5,
    },
    input={"kind": "texts", "vocabulary": "characters", "piece_dropout": 0.0},
    width=16,
    heads=1,
    layers=1,
    epochs=2,
)


def made(pairs, place, count=40):
    torch.manual_seed(0)
    hallucination = Hallucination(pairs, 1.0)
    return {hallucination.pair(place) for _ in range(count)}


def test_the_common_part():
    assert [common_part(*pair) for pair in PAIRS] == ["walk", "answer", "mach", "e"]
    assert mean_common(PAIRS) == pytest.approx((4 + 6 + 4 + 1) / (6 + 8 + 7 + 4))
    assert mean_common([("", ""), ("a", "")]) == 0


def test_the_inside_is_exchanged_and_what_an_ending_depends_on_stays():
    assert made(PAIRS, 0) == {("walk PST", "walked"), ("answlk PST", "answlked")}
    assert made(PAIRS, 1) == {("waer PST", "waered"), ("answer PST", "answered")}


def test_without_an_inside_a_pair_stays_as_it_is():
    # Of "mach" both sides are beside what differs.
    assert made(PAIRS, 2) == made(PAIRS, 3) == {None}
    assert made([("be", "were")], 0) == {None}


def test_what_differs_at_the_beginning_keeps_the_beginning():
    assert made([("tun", "vertun"), ("gehen", "vergehen"), ("laufen", "verlaufen")], 1) == {
        ("gehen", "vergehen"),
        ("gen", "vergen"),
        ("geufen", "vergeufen"),
    }


def test_half_of_the_examples_are_made_in_training_and_none_on_dev():
    objective = Seq2SeqData(RECIPE, PAIRS, PAIRS, None).objective()
    vocabulary, source = objective.text.vocabulary, objective.dataset.encoder
    torch.manual_seed(1)
    seen = []
    for _ in range(200):
        batch = objective.dataset.batch([1, 2])
        length = batch.sources.lengths[0]
        text = vocabulary.decode(batch.targets[0][0].clamp(min=0).tolist())
        seen.append((source.decode(batch.sources.vectors[0, :length, 0].tolist()), text))
    assert set(seen) == {("answer PST", "answered"), ("waer PST", "waered")}
    # Half are made, of which half get their own inside back.
    assert 25 < sum(text == "waered" for _, text in seen) < 75
    torch.manual_seed(1)
    texts = {objective.dev.batch([1]).targets[0].sum().item() for _ in range(50)}
    assert len(texts) == 1


def test_the_vocabulary_of_a_model_that_copies_has_the_pieces_of_the_sources():
    texts = Seq2SeqData(RECIPE, [("xyz", "abc")], PAIRS, None).objective()
    assert set("abcxyz") == set(texts.text.vocabulary.listed)
    # A piece of the source is copied by the same piece of the target.
    copied = texts.network.copying.ids.tolist()
    for piece in texts.dataset.encoder.listed:
        (known,), (wanted,) = texts.dataset.encoder.encode(piece), texts.text.vocabulary.encode(piece)
        assert copied[known] == wanted
    assert copied[:4] == [0, 0, 0, 0]


def test_a_saved_model_writes_the_same(tmp_path):
    model = train(PAIRS, PAIRS, recipe=RECIPE, progress="none", device="cpu")
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.network.copying.ids.equal(model.network.copying.ids)
    assert loaded.write([source for source, _ in PAIRS]) == model.write([source for source, _ in PAIRS])
    assert loaded.see("walk PST").layers


def test_only_texts_and_rnns_with_attention_copy():
    task = RECIPE.to_json()["task"]
    for name, why in (("transformer", "only generates"), ("recurrent", "keeps one vector of a source")):
        with pytest.raises(ArgumentError, match=f"`copying` must be False for '{name}', which {why}"):
            Recipe(task={**task, "architecture": name})
    recipe = dataclasses.replace(RECIPE, input="speech")
    for without in ({"copying": False}, {"hallucination": 0.0}):
        task = dataclasses.replace(recipe.task, **without)
        with pytest.raises(ArgumentError, match=r"`task\.(copying|hallucination)` must be .* for speech"):
            Seq2SeqData(dataclasses.replace(recipe, task=task), [(SOUND, "a")], [(SOUND, "a")], None).objective()


@pytest.mark.parametrize(("texts", "both"), [(["12", "3"], "3"), (["one two", "six"], " six")])
@pytest.mark.parametrize("augmented", [False, True])
def test_joined_recordings_have_both_texts(texts, both, augmented):
    task = {"kind": "seq2seq", "vocabulary": "characters", "joining": 0.5}
    source = {"kind": "speech", "together": 2, "normalise": False, "speed": 0.2 if augmented else 0.0}
    sounds = [Sound(torch.rand(1, 1600), 8000), Sound(torch.rand(1, 800), 8000)]
    pairs = [*zip(sounds, texts, strict=True)]
    objective = Seq2SeqData(Recipe(task=task, input=source), pairs, pairs, None).objective()
    torch.manual_seed(1)
    lengths = {}
    for _ in range(60):
        batch = objective.dataset.batch([0])
        text = objective.text.vocabulary.decode(batch.targets[0][0].tolist())
        lengths.setdefault(text, []).append(int(batch.sources.lengths[0]))
    assert lengths.keys() == {texts[0], texts[0] + both, texts[0] + both[: len(both) - len(texts[1])] + texts[0]}
    alone, joined = lengths[texts[0]], lengths[texts[0] + both]
    assert 15 < len(alone) < 45
    if augmented:
        # 20 frames at 1 / 1.2 to 1.2 times the speed, two in an item.
        assert {*alone} == {9, 10, 11, 12}
        assert min(joined) >= 12
    else:
        assert ({*alone}, {*joined}) == ({10}, {15})
    dev = objective.dev.batch([0])
    assert (int(dev.sources.lengths[0]), dev.targets[0].shape[1]) == (10, len(texts[0]))


def test_only_recordings_are_joined():
    recipe = dataclasses.replace(RECIPE, task={**RECIPE.to_json()["task"], "joining": 0.1})
    with pytest.raises(ArgumentError, match=r"`task.joining` must be 0 for texts, as only recordings are joined"):
        Seq2SeqData(recipe, PAIRS, PAIRS, None)


def test_a_recording_is_played_faster_or_slower_to_its_end():
    torch.manual_seed(0)
    frames = torch.arange(50.0).unsqueeze(1)
    counts = []
    for _ in range(200):
        played = with_random_speed(frames, 0.4)
        counts.append(len(played))
        assert (played[0].item(), played[-1].item()) == (0, 49)
        assert (played.diff(dim=0) > 0).all()
    assert round(50 / 1.4) <= min(counts) < 40
    assert 65 < max(counts) <= round(50 * 1.4)
    assert len(with_random_speed(frames[:1], 0.4)) == 1
