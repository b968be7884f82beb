"""Models of `save_pretrained` that read sounds: intervals of time against the models' own frames, and what fails."""

import json
import math
from contextlib import contextmanager

import pytest
import torch

from regard.cli.main import main
from regard.errors import DataError, ModelError
from regard.inputs import Sound, resample, write_sound
from regard.inspection import load_record, save_record, see, story
from regard.inspection.cases import hugging_face_seq2seq as seq2seq
from regard.inspection.hugging_face import pretrained_case
from regard.page import as_text

transformers = pytest.importorskip("transformers")
pytest.importorskip("tokenizers")
pytest.importorskip("soundfile")

WORDS = ["<pad>", "</s>", "<unk>", "<start>", "<en>", "<de>", "<notimestamps>", "one", "two", "three", "four", "five"]
WAV2VEC = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "conv_dim": (8, 8, 8),
    "conv_stride": (5, 8, 8),
    "conv_kernel": (10, 8, 8),
    "num_feat_extract_layers": 3,
    "num_conv_pos_embeddings": 8,
    "num_conv_pos_embedding_groups": 2,
    "initializer_range": 0.4,
}
LABELS = {"id2label": {0: "no", 1: "yes"}, "label2id": {"no": 0, "yes": 1}}
WHISPER = {
    "vocab_size": len(WORDS),
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "max_source_positions": 100,
    "max_target_positions": 40,
    "num_mel_bins": 8,
    "decoder_start_token_id": 3,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "bos_token_id": 3,
    "suppress_tokens": None,
    "begin_suppress_tokens": None,
    "init_std": 0.3,
}
MODELS = {
    "names": lambda: transformers.Wav2Vec2ForSequenceClassification(transformers.Wav2Vec2Config(**WAV2VEC, **LABELS)),
    "vectors": lambda: transformers.Wav2Vec2Model(transformers.Wav2Vec2Config(**WAV2VEC)),
    "writes": lambda: transformers.WhisperForConditionalGeneration(transformers.WhisperConfig(**WHISPER)),
    "listens": lambda: transformers.WhisperForAudioClassification(transformers.WhisperConfig(**WHISPER, **LABELS)),
}


def extractor(name):
    if name in ("writes", "listens"):
        return transformers.WhisperFeatureExtractor(feature_size=8, chunk_length=2)
    return transformers.Wav2Vec2FeatureExtractor()


def tokenizer():
    from tokenizers import Tokenizer, models, pre_tokenizers

    made = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Makes the folder of a model."""
    above = tmp_path_factory.mktemp("models")

    def make(name):
        if not (above / name).exists():
            torch.manual_seed(3)
            model = MODELS[name]()
            if name == "writes":
                model.generation_config = transformers.GenerationConfig(
                    **{key: value for key, value in WHISPER.items() if key.endswith("_token_id")},
                    no_timestamps_token_id=6,
                    is_multilingual=True,
                    lang_to_id={"<en>": 4, "<de>": 5},
                    no_repeat_ngram_size=2,
                    forced_eos_token_id=1,
                )
                tokenizer().save_pretrained(above / name)
            model.save_pretrained(above / name)
            extractor(name).save_pretrained(above / name)
        return above / name

    return make


def a_sound(seconds, rate=16_000):
    time = torch.arange(round(seconds * rate)) / rate
    noise = torch.randn(len(time), generator=torch.Generator().manual_seed(1))
    return Sound(((0.4 * torch.sin(2 * math.pi * (300 + 500 * time) * time)) + 0.02 * noise)[None], rate)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("sounds") / "tone.wav"
    write_sound(path, a_sound(1.25))
    return path


@pytest.fixture(autouse=True)
def shorter(monkeypatch):
    monkeypatch.setattr(seq2seq, "MOST_WRITTEN", 9)


def inputs_of(name):
    samples = a_sound(1.25).mono.numpy()
    found = extractor(name)(samples, sampling_rate=16_000, return_tensors="pt")
    (key,) = [each for each in found if each.startswith("input")]
    return {key: found[key]}


@contextmanager
def frames_hidden(model, first, last, count):
    """With a mask that hides frames from each layer that attends to them."""
    mask = torch.zeros(1, 1, 1, count)
    mask[..., first:last] = torch.finfo(torch.float32).min

    def masked(module, args, given):
        keys = given.get("key_value_states")
        keys = given.get("hidden_states", args[0] if args else None) if keys is None else keys
        if keys.shape[1] == count:
            given["attention_mask"] = mask
        return args, given

    attention = [module for module in model.modules() if type(module).__name__.endswith("Attention")]
    hooks = [module.register_forward_pre_hook(masked, with_kwargs=True) for module in attention]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


CASES = {
    # Frames, frames of an interval, and items: 1.25 s, of which 0.05 s are the last interval's.
    "names": (62, 5, 13),
    # Two seconds are read, of which 0.75 s are silence.
    "listens": (100, 5, 14),
    "writes": (100, 5, 14),
}


@pytest.mark.parametrize("name", ["names", "listens"])
def test_the_answer_is_the_models_own(folder, file, name):
    model = getattr(transformers, type(MODELS[name]()).__name__).from_pretrained(folder(name)).eval()
    with torch.no_grad():
        best = model(**inputs_of(name)).logits[0].softmax(-1).max(-1)
    record = see(pretrained_case(folder(name), str(file)), effects=False)
    (place,) = record.outcomes.places
    assert place == ("the whole", None, ("no", "yes")[best.indices], pytest.approx(float(best.values), abs=1e-5), None)
    assert len(record.layers) == 2
    assert max(record.seen.verify().values()) < 1e-5


@pytest.mark.parametrize("name", CASES)
def test_items_are_intervals_of_time(folder, file, name):
    frames, together, count = CASES[name]
    record = see(pretrained_case(folder(name), str(file)), effects=False)
    assert (len(record.items), record.noun) == (count, "interval")
    assert record.items[:2] == ("0.00 s", "0.10 s")
    layer = record.layers[-1]
    single = layer.calls[0].weights()[0]
    assert single.shape[-1] == frames
    own = single[..., together : 2 * together].sum(-1)
    # The queries are the frames of the same intervals, or written tokens.
    own = own if name == "writes" else own[:, together : 2 * together].mean(-1, keepdim=True)
    found = layer.weights()[..., 1] if name == "writes" else layer.weights([1])[..., 1]
    torch.testing.assert_close(found, own)
    torch.testing.assert_close(layer.weights().sum(-1), torch.ones(layer.heads, layer.shape[0]))
    assert record.items[-1] == ("1.21 s" if name == "names" else "after 1.25 s")


def followed(case, after):
    """The probabilities of what follows a change: what was written, unless the likeliest piece is another than before.

    The first pieces, the language among them, are set and not written.
    """
    with torch.no_grad():
        before = case.predict(case.run(case.inputs))[0]
    written = before.argmax(-1).tolist() if case.answers is None else case.answers
    return [
        float(row[own] if row.argmax() == first.argmax() else row.max())
        for row, first, own in zip(after, before, written, strict=True)
    ]


def test_of_tokens_that_were_set_the_likeliest_are_named(folder, file):
    case = pretrained_case(folder("writes"), str(file))
    with torch.no_grad():
        rows = case.predict(case.run(case.inputs))[0]
    found = [place.likelier for place in see(case, effects=True).outcomes.places]
    best = rows.max(-1)
    for likelier, own, chance, number in zip(found, case.answers, best.values.tolist(), best.indices, strict=True):
        if own == number:
            assert likelier is None
        else:
            assert likelier == (case.classes(int(number)), pytest.approx(chance, abs=1e-5))
    assert None in found
    assert any(found)


@pytest.mark.parametrize("name", CASES)
def test_hiding_an_interval_is_masking_its_frames(folder, file, name):
    frames, together, count = CASES[name]
    case = pretrained_case(folder(name), str(file))
    record = see(case, effects=True)
    assert len(record.outcomes.hidden) == count
    bounds = [*range(0, 62, together), 62] if name == "names" else [*range(0, 63, together), 63, 100]
    assert len(bounds) == count + 1
    for item in (0, 3, count - 2, count - 1):
        with torch.no_grad(), frames_hidden(case.module, *bounds[item : item + 2], frames):
            after = case.predict(case.run(case.inputs))[0]
        found = record.outcomes.hidden[item]
        assert [each.score for each in found] == pytest.approx(followed(case, after), abs=1e-5)
    assert max(abs(each.change) for row in record.outcomes.hidden for each in row) > 0.01


@pytest.mark.parametrize("name", CASES)
def test_removing_a_head_is_zeroing_its_columns_in_the_projection(folder, file, name):
    case = pretrained_case(folder(name), str(file))
    record = see(case, effects=True)
    assert [len(each) for each in record.outcomes.removed] == [2] * (6 if name == "writes" else 2)
    for layer, rows in zip(record.every_layer, record.outcomes.removed, strict=True):
        weight = case.module.get_submodule(layer.calls[0].name).out_proj.weight.data
        for columns, found in zip(weight.split(8, dim=1), rows, strict=True):
            kept = columns.clone()
            columns.zero_()
            with torch.no_grad():
                after = case.predict(case.run(case.inputs))[0]
            columns.copy_(kept)
            assert [each.score for each in found] == pytest.approx(followed(case, after), abs=1e-5)


def test_what_is_written_has_the_tokens_that_began_it_and_its_end(folder, file):
    record = see(pretrained_case(folder("writes"), str(file)), effects=False)
    model = transformers.WhisperForConditionalGeneration.from_pretrained(folder("writes")).eval()
    inputs = inputs_of("writes")
    said = model.generate(**inputs, num_beams=1, do_sample=False, max_new_tokens=9)[0].tolist()
    assert record.previous[0] == "<start>"
    assert record.queries[0] in ("<en>", "<de>")
    assert record.queries[1] == "<notimestamps>"
    assert record.queries[2:] == (*(WORDS[each] for each in said), "</s>")
    ids = torch.tensor([[WORDS.index(each) for each in record.previous]])
    with torch.no_grad():
        shares = model(**inputs, decoder_input_ids=ids).logits[0].softmax(-1)
    own = [float(row[WORDS.index(each)]) for row, each in zip(shares, record.queries, strict=True)]
    assert record.scores == pytest.approx(own, abs=1e-5)


def test_a_sound_at_another_rate_is_resampled(folder, tmp_path):
    pytest.importorskip("librosa")
    write_sound(tmp_path / "slow.wav", resample(a_sound(1.0), 8000))
    record = see(pretrained_case(folder("names"), str(tmp_path / "slow.wav")), effects=False)
    assert len(record.items) == 10


@pytest.mark.parametrize(("seconds", "items"), [(0.05, 1), (0.1, 1), (1.0, 10), (6.5, 33), (13.0, 26)])
def test_longer_sounds_have_longer_intervals(folder, tmp_path, seconds, items):
    write_sound(tmp_path / "sound.wav", a_sound(seconds))
    record = see(pretrained_case(folder("names"), str(tmp_path / "sound.wav")), effects=False)
    assert len(record.items) == pytest.approx(items, abs=1)
    assert record.layers[0].key_bounds[-1] == record.layers[0].calls[0].key.shape[2]


@pytest.mark.parametrize("name", CASES)
def test_weights_of_half_precision(folder, file, name, tmp_path):
    model = getattr(transformers, type(MODELS[name]()).__name__).from_pretrained(folder(name))
    model.bfloat16().save_pretrained(tmp_path / "half")
    extractor(name).save_pretrained(tmp_path / "half")
    tokenizer().save_pretrained(tmp_path / "half")
    case = pretrained_case(tmp_path / "half", str(file))
    assert case.module.dtype == torch.bfloat16
    assert len(see(case).outcomes.hidden) == CASES[name][2]


def test_a_saved_record_tells_the_same_without_the_model(folder, file, tmp_path):
    record = see(pretrained_case(folder("writes"), str(file)))
    save_record(record, tmp_path / "record.safetensors")
    again = load_record(tmp_path / "record.safetensors")
    assert as_text(story(again)) == as_text(story(record))
    assert again.outcomes == record.outcomes


def test_the_command(folder, file, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    record = tmp_path / "record.safetensors"
    assert main(["see", str(folder("names")), str(file), "--save", str(record)]) == 0
    out, err = capsys.readouterr()
    assert err == f"Wrote {record}.\n"
    assert "average over all 13 intervals" in " ".join(out.split())
    assert main(["see", str(record)]) == 0
    assert capsys.readouterr().out == out
    assert main(["see", str(record), "--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["items"]) == 13
    assert main(["steps", str(record), "--query", "1"]) == 0


def test_folders_and_sounds_that_fail(folder, file, tmp_path):
    with pytest.raises(
        ModelError, match=r"vectors must read frames .* or a text, but is a Wav2Vec2Model\. Write a Python"
    ):
        pretrained_case(folder("vectors"), str(file))
    (tmp_path / "no.wav").write_bytes(b"no sound")
    with pytest.raises(DataError, match="can't be read as a sound"):
        pretrained_case(folder("names"), str(tmp_path / "no.wav"))
    write_sound(tmp_path / "short.wav", a_sound(0.002))
    with pytest.raises(DataError, match=r"long enough for a frame of names, but has 0\.002 s\. Give it a longer"):
        pretrained_case(folder("names"), str(tmp_path / "short.wav"))
    write_sound(tmp_path / "long.wav", a_sound(2.5))
    with pytest.raises(DataError, match=r"may have 2 s, which writes reads at once, but has 2\.5 s\. Cut it"):
        pretrained_case(folder("writes"), str(tmp_path / "long.wav"))
    MODELS["names"]().save_pretrained(tmp_path / "bare")
    with pytest.raises(ModelError, match=r"bare must hold a feature extractor .*feature_extractor\.save_pretrained"):
        pretrained_case(tmp_path / "bare", str(file))
    MODELS["writes"]().save_pretrained(tmp_path / "mute")
    extractor("writes").save_pretrained(tmp_path / "mute")
    with pytest.raises(ModelError, match=r"mute must hold a tokenizer .*tokenizer\.save_pretrained"):
        pretrained_case(tmp_path / "mute", str(file))
    patches = transformers.ASTConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, max_length=64, num_mel_bins=32
    )
    transformers.ASTForAudioClassification(patches).save_pretrained(tmp_path / "patches")
    extractor("names").save_pretrained(tmp_path / "patches")
    with pytest.raises(ModelError, match="patches must read frames of a sound"):
        pretrained_case(tmp_path / "patches", str(file))
