import dataclasses
import json
import random
import shutil

import numpy as np
import pytest
import safetensors.torch
import torch

import regard
from regard.cli.main import main
from regard.errors import ArgumentError, OutOfDistribution
from regard.tasks import Recipe, default_recipe
from regard.tasks.classifier.data import ClassifierData
from regard.tasks.sources import StaticVectors
from regard.tasks.sources.static_defaults import FEW, examples_per_class

VECTORS = {"good": (2.0, 1.0, 0.0), "bad": (-2.0, 1.0, 0.0), "film": (0.0, 0.0, 3.0), "a": (0.0, -1.0, 0.0)}
# The numbers of "good", "bad", "film" and "a" have a mean square of (5 + 5 + 9 + 1) / 12.
SCALE = (12 / 20) ** 0.5
FITTED = {
    "task": {"kind": "classifier", "pooling": "mean"},
    "network": "identity",
    "width": 3,
    "heads": 1,
    "head": "fitted",
    "dropout": 0.0,
    "epochs": 1,
}


@pytest.fixture
def glove(tmp_path):
    path = tmp_path / "glove.txt"
    lines = [f"{word} {' '.join(map(str, vector))}" for word, vector in VECTORS.items()]
    path.write_text("\n".join([*lines, "unused 5 5 5"]) + "\n", encoding="utf-8")
    return path


def reviews(count, seed=0):
    """Texts whose label is that of the word good or bad."""
    draw = random.Random(seed)
    words = [draw.choice(["good", "bad"]) for _ in range(count)]
    return [(f"a {'film ' * draw.randint(0, 4)}{word}", "positive" if word == "good" else "negative") for word in words]


def recipe_of(path, **changes):
    source = {"kind": "static", "path": str(path), **changes.pop("input", {})}
    return Recipe.from_json({**FITTED, "input": source, **changes})


class TestVectors:
    def test_those_of_the_training_texts_have_a_mean_square_of_one(self, glove):
        source = StaticVectors(str(glove))
        encoder = source.fit(["a good film", "a bad film"])
        embedding = source.embedding(encoder, 3)
        batch = source.batch(encoder, [source.item(encoder, each) for each in ("a Good one", "")])
        assert batch.vectors.tolist() == [[[5], [2], [1]], [[0], [0], [0]]]
        wanted = [[[SCALE * each for each in VECTORS[word]] for word in ("a", "good")] + [[0.0] * 3], [[0.0] * 3] * 3]
        assert embedding(batch.vectors).flatten().tolist() == pytest.approx(np.ravel(wanted).tolist())

    def test_words_that_no_training_text_has_are_kept_by_their_place_in_the_file(self, glove):
        few = StaticVectors(str(glove), most=1).fit(["a film"])
        assert few.splitter.words == ("good", "film", "a")
        assert few.rows == 3

    def test_frequent_words_weigh_less(self, glove):
        # Of 4 words "a" is 2, "film" 1 and an unknown one 1: with a = 1/4 their weights are 1/3, 1/2 and nothing.
        source = StaticVectors(str(glove), sif=0.25)
        encoder = source.fit(["a film", "a thing"])
        ids = source.batch(encoder, [source.item(encoder, "a film good thing")]).vectors
        found = source.embedding(encoder, 3)(ids)[0]
        # The scale is that of the weighted vectors of "a" and "film": (1/9 + 9/4) / 6.
        scale = (6 / (1 / 9 + 9 / 4)) ** 0.5
        assert found[0].tolist() == pytest.approx([0.0, -scale / 3, 0.0])
        assert found[1].tolist() == pytest.approx([0.0, 0.0, 3 * scale / 2])
        assert found[2].tolist() == pytest.approx([2 * scale, scale, 0.0])
        assert found[3].tolist() == [0.0, 0.0, 0.0]

    def test_unknown_words_are_counted(self, glove):
        source = StaticVectors(str(glove))
        encoder = source.fit(["a good film"])
        (known,), (unknown,) = (source.ood_statistics(encoder, each) for each in ("a GOOD film", ["a", "x", "y"]))
        assert (known.amount, known.size, unknown.amount, unknown.size) == (0, 3, 2, 3)
        assert unknown.description == "2 of its 3 words have no vector"
        assert source.ood_statistics(encoder, "") == ()
        (always,) = source.ood_statistics(encoder, "x y")
        assert always.always

    def test_they_are_trained_only_if_asked_to(self, glove):
        data = reviews(40)
        for trained in (False, True):
            recipe = recipe_of(glove, input={"trained": trained}, head="trained", epochs=2, learning_rate=0.3)
            network = ClassifierData(recipe, data, data, {}).objective().network
            before = network.embedding.table.weight.clone()
            model = regard.train(data, data, recipe=recipe, progress="none")
            after = model.network.embedding.table.weight
            assert torch.allclose(before, after, atol=1e-2) is not trained

    def test_a_mask_of_words_hides_them(self, glove):
        source = StaticVectors(str(glove), word_dropout=0.5)
        embedding = source.embedding(source.fit(["a good film"]), 3)
        torch.manual_seed(0)
        dropped = (embedding(torch.full((1, 400, 1), 2)) == 0).all(2).double().mean()
        assert 0.4 < dropped < 0.6
        assert not (embedding.eval()(torch.full((1, 400, 1), 2)) == 0).all(2).any()


class TestHead:
    def test_it_is_that_of_scikit_learn(self, glove):
        linear = pytest.importorskip("sklearn.linear_model")
        # Some labels are wrong, so that the solution is finite whatever the strength.
        draw = random.Random(0)
        data = [
            (text, label if draw.random() < 0.7 else draw.choice(["positive", "negative"]))
            for text, label in reviews(90)
        ]
        member = ClassifierData(recipe_of(glove), data, data, {}).objective().network
        means = np.array([np.mean([VECTORS[word] for word in text.split()], axis=0) for text, _ in data]) * SCALE
        spread = means.var(0).sum() ** 0.5
        given = member.output(torch.tensor(means, dtype=torch.float32)).detach().numpy()
        gaps = {}
        for strength in 10.0 ** np.arange(-1.0, 4.25, 0.5):
            fit = linear.LogisticRegression(C=strength, max_iter=3000).fit(means / spread, [label for _, label in data])
            gaps[strength] = abs(fit.decision_function(means / spread) - (given[:, 1] - given[:, 0])).max()
        assert min(gaps.values()) < 0.01 * np.abs(given).max()

    def test_numbers_and_several_labels(self, glove):
        data = [(text, 2.0 if label == "positive" else -2.0) for text, label in reviews(60)]
        model = regard.train(data, data, recipe=recipe_of(glove), progress="none")
        assert model.classify(["a good film", "a bad film"]) == pytest.approx([2.0, -2.0], abs=0.7)
        data = [(text, (int(label == "positive"), int("film" in text))) for text, label in reviews(60)]
        model = regard.train(data, data, recipe=recipe_of(glove), progress="none")
        (found,) = model.classify(["a good"])
        assert [each > 0.5 for each in found.values()] == [True, False]

    def test_items_have_labels_too(self, glove):
        pairs = [(text.split(), [word.upper() for word in text.split()]) for text, _ in reviews(20)]
        recipe = recipe_of(glove, task={"kind": "tagger"})
        tagger = regard.train(pairs, pairs, recipe=recipe, progress="none")
        assert [word.label for word in tagger.tag([["a", "bad", "film"]])[0]] == ["A", "BAD", "FILM"]

    def test_ngrams_are_solved_with_it(self, glove):
        # The vectors of these words are the same; only n-grams tell them apart.
        data = [(f"film film{number % 2} {'a ' * (number % 5)}", "yn"[number % 2]) for number in range(40)]
        alone = regard.train(data, data, recipe=recipe_of(glove), progress="none")
        both = regard.train(data, data, recipe=recipe_of(glove, input={"linear": True}), progress="none")
        assert alone.evaluate(data).score < 0.7
        assert both.evaluate(data).score == 1.0
        assert not any(each.requires_grad for each in both.network.parameters())

    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"network": "connected"}, r"network\..* is. Take the network 'identity'"),
            ({"input": {"trained": True}}, r"only where nothing else is trained, but embedding\.table\.weight is"),
            ({"width": 4, "heads": 1}, r"but embedding\.project\.weight is"),
            ({"task": {"kind": "classifier", "pooling": "attention"}}, r"but pooling\.query is"),
            ({"members": 2}, "`members` must be 1 where `head` is 'fitted'"),
        ],
    )
    def test_nothing_else_may_be_trained(self, glove, changes, said):
        data = reviews(20)
        with pytest.raises(ArgumentError, match=said):
            regard.train(data, data, recipe=recipe_of(glove, **changes), progress="none")

    def test_the_networks_of_other_kinds_may_not_have_one(self):
        data = [(f"a {word}", word) for word in ("good", "bad") for _ in range(8)]
        with pytest.raises(ArgumentError, match="only where nothing else is trained, but embedding"):
            regard.train(data, data, recipe=Recipe(task="classifier", head="fitted", epochs=1), progress="none")


class TestDefaults:
    def test_few_examples_have_a_fitted_head_and_many_a_network(self, glove):
        few, many = (default_recipe(reviews(count), vectors=glove) for count in (2 * FEW, 2 * FEW + 2))
        assert (few.input.kind, few.head, few.network, few.width, few.epochs) == ("static", "fitted", "identity", 3, 1)
        assert (many.input.kind, many.head, many.input.path) == ("static", "trained", str(glove))

    def test_examples_of_each_class_are_counted(self):
        assert examples_per_class([("x", "a"), ("y", "a"), ("z", "b"), ("?", None)]) == 1.5
        assert examples_per_class([("x", ("a", "b")), ("y", ("a", "a"))]) == 2.0
        assert examples_per_class([("x", 1.0), ("y", 2.0)]) == 2.0

    def test_another_kind_of_source_is_refused(self, glove):
        with pytest.raises(ArgumentError, match="`input` must be 'static' for vectors, but is 'words'"):
            default_recipe(reviews(20), input="words", vectors=glove)


class TestSaving:
    def test_a_model_needs_no_file(self, glove, tmp_path):
        data = reviews(40)
        recipe = default_recipe(data, vectors=glove)
        model = regard.train(data, data, recipe=recipe, out=tmp_path / "run", progress="none")
        digest = StaticVectors(str(glove)).digests["vectors/glove.txt"]
        glove.unlink()
        again = regard.load(tmp_path / "run")
        texts = ["a good film", "GOOD", "bad bad film x"]
        assert again.classify(texts) == model.classify(texts)
        with pytest.warns(OutOfDistribution, match="2 of its 2 words have no vector"):
            again.classify(["y x"])
        card = (tmp_path / "run" / "model" / "README.md").read_text(encoding="utf-8")
        assert "trained on the static vectors of glove.txt by regard" in card
        assert "licence: none stated" in card
        assert f"| glove.txt | `{digest}` |" in card

    def test_terms_that_forbid_commercial_use_stand_first(self, tmp_path):
        tokenizers = pytest.importorskip("tokenizers")
        split = tokenizers.Tokenizer(tokenizers.models.WordLevel({"good": 0, "bad": 1, "?": 2}, unk_token="?"))
        split.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
        folder = tmp_path / "base"
        folder.mkdir()
        tensors = {
            "embeddings": torch.tensor([[1, 0], [0, 1]], dtype=torch.int8),
            "mapping": torch.tensor([0, 1, 1]),
            "weights": torch.tensor([1.0, 0.5, 0.5]),
        }
        safetensors.torch.save_file(tensors, folder / "model.safetensors")
        split.save(str(folder / "tokenizer.json"))
        (folder / "README.md").write_text("---\nlicense: cc-by-nc-4.0\n---\n", encoding="utf-8")
        data = reviews(40)
        model = regard.train(
            data, data, recipe=default_recipe(data, vectors=folder), out=tmp_path / "run", progress="none"
        )
        shutil.rmtree(folder)
        card = (tmp_path / "run" / "model" / "README.md").read_text(encoding="utf-8")
        assert card.startswith(
            "**Not for commercial use: the terms of the static vectors that this model is made of are "
        )
        assert regard.load(tmp_path / "run").classify(["good"]) == model.classify(["good"])

    def test_a_run_goes_on_with_the_same_vectors_alone(self, glove, tmp_path):
        data = reviews(40)
        recipe = default_recipe(data, vectors=glove)
        regard.train(data, data, recipe=recipe, out=tmp_path / "run", progress="none")
        regard.train(data, data, recipe=recipe, out=tmp_path / "run", resume=True, progress="none")
        glove.write_text(glove.read_text(encoding="utf-8") + "more 1 1 1\n", encoding="utf-8")
        with pytest.raises(ArgumentError, match=r"the file 'glove\.txt' of the vectors is not the one it began with"):
            regard.train(data, data, recipe=recipe, out=tmp_path / "run", resume=True, progress="none")

    @pytest.mark.parametrize(
        ("key", "value"), [("rows", 4), ("width", 0), ("mapped", 1), ("origin", 3), ("splitter", {"kind": "x"})]
    )
    def test_an_edited_encoder_is_refused(self, glove, key, value):
        source = StaticVectors(str(glove))
        saved = source.fit(["a good film"]).to_json()
        with pytest.raises(ArgumentError):
            source.encoder({**saved, key: value})


class TestCommand:
    def test_it_says_how_few_examples_there_are(self, glove, tmp_path, capsys):
        data = tmp_path / "reviews.csv"
        rows = [f"{text},{label}" for text, label in reviews(80)]
        data.write_text("\n".join(["text,label", *dict.fromkeys(rows)]) + "\n", encoding="utf-8")
        out = tmp_path / "run"
        start = ["train", "classifier", "--data", str(data), "--vectors", str(glove), "--out", str(out)]
        assert main(start) == 0
        said = capsys.readouterr().err
        assert "input: static, as --vectors says" in said
        assert "examples a class: a head on frozen vectors is fitted, and nothing trained" in said
        assert main(["see", str(out), "a good film"]) == 0
        assert "good" in capsys.readouterr().out
        recipe = json.loads((out / "run.json").read_text(encoding="utf-8"))["recipe"]
        assert (recipe["head"], recipe["input"]["path"]) == ("fitted", str(glove))

    def test_words_are_tagged(self, glove, tmp_path, capsys):
        data = tmp_path / "tags.txt"
        lines = [" ".join(f"{word}/{word.upper()}" for word in text.split()) for text, _ in reviews(60)]
        data.write_text("\n".join([*lines, *lines]) + "\n", encoding="utf-8")
        out = str(tmp_path / "run")
        assert main(["train", "tagger", "--data", str(data), "--vectors", str(glove), "--out", out]) == 0
        assert "regard tag --model" in capsys.readouterr().out
        assert main(["tag", "--model", out, "a bad film"]) == 0
        assert "BAD" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("more", "said"),
        [
            (
                ["--vectors", "glov"],
                "`--vectors` must be a text file of GloVe or word2vec or a folder of model2vec, but",
            ),
            (["--input", "static"], "but none is given. Give one by --vectors"),
            (["--vectors", "GLOVE", "--input", "words"], "must be 'static' for vectors, but is 'words'"),
            (["--vectors", "GLOVE", "--recipe", "RECIPE"], "`--vectors` must be left out, as the recipe reads words"),
        ],
    )
    def test_mistakes_are_told_in_a_sentence(self, glove, tmp_path, capsys, more, said):
        data, recipe = tmp_path / "reviews.csv", tmp_path / "recipe.json"
        data.write_text(
            "\n".join(["text,label", *(f"{text},{label}" for text, label in reviews(80))]), encoding="utf-8"
        )
        recipe.write_text(json.dumps({"task": "classifier"}), encoding="utf-8")
        more = [{"GLOVE": str(glove), "RECIPE": str(recipe)}.get(each, each) for each in more]
        assert main(["train", "classifier", "--data", str(data), "--out", str(tmp_path / "run"), *more]) != 0
        assert said in capsys.readouterr().err


def test_the_mean_is_that_of_model2vec(tmp_path):
    """The library itself, where it is installed, is the judge of a folder in its format."""
    model2vec = pytest.importorskip("model2vec", reason="the library model2vec is not installed")
    tokenizers = pytest.importorskip("tokenizers")
    words = ["[PAD]", "[UNK]", "a", "good", "bad", "film", "##s", "n", "'", "t", "is", "."]
    split = tokenizers.Tokenizer(tokenizers.models.WordPiece({w: n for n, w in enumerate(words)}, unk_token="[UNK]"))
    split.normalizer = tokenizers.normalizers.Lowercase()
    split.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    folder, draw = tmp_path / "base", torch.Generator().manual_seed(0)
    folder.mkdir()
    tensors = {
        "embeddings": torch.randn(5, 7, generator=draw),
        "weights": torch.rand(len(words), generator=draw) + 0.5,
        "mapping": torch.randint(5, (len(words),), generator=draw),
    }
    safetensors.torch.save_file(tensors, folder / "model.safetensors")
    split.save(str(folder / "tokenizer.json"))
    arrays = {name: tensors[key].numpy() for name, key in (("weights", "weights"), ("token_mapping", "mapping"))}
    static = model2vec.StaticModel(tensors["embeddings"].numpy(), split, normalize=True, **arrays)
    texts = ["A good film isn't bad.", "films, films: unknown!", "bad"]
    changes = {"task": {"kind": "classifier", "pooling": "normalised_mean"}, "width": 7}
    data = [(text, "yn"[number % 2]) for number, text in enumerate([*texts, *texts])]
    recipe = recipe_of(folder, **changes)
    member = ClassifierData(recipe, data, data, {}).objective().network
    encoder = recipe.input.fit([text for text, _ in data])
    batch = recipe.input.batch(encoder, [recipe.input.item(encoder, text) for text in texts])
    found = member.eval().features(batch).detach().numpy() / 7**0.5
    assert found == pytest.approx(static.encode(texts), abs=1e-5)
    assert dataclasses.replace(recipe.input).digests.keys() == {"vectors/model.safetensors", "vectors/tokenizer.json"}


@pytest.mark.parametrize("task", ["classifier", "tagger"])
@pytest.mark.parametrize("head", ["fitted", "trained"])
@pytest.mark.slow
def test_a_model_with_static_vectors_is_exported(tmp_path, task, head):
    onnxruntime = pytest.importorskip("onnxruntime", reason="comes with the extra onnx")
    pytest.importorskip("onnxscript", reason="comes with the extra onnx")
    from regard.tasks import export_onnx, inputs_of

    path = tmp_path / "vectors.txt"
    path.write_text("good 2 1\nbad -2 1\nfilm 0 -1\na 0.1 -1\n", encoding="utf-8")
    sources = [["a", "good", "film"], ["a", "bad", "film"]] * 4
    targets = [["D", "A", "N"]] * 8 if task == "tagger" else ["good", "bad"] * 4
    recipe = dataclasses.replace(
        default_recipe(list(zip(sources, targets, strict=True)), vectors=path), head=head, epochs=1
    )
    pairs = list(zip(sources, targets, strict=True))
    model = regard.train(pairs, pairs, recipe=recipe, progress="none")
    export_onnx(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    given = {each.name for each in session.get_inputs()}
    inputs = {name: array for name, array in inputs_of(model, sources).items() if name in given}
    (found,) = session.run(None, inputs)
    (wanted,) = [value.value for value in model.predict(sources[:1])]
    best = float(found[0].max(-1)[0] if task == "tagger" else found[0].max())
    assert best == pytest.approx(wanted[0][2] if task == "tagger" else wanted[1], abs=1e-5)
