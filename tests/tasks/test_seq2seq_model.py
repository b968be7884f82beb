"""Writers: toys of every architecture, saved, loaded, resumed, judged, refused."""

import dataclasses
import json
from pathlib import Path

import pytest
import torch
from toys import stopped_and_resumed

from regard import Recipe, load, train
from regard.errors import ArgumentError, LongerThanTrained, ModelError, OutOfVocabulary
from regard.inputs import Sound
from regard.special_ids import END, PADDING, START
from regard.tasks import Seq2SeqModel
from regard.tasks.seq2seq.data import Seq2SeqData
from regard.tasks.seq2seq.evaluation import evaluate_texts
from regard.tasks.seq2seq.measures import TEXT_MEASURES
from regard.tasks.seq2seq.model import grouped
from regard.tasks.seq2seq.settings import Seq2SeqSettings
from regard.tasks.seq2seq.target import TextTarget

# Backwards: only a net that knows where it is can write that.
PAIRS = [(text, text[::-1]) for text in ("ab", "ba", "abc", "cab", "ccb", "bca")]
SOURCES = [source for source, _ in PAIRS]
RECIPE = Recipe(
    task={
        "kind": "seq2seq",
        "vocabulary": "characters",
        "size": 16,
        "measure": "error",
        "decoder_layers": 1,
        "longest": 1.0,
        "spare": 2,
    },
    input={"kind": "texts", "vocabulary": "characters", "size": 16, "piece_dropout": 0.0},
    width=32,
    heads=2,
    hidden=32,
    layers=1,
    position="sinusoidal",
    dropout=0.0,
    attention_dropout=0.0,
    epochs=50,
    patience=50,
    batch_items=8,
    learning_rate=0.004,
)
# For what is learned sooner than to write backwards by attention alone.
QUICK = {"epochs": 35, "learning_rate": 0.01}
ARCHITECTURES = ["transformer", "attentive", "recurrent"]


def with_task(recipe=RECIPE, **changes):
    return dataclasses.replace(recipe, task=dataclasses.replace(recipe.task, **changes))


def fit(pairs=PAIRS, recipe=RECIPE, **changes):
    return train(pairs, pairs, recipe=dataclasses.replace(recipe, **changes), progress="none", device="cpu")


def texts(written):
    return [None if each is None else each.text for each in written]


@pytest.mark.parametrize(
    "architecture",
    [pytest.param(name, marks=pytest.mark.slow) if name == "attentive" else name for name in ARCHITECTURES],
)
def test_learned_by_heart_saved_and_loaded(tmp_path, architecture):
    model = fit(recipe=with_task(architecture=architecture), **({} if architecture == "transformer" else QUICK))
    assert texts(model.write(SOURCES)) == [text for _, text in PAIRS]
    assert all(each.ended for each in model.write(SOURCES))
    assert model.evaluate(PAIRS).score == 0.0
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert isinstance(loaded, Seq2SeqModel)
    assert loaded.write(SOURCES) == model.write(SOURCES)
    assert "A seq2seq model: " in (tmp_path / "model" / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_guided_writer_reads_from_left_to_right():
    pairs = [(source, source.upper()) for source, _ in PAIRS]
    model = fit(pairs, with_task(guide=0.34), **QUICK)
    assert texts(model.write(SOURCES)) == [text for _, text in pairs]
    assert model.network.guide.rate == pytest.approx(1.0)


def test_from_sound_to_text():
    hum = [torch.sin(torch.arange(800) * step)[None] / 2 for step in (0.1, 0.3)]
    pairs = [(Sound(hum[0], 8000), "l"), (Sound(hum[1], 8000), "h")]
    model = fit(
        pairs,
        input={"kind": "speech", "frame_dropout": 0.0, "normalise": False, "standardise": True, "together": 2},
        epochs=30,
    )
    assert texts(model.write([source for source, _ in pairs])) == ["l", "h"]


def test_what_is_empty_has_no_text_and_the_others_are_as_alone():
    model = fit(epochs=2)
    together = model.write([*SOURCES, ""])
    assert together[-1] is None
    for source, written in zip(SOURCES, together, strict=False):
        (alone,) = model.write([source])
        assert alone.text == written.text
        assert alone.score == pytest.approx(written.score, abs=1e-4)


def test_the_loss_is_of_each_piece_and_the_end():
    job = Seq2SeqData(RECIPE, [("ab", "b"), ("abc", "cba")], PAIRS, None)
    objective = job.objective()
    batch = objective.dataset.batch([0, 1])
    (wanted,) = batch.targets
    assert wanted.tolist()[0][1:] == [-1, -1]
    objective.eval()
    loss = objective.loss(batch)
    # By hand: of each piece and of the end, from what stands before it.
    total, count = 0.0, 0
    for source, text in job.examples:
        ids = objective.text.vocabulary.encode(text)
        item = RECIPE.input.item(objective.dataset.encoder, source)
        memory = objective.network.encode(item[None], torch.tensor([len(item)]))
        scores = objective.network(memory, torch.tensor([[START, *ids]]))[0].log_softmax(1)
        total -= sum(scores[place, wanted].item() for place, wanted in enumerate([*ids, END]))
        count += len(ids) + 1
    assert loss.terms[0].items == count == 6
    assert loss.shown == pytest.approx(total / count, rel=1e-5)


def test_what_stands_at_padding_does_not_matter():
    objective = Seq2SeqData(RECIPE, [("ab", "b"), ("abc", "cba")], PAIRS, None).objective().eval()
    batch = objective.dataset.batch([0, 1])
    before = objective.loss(batch).shown
    batch.sources.vectors[0, 2:] = 5
    assert objective.loss(batch).shown == pytest.approx(before, abs=1e-6)
    assert PADDING == 0


def objective_of(recipe, pairs=PAIRS, dev=PAIRS):
    torch.manual_seed(5)
    return Seq2SeqData(recipe, pairs, dev, None).objective().eval()


def test_dev_is_judged_without_what_only_helps_to_learn(monkeypatch):
    plain = objective_of(RECIPE)
    helped = objective_of(dataclasses.replace(with_task(monotonic=0.5), smoothing=0.2))
    helped.network.load_state_dict(plain.network.state_dict(), strict=False)
    batch = plain.dev.batch([0, 1, 2])
    assert helped.loss(batch).shown > plain.loss(batch).shown
    with torch.no_grad():
        before = plain.evaluate()
        monkeypatch.setattr(helped.network.spelling, "loss", None)
        assert helped.evaluate().loss == before.loss


@pytest.mark.parametrize("architecture", ["transformer", "attentive"])
def test_the_spelling_is_learned_beside_and_not_shown(architecture):
    objective = objective_of(with_task(monotonic=0.25, architecture=architecture))
    batch = objective.dataset.batch([0, 2])
    memory = objective.network.encode(batch.sources.vectors, batch.sources.lengths)
    ids = batch.targets[0].clamp(min=PADDING)
    spelt = objective.network.spelling.loss(memory, ids, torch.tensor([2, 3]))
    loss = objective.loss(batch)
    assert spelt.item() > 0
    assert loss.total.item() == pytest.approx(loss.shown + 0.25 * spelt.item(), rel=1e-5)
    plain = objective_of(with_task(architecture=architecture))
    plain.network.load_state_dict(objective.network.state_dict(), strict=False)
    assert plain.loss(batch).total.item() == pytest.approx(loss.shown, rel=1e-5)


def test_a_recipe_says_how_much_the_spelling_counts(monkeypatch):
    pairs = [(source, source.upper()) for source, _ in PAIRS]
    model, asked = fit(pairs, with_task(monotonic=0.5, spelling_weight=0.25), epochs=1), []
    monkeypatch.setattr(
        "regard.tasks.seq2seq.generation.rescore", lambda *given, weight, **_: asked.append(weight) or given[3]
    )
    model.write(SOURCES)
    assert set(asked) == {0.25}


def test_a_stopped_run_that_spells_goes_on_and_keeps_what_spells(tmp_path, monkeypatch):
    pairs = [(source, source.upper()) for source, _ in PAIRS]
    recipe = dataclasses.replace(with_task(monotonic=0.5), dropout=0.2, epochs=4)
    whole = train(pairs, pairs, recipe=recipe, out=tmp_path / "whole", progress="none", device="cpu")
    resumed = stopped_and_resumed(recipe, pairs, tmp_path / "run", monkeypatch)
    places = [tmp_path / name / "model" / "model.safetensors" for name in ("whole", "run")]
    assert places[0].read_bytes() == places[1].read_bytes()
    loaded = load(tmp_path / "run")
    assert loaded.write(SOURCES) == resumed.write(SOURCES) == whole.write(SOURCES)
    spelling = loaded.network.spelling
    plain = fit(pairs, with_task(), epochs=1)
    assert plain.network.spelling is None
    assert loaded.parameters == plain.parameters + spelling.weight.numel() + spelling.bias.numel()


def test_what_is_empty_is_left_out_alike_on_dev_and_when_judged():
    model, more = fit(epochs=2), [*PAIRS, ("", "abc"), ("", "")]
    judged, plain = model.evaluate(more), model.evaluate(PAIRS)
    assert (judged.examples, judged.empty, plain.empty) == (6, 1, 0)
    assert (judged.score, judged.interval) == (plain.score, plain.interval)
    with torch.no_grad():
        assert objective_of(RECIPE, dev=more).evaluate() == objective_of(RECIPE).evaluate()
    with pytest.raises(ArgumentError, match="at least one source that isn't empty"):
        model.evaluate([("", "abc")])
    with pytest.raises(ArgumentError, match="at least one source that isn't empty"):
        model.evaluate([])


@pytest.mark.parametrize("target", [1.0, None, ("b", "a")])
def test_a_target_that_is_no_text_is_refused(target):
    with pytest.raises(ArgumentError, match=r"target of `examples\[1\]` must be a text, but is"):
        fit(epochs=1).evaluate([("ab", "ba"), ("ba", target)])


def test_a_stopped_run_goes_on_as_if_it_had_not_been(tmp_path, monkeypatch):
    recipe = dataclasses.replace(RECIPE, dropout=0.2, average=0.9, epochs=4)
    whole = fit(recipe=recipe, epochs=4)
    resumed = stopped_and_resumed(recipe, PAIRS, tmp_path / "run", monkeypatch)
    for name, tensor in whole.network.state_dict().items():
        assert torch.equal(tensor, resumed.network.state_dict()[name]), name


def test_a_source_longer_than_any_of_training_is_told(tmp_path):
    writer = fit(epochs=1)
    assert writer.about["training"]["longest"] == 3
    writer.write(["abc"])
    for asked in (writer, load(writer.save(tmp_path / "model"))):
        with pytest.warns(
            LongerThanTrained, match=r"a source has 4 pieces, but none that .* was trained on has more than 3"
        ):
            asked.write(["abca"])


def test_pieces_that_training_never_had_are_told():
    writer = fit(epochs=1)
    with pytest.warns(
        OutOfVocabulary, match=r"a source has 'x', '!', which .* hasn't learned: what it writes for them"
    ):
        writer.write(["x!x"])
    # Evaluation, the score tells; nobody wants a line for each of thousands.
    assert writer.evaluate([("x!x", "a"), ("abcabc", "b")]).examples == 2


def test_texts_of_one_source_are_all_right():
    assert grouped([("a", "x"), ("b", "y"), ("a", "z"), ("a", "x")]) == [("a", ("x", "z")), ("b", ("y",))]
    assert evaluate_texts(Seq2SeqSettings(measure="error"), ["z", "x"], [("x", "z"), ("y",)]).score == 0.5


@pytest.mark.parametrize(
    ("measure", "said", "right", "wanted"),
    [
        ("word error rate", ["a b c", ""], [["a c"], ["d e"]], (1 + 2) / 4),
        ("word error rate", ["a b"], [["x y z", "a b c d"]], 2 / 4),
        ("character error rate", ["123", "4"], [["13"], ["4"]], 1 / 3),
        ("character error rate", ["a"], [[""]], 1.0),
        ("error", ["a", "b"], [["a"], ["c", "b"]], 0.0),
    ],
)
def test_error_rates_by_hand(measure, said, right, wanted):
    assert evaluate_texts(Seq2SeqSettings(measure=measure), said, right).score == pytest.approx(wanted)


@pytest.mark.parametrize("settings", [{}, {"lowercase": True}, {"tokenize": "zh"}])
def test_bleu_is_that_of_sacrebleu(settings):
    from sacrebleu.metrics import BLEU

    said = ["A cat sat on the mat .", "he saw it", "他看见了一只猫"]
    right = [["a cat sat on a mat .", "The cat sat on the mat ."], ["he saw it"], ["他看见一只猫"]]
    judged = evaluate_texts(Seq2SeqSettings(**settings), said, right, thorough=True)
    peer = BLEU(**settings)
    score = peer.corpus_score(
        said, [[each[0] for each in right], [each[1] if len(each) > 1 else None for each in right]]
    )
    assert judged.score == pytest.approx(score.score, abs=1e-9)
    assert judged.more["signature"] == str(peer.get_signature())
    assert judged.interval is None
    many = evaluate_texts(Seq2SeqSettings(**settings), said * 9, right * 9)
    assert many.interval[0] < many.score < many.interval[1]


@pytest.mark.parametrize("name", TEXT_MEASURES)
def test_every_measure_tells_right_from_wrong(name):
    right, wrong = "a man rides a red bicycle", "two dogs"
    good, bad = (evaluate_texts(Seq2SeqSettings(measure=name), [said], [(right,)]).score for said in (right, wrong))
    assert TEXT_MEASURES[name].measure.better(good, than=bad)


def test_every_measure_is_in_the_docs():
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "seq2seq.md").read_text(encoding="utf-8")
    assert [name for name in TEXT_MEASURES if f"\n| {name} |" not in page] == []


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([], "`examples` must hold at least one example"),
        ([("a", 1.0)], "must be a text, but is 1.0"),
        ([("a", ""), ("b", "")], "`examples` must have a target that isn't an empty text, but all are"),
        ([("", "a")], "at least one source that isn't empty"),
        ([(3, "a")], "`text` must be a text, but is 3"),
    ],
)
def test_what_can_not_be_learned_is_refused(pairs, said):
    with pytest.raises(ArgumentError, match=said):
        train(pairs, PAIRS, recipe=RECIPE, progress="none")


def test_edges_are_refused():
    recipe = dataclasses.replace(RECIPE, input={"kind": "molecules"})
    with pytest.raises(ArgumentError, match=r"`input\.edges` must be false"):
        train([("CO", "x")], [("CO", "x")], recipe=recipe, progress="none")


def test_a_writer_of_molecules_looks_at_all_atoms():
    recipe = dataclasses.replace(RECIPE, input={"kind": "molecules", "edges": False}, epochs=30)
    model = train([("CO", "x"), ("CCC", "y")], [("CO", "x"), ("CCC", "y")], recipe=recipe, progress="none")
    assert texts(model.write(["CO", "CCC"])) == ["x", "y"]


@pytest.mark.slow
def test_a_text_that_repeats_and_one_that_may_not(tmp_path):
    """Learned by heart are texts that repeat. A model that was saved before there was the setting may repeat."""
    pairs = [("a", "xyzxyz"), ("b", "zzzz"), ("c", "xyz")]
    model = fit(pairs, recipe=with_task(longest=4.0, spare=6), **QUICK)
    assert texts(model.write(list("abc"))) == ["xyzxyz", "zzzz", "xyz"]
    for options in ({}, {"beams": 1}):
        first, second, third = texts(model.write(list("abc"), no_repeat_ngram_size=3, **options))
        for text in (first, second):
            trigrams = list(zip(text, text[1:], text[2:], strict=False))
            assert len(set(trigrams)) == len(trigrams)
        assert third == "xyz"
    model.recipe = dataclasses.replace(
        model.recipe, task=dataclasses.replace(model.recipe.task, no_repeat_ngram_size=3)
    )
    kept = model.write(list("abc"))
    assert kept == model.write(list("abc"), no_repeat_ngram_size=3)
    assert texts(model.write(list("abc"), no_repeat_ngram_size=0)) == ["xyzxyz", "zzzz", "xyz"]
    assert [record.answer.text for record in model.look(list("abc"))] == texts(kept)
    folder = model.save(tmp_path / "model")
    assert load(folder).write(list("abc")) == kept
    held = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    del held["recipe"]["task"]["no_repeat_ngram_size"]
    (folder / "model.json").write_text(json.dumps(held), encoding="utf-8")
    assert texts(load(folder, edited=True).write(list("abc"))) == ["xyzxyz", "zzzz", "xyz"]


@pytest.mark.slow
def test_an_epoch_is_chosen_whatever_texts_may_repeat():
    """The examples repeat: what is written after an epoch is right, though in the end it may not be written."""
    pairs = [("a", "xyzxyz"), ("b", "zzzz")]
    recipe = with_task(longest=4.0, spare=6, no_repeat_ngram_size=3)
    model = fit(pairs, recipe=recipe, **QUICK)
    assert model.about["training"]["dev error"] == 0.0
    assert model.evaluate(pairs).score == 1.0


def test_a_length_penalty_instead_of_the_recipes():
    """Of four examples in five the text is short: the likelier, until longer ones are favoured."""
    pairs = [("a", "x")] * 4 + [("a", "xyzxy")]
    model = fit(pairs, recipe=with_task(longest=4.0, spare=6), epochs=20, learning_rate=0.01)
    assert texts(model.write(["a"], length_penalty=0.0)) == ["x"]
    assert len(model.write(["a"], length_penalty=8.0)[0].text) > 1
    assert model.write(["a"], length_penalty=RECIPE.task.length_penalty) == model.write(["a"])
    with pytest.raises(ArgumentError, match="`length_penalty` must be a number, 0 or more, but is -1"):
        model.write(["a"], length_penalty=-1.0)
    with pytest.raises(ArgumentError, match="`no_repeat_ngram_size` must be the length of the n-grams"):
        model.write(["a"], no_repeat_ngram_size=-1)


@pytest.mark.parametrize("beams", [0, True, 1.5])
def test_beams_that_can_not_be(beams):
    with pytest.raises(ArgumentError, match="`beams` must be a whole number"):
        fit(epochs=1).write(["ab"], beams=beams)


@pytest.mark.parametrize(
    "saved", [None, {"kind": "text"}, {"kind": "text", "vocabulary": {"kind": "bytes"}, "rate": 0}, {"kind": "label"}]
)
def test_a_broken_answer_is_told(saved):
    with pytest.raises(ModelError, match="`answer` must"):
        TextTarget.from_json(saved)


@pytest.mark.parametrize("setting", [{"guide": 0.3}, {"monotonic": 0.5}])
def test_one_vector_has_no_place_to_look_at(setting):
    with pytest.raises(ArgumentError, match=f"`{next(iter(setting))}` must be (None|0) for 'recurrent'"):
        with_task(architecture="recurrent", **setting)


def test_a_recipe_for_attention_reaches_rnns_too():
    recipe = dataclasses.replace(with_task(architecture="attentive"), weights="sparsemax", attention_dropout=0.25)
    attention = Seq2SeqData(recipe, PAIRS, PAIRS, None).objective().network.attention
    assert (attention.weights, attention.dropout) == ("sparsemax", 0.25)


@pytest.mark.slow
def test_learned_positions_end_a_text_where_they_end():
    """No more than as many as were learned: what would go on is cut, and says so."""
    recipe = dataclasses.replace(with_task(longest=600.0, spare=10), position="learned", epochs=1)
    writer = train(PAIRS, PAIRS, recipe=recipe, progress="none", device="cpu")
    writer.network.output = torch.nn.Linear(recipe.width, writer.target.vocabulary.size)
    with torch.no_grad():
        writer.network.output.weight.zero_()
        writer.network.output.bias[END] = -100.0
    (written,) = writer.write(["abc"], beams=1)
    assert not written.ended
    assert len(written.text) <= writer.position_limit
