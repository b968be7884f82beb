"""Encoder-decoders of `save_pretrained`: what they write, hide and remove, against the models themselves."""

import json
from dataclasses import replace

import pytest
import safetensors.torch
import torch
from rich.cells import cell_len

from regard.cli.main import main
from regard.errors import ArgumentError, DataError, ModelError
from regard.inspection import PartlySeen, Record, load_record, save_record, see, story, story_of, value_weighted
from regard.inspection.capture.layers import read_layers
from regard.inspection.cases import hugging_face_seq2seq as seq2seq
from regard.inspection.hugging_face import pretrained_case
from regard.page import as_text

transformers = pytest.importorskip("transformers")
pytest.importorskip("tokenizers")

SENTENCE = "the old dog saw a red cat"
TEXTS = [SENTENCE, "a dog saw the man", "the man saw an old cat", "ein alter Hund sah eine rote Katze", "der Mann sah"]
SPECIAL = ["<pad>", "</s>", "<unk>"]
SIZE = 60


def trained_tokenizer():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    made = Tokenizer(models.BPE(unk_token="<unk>"))
    made.pre_tokenizer, made.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    made.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=SIZE, special_tokens=SPECIAL, show_progress=False))
    made.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, **names)


SPECIAL_IDS = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
T5 = SPECIAL_IDS | {"vocab_size": SIZE, "d_model": 16, "d_kv": 6, "d_ff": 24, "num_layers": 2, "num_heads": 2}
BART = SPECIAL_IDS | {
    "vocab_size": SIZE,
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "max_position_embeddings": 40,
    "init_std": 0.4,
    "bos_token_id": 2,
    "forced_eos_token_id": None,
}
MODELS = {
    "t5": lambda: transformers.T5ForConditionalGeneration(transformers.T5Config(**T5, initializer_factor=1.5)),
    "bart": lambda: transformers.BartForConditionalGeneration(transformers.BartConfig(**BART)),
    "marian": lambda: transformers.MarianMTModel(transformers.MarianConfig(**BART)),
    "led": lambda: transformers.LEDForConditionalGeneration(
        transformers.LEDConfig(**{name: value for name, value in BART.items() if "max" not in name}, attention_window=4)
    ),
    "labels": lambda: transformers.BartForSequenceClassification(transformers.BartConfig(**BART)),
}
NAMES = ["t5", "bart", "marian"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Makes the folder of a model."""
    above = tmp_path_factory.mktemp("models")

    def make(name):
        if not (above / name).exists():
            torch.manual_seed(3)
            model = MODELS[name]()
            if model.can_generate():
                # So untrained models don't write one token again and again.
                model.generation_config.no_repeat_ngram_size = 2
            model.save_pretrained(above / name)
            trained_tokenizer().save_pretrained(above / name)
        return above / name

    return make


@pytest.fixture(autouse=True)
def shorter(monkeypatch):
    monkeypatch.setattr(seq2seq, "MOST_WRITTEN", 13)


@pytest.fixture(scope="module")
def records(folder):
    """The record of each model, with all effects."""
    made = {}

    def make(name):
        if name not in made:
            made[name] = see(pretrained_case(folder(name), SENTENCE), effects=True)
        return made[name]

    return make


class Direct:
    """A model, loaded anew, and what it gives itself."""

    def __init__(self, folder, implementation="sdpa"):
        kind = transformers.AutoModelForSeq2SeqLM
        self.model = kind.from_pretrained(folder, attn_implementation=implementation).eval()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        inputs = self.tokenizer(SENTENCE, return_tensors="pt")
        self.inputs = {name: inputs[name] for name in ("input_ids", "attention_mask")}
        self.written = self.model.generate(**self.inputs, do_sample=False, num_beams=1, max_new_tokens=13)

    def probabilities(self, hidden=None):
        inputs = {name: tensor.clone() for name, tensor in self.inputs.items()}
        if hidden is not None:
            inputs["attention_mask"][0, hidden] = 0
        with torch.no_grad():
            return self.model(**inputs, decoder_input_ids=self.written[:, :-1]).logits[0].softmax(-1)

    def answers(self, probabilities):
        return probabilities.gather(-1, self.written[0, 1:, None])[:, 0]


def outcome_is(found, direct, before, after):
    said = direct.answers
    assert [each.change for each in found] == pytest.approx((said(after) - said(before)).tolist(), abs=1e-5)
    # What is written isn't always the likeliest: some models force the first piece, and some the last one.
    best = [
        float(own if row.argmax() == first.argmax() else row.max())
        for row, first, own in zip(after, before, said(after), strict=True)
    ]
    assert [each.score for each in found] == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_the_answers_are_the_models_own(folder, records, name):
    record, direct = records(name), Direct(folder(name))
    pieces = tuple(
        token if token in SPECIAL else direct.tokenizer.decode([number])
        for number, token in zip(
            direct.written[0], direct.tokenizer.convert_ids_to_tokens(direct.written[0]), strict=True
        )
    )
    assert len(set(pieces)) > 3
    assert record.queries == record.labels == pieces[1:]
    assert record.previous == pieces[:-1]
    assert record.scores == pytest.approx(direct.answers(direct.probabilities()).tolist(), abs=1e-5)
    assert record.items[-1] == "</s>"
    assert "".join(record.items[:-1]).replace("▁", "") == SENTENCE.replace(" ", "")
    assert (record.outcomes.form, record.noun, record.model) == ("generated", "token", name)


@pytest.mark.parametrize("name", NAMES)
def test_one_pass_is_recorded_and_parted_by_what_attends_to_what(records, name):
    record = records(name)
    assert len(record.seen) == 6
    encoder, decoder, cross = ([layer.calls[0].name for layer in each] for each in parts(record))
    assert all("encoder." in each and "decoder." not in each for each in encoder)
    own, other = ("EncDecAttention", "SelfAttention") if name == "t5" else ("encoder_attn", "self_attn")
    assert [each.split(".")[-1] for each in (*decoder, *cross)] == [other, other, own, own]
    assert all("decoder." in each for each in (*decoder, *cross))
    assert max(record.seen.verify().values()) < 1e-5


def parts(record):
    return record.encoder, record.decoder, record.layers


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
@pytest.mark.parametrize("name", NAMES)
def test_hiding_a_token_is_the_models_own_mask(folder, name, implementation):
    case = pretrained_case(folder(name), SENTENCE)
    case.module.set_attn_implementation(implementation)
    record, direct = see(case, effects=True), Direct(folder(name), implementation)
    before = direct.probabilities()
    assert len(record.outcomes.hidden) == len(record.items)
    for item, found in enumerate(record.outcomes.hidden):
        outcome_is(found, direct, before, direct.probabilities(item))
    assert max(abs(each.change) for row in record.outcomes.hidden for each in row) > 0.05


@pytest.mark.parametrize("name", NAMES)
def test_removing_a_head_is_zeroing_its_columns_in_the_projection(folder, records, name):
    record, direct = records(name), Direct(folder(name))
    before, layers = direct.probabilities(), record.every_layer
    heads = [2, 2, 2, 2, 2, 2] if name == "t5" else [2, 2, 4, 4, 4, 4]
    assert [len(each) for each in record.outcomes.removed] == heads
    for layer, rows in zip(layers, record.outcomes.removed, strict=True):
        module = direct.model.get_submodule(layer.calls[0].name)
        weight = (module.o if name == "t5" else module.out_proj).weight.data
        for columns, found in zip(weight.split(weight.shape[1] // len(rows), dim=1), rows, strict=True):
            kept = columns.clone()
            columns.zero_()
            outcome_is(found, direct, before, direct.probabilities())
            columns.copy_(kept)


@pytest.mark.parametrize("name", NAMES)
def test_many_changes_in_a_batch_are_those_one_by_one(folder, records, name):
    alone = see(replace(pretrained_case(folder(name), SENTENCE), batched=False), effects=True)
    for one, other in zip(rows_of(alone), rows_of(records(name)), strict=True):
        assert [each.change for each in one] == pytest.approx([each.change for each in other], abs=1e-5)


def rows_of(record):
    return [*record.outcomes.hidden, *(row for layer in record.outcomes.removed for row in layer)]


@pytest.mark.parametrize("text", ["a", "the cat"])
def test_kinds_of_attention_are_told_apart_if_lengths_are_equal(folder, monkeypatch, text):
    count = len(trained_tokenizer()(text)["input_ids"])
    monkeypatch.setattr(seq2seq, "MOST_WRITTEN", count)
    record = see(pretrained_case(folder("t5"), text), effects=False)
    assert len(record.items) == len(record.queries) == count
    encoder, decoder, cross = ([layer.calls[0].name for layer in each] for each in parts(record))
    assert all(each.startswith("encoder.") for each in encoder)
    assert all(each.endswith("SelfAttention") and each.startswith("decoder.") for each in decoder)
    assert all(each.endswith("EncDecAttention") for each in cross)


def test_a_token_that_is_forced_is_the_answer_that_was_given(folder, tmp_path):
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder("bart"))
    model.generation_config.update(forced_bos_token_id=7, num_beams=3, length_penalty=2.0, early_stopping=True)
    model.save_pretrained(tmp_path / "forced")
    trained_tokenizer().save_pretrained(tmp_path / "forced")
    record = see(pretrained_case(tmp_path / "forced", SENTENCE), effects=False)
    assert record.queries[0] == trained_tokenizer().decode([7])
    assert record.scores[0] < 0.5


def test_an_encoder_that_attends_in_windows_has_the_tokens_of_the_source(folder):
    record = see(pretrained_case(folder("led"), SENTENCE), effects=False)
    assert [len(each) for each in parts(record)] == [2, 2, 2]
    assert {layer.shape for layer in record.encoder} == {(len(record.items),) * 2}
    assert record.outcomes.note == ""


def test_an_encoder_whose_attention_is_not_seen_is_named(folder, monkeypatch):
    monkeypatch.setattr(read_layers, "_READERS", {})
    with pytest.warns(PartlySeen, match="longformer_self_attn was seen up to its weights"):
        record = see(pretrained_case(folder("led"), SENTENCE), effects=True)
    assert record.encoder == ()
    assert [len(each) for each in (record.decoder, record.layers)] == [2, 2]
    assert record.outcomes.note == (
        "Items couldn't be hidden in the encoder: what is attended to there aren't single items."
    )
    assert len(record.outcomes.hidden) == len(record.items)


def test_the_story_names_each_head_once(records):
    record = records("bart")
    told = story_of(record, query=2)
    assert [(each.attention, each.layer, each.head) for each in told.removed] == [
        (attention, layer, head)
        for attention, heads in (("encoder", 2), ("decoder", 4), ("cross", 4))
        for layer in (1, 2)
        for head in range(1, heads + 1)
    ]
    assert [each.outcome for each in told.removed] == [row[1] for layer in record.outcomes.removed for row in layer]
    assert told.place.name == record.queries[1]
    assert told.title == "Cross-attention layer 2 of 2, average of heads 1-4"
    assert told.weights == pytest.approx(record.layers[1].weights([1]).mean(0)[0].tolist())
    assert "of 6 layers" in as_text(story(record), width=200)


def test_a_saved_record_tells_the_same_without_the_model(records, tmp_path):
    record = records("marian")
    save_record(record, tmp_path / "record.safetensors")
    again = load_record(tmp_path / "record.safetensors")
    assert as_text(story(again)) == as_text(story(record))
    assert (again.outcomes, again.previous) == (record.outcomes, record.previous)
    for one, other in zip(again.every_layer, record.every_layer, strict=True):
        assert (one.name, one.shape) == (other.name, other.shape)
        assert torch.equal(one.weights(), other.weights())


def rewritten(path, change):
    content = path.read_bytes()
    metadata = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
    header = json.loads(metadata["regard"])
    change(header["about"])
    safetensors.torch.save_file(safetensors.torch.load(content), path, {"regard": json.dumps(header)})


def test_files_from_before_self_attention_was_kept_are_read(records, tmp_path):
    record = records("marian")
    plain = Record(record.items, record.labels, record.scores, record.layers, "old", record.queries, seen=record.seen)
    save_record(plain, tmp_path / "old.safetensors")
    rewritten(
        tmp_path / "old.safetensors", lambda about: [about.pop(name) for name in ("encoder", "decoder", "previous")]
    )
    again = load_record(tmp_path / "old.safetensors")
    assert (again.encoder, again.decoder, again.previous, len(again.layers)) == ((), (), (), 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda about: about["encoder"].pop(), "`removed` must have rows"),
        (lambda about: about["decoder"][0].update(calls=[0]), "`decoder` must hold weights"),
        (lambda about: about["previous"].pop(), "`decoder` must hold weights"),
        (lambda about: about.update(previous="a b"), "`previous` must be a list, but is 'a b'"),
    ],
)
def test_changed_files_are_refused(records, tmp_path, change, message):
    save_record(records("marian"), tmp_path / "record.safetensors")
    rewritten(tmp_path / "record.safetensors", change)
    with pytest.raises(DataError, match=message):
        load_record(tmp_path / "record.safetensors")


def test_folders_and_texts_that_fail(folder, tmp_path):
    with pytest.raises(ModelError, match=r"labels must hold an encoder.*BartForSequenceClassification. Write a Python"):
        pretrained_case(folder("labels"), SENTENCE)
    with pytest.raises(DataError, match=r"must have a token or more, but '' has none\. Give bart a text"):
        pretrained_case(folder("bart"), "")
    with pytest.raises(DataError, match=r"may have 40 tokens, the positions of bart, but has \d+. Give it a shorter"):
        pretrained_case(folder("bart"), SENTENCE * 5)
    model = MODELS["bart"]()
    model.save_pretrained(tmp_path / "bare")
    with pytest.raises(ModelError, match=r"bare must hold a tokenizer .*tokenizer.save_pretrained"):
        pretrained_case(tmp_path / "bare", SENTENCE)
    model.config.decoder_start_token_id = model.config.bos_token_id = None
    model.generation_config.decoder_start_token_id = model.generation_config.bos_token_id = None
    model.save_pretrained(tmp_path / "startless")
    trained_tokenizer().save_pretrained(tmp_path / "startless")
    with pytest.raises(
        ModelError, match=r"startless must write a text, but its generate fails: `decoder_.* generation_config"
    ):
        pretrained_case(tmp_path / "startless", SENTENCE)


@pytest.fixture
def command(capsys, monkeypatch):
    """Run a command: code, standard output, standard error."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(*words):
        code = main([*map(str, words)])
        return code, *capsys.readouterr()

    return run


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("name", NAMES)
def test_the_command_tells_the_story(folder, command, name, width):
    code, out, err = command("see", folder(name), SENTENCE, "--width", width, "--query", 2, "--no-map", "--top", 40)
    assert (code, err) == (0, "")
    assert max(map(cell_len, out.splitlines())) <= width
    flat = " ".join(out.split())
    for part in (
        "was written",
        "In the last layer, it attended ",
        "Cross-attention layer 2 of 2",
        "encoder 1.1",
        "cross 2.2",
        "Checked",
    ):
        assert part in flat
    assert "the outputs of 6 layers" in flat


def test_the_command_in_other_forms(folder, command, tmp_path):
    found = json.loads(command("see", folder("t5"), SENTENCE, "--format", "json", "--query", 3)[1])
    assert found["answer"]["position"] == 3
    assert len(found["items"]) == len(trained_tokenizer()(SENTENCE)["input_ids"])
    assert [(each["attention"], each["layer"], each["head"]) for each in found["heads"]] == [
        (attention, layer, head) for attention in ("encoder", "decoder", "cross") for layer in (1, 2) for head in (1, 2)
    ]
    assert found["largest_difference"] < 1e-5
    plain = command("see", folder("t5"), SENTENCE, "--plain", "--no-map")[1]
    assert "head: decoder 1.1; mattered:" in plain
    assert not set(plain) & set("█▏░▒▓")
    record = tmp_path / "record.safetensors"
    code, out, err = command("see", folder("t5"), SENTENCE, "--save", record)
    assert (code, err) == (0, f"Wrote {record}.\n")
    assert command("see", record) == (0, out, "")
    assert json.loads(command("see", record, "--format", "json", "--query", 3)[1]) == found
    code, _, err = command("see", record, "--query", 99)
    assert code == 2
    assert "`--query` must be from 1 to" in err
    assert command("check", record)[0] == 0


def test_steps_of_self_attention_have_the_names_of_its_tokens(folder, command, tmp_path):
    record = tmp_path / "record.safetensors"
    command("see", folder("bart"), SENTENCE, "--save", record, "--no-effects")
    saved = load_record(record)
    encoder = command("steps", record, "--layer", 1, "--head", 1, "--query", 1, "--key", len(saved.items))[1]
    assert f"From {saved.items[0]}" in encoder
    assert f"to {saved.items[-1]}" in encoder
    decoder = command("steps", record, "--layer", 3, "--head", 1, "--query", 2, "--key", 1)[1]
    assert "to <pad>" in decoder


def test_what_a_written_token_took_by_methods_of_attribution(folder, records):
    case, record = pretrained_case(folder("t5"), SENTENCE), records("t5")
    weights = value_weighted(record.layers[1].calls[0], [2])[0, :, 0].double().mean(0)
    told = story_of(record, query=3, attribution="value-weighted")
    assert told.weights == pytest.approx((weights / weights.sum()).tolist(), abs=1e-6)
    # The gradient is with respect to the outputs of each call, in the order in which all of them were made.
    own = see(case, effects=False)
    told = story_of(own, query=3, attribution="gradient-weighted", case=case)
    assert sum(map(abs, told.weights)) == pytest.approx(1, abs=1e-6)
    with pytest.raises(ArgumentError, match=r"must not be rollout here: .* attend to other tokens"):
        story_of(record, attribution="rollout")
