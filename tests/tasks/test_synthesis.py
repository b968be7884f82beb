"""Speakers: toys that hum, saved, loaded, resumed, judged, refused."""

import dataclasses
import math

import pytest
import torch
from toys import stopped_and_resumed

from regard import Recipe, load, train
from regard.errors import ArgumentError, DataError, ModelError
from regard.inputs import Sound, write_sound
from regard.inspection import watch
from regard.modules import generate_frames
from regard.tasks import Synthesizer
from regard.tasks.synthesis.data import SynthesisData
from regard.tasks.synthesis.dataset import SpeechDataset
from regard.tasks.synthesis.evaluation import frame_errors, limits_of, warped_error
from regard.tasks.synthesis.settings import SynthesisSettings
from regard.tasks.synthesis.target import SpeechTarget

RATE = 8000
PITCH = {"low": 300, "high": 2000}


def hum(text, seconds=0.12):
    """Each word as a tone of its own, with nothing before and behind it."""
    time = torch.arange(round(seconds * RATE)) / RATE
    quiet = torch.zeros(round(0.04 * RATE))
    parts = [torch.cat([torch.sin(2 * torch.pi * PITCH[word] * time) / 2, quiet]) for word in text.split()]
    return Sound(torch.cat([quiet, *parts])[None], RATE)


def pitches(sound):
    """Which tones are heard, in order."""
    heard = []
    for part in sound.mono.unfold(0, 400, 200):
        power = torch.fft.rfft(part * torch.hann_window(400)).abs().square()
        loudest = int(power.argmax()) * RATE / 400
        word = min(PITCH, key=lambda word: abs(PITCH[word] - loudest))
        if power.sum() > 10 and heard[-1:] != [word]:
            heard.append(word)
    return heard


PAIRS = [(text, hum(text)) for text in ("low high", "high low", "low", "high")]
SOURCES = [source for source, _ in PAIRS]
RECIPE = Recipe(
    task={
        "kind": "synthesis",
        "filters": 20,
        "together": 4,
        "decoder_layers": 1,
        "frame_dropout": 0.0,
        "own": 0.5,
        "guide": 0.6,
        "longest": 0.4,
        "spare": 0.1,
    },
    input={"kind": "texts", "vocabulary": "words", "piece_dropout": 0.0},
    width=32,
    heads=2,
    hidden=32,
    layers=1,
    position="sinusoidal",
    dropout=0.0,
    attention_dropout=0.0,
    epochs=200,
    patience=200,
    learning_rate=0.01,
)


def fit(pairs=PAIRS, recipe=RECIPE, **changes):
    return train(pairs, pairs, recipe=dataclasses.replace(recipe, **changes), progress="none", device="cpu")


@pytest.fixture(scope="module")
def speaker():
    return fit()


@pytest.mark.slow
def test_learned_by_heart_saved_and_loaded(tmp_path, speaker):
    for source, said in zip(SOURCES, speaker.say(SOURCES), strict=True):
        assert said.ended
        assert pitches(said.sound) == source.split()
        assert said.sound.seconds == pytest.approx(hum(source).seconds, abs=0.031)
    judged = speaker.evaluate(PAIRS)
    assert judged.measure == "error in dB"
    assert judged.score < 3
    assert (judged.interval, judged.method) == (None, "too few examples to say: an interval takes 10")
    speaker.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert isinstance(loaded, Synthesizer)
    assert loaded.evaluate(PAIRS).score == judged.score
    for one, two in zip(loaded.say(SOURCES), speaker.say(SOURCES), strict=True):
        assert torch.equal(one.sound.samples, two.sound.samples)
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    assert "A speech synthesizer: " in card
    assert "model.say(" in card


@pytest.mark.slow
def test_what_is_empty_is_not_said_and_the_others_are_as_alone(speaker):
    together = speaker.say([*SOURCES, ""], batch_items=40)
    assert together[-1] is None
    for source, said in zip(SOURCES, together, strict=False):
        (alone,) = speaker.say([source])
        assert alone.sound.samples.shape == said.sound.samples.shape
    assert speaker.say([]) == []


@pytest.mark.slow
def test_what_was_never_heard_is_refused(speaker):
    with pytest.raises(ArgumentError, match=r"must be made of high, low, but 'low tone' has 'tone'"):
        speaker.say(["low", "low tone"])
    for sources, said in ((["low", 3], "a source must be a text, but is 3"), ("low", "`sources` must be")):
        with pytest.raises(ArgumentError, match=said):
            speaker.say(sources)
    with pytest.raises(ArgumentError, match="`batch_items` must be a whole number"):
        speaker.say(["low"], batch_items=0)


@pytest.mark.slow
def test_one_that_does_not_end_is_cut_and_says_so(speaker):
    model = Synthesizer(speaker.network, speaker.encoder, speaker.target, speaker.recipe)
    bias = model.network.outliner.duration.bias
    before = bias.detach().clone()
    with torch.no_grad():
        bias.fill_(1e4)
    said, longer = model.say(["low", "low high"])
    with torch.no_grad():
        bias.copy_(before)
    assert (said.ended, longer.ended) == (False, False)
    # 0.4 s for each word and 0.1 s, in steps of 40 ms; the spare is rounded up.
    assert (said.sound.seconds, longer.sound.seconds) == pytest.approx((0.52, 0.92))


@pytest.mark.slow
def test_each_word_begins_where_it_is_heard(speaker):
    for source, said in zip(SOURCES, speaker.say(SOURCES), strict=True):
        assert len(said.begins) == len(source.split())
        # A word is 160 ms, behind 40 ms of nothing, which may be put to the first; a step is 40 ms.
        assert said.begins[1:] == pytest.approx([0.2] * (len(said.begins) - 1), abs=0.04)
        for word, begin, end in zip(source.split(), said.begins, [*said.begins[1:], said.sound.seconds], strict=True):
            heard = said.sound.samples[:, round((begin + 0.04) * RATE) : round((end - 0.02) * RATE)]
            assert pitches(Sound(heard, RATE)) == [word]


@pytest.mark.slow
def test_what_a_step_looked_at_is_what_it_looked_at_while_it_was_said(speaker):
    record, nothing = speaker.look(["low high", ""])
    assert (nothing.items, nothing.layers, nothing.answer) == ((), (), None)
    (said,) = speaker.say(["low high"])
    assert torch.equal(record.answer.sound.samples, said.sound.samples)
    assert record.answer.begins == said.begins
    assert record.items == ("low", "high")
    assert record.queries == tuple(f"{0.04 * step:.2f} s" for step in range(round(said.sound.seconds / 0.04)))
    batch = speaker.encode(["low high"])
    with watch(speaker.network.decoder.layers[0].source_attention) as seen:
        generate_frames(speaker.network, batch.vectors, batch.lengths, **limits_of(RECIPE.task, speaker.target))
    (layer,) = record.layers
    torch.testing.assert_close(layer.weights(), torch.cat([each.weights()[0] for each in seen], dim=1))
    # It looks at the word that it says: at one alone to begin with, and at the end.
    assert layer.weights().mean(0)[0].argmax() == 0
    assert layer.weights().mean(0)[-1].argmax() == 1


def test_who_keeps_no_time_looks_too_and_says_no_times():
    recipe = dataclasses.replace(RECIPE, task={**RECIPE.task.to_json(), "guide": None, "kind": "synthesis"}, epochs=1)
    model = fit(recipe=recipe, patience=1)
    (record,) = model.look(["low high"])
    assert record.answer.begins == ()
    assert record.layers[0].weights().shape == (2, len(record.queries), 2)


@pytest.mark.slow
def test_the_outline_begins_as_fast_as_training_goes(speaker):
    # 6 words, in sounds of 36, 36, 20 and 20 frames, four at a step.
    assert speaker.network.guide.rate == pytest.approx(6 / (9 + 9 + 5 + 5))


def lesson_of(recipe=RECIPE, pairs=PAIRS):
    objective = SynthesisData(recipe, pairs, pairs, None).objective().eval()
    return objective, objective.dataset.batch(range(len(pairs)))


FREE = dataclasses.replace(RECIPE, task=dataclasses.replace(RECIPE.task, guide=None))


def by_hand(objective, batch, place):
    """Of one pair alone: its true frames, the memory of its source, and what is heard while it is said."""
    source, sound = PAIRS[place]
    standard = objective.dataset.speech.standard
    log_mel = objective.dataset.speech.frames.frames(sound).double()
    true = (log_mel - torch.tensor(standard.means)) / torch.tensor(standard.spreads)
    item = RECIPE.input.item(objective.dataset.encoder, source)
    inputs = torch.cat([torch.zeros(1, 80), batch.steps[place, : -(-len(true) // 4) - 1]])
    return true, objective.network.encode(item[None], torch.tensor([len(item)])), inputs[None]


def test_the_loss_is_of_real_frames_and_the_end_by_hand():
    objective, batch = lesson_of(FREE)
    loss = objective.loss(batch)
    distance, ending, count, steps = 0.0, 0.0, 0, 0
    for place in range(len(PAIRS)):
        true, memory, inputs = by_hand(objective, batch, place)
        said, last = objective.network(memory, inputs)
        distance += (said.reshape(-1, 20)[: len(true)] - true).abs().sum().item() / 20
        chances = last[0].sigmoid()
        ending -= (1 - chances[:-1]).log().sum().item() + chances[-1].log().item()
        count, steps = count + len(true), steps + inputs.shape[1]
    assert loss.terms[0].items == count
    assert loss.shown == pytest.approx(distance / count, rel=1e-4)
    assert loss.total.item() == pytest.approx(distance / count + ending / steps, rel=1e-4)


@pytest.mark.parametrize("epoch", [0, 1])
def test_the_loss_of_who_keeps_time_by_hand(epoch):
    """In the first epoch the parts are spread evenly; later a recording is put to what it is like."""
    objective, batch = lesson_of(dataclasses.replace(RECIPE, task=dataclasses.replace(RECIPE.task, own=0.0)))
    torch.nn.init.normal_(objective.network.outliner.frame.weight)
    objective.train()
    objective.batches(epoch)
    loss = objective.loss(batch)
    distance, drawn, times, count, parts = 0.0, 0.0, 0.0, 0, 0
    for place in range(len(PAIRS)):
        true, memory, inputs = by_hand(objective, batch, place)
        length, own = torch.tensor([len(true)]), memory.duration_plan
        found = own.aligned(true[None].float(), length) if epoch else own.even(length)
        said, _ = objective.network(memory, inputs, found)
        distance += (said.reshape(-1, 20)[: len(true)] - true).abs().sum().item() / 20
        part = torch.repeat_interleave(torch.arange(found.durations.shape[1]), found.durations[0].long())
        drawn += (own.frames[0, part] - true).abs().sum().item() / 20
        times += ((1 + own.durations) / (1 + found.durations)).log().abs().sum().item()
        count, parts = count + len(true), parts + len(found.durations[0])
    assert loss.shown == pytest.approx(distance / count, rel=1e-4)
    assert loss.total.item() == pytest.approx((distance + drawn) / count + times / parts, rel=1e-4)


def test_what_stands_at_padding_does_not_matter():
    objective, batch = lesson_of(pairs=[*PAIRS, ("low", hum("low", 0.11))])
    # The last sound has 19 frames, three quarters of its fifth step.
    assert batch.counts.tolist() == [36, 36, 20, 20, 19]
    before = objective.loss(batch).shown
    batch.steps[4, 4, 60:] = 1e3
    # The third sound has 20 frames, five whole steps.
    batch.steps[2, 5:] = 1e3
    batch.sources.vectors[2, 1:] = 5
    assert objective.loss(batch).shown == pytest.approx(before, abs=1e-6)


def test_more_and_more_of_what_is_heard_is_its_own(monkeypatch):
    recipe = dataclasses.replace(RECIPE, epochs=5, task=dataclasses.replace(RECIPE.task, own=0.8))
    objective, batch = lesson_of(recipe)
    objective.train()
    heard = []
    forward = objective.network.forward

    def listen(memory, inputs, outline):
        heard.append(inputs)
        return forward(memory, inputs, outline)

    monkeypatch.setattr(objective.network, "forward", listen)
    for epoch, share in ((0, 0.0), (4, 0.8), (2, 0.4)):
        objective.batches(epoch)
        assert objective.own == pytest.approx(share)
        heard.clear()
        objective.loss(batch)
        true, given = heard[0], heard[-1]
        assert len(heard) == (2 if share else 1)
        assert torch.equal(true[:, 1:], batch.steps[:, :-1])
        # A step is true or its own as a whole; before the first there is nothing.
        changed = (true != given).any(2)[:, 1:]
        assert changed.any() == bool(share)
        assert (given[:, 0] == 0).all()
    objective.eval()
    heard.clear()
    objective.loss(batch)
    assert len(heard) == 1


def cheapest(costs):
    """The cost of the cheapest way through both, by the recursion as it is taught."""
    best = torch.full((costs.shape[0] + 1, costs.shape[1] + 1), math.inf, dtype=torch.float64)
    best[0, 0] = 0.0
    for i in range(costs.shape[0]):
        for j in range(costs.shape[1]):
            best[i + 1, j + 1] = costs[i, j] + min(best[i, j], best[i, j + 1], best[i + 1, j])
    return float(best[-1, -1])


def test_errors_are_in_decibels_of_real_frames():
    """A net that says the mean always, and never ends: its frames are compared with the true ones of each sound."""
    objective, _ = lesson_of(FREE)
    output = objective.network.output
    torch.nn.init.zeros_(output.weight)
    torch.nn.init.zeros_(output.bias)
    with torch.no_grad():
        output.bias[-1] = -1.0
        sums = frame_errors(objective.network, objective.dataset, FREE.task, 1000)
    speech = objective.dataset.speech
    for (source, sound), (total, count) in zip(PAIRS, sums.tolist(), strict=True):
        log_mel = speech.frames.frames(sound).double()
        each = (log_mel - torch.tensor(speech.standard.means)).abs().mean(1) * 10 / math.log(10)
        # 0.4 s for each word and 0.1 s, in steps of 40 ms; the spare is rounded up.
        said = 4 * (10 * len(source.split()) + 3)
        assert count >= max(len(log_mel), said)
        assert total == pytest.approx(cheapest(each.expand(said, -1)), rel=1e-5)


def test_the_pace_is_no_error():
    recorded = torch.randn(9, 3, generator=torch.Generator().manual_seed(1))
    slower = recorded.repeat_interleave(torch.tensor([1, 3, 1, 2, 2, 1, 1, 4, 2]), 0)
    assert warped_error(recorded, recorded) == (0.0, 9)
    assert warped_error(slower, recorded) == (0.0, 17)
    assert warped_error(recorded.flip(0), recorded)[0] > 1
    assert warped_error(torch.zeros(0, 3), recorded) == (pytest.approx(float(recorded.abs().mean(1).sum())), 9)


def test_steps_and_back_to_the_sound():
    sound = hum("low high")
    frames = SynthesisSettings(filters=40, together=7).frames()
    speech = SpeechTarget.fit(SynthesisSettings(filters=40, together=7), [frames.frames(sound)], source_items=2)
    steps = speech.steps(frames.frames(sound))
    assert steps.shape == (6, 7 * 40)  # 36 frames
    assert pitches(speech.sound(steps)) == ["low", "high"]
    # A net may say what no sound is.
    assert speech.sound(torch.full((2, 280), 1e6)).samples.isfinite().all()
    assert speech.sound(torch.zeros(0, 280)).seconds == 0


def test_from_files_as_from_sounds(tmp_path):
    for place, (_, sound) in enumerate(PAIRS):
        write_sound(tmp_path / f"{place}.wav", sound)
    files = [(source, tmp_path / f"{place}.wav") for place, source in enumerate(SOURCES)]
    kept = [(source, Sound((sound.samples * 32768).round() / 32768, RATE)) for source, sound in PAIRS]
    for pairs in (files, [(source, str(path)) for source, path in files]):
        job = SynthesisData(RECIPE, pairs, pairs, None)
        dataset = job.objective().dataset
        known = SynthesisData(RECIPE, kept, kept, None).objective().dataset
        assert torch.equal(dataset.batch([0, 2]).steps, known.batch([0, 2]).steps)
        before = job.digests
        write_sound(tmp_path / "0.wav", hum("low"))
        assert SynthesisData(RECIPE, pairs, pairs, None).digests != before
        write_sound(tmp_path / "0.wav", PAIRS[0][1])


def test_a_stopped_run_goes_on_as_if_it_had_not_been(tmp_path, monkeypatch):
    recipe = dataclasses.replace(
        RECIPE, dropout=0.2, average=0.9, epochs=4, task=dataclasses.replace(RECIPE.task, frame_dropout=0.5, own=0.5)
    )
    whole = fit(recipe=recipe)
    resumed = stopped_and_resumed(recipe, PAIRS, tmp_path / "run", monkeypatch)
    for name, tensor in whole.network.state_dict().items():
        assert torch.equal(tensor, resumed.network.state_dict()[name]), name


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([], "`examples` must hold at least one example"),
        ([("low", 1.0)], r"target of `examples\[0\]` must be a Sound or the path of a recording, but is 1\.0"),
        ([("", hum("low"))], "at least one source that isn't empty"),
        ([("low", Sound(torch.zeros(1, 0), RATE))], r"target of `examples\[0\]` must be a sound, but has no samples"),
        ([(3, hum("low"))], "a source must be a text, but is 3|`text` must be a text, but is 3"),
    ],
)
def test_what_can_not_be_learned_is_refused(pairs, said):
    with pytest.raises(ArgumentError, match=said):
        train(pairs, PAIRS, recipe=RECIPE, progress="none")


def test_a_recording_that_is_not_there_is_told():
    with pytest.raises(DataError, match=r"nowhere\.wav: it can't be opened"):
        train(PAIRS, [("low", "nowhere.wav")], recipe=RECIPE, progress="none")


def test_settings_that_can_not_be_are_refused():
    with pytest.raises(ArgumentError, match="`rate` must be a multiple of 400"):
        SynthesisSettings(rate=8001)
    with pytest.raises(ArgumentError, match="`filters` must be from 1 to 80"):
        SynthesisSettings(rate=4000, filters=81)
    with pytest.raises(ArgumentError, match="`auxiliary` must be None for synthesis"):
        train(PAIRS, PAIRS, recipe=RECIPE, auxiliary={"a": []}, progress="none")
    recipe = dataclasses.replace(RECIPE, input={"kind": "molecules"})
    with pytest.raises(ArgumentError, match=r"`input\.edges` must be false"):
        train([("CO", hum("low"))], [("CO", hum("low"))], recipe=recipe, progress="none")


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "text"},
        {"rate": 0},
        {"rate": float("nan")},
        {"together": 0},
        {"together": True},
        {"frames": None},
        {"standard": {"means": [0.0], "spreads": [1.0]}},
        {"more": 1},
    ],
)
def test_a_broken_answer_is_told(changes):
    saved = SpeechTarget.fit(SynthesisSettings(filters=2), [torch.randn(5, 2)], source_items=2).to_json()
    assert SpeechTarget.from_json(saved).to_json() == saved
    with pytest.raises((ModelError, ArgumentError), match="must"):
        SpeechTarget.from_json({**saved, **changes})
    with pytest.raises(ModelError, match="`answer` must be of kind 'speech'"):
        SpeechTarget.from_json(None)


@pytest.mark.slow
def test_an_empty_source_among_others_is_left_out_and_counted(speaker):
    judged = speaker.evaluate([*PAIRS, ("", hum("low"))])
    assert (judged.examples, judged.empty) == (4, 1)
    assert judged.score == speaker.evaluate(PAIRS).score
    with pytest.raises(ArgumentError, match="at least one source that isn't empty"):
        speaker.evaluate([("", hum("low"))])
    dataset = SpeechDataset(RECIPE.input, speaker.encoder, speaker.target, [[]], [torch.zeros(1, 20)])
    assert dataset.lengths == []
