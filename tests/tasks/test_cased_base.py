"""A base that reads lower case alone, and learns capitals: its vocabulary, its vectors, what it saves and refuses."""

import json
import random
from itertools import chain

import pytest
import torch

import regard
from regard.errors import ArgumentError
from regard.inputs import PretrainedTokenizer
from regard.inputs.text.cased_vocabulary import CasedVocabulary
from regard.tasks import Recipe, default_recipe
from regard.tasks.pretrained.base import new_model, read_config
from regard.tasks.pretrained.cased_embedding import CasedEmbedding
from regard.tasks.pretrained.tuning import Tuning, prepare, rate_factors
from tasks.bases import TEXTS, each_once

transformers = pytest.importorskip("transformers", reason="comes with the extra huggingface")
pytest.importorskip("tokenizers", reason="comes with the extra text")

SENTENCES = [["Saw", "a", "film"], ["a", "SAW", "Film", "UNBELIEVABLY"], ["bad", "iSaw", "İ", "Unbelievably", "[CLS]"]]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return each_once(tmp_path_factory.mktemp("bases"))


@pytest.fixture(scope="module")
def cased(base):
    tokenizer = PretrainedTokenizer.read(base("bert"), words=True)
    return CasedVocabulary.of(tokenizer, tokenizer.size)


def recipe_of(base, **more):
    own = {"kind": "pretrained", "base": str(base), "cased": True, **more.pop("input", {})}
    return Recipe(task="tagger", input=own, network="pretrained", **{"epochs": 2, "learning_rate": 3e-3, **more})


def names(tokenizer, words):
    return [tokenizer.names(pieces) for pieces in tokenizer.encode_words(words)]


def test_words_are_split_as_in_lower_case_and_keep_their_capitals(cased):
    assert names(cased.tokenizer, ["saw", "Saw", "SAW", "unbelievably", "Unbelievably", "UNBELIEVABLY", "iSaw"]) == [
        ["saw"],
        ["Saw"],
        ["SAW"],
        ["un", "##believ", "##ably"],
        ["Un", "##believ", "##ably"],
        ["UN", "##BELIEV", "##ABLY"],
        ["i", "##S", "##a", "##w"],
    ]


def test_lower_case_has_the_ids_that_it_had(base, cased):
    before = PretrainedTokenizer.read(base("bert"), words=True)
    for text in [*(text.lower() for text in TEXTS), "", "é ç", "看 见", "!"]:
        assert cased.tokenizer.encode(text) == before.encode(text)
    assert cased.tokenizer.encode("É") == cased.tokenizer.encode("E")
    assert (cased.tokenizer.prefix, cased.tokenizer.suffix) == (before.prefix, before.suffix)


def test_each_new_id_is_that_of_a_known_piece_in_capitals(base, cased):
    before = PretrainedTokenizer.read(base("bert"), words=True)
    ids = range(cased.start, cased.tokenizer.size)
    assert len(ids) == len(cased.lower) == len(cased.capitals) > 30
    for new, lower, capitals in zip(cased.tokenizer.names(ids), before.names(cased.lower), cased.capitals, strict=True):
        assert new.lower() == lower != new
        assert not capitals or new == lower.upper()


@pytest.mark.parametrize("kind", ["roberta", "gpt2"])
def test_who_keeps_capitals_needs_none(base, kind):
    tokenizer = PretrainedTokenizer.read(base(kind), words=True)
    assert CasedVocabulary.of(tokenizer, tokenizer.size) is None
    with pytest.raises(ArgumentError, match=r"`input\.cased` must be false for .*keeps capitals"):
        recipe_of(base(kind)).input.fit([["A"]])


def test_a_cased_vocabulary_is_not_made_cased_again(cased):
    assert CasedVocabulary.of(cased.tokenizer, cased.tokenizer.size) is None


def test_vectors_are_those_of_lower_case_moved_by_one_for_capitals(cased):
    table = torch.nn.Embedding(cased.start, 4, padding_idx=0)
    embedding = CasedEmbedding(table, cased)
    with torch.no_grad():
        embedding.case.copy_(torch.tensor([[1.0, 0, 0, 0], [0, 2.0, 0, 0]]))
    (lower,), (first,), (capitals,) = cased.tokenizer.encode_words(["saw", "Saw", "SAW"])
    found = embedding(torch.tensor([[lower, first, capitals, 0]]))[0]
    assert torch.equal(found[1] - table.weight[lower], embedding.case[0])
    assert torch.equal(found[2] - table.weight[lower], embedding.case[1])
    assert torch.equal(found[0], table.weight[lower])
    every = torch.arange(cased.tokenizer.size)[None]
    assert torch.equal(embedding.merged()(every), embedding(every))


@pytest.mark.parametrize("tuned", ["layers", "adapters"])
def test_capitals_are_learned_where_the_table_is_frozen(base, cased, tuned):
    if tuned == "adapters":
        pytest.importorskip("peft", reason="comes with the extra lora")
    model = new_model(read_config(base("bert")), "AutoModelForTokenClassification", 2, base("bert"))
    model.set_input_embeddings(CasedEmbedding(model.get_input_embeddings(), cased))
    tuning = Tuning(tuned, layers=1)
    prepare(model, tuning)
    held = dict(model.named_parameters())
    place = "bert.embeddings.word_embeddings"
    assert held[f"{place}.case"].requires_grad
    assert not held[f"{place}.table.weight"].requires_grad
    assert rate_factors(model, tuning)[f"{place}.case"] == 10.0


def tagged(count, letters="abdefgiklmnorstuvwy", seed=0):
    """Sentences of random words, each told to be a name if it has a capital."""
    draws = random.Random(seed)
    words = [["".join(draws.choices(letters, k=3)) for _ in range(4)] for _ in range(count)]
    cased = [[word.title() if draws.random() < 0.5 else word for word in sentence] for sentence in words]
    return [(sentence, ["NAME" if word[0].isupper() else "OTHER" for word in sentence]) for sentence in cased]


@pytest.mark.parametrize("learns", [True, False])
@pytest.mark.slow
def test_what_capitals_say_holds_for_words_never_seen_with_one(base, learns):
    # No word of the test begins with a letter of those of training.
    train, test = tagged(100, "abdefgiklmn"), tagged(40, "orstuvwy", seed=1)
    recipe = recipe_of(base("bert"), input={"cased": learns}, epochs=12, batch_items=40, learning_rate=1e-2)
    model = regard.train(train, train, recipe=recipe, progress="none")
    found = [word.label for words in model.tag([words for words, _ in test]) for word in words]
    right = sum(map(str.__eq__, found, chain.from_iterable(tags for _, tags in test))) / len(found)
    assert right > 0.75 if learns else right < 0.65, right


@pytest.mark.parametrize("kind", ["bert", "distilbert", "mpnet"])
def test_what_is_saved_is_one_of_transformers(base, kind, tmp_path):
    model = regard.train(tagged(8), tagged(8), recipe=recipe_of(base(kind)), progress="none", out=tmp_path / "run")
    model.save(tmp_path / "model")
    there = transformers.AutoModelForTokenClassification.from_pretrained(tmp_path / "model").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "model")
    assert there.get_input_embeddings().num_embeddings == there.config.vocab_size == len(tokenizer)
    again = regard.load(tmp_path / "model")
    for words, found in zip(SENTENCES, again.tag(SENTENCES), strict=True):
        read = tokenizer(words, is_split_into_words=True, return_tensors="pt")
        own = again.encoder.tokenizer
        assert read["input_ids"][0].tolist() == [*own.prefix, *chain(*own.encode_words(words)), *own.suffix]
        with torch.no_grad():
            logits = there(**read).logits[0]
        firsts = [read.word_ids().index(place) for place in range(len(words))]
        assert [each.label for each in found] == [there.config.id2label[int(logits[at].argmax())] for at in firsts]


def test_a_tokenizer_class_of_transformers_keeps_the_capitals(base, cased, tmp_path):
    # Such a class makes its normaliser anew from the settings beside the tokenizer.
    settings = json.loads(cased.tokenizer.files["tokenizer_config.json"])
    files = {
        **cased.tokenizer.files,
        "tokenizer_config.json": json.dumps({**settings, "tokenizer_class": "BertTokenizer"}),
        "config.json": (base("bert") / "config.json").read_text(),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert type(theirs).__name__ == "BertTokenizer"
    assert theirs.tokenize("Saw É SAW saw") == ["Saw", "E", "SAW", "saw"]


def test_a_tagger_learns_capitals_by_default(base):
    assert default_recipe(tagged(4), base=base("bert")).input.cased
    assert not default_recipe(tagged(4), base=base("bert"), tune="head").input.cased
    assert not default_recipe(tagged(4), base=base("roberta")).input.cased
    texts = [(" ".join(words), tags[0]) for words, tags in tagged(80)]
    assert not default_recipe(texts, base=base("bert"), tune="all").input.cased


def test_a_frozen_base_learns_no_capitals(base):
    with pytest.raises(ArgumentError, match=r"`input\.cased` must be false where `input\.tuned` is 'head'"):
        recipe_of(base("bert"), input={"tuned": "head"})
