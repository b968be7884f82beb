"""Bases as embeddings: under a fitted head, under networks of regard's, and as the encoder of a seq2seq model."""

import json
import runpy

import pytest
import torch

import regard
from regard.errors import ArgumentError
from regard.tasks import Recipe, default_recipe
from regard.tasks.pretrained.tuned_base import TunedBase
from regard.tasks.registry import TASKS
from tasks.bases import KINDS, TEXTS, each_once

transformers = pytest.importorskip("transformers", reason="comes with the extra huggingface")
pytest.importorskip("tokenizers", reason="comes with the extra text")

FEELINGS = ["good", "bad", "none", "none"]
LABELLED = list(zip(TEXTS, FEELINGS, strict=True))
PAIRS = [(text, " ".join(reversed(text.split()))) for text in TEXTS]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return each_once(tmp_path_factory.mktemp("bases"))


def hidden(folder, text):
    """The last hidden states of the pieces of a text, by transformers."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        return model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]


def fitted(folder, pairs=LABELLED, **changes):
    recipe = default_recipe(pairs, task="classifier", base=folder)
    return regard.train(pairs, pairs, recipe=Recipe.from_json({**recipe.to_json(), **changes}), progress="none")


def writing(folder, **changes):
    task = {"kind": "seq2seq", "vocabulary": "words", "decoder_layers": 1, "beams": 1}
    own = {
        "kind": "pretrained",
        "base": str(folder),
        "head_rate": 10.0,
        "special_tokens": True,
        **changes.pop("input", {}),
    }
    fields = {"width": 16, "heads": 2, "hidden": 32, "layers": 1, "learning_rate": 1e-3, "epochs": 2, **changes}
    return Recipe(task=task, input=own, **fields)


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_few_examples_fit_a_head_on_the_mean_of_the_frozen_base(base, kind):
    model = fitted(base(kind))
    means = torch.stack([torch.nn.functional.normalize(hidden(base(kind), text).mean(0), dim=0) for text in TEXTS])
    # NormalisedMeanPooling makes the mean square of the features 1.
    outputs = means * 24**0.5 @ model.network.output.weight.T + model.network.output.bias
    batch = model.encode(TEXTS)
    with torch.no_grad():
        # A trained model's weights are rounded to float16.
        torch.testing.assert_close(model.network(batch), outputs, atol=5e-3, rtol=1e-2)
    # The weights are those of the base: nothing but the head was learned.
    start = transformers.AutoModel.from_pretrained(base(kind)).state_dict()
    held = model.network.embedding.network.state_dict()
    assert held.keys() <= start.keys()
    assert all(torch.equal(held[name], start[name].half().float()) for name in held)


@pytest.mark.slow
def test_a_fitted_head_is_saved_seen_and_exported(base, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime", reason="comes with the extra onnx")
    pytest.importorskip("onnxscript", reason="comes with the extra onnx")
    from regard.tasks import export_onnx

    model = fitted(base("bert"))
    model.save(tmp_path / "model")
    again = regard.load(tmp_path / "model")
    assert again.classify(TEXTS) == model.classify(TEXTS)
    assert not (tmp_path / "model/config.json").exists()
    card = (tmp_path / "model/README.md").read_text()
    assert "only its output layer was fitted to the examples" in card
    assert "trained by regard on the frozen base bert." in card
    assert "no attention to show" not in card

    record = again.see(TEXTS[0])
    assert record.items == ("[CLS]", *again.encoder.tokenizer.names(again.encoder.tokenizer.encode(TEXTS[0])), "[SEP]")
    assert len(record.layers) == 3

    export_onnx(again, tmp_path / "model.onnx")
    encode = runpy.run_path(str(tmp_path / "model.py"))["encode"]
    description = json.loads((tmp_path / "model.json").read_text())
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    for together in ([TEXTS[1]], TEXTS, [TEXTS[0].split()], ["a " * 100, TEXTS[0]]):
        (found,) = session.run(None, encode(description, together))
        for row, (label, share) in zip(found, model.classify(together), strict=True):
            assert description["labels"][int(row.argmax())] == label
            assert float(row.max()) == pytest.approx(share, abs=1e-5)
    assert encode(description, [""])["vectors"].shape == (1, 2, 1)


def test_sources_may_be_lists_of_words(base):
    words = [(text.split(), feeling) for text, feeling in LABELLED]
    model = fitted(base("bert"), words)
    sentence = ["a", "unbelievably", "bad", "film"]
    assert model.see(sentence).items == ("[CLS]", "a", "un", "##believ", "##ably", "bad", "film", "[SEP]")
    assert model.classify([sentence, []])[1] is None
    assert default_recipe([(source, "x y") for source, _ in words] * 30, task="seq2seq", base=base("bert")).width == 128


def test_few_numbers_are_fine_tuned(base):
    """What was measured for labels need not hold for numbers, and for several questions."""
    for target in (1.5, (1, 0)):
        recipe = default_recipe([(text, target) for text in TEXTS], task="classifier", base=base("bert"))
        assert (recipe.network, recipe.head) == ("pretrained", "trained")


@pytest.mark.parametrize("tuned", ["all", "layers", "adapters", "head"])
def test_a_network_of_regard_above_a_base(base, tuned):
    if tuned == "adapters":
        pytest.importorskip("peft", reason="comes with the extra lora")
    fields = {"width": 16, "heads": 2, "hidden": 32, "layers": 1, "epochs": 2, "batch_items": 40}
    own = {"kind": "pretrained", "base": str(base("bert")), "tuned": tuned, "head_rate": 5.0, "special_tokens": True}
    recipe = Recipe(task="classifier", input=own, network="attention", **fields)
    model = regard.train(LABELLED, LABELLED, recipe=recipe, progress="none")
    start = transformers.AutoModel.from_pretrained(base("bert")).state_dict()
    held = model.network.embedding.network.state_dict()
    assert not any("lora" in name for name in held)
    changed = {name for name in held if not torch.equal(held[name], start[name].half().float())}
    names = {
        0: "encoder.layer.0.output.dense.weight",
        2: "encoder.layer.2.output.dense.weight",
    }
    wanted = {"all": {0, 2}, "layers": {2}, "adapters": {0, 2}, "head": set()}
    assert {layer for layer, name in names.items() if name in changed} == wanted[tuned]
    assert (tuned == "head") == (not changed)


def test_auxiliary_targets_beside_a_base(base, tmp_path):
    """They reach the base itself, and a source that has nothing but an auxiliary target is learned from, too."""
    own = {"kind": "pretrained", "base": str(base("bert")), "special_tokens": True}
    fields = {"width": 24, "network": "identity", "epochs": 2, "batch_items": 40}
    degrees = ["great", "awful", "so-so", "so-so"]

    def tuned(auxiliary, pairs=LABELLED, given=degrees):
        task = {"kind": "classifier", "auxiliary": {"degree": 1.0} if auxiliary else {}}
        recipe = Recipe(task=task, input=own, **fields)
        more = {"auxiliary": {"degree": given}} if auxiliary else {}
        return regard.train(pairs, LABELLED, recipe=recipe, progress="none", **more)

    def states(model):
        return model.network.embedding.network.state_dict()

    alone, beside = states(tuned(False)), tuned(True)
    assert any(not torch.equal(alone[name], value) for name, value in states(beside).items())
    unknown = [LABELLED[0], (TEXTS[1], None), *LABELLED[2:]]
    pair = [states(tuned(True, unknown, [*degrees[:1], other, *degrees[2:]])) for other in ("awful", "great")]
    assert any(not torch.equal(value, pair[1][name]) for name, value in pair[0].items())
    beside.save(tmp_path / "model")
    again = regard.load(tmp_path / "model")
    assert again.classify(TEXTS) == beside.classify(TEXTS)
    assert len(again.see(TEXTS[0], effects=True).outcomes.hidden) == len(again.see(TEXTS[0]).items)


def test_what_stands_above_a_base_has_a_rate_of_its_own(base):
    recipe = writing(base("bert"), input={"layer_decay": 0.5})
    objective = TASKS["seq2seq"].data(recipe, PAIRS, PAIRS, None).objective()
    factors = objective.rate_factors()
    assert factors.keys() == {name for name, _ in objective.named_parameters()}
    above = "network.source.network."
    assert factors[f"{above}encoder.layer.2.output.dense.weight"] == 1.0
    assert factors[f"{above}encoder.layer.1.output.dense.weight"] == 0.5
    assert factors[f"{above}embeddings.word_embeddings.weight"] == 0.125
    assert {rate for name, rate in factors.items() if not name.startswith(above)} == {10.0}
    assert factors["network.source.project.weight"] == 10.0


def test_a_frozen_base_drops_nothing(base):
    recipe = writing(base("bert"), input={"tuned": "head"})
    model = regard.train(PAIRS, PAIRS, recipe=recipe, progress="none")
    (own,) = [part for part in model.network.modules() if isinstance(part, TunedBase)]
    # As it was made, before it was saved: nothing of it is trained.
    own.network.requires_grad_(False)
    own.train()
    assert not any(part.training for part in own.network.modules())
    own.network.requires_grad_(True)
    own.train()
    assert all(part.training for part in own.network.modules())


@pytest.mark.parametrize("kind", ["bert", "roberta", "gpt2"])
def test_a_base_reads_for_a_decoder(base, kind, tmp_path):
    model = regard.train(PAIRS, PAIRS, recipe=writing(base(kind)), progress="none")
    model.save(tmp_path / "model")
    again = regard.load(tmp_path / "model")
    assert again.write(TEXTS) == model.write(TEXTS)
    # Alone or beside longer ones, a source is read alike.
    memory = again.network.encode(*_sources(again, TEXTS))
    for at, text in enumerate(TEXTS):
        alone = again.network.encode(*_sources(again, [text]))
        length = int(alone.lengths[0])
        torch.testing.assert_close(memory.keys[at, :length], alone.keys[0], atol=1e-5, rtol=1e-4)
    (record,) = again.look([TEXTS[0]])
    assert len(record.items) == len(again.recipe.input.names(again.encoder, TEXTS[0]))


def _sources(model, texts):
    batch = model.encode(texts)
    return batch.vectors, batch.lengths


@pytest.mark.parametrize("kind", sorted({*KINDS} - {"xlnet"}))
@pytest.mark.parametrize("task", ["classifier", "tagger", "seq2seq"])
def test_all_that_is_trained_learns(base, kind, task):
    """Of the usual bases nothing is left out, as XLNet leaves out its vector for what is masked."""
    own = {"kind": "pretrained", "base": str(base(kind)), "special_tokens": task == "seq2seq"}
    network = "attention" if task == "seq2seq" else "pretrained"
    recipe = Recipe(task=task, input=own, network=network, width=16, heads=2)
    if task == "tagger":
        pairs = [(text.split(), list(text.split())) for text in TEXTS]
    else:
        pairs = PAIRS if task == "seq2seq" else LABELLED
    objective = TASKS[task].data(recipe, pairs, pairs, None).objective()
    for batch in objective.batches(0):
        objective.zero_grad()
        objective.loss(batch).total.backward()
        assert [name for name, each in objective.named_parameters() if each.requires_grad and each.grad is None] == []


@pytest.mark.slow
def test_several_processes_share_a_base_that_leaves_something_out(base, tmp_path):
    recipe = Recipe(
        task="classifier", input={"kind": "pretrained", "base": str(base("xlnet"))}, network="pretrained", epochs=2
    )
    objective = TASKS["classifier"].data(recipe, LABELLED, LABELLED, None).objective()
    objective.loss(next(iter(objective.batches(0)))).total.backward()
    left = [name for name, each in objective.named_parameters() if each.grad is None]
    assert "network.network.transformer.mask_emb" in left
    model = regard.train(LABELLED, LABELLED, recipe=recipe, progress="none", devices=2)
    assert len(model.classify(TEXTS)) == 4


@pytest.mark.slow
def test_a_decoder_above_a_base_learns(base):
    model = regard.train(PAIRS, PAIRS, recipe=writing(base("bert"), epochs=300, patience=300), progress="none")
    right = [written.text == target for written, (_, target) in zip(model.write(TEXTS), PAIRS, strict=True)]
    assert sum(right) >= 3


def test_default_recipe_of_a_writer_with_a_base(base):
    recipe = default_recipe(PAIRS * 30, task="seq2seq", base=base("bert"))
    assert (recipe.input.kind, recipe.network, recipe.optimizer, recipe.task.copying) == (
        "pretrained",
        "attention",
        "adamw",
        False,
    )
    with pytest.raises(ArgumentError, match="`optimizer` must be 'adamw' for a base"):
        Recipe.from_json({**recipe.to_json(), "optimizer": "muon"})
    with pytest.raises(ArgumentError, match="`tune` must be one of all, layers, adapters, head, but is 'bogus'"):
        default_recipe(PAIRS, task="seq2seq", base=base("bert"), tune="bogus")
    with pytest.raises(ArgumentError, match="`network` must be one of regard's"):
        Recipe(task="classifier", input="words", network="pretrained")
