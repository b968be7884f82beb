"""Fine-tuned bases: against transformers itself, in each way of tuning, saved and loaded, seen, and what is refused."""

import dataclasses
import json
import runpy
import shutil
from itertools import chain, pairwise

import pytest
import safetensors.torch
import torch

import regard
from regard.errors import ArgumentError
from regard.inputs import Batch, PretrainedTokenizer
from regard.tasks import Recipe, default_recipe
from regard.tasks.pretrained.base import new_model, read_config
from regard.tasks.pretrained.network import PretrainedNetwork, pieces_of
from regard.tasks.pretrained.tuning import TUNED, Tuning
from tasks.bases import TEXTS, each_once, make_base

transformers = pytest.importorskip("transformers", reason="comes with the extra huggingface")
pytest.importorskip("tokenizers", reason="comes with the extra text")

KINDS = ("bert", "distilbert", "roberta", "gpt2")
WORDS = [text.split() for text in TEXTS]
FEELINGS = ["good", "bad", "none", "none"]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return each_once(tmp_path_factory.mktemp("bases"))


def recipe_of(base, task, **more):
    fields = {"epochs": 2, "learning_rate": 3e-3, "batch_items": 40, **more}
    own = {"kind": "pretrained", "base": str(base), **fields.pop("input", {})}
    return Recipe(task=task, input=own, network="pretrained", **fields)


def trained(base, task, targets, **more):
    sources = WORDS if task == "tagger" else TEXTS
    pairs = list(zip(sources, targets, strict=True))
    return regard.train(pairs, pairs, recipe=recipe_of(base, task, **more), progress="none")


def tags():
    return [[word[0].upper() for word in words] for words in WORDS]


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_are_those_of_the_tokenizer_itself(base, kind):
    theirs = transformers.AutoTokenizer.from_pretrained(base(kind))
    ours = PretrainedTokenizer.read(base(kind))
    for text in [*TEXTS, "", "  ", "Zürich 看见", "[SEP] </s>", "a" * 300]:
        assert ours.prefix + ours.encode(text) + ours.suffix == theirs(text)["input_ids"]
    words = PretrainedTokenizer.read(base(kind), words=True)
    by_words = transformers.AutoTokenizer.from_pretrained(
        base(kind), **({"add_prefix_space": True} if kind in ("roberta", "gpt2") else {})
    )
    for sentence in WORDS:
        wanted = by_words(sentence, is_split_into_words=True)
        own = words.encode_words(sentence)
        assert [*words.prefix, *chain(*own), *words.suffix] == wanted["input_ids"]
        places = [place for place in wanted.word_ids() if place is not None]
        assert [place for place, pieces in enumerate(own) for _ in pieces] == places


def test_a_word_without_pieces_is_unknown(base):
    tokenizer = PretrainedTokenizer.read(base("bert"))
    assert tokenizer.encode_words(["a", "\u200b", "a"])[1] == [tokenizer.unknown]
    assert tokenizer.names(tokenizer.encode("unbelievably")) == ["un", "##believ", "##ably"]


def test_pieces_stand_between_the_special_tokens():
    vectors = torch.tensor([[[11, 12], [13, 0]], [[14, 0], [0, 0]]])
    found = pieces_of(vectors, torch.tensor([1, 2]), torch.tensor([3]), padding=9)
    assert found.input_ids.tolist() == [[1, 2, 10, 11, 12, 3], [1, 2, 13, 3, 9, 9]]
    assert found.attention_mask.tolist() == [[1] * 6, [1, 1, 1, 1, 0, 0]]
    assert found.first[0].tolist() == [2, 4]
    assert found.first[1, 0] == 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_classifier_is_one_of_transformers(base, kind, tmp_path):
    model = trained(base(kind), "classifier", FEELINGS)
    model.save(tmp_path / "model")
    there = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "model").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "model")
    assert there.dtype == torch.float32
    again = regard.load(tmp_path / "model")
    assert again.classify(TEXTS) == model.classify(TEXTS)
    for text, (label, share) in zip(TEXTS, model.classify(TEXTS), strict=True):
        with torch.no_grad():
            logits = there(**tokenizer(text, return_tensors="pt")).logits[0]
        assert there.config.id2label[int(logits.argmax())] == label
        assert share == pytest.approx((logits / model.target.temperature).softmax(-1).max().item(), abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_tagger_is_one_of_transformers(base, kind, tmp_path):
    model = trained(base(kind), "tagger", tags())
    model.save(tmp_path / "model")
    there = transformers.AutoModelForTokenClassification.from_pretrained(tmp_path / "model").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "model")
    for words, found in zip(WORDS, regard.load(tmp_path / "model").tag(WORDS), strict=True):
        read = tokenizer(words, is_split_into_words=True, return_tensors="pt")
        with torch.no_grad():
            logits = there(**read).logits[0]
        firsts = [read.word_ids().index(place) for place in range(len(words))]
        assert [each.label for each in found] == [there.config.id2label[int(logits[at].argmax())] for at in firsts]


@pytest.mark.parametrize(
    ("targets", "problem"),
    [([(1, 0), (0, 1), (None, 1), (1, 1)], "names"), ([1.5, 2.5, 30.0, -4.0], "number")],
)
def test_questions_and_numbers(base, tmp_path, targets, problem):
    model = trained(base("bert"), "classifier", targets)
    model.save(tmp_path / "model")
    assert regard.load(tmp_path / "model").classify(TEXTS[:2]) == model.classify(TEXTS[:2])
    config = json.loads((tmp_path / "model/config.json").read_text())
    assert len(config["id2label"]) == (2 if problem == "names" else 1)


@pytest.mark.parametrize("tuned", TUNED)
def test_what_is_tuned_and_what_is_not(base, tuned):
    model = trained(base("bert"), "classifier", FEELINGS, input={"tuned": tuned, "tuned_layers": 2}, epochs=3)
    start = transformers.AutoModel.from_pretrained(base("bert")).state_dict()
    end = {name.removeprefix("bert."): each for name, each in model.network.state_dict().items()}
    changed = {name for name in start if not torch.equal(start[name].half(), end[name].half())}
    names = {
        "embeddings": "embeddings.word_embeddings.weight",
        "first": "encoder.layer.0.output.dense.weight",
        "second": "encoder.layer.1.output.dense.weight",
        "last": "encoder.layer.2.output.dense.weight",
        "bias": "encoder.layer.2.output.dense.bias",
    }
    wanted = {
        "all": {*names},
        "layers": {"second", "last", "bias"},
        "adapters": {"first", "second", "last"},
        "head": set(),
    }
    assert {name for name, own in names.items() if own in changed} == wanted[tuned]
    # Whatever was added in training is gone: these are the tensors of the architecture.
    assert start.keys() < end.keys()
    assert end.keys() - start.keys() == {"classifier.weight", "classifier.bias"}


def test_merged_adapters_say_what_they_said_beside_their_matrices(base):
    pytest.importorskip("peft", reason="comes with the extra lora")
    config = read_config(base("bert"))
    model = new_model(config, "AutoModelForSequenceClassification", 2, base("bert"))
    network = PretrainedNetwork(model, [2], [3], 0, per_item=False, tuning=Tuning("adapters", rank=2)).eval()
    torch.manual_seed(1)
    for name, parameter in network.named_parameters():
        if "lora" in name:
            torch.nn.init.normal_(parameter)
    batch = Batch(torch.randint(1, 30, (3, 5, 1)), torch.tensor([5, 2, 4]))
    before = network(batch)
    network.finish()
    torch.testing.assert_close(network(batch), before, atol=1e-5, rtol=1e-4)
    assert not any("lora" in name for name in network.state_dict())


def test_rates_fall_from_layer_to_layer(base):
    model = new_model(read_config(base("bert")), "AutoModelForTokenClassification", 2, base("bert"))
    tuning = Tuning(layer_decay=0.5, head_rate=7.0)
    factors = PretrainedNetwork(model, [2], [3], 0, per_item=True, tuning=tuning).rate_factors()
    assert {
        name: factors[f"network.{name}"]
        for name in (
            "bert.embeddings.LayerNorm.weight",
            "bert.encoder.layer.0.output.dense.bias",
            "bert.encoder.layer.1.output.dense.bias",
            "bert.encoder.layer.2.attention.self.query.weight",
            "classifier.weight",
        )
    } == {
        "bert.embeddings.LayerNorm.weight": 0.125,
        "bert.encoder.layer.0.output.dense.bias": 0.25,
        "bert.encoder.layer.1.output.dense.bias": 0.5,
        "bert.encoder.layer.2.attention.self.query.weight": 1.0,
        "classifier.weight": 7.0,
    }
    assert factors.keys() == {
        name for name, _ in PretrainedNetwork(model, [2], [3], 0, per_item=True, tuning=tuning).named_parameters()
    }


def test_a_resumed_run_ends_with_the_same_weights(base, tmp_path, monkeypatch):
    from regard.tasks.training.loop import Loop

    pairs = list(zip(TEXTS, FEELINGS, strict=True))
    recipe = recipe_of(base("bert"), "classifier", epochs=3)
    whole = regard.train(pairs, pairs, recipe=recipe, progress="none", out=tmp_path / "whole")
    save, calls = Loop.save, []

    def stop(self, folder):
        save(self, folder)
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Loop, "save", stop)
    with pytest.raises(KeyboardInterrupt):
        regard.train(pairs, pairs, recipe=recipe, progress="none", out=tmp_path / "cut")
    monkeypatch.setattr(Loop, "save", save)
    resumed = regard.train(pairs, pairs, recipe=recipe, progress="none", out=tmp_path / "cut", resume=True)
    theirs, ours = whole.network.state_dict(), resumed.network.state_dict()
    assert theirs.keys() == ours.keys()
    assert all(torch.equal(theirs[name], ours[name]) for name in theirs)


def test_a_finished_model_needs_no_base(base, tmp_path):
    shutil.copytree(base("bert"), tmp_path / "base")
    model = trained(tmp_path / "base", "classifier", FEELINGS)
    model.save(tmp_path / "model")
    shutil.rmtree(tmp_path / "base")
    assert regard.load(tmp_path / "model").classify(TEXTS) == model.classify(TEXTS)


def test_a_model_is_a_base_again(base, tmp_path):
    trained(base("bert"), "classifier", FEELINGS).save(tmp_path / "model")
    model = trained(tmp_path / "model", "tagger", tags())
    assert [len(each) for each in model.tag(WORDS)] == [len(words) for words in WORDS]


def test_hiding_a_word_hides_all_of_its_pieces(base):
    model = trained(base("bert"), "tagger", tags())
    words = ["a", "unbelievably", "bad", "film"]
    record = model.see(words)
    assert record.items == ("[CLS]", *words, "[SEP]")
    assert [layer.shape for layer in record.layers] == [(6, 6)] * 3
    # By hand: a mask that leaves the pieces of the second word out, for all queries.
    (item,) = [model.read(words)]
    batch = model.recipe.input.batch(model.encoder, [item])
    pieces = model.network.pieces(batch.vectors)
    mask = pieces.attention_mask.clone()
    ends = [1, 2, 2 + len(item[1])]
    mask[:, ends[1] : ends[2]] = 0
    assert len(item[1]) == 3
    with torch.no_grad():
        logits = model.network.network(input_ids=pieces.input_ids, attention_mask=mask).logits[0]
    wanted = model.target.values(logits)[pieces.first[0]]
    # The prediction for the last word, with the third item hidden.
    found = record.outcomes.hidden[2][3]
    assert found.label == model.labels[int(wanted[3].argmax())]
    assert found.score == pytest.approx(wanted[3].max().item(), abs=1e-5)


def test_weights_of_words_are_those_of_their_pieces(base):
    model = trained(base("bert"), "tagger", tags())
    words = ["a", "unbelievably", "bad"]
    (record,) = model.look([words])
    there = model.network.network
    there.set_attn_implementation("eager")
    pieces = model.network.pieces(model.recipe.input.batch(model.encoder, [model.read(words)]).vectors)
    with torch.no_grad():
        every = there(
            input_ids=pieces.input_ids, attention_mask=pieces.attention_mask, output_attentions=True
        ).attentions
    spans = [*pairwise([0, 1, 2, 5, 6, 7])]
    by_key = torch.stack([every[-1][0, ..., a:b].sum(-1) for a, b in spans], -1)
    wanted = torch.stack([by_key[:, a:b].mean(1) for a, b in spans], 1)
    torch.testing.assert_close(record.layers[-1].weights(), wanted, atol=1e-5, rtol=1e-4)
    assert record.labels[0] == record.labels[-1] == ""
    assert list(record.labels[1:-1]) == [each.label for each in model.tag([words])[0]]


def test_default_recipes_of_a_base(base):
    pairs = list(zip(TEXTS * 5, FEELINGS * 5, strict=True))
    few = default_recipe(pairs, base=base("bert"))
    assert (few.task.kind, few.input.kind, few.network) == ("classifier", "pretrained", "identity")
    assert (few.head, few.input.tuned, few.task.pooling, few.width) == ("fitted", "head", "normalised_mean", 24)
    assert default_recipe(pairs, base=base("bert"), tune="head") == few
    tuned = default_recipe(pairs, base=base("bert"), tune="all")
    assert (tuned.network, tuned.head, tuned.input.tuned) == ("pretrained", "trained", "all")
    # A dev of two texts can't tell which epoch is best.
    assert tuned.keep_epoch == tuned.epochs == 40
    with pytest.raises(ArgumentError, match="`tune` says what of a base is trained, but `base` names none"):
        default_recipe(pairs, tune="head")
    some = default_recipe(list(zip(TEXTS * 30, FEELINGS * 30, strict=True)), base=base("bert"), tune="all")
    assert (some.keep_epoch, some.epochs) == (None, 15)
    many = default_recipe(list(zip(TEXTS * 20_000, FEELINGS * 20_000, strict=True)), base=base("bert"))
    assert (many.network, many.head) == ("pretrained", "trained")
    assert many.epochs < some.epochs
    assert default_recipe(list(zip(WORDS, tags(), strict=True)), base=base("bert")).task.kind == "tagger"
    with pytest.raises(ArgumentError, match="`input` must be 'pretrained' for base, but is 'words'"):
        default_recipe(list(zip(TEXTS * 5, FEELINGS * 5, strict=True)), base=base("bert"), input="words")


def test_long_texts_are_cut_and_long_sentences_refused(base):
    model = trained(base("bert"), "classifier", FEELINGS)
    source, encoder = model.recipe.input, model.encoder
    assert encoder.most_pieces == 30
    assert len(source.item(encoder, "a " * 100)) == 30
    assert len(source.names(encoder, "a " * 100)) == 30
    assert source.preparation(["a " * 100, "a"]).startswith("Note: 1 of 2 texts are longer than 30 pieces")
    assert source.preparation(["a"]) is None
    assert model.classify(["a " * 100])[0] is not None
    with pytest.raises(ArgumentError, match=r"may have 30 pieces, the positions of the base, but one of 31 words"):
        source.item(encoder, ["a"] * 31)


@pytest.mark.parametrize("kind", KINDS)
def test_of_a_book_its_first_page_is_split(base, kind, monkeypatch):
    model = trained(base(kind), "classifier", FEELINGS, epochs=1)
    source, encoder = model.recipe.input, model.encoder
    for book in ("a saw fell , " * 10_000, "看" * 10_000, f"{'z' * 3000} saw " * 9, " " * 5000 + "a saw"):
        whole = encoder.tokenizer.encode(book)[: encoder.most_pieces]
        assert source.item(encoder, book) == [[piece] for piece in whole]
    lengths, encode = [], PretrainedTokenizer.encode
    monkeypatch.setattr(PretrainedTokenizer, "encode", lambda own, text: lengths.append(len(text)) or encode(own, text))
    book = "a saw fell , " * 10_000
    assert len(source.item(encoder, book)) == encoder.most_pieces
    assert source.ood_statistics(encoder, book)
    assert len(lengths) == 2
    assert max(lengths) <= 16 * 32


@pytest.mark.parametrize("kind", ["roberta", "mpnet"])
def test_positions_of_some_bases_begin_after_padding(base, kind):
    model = trained(base(kind), "classifier", FEELINGS)
    item = model.recipe.input.item(model.encoder, " ".join(TEXTS * 20))
    assert len(item) == model.encoder.most_pieces == 30
    assert model.numbers([item])[0].isfinite().all()


def broken(base, folder, **changes):
    shutil.copytree(base, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))
    return folder


def test_what_is_no_base_is_refused(base, tmp_path):
    def refused(folder, match, **more):
        with pytest.raises(ArgumentError, match=match):
            trained(folder, "classifier", FEELINGS, **more)

    refused("all-MiniLM-L6-v2", r"must be a local folder that save_pretrained wrote, but '.*' is no folder\. Save")
    refused(tmp_path / "gone", "isn't there")
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", r"holds no config\.json")
    refused(broken(base("bert"), tmp_path / "both", is_encoder_decoder=True), "holds an encoder-decoder")
    refused(broken(base("bert"), tmp_path / "code", auto_map={"AutoModel": "mine.py"}), "brings code of its own")
    refused(broken(base("bert"), tmp_path / "unknown", model_type="strange"), "that of a strange can't be")
    refused(broken(base("bert"), tmp_path / "mistyped", hidden_size="big"), "that of a bert can't be: .*hidden_size")
    pickled = shutil.copytree(base("bert"), tmp_path / "pickled")
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    refused(pickled, "must hold its weights as safetensors")
    mute = shutil.copytree(base("bert"), tmp_path / "mute")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (mute / name).unlink()
    refused(mute, "must hold a tokenizer beside the model")


def test_recipes_that_do_not_fit_are_refused(base):
    for fields, match in (
        ({"members": 2}, "`members` must be 1 for a base"),
        ({"optimizer": "muon"}, "`optimizer` must be 'adamw' for a base"),
        ({"input": {"kind": "pretrained", "special_tokens": True}}, "`input.special_tokens` must be false for"),
        ({"network": "attention"}, "`input.special_tokens` must be true for the network 'attention'"),
        (
            {"task": "tagger", "network": "attention", "input": {"kind": "pretrained", "special_tokens": True}},
            "`network` must be 'pretrained' for a tagger with a base",
        ),
        ({"task": "seq2seq"}, "`input.special_tokens` must be true for the task.architecture 'transformer'"),
        ({"mask": "causal"}, "`mask` must be 'none'"),
        (
            {"task": {"kind": "classifier", "auxiliary": {"x": 1.0}}},
            r"`task.auxiliary` must be empty .* names x\. Another network .* set `network` to 'identity'",
        ),
        ({"task": {"kind": "tagger", "auxiliary": {"x": 1.0}}}, r"`task.auxiliary` must be empty .* names x\.$"),
        ({"input": "words"}, "`network` must be one of regard's for words"),
    ):
        with pytest.raises(ArgumentError, match=match):
            Recipe(**{"task": "classifier", "input": "pretrained", "network": "pretrained", **fields})


def test_the_card_names_the_base(base, tmp_path):
    folder = shutil.copytree(base("bert"), tmp_path / "mine")
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n# Mine\n")
    model = trained(folder, "classifier", FEELINGS, input={"tuned": "layers", "tuned_layers": 1})
    model.save(tmp_path / "model")
    card = (tmp_path / "model/README.md").read_text()
    assert "fine-tuned by regard, its last 1 layer, from mine." in card
    assert "The weights of the base are those of mine; licence: apache-2.0." in card
    assert "trained from scratch" not in card
    assert model.encoder.about["sha256"] in card
    assert str(tmp_path) not in (tmp_path / "model/config.json").read_text()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("task", ["classifier", "tagger"])
@pytest.mark.slow
def test_an_exported_base_says_what_it_said(base, kind, task, tmp_path, monkeypatch):
    onnxruntime = pytest.importorskip("onnxruntime", reason="comes with the extra onnx")
    pytest.importorskip("onnxscript", reason="comes with the extra onnx")
    from regard.tasks import export_onnx

    model = trained(base(kind), task, FEELINGS if task == "classifier" else tags())
    sources = TEXTS if task == "classifier" else WORDS
    exported = export_onnx(model, tmp_path / "model.onnx")
    # With the encoder that stands beside the file alone.
    encode = runpy.run_path(str(tmp_path / "model.py"))["encode"]
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    description = json.loads((tmp_path / "model.json").read_text())
    labels = description["labels"]
    assert len(encode(description, [""])["input_ids"]) == 1
    for together in ([sources[0]], sources[1:], sources):
        inputs = encode(description, together)
        assert inputs.keys() == {each.name for each in session.get_inputs()}
        (found,) = session.run(None, inputs)
        for row, source in zip(found, together, strict=True):
            if task == "classifier":
                ((label, share),) = model.classify([source])
                assert labels[int(row.argmax())] == label
                assert float(row.max()) == pytest.approx(share, abs=1e-5)
            else:
                (wanted,) = model.tag([source])
                own = row[: len(source)]
                assert [labels[place] for place in own.argmax(-1)] == [each.label for each in wanted]
                assert own.max(-1).tolist() == pytest.approx([each.score for each in wanted], abs=1e-5)
    assert exported.description["file"]["largest_difference"] < 1e-4


def test_layers_that_are_shared_have_one_rate(base):
    model = trained(base("albert"), "classifier", FEELINGS, input={"head_rate": 3.0})
    assert len(model.classify(TEXTS)) == 4
    held = new_model(read_config(base("albert")), "AutoModelForSequenceClassification", 2, base("albert"))
    factors = PretrainedNetwork(held, [2], [3], 0, per_item=False, tuning=Tuning(head_rate=3.0)).rate_factors()
    assert factors["network.classifier.weight"] == 3.0
    assert factors["network.albert.embeddings.LayerNorm.bias"] == 1.0
    with pytest.raises(ArgumentError, match="must be 'all' or 'head' for a AlbertForSequenceClassification"):
        trained(base("albert"), "classifier", FEELINGS, input={"tuned": "layers"})


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [("mpnet", {"classifier"}), ("gpt2", {"score"}), ("distilbert", {"pre_classifier", "classifier"})],
)
def test_the_head_alone_is_what_stands_outside_of_the_base(base, kind, wanted):
    model = new_model(read_config(base(kind)), "AutoModelForSequenceClassification", 2, base(kind))
    PretrainedNetwork(model, [2], [3], 0, per_item=False, tuning=Tuning("head"))
    assert {name.split(".")[0] for name, each in model.named_parameters() if each.requires_grad} == wanted


def test_padding_is_an_id_that_there_is(base):
    encoder = trained(base("gpt2"), "classifier", FEELINGS).encoder
    config = {name: value for name, value in encoder.config.items() if name not in ("pad_token_id", "eos_token_id")}
    for more, wanted in (({"eos_token_id": [7, 6]}, 7), ({"pad_token_id": 10**6, "eos_token_id": 5}, 5)):
        assert dataclasses.replace(encoder, config=config | more).padding == wanted


def test_texts_of_many_bytes_are_counted_where_they_are_cut(base):
    source = trained(base("gpt2"), "classifier", FEELINGS).recipe.input
    # Each of these characters is three pieces.
    assert source.preparation(["看" * 15, "a"]).startswith("Note: 1 of 2 texts are longer than 32 pieces")


def test_weights_that_a_base_lacks_are_not_drawn(base, tmp_path):
    folder = shutil.copytree(base("bert"), tmp_path / "other")
    tensors = safetensors.torch.load_file(folder / "model.safetensors")
    renamed = {f"strange.{name}": each for name, each in tensors.items()}
    safetensors.torch.save_file(renamed, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ArgumentError, match=r"must hold the weights that its config\.json describes, but .* lacks"):
        trained(folder, "classifier", FEELINGS)
    (folder / "model.safetensors").write_bytes(b"version https://git-lfs.github.com/spec/v1")
    with pytest.raises(ArgumentError, match="can't be loaded as one"):
        trained(folder, "classifier", FEELINGS)


def test_a_base_that_changed_is_read_anew(base, tmp_path):
    folder = shutil.copytree(base("bert"), tmp_path / "mine")
    before = recipe_of(folder, "classifier").input.fit(TEXTS).about["sha256"]
    shutil.rmtree(folder)
    make_base(folder, "distilbert")
    after = recipe_of(folder, "classifier").input.fit(TEXTS)
    assert after.about["sha256"] != before
    assert after.config["model_type"] == "distilbert"


def test_a_base_is_not_overwritten(base, tmp_path):
    model = trained(base("bert"), "classifier", FEELINGS)
    folder = shutil.copytree(base("bert"), tmp_path / "base")
    held = (folder / "model.safetensors").read_bytes()
    with pytest.raises(ArgumentError, match="must be new, empty or a model"):
        model.save(folder)
    assert (folder / "model.safetensors").read_bytes() == held
    model.save(tmp_path / "model")
    model.save(tmp_path / "model")


@pytest.mark.parametrize(
    ("targets", "problem"),
    [
        (FEELINGS, "single_label_classification"),
        ([(1, 0), (0, 1), (1, 1), (0, 0)], "multi_label_classification"),
        ([1.5, 2.5, 30.0, -4.0], "regression"),
    ],
)
def test_transformers_is_told_what_the_outputs_are(base, tmp_path, targets, problem):
    trained(base("bert"), "classifier", targets, epochs=1).save(tmp_path / "model")
    assert json.loads((tmp_path / "model/config.json").read_text())["problem_type"] == problem


def test_a_batch_of_words_counts_their_pieces(base, monkeypatch):
    shapes, own = {True: [], False: []}, PretrainedNetwork.pieces

    def pieces(network, words):
        found = own(network, words)
        shapes[network.training].append(tuple(found.input_ids.shape))
        return found

    monkeypatch.setattr(PretrainedNetwork, "pieces", pieces)
    # Words of 21 pieces, as addresses are, between two special tokens.
    examples = [(["saw"], ["A"]), *[(["film" * 6], ["B"])] * 8]
    recipe = recipe_of(base("bert"), "tagger", batch_items=60, epochs=1)
    model = regard.train(examples, examples, recipe=recipe, progress="none")
    shapes[False].clear()
    model.tag([words for words, _ in examples], batch_items=60)
    assert max(shapes[True]) == max(shapes[False]) == (2, 23)
