"""Folders of `save_pretrained`: what each class of model predicts, against the model itself, and folders that fail."""

import json
import shutil

import pytest
import torch

from regard.errors import DataError, ModelError
from regard.inspection import see, story_of
from regard.inspection.cases.hugging_face_folder import is_pretrained
from regard.inspection.hugging_face import pretrained_case

transformers = pytest.importorskip("transformers")
pytest.importorskip("tokenizers")

WORDS = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]", "I", "saw", "a", ".", "the", "##ing"]
SMALL = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
BERT = SMALL | {"vocab_size": len(WORDS), "max_position_embeddings": 20, "initializer_range": 0.5}
GPT = {"vocab_size": len(WORDS), "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 20, "initializer_range": 0.5}


def tokenizer():
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    made = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    names = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, unk_token="[UNK]", **names)


MODELS = {
    "masked": lambda: transformers.BertForMaskedLM(transformers.BertConfig(**BERT)),
    "whole": lambda: transformers.BertForSequenceClassification(
        transformers.BertConfig(**BERT, id2label={0: "bad", 1: "good"}, label2id={"bad": 0, "good": 1})
    ),
    "each": lambda: transformers.BertForTokenClassification(transformers.BertConfig(**BERT, num_labels=3)),
    "vectors": lambda: transformers.BertModel(transformers.BertConfig(**BERT)),
    "next": lambda: transformers.GPT2LMHeadModel(transformers.GPT2Config(**GPT)),
    "last": lambda: transformers.GPT2ForSequenceClassification(transformers.GPT2Config(**GPT, pad_token_id=0)),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Makes the folder of a model."""
    above = tmp_path_factory.mktemp("models")

    def make(name):
        if not (above / name).exists():
            torch.manual_seed(6)
            MODELS[name]().save_pretrained(above / name)
            tokenizer().save_pretrained(above / name)
        return above / name

    return make


def direct(folder, name, text):
    model = getattr(transformers, type(MODELS[name]()).__name__).from_pretrained(folder(name)).eval()
    with torch.no_grad():
        output = model(**tokenizer()(text, return_tensors="pt"))
    return output.logits if hasattr(output, "logits") else output.last_hidden_state


ITEMS = ("[CLS]", "I", "saw", "a", "saw", ".", "[SEP]")


def test_a_masked_token_is_predicted(folder):
    record = see(pretrained_case(folder("masked"), "I saw a [MASK] ."))
    (place,) = record.outcomes.places
    share, best = direct(folder, "masked", "I saw a [MASK] .")[0, 4].softmax(-1).max(-1)
    assert place == ("[MASK]", 4, WORDS[best], pytest.approx(float(share), abs=1e-5), None)
    assert record.items == ("[CLS]", "I", "saw", "a", "[MASK]", ".", "[SEP]")
    assert len(record.layers) == 2
    assert (len(record.outcomes.hidden), len(record.outcomes.removed)) == (7, 2)
    assert record.model == "masked"


def test_without_a_mask_every_token_is(folder):
    record = see(pretrained_case(folder("masked"), "I saw a saw ."))
    assert record.items == ITEMS
    best = direct(folder, "masked", "I saw a saw .")[0].argmax(-1)
    assert record.labels == tuple(WORDS[each] for each in best)


def test_the_whole_is_labelled_from_the_item_that_the_model_reads(folder):
    record = see(pretrained_case(folder("whole"), "I saw a saw ."))
    (place,) = record.outcomes.places
    share, best = direct(folder, "whole", "I saw a saw .")[0].softmax(-1).max(-1)
    assert place == ("the whole", 0, ("bad", "good")[best], pytest.approx(float(share), abs=1e-5), None)
    assert story_of(record).weights == pytest.approx(record.layers[1].weights().mean(0)[0].tolist())
    record = see(pretrained_case(folder("last"), "I saw a saw ."))
    assert record.outcomes.places[0].query == 6


def test_each_token_is_labelled(folder):
    record = see(pretrained_case(folder("each"), "I saw a saw ."))
    best = direct(folder, "each", "I saw a saw .")[0].argmax(-1)
    assert record.labels == tuple(f"LABEL_{each}" for each in best)


def test_the_next_token_is_predicted(folder):
    record = see(pretrained_case(folder("next"), "I saw a saw ."))
    assert (record.outcomes.form, record.outcomes.chosen) == ("next", 6)
    best = direct(folder, "next", "I saw a saw .")[0].argmax(-1)
    assert record.labels == tuple(WORDS[each] for each in best)
    assert story_of(record).sentence.startswith('After "[SEP]" comes')
    # What comes after an item can't change what was predicted at it.
    assert [outcome.change for outcome in record.outcomes.hidden[5][:5]] == pytest.approx([0.0] * 5, abs=1e-6)


def test_vectors_without_an_output_layer(folder):
    record = see(pretrained_case(folder("vectors"), "I saw"))
    assert record.outcomes.kind == "vectors"
    assert len(record.outcomes.places) == 4


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_hiding_a_token_is_the_models_own_mask(folder, implementation):
    case = pretrained_case(folder("each"), "I saw a saw .")
    case.module.set_attn_implementation(implementation)
    record = see(case)
    inputs = tokenizer()("I saw a saw .", return_tensors="pt")
    inputs["attention_mask"][0, 3] = 0
    with torch.no_grad():
        after = case.module(**inputs).logits[0].softmax(-1)
    found = record.outcomes.hidden[3]
    assert [each.score for each in found] == pytest.approx(after.amax(-1).tolist(), abs=1e-5)
    assert [each.label for each in found] == [f"LABEL_{each}" for each in after.argmax(-1)]


def test_a_picture_is_its_patches(tmp_path):
    images = pytest.importorskip("PIL.Image")
    torch.manual_seed(2)
    config = transformers.ViTConfig(**SMALL, image_size=32, patch_size=8, id2label={0: "cat", 1: "dog"})
    transformers.ViTForImageClassification(config).save_pretrained(tmp_path / "vit")
    settings = {"image_processor_type": "ViTImageProcessor", "size": {"height": 32, "width": 32}}
    (tmp_path / "vit" / "preprocessor_config.json").write_text(json.dumps(settings))
    images.new("RGB", (40, 50), (200, 10, 10)).save(tmp_path / "red.png")
    record = see(pretrained_case(tmp_path / "vit", str(tmp_path / "red.png")))
    assert (len(record.items), record.items[:3], record.noun) == (17, ("[CLS]", "1,1", "1,2"), "patch")
    assert record.outcomes.places[0].query == 0
    assert record.outcomes.places[0].label in ("cat", "dog")
    (tmp_path / "no.png").write_bytes(b"no picture")
    with pytest.raises(DataError, match=r"format is not known"):
        pretrained_case(tmp_path / "vit", str(tmp_path / "no.png"))


def test_folders_that_fail(folder, tmp_path):
    MODELS["next"]().save_pretrained(tmp_path / "bare")
    with pytest.raises(ModelError, match="must hold a tokenizer or an image processor beside the model"):
        pretrained_case(tmp_path / "bare", "I saw")
    (tmp_path / "bare" / "model.safetensors").unlink()
    torch.save({}, tmp_path / "bare" / "pytorch_model.bin")
    with pytest.raises(ModelError, match="can't be loaded"):
        pretrained_case(tmp_path / "bare", "I saw")
    (tmp_path / "bare" / "config.json").write_text("{")
    with pytest.raises(ModelError, match="can't be loaded"):
        pretrained_case(tmp_path / "bare", "I saw")


def test_more_tokens_than_positions(folder):
    with pytest.raises(DataError, match="a source may have 20 tokens, the positions of next, but has 32"):
        pretrained_case(folder("next"), "I saw " * 15)


@pytest.mark.parametrize("name", ["next", "masked"])
def test_no_tokens(folder, name):
    with pytest.raises(DataError, match=f"a source must have a token or more, but '' has none. Give {name} a text"):
        pretrained_case(folder(name), "")


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_files_cut_short(tmp_path, name):
    MODELS["next"]().save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelError, match="can't be loaded") as error:
        pretrained_case(tmp_path, "I saw")
    assert "\n" not in str(error.value)


def test_which_folders_are_taken(folder, tmp_path):
    assert is_pretrained(folder("next"))
    assert not is_pretrained(tmp_path)
    assert not is_pretrained(tmp_path / "nothing")


def test_code_in_the_folder_never_runs_and_nobody_is_asked_to_run_it(folder, tmp_path, monkeypatch):
    shutil.copytree(folder("whole"), tmp_path / "hostile")
    hostile = tmp_path / "hostile"
    config = json.loads((hostile / "config.json").read_text())
    config |= {"model_type": "mine", "architectures": ["Mine"]}
    config["auto_map"] = {"AutoConfig": "mine.MyConfig", "AutoModel": "mine.Mine"}
    (hostile / "config.json").write_text(json.dumps(config))
    (hostile / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    monkeypatch.setattr("builtins.input", lambda question: "y")
    with pytest.raises(ModelError, match="must hold what save_pretrained wrote, but can't be loaded"):
        pretrained_case(hostile, "I saw .")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"num_hidden_layers": 1_000_000}, "can't be loaded: it asks for more than the tensors that are there"),
        ({"hidden_size": 10**9}, "can't be loaded"),
        ({"num_attention_heads": -1}, r"edited can't be run: .*\. Look at its config.json"),
        ({"num_attention_heads": 0}, "can't be loaded"),
        ({"num_attention_heads": "two"}, "can't be loaded"),
        ({"vocab_size": -5}, "can't be loaded"),
        ({"model_type": ["bert"]}, "can't be loaded"),
    ],
    ids=str,
)
def test_a_configuration_that_was_edited_is_one_sentence(folder, tmp_path, changes, said):
    shutil.copytree(folder("masked"), tmp_path / "edited")
    path = tmp_path / "edited" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    with pytest.raises(ModelError, match=said) as caught:
        see(pretrained_case(tmp_path / "edited", "I saw a [MASK] ."))
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("names", [[1], "BertForMaskedLM", [], None, ["pipeline"], ["__version__"], [["BertModel"]]])
def test_a_class_that_is_none_is_chosen_by_the_kind_of_model(folder, tmp_path, names):
    shutil.copytree(folder("vectors"), tmp_path / "edited")
    path = tmp_path / "edited" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "architectures": names}))
    assert pretrained_case(tmp_path / "edited", "I saw .").kind == "vectors"
