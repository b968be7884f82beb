"""Every kind of source: read, side by side, to vectors; learned from in a toy; named for showing; refused."""

import dataclasses
import json
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import torch
from source_cases import CASES, TARGETS, case_of, ring, tone
from toys import untrained

from regard import Recipe, load, train
from regard.datasets import DATASETS
from regard.errors import ArgumentError
from regard.inputs import DESCRIPTORS, Graph, Sound, social_graph, write_sound
from regard.tasks.defaults import default_recipe, inputs_of, inputs_of_modality
from regard.tasks.sources import INPUTS, Graphs, Molecules, Pictures, Source, Speech, Texts, Vectors, Words
from regard.tasks.sources.pictures import convolutions
from regard.tasks.sources.vectors import VectorEmbedding


@pytest.fixture(params=CASES)
def case(request):
    return case_of(request.param)


def test_every_kind_has_a_case():
    # A kind that brings its network has tests of its own: of pretrained models, those of test_pretrained.
    assert set(CASES) == {name for name, kind in INPUTS.items() if not kind.brings_network}
    assert [source.kind for source in INPUTS.values()] == [*INPUTS]
    assert all(isinstance(source, INPUTS[kind]) for kind, (source, _, _) in CASES.items())


@pytest.mark.parametrize("kind", INPUTS)
def test_a_kind_suits_what_it_reads(kind):
    _, sources, _ = CASES.get(kind, CASES["texts"])
    for source in sources:
        assert kind in inputs_of([(source, "a")])
    modalities = INPUTS[kind].modalities
    assert modalities, "of which data sets?"
    for modality, rank in modalities.items():
        assert (inputs_of_modality(modality)[0] == kind) == (rank == 3)


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        ("a text", ("words", "texts", "molecules", "static", "pretrained")),
        (["a", "text"], ("words", "static", "pretrained")),
        (tone(300, 0.05), ("speech",)),
        (ring(3), ("graphs",)),
        (torch.zeros(2, 3), ("vectors", "pictures")),
        (np.zeros((2, 3, 1)), ("pictures",)),
        (Path("a.PNG"), ("pictures",)),
        (Path("a.wav"), ("speech",)),
        (Path("a.unknown"), ("speech", "pictures")),
        # What nothing reads is refused by the kinds of texts.
        (3, ("words", "texts", "molecules", "static", "pretrained")),
    ],
    ids=["text", "words", "sound", "graph", "matrix", "cube", "PNG", "WAV", "file", "number"],
)
def test_the_kind_that_suits_best_comes_first(source, kinds):
    assert inputs_of([(source, "a")]) == kinds


def test_every_data_set_is_read_by_a_kind():
    for known in DATASETS.values():
        # A treebank is of words that are split already.
        assert known.is_treebank or inputs_of_modality(known.modality), known.name


def test_an_argument_of_the_command_line_is_read():
    assert Texts().from_argument(None, "a film") == [("a film", "a film")]
    assert Words().from_argument(None, "a film") == [("a film", ["a", "film"])]
    assert Pictures().from_argument(None, "a.png") == [("a.png", "a.png")]
    for source in (Pictures(), Graphs(), Vectors()):
        with pytest.raises(ArgumentError, match=f"must be the name of a {source.argument}, but is empty"):
            source.from_argument(None, " ")


def test_what_is_read_is_as_long_as_its_names(case):
    source, sources, names = case
    encoder = source.fit(sources)
    items = [source.item(encoder, each) for each in sources]
    assert source.names(encoder, sources[0]) == names
    assert [len(item) for item in items] == [len(source.names(encoder, each)) for each in sources]
    batch = source.batch(encoder, items)
    assert batch.lengths.tolist() == [len(item) for item in items]
    assert source.embedding(encoder, 11)(batch.vectors).shape == (4, max(map(len, items)), 11)


def test_settings_and_reader_survive_json(case):
    source, sources, _ = case
    recipe = Recipe(input=source)
    assert Recipe.from_json(json.loads(json.dumps(recipe.to_json()))).input == source
    encoder = source.fit(sources)
    again = source.encoder(json.loads(json.dumps(encoder.to_json())))
    for each in sources:
        one, two = (source.batch(known, [source.item(known, each)]) for known in (encoder, again))
        assert torch.equal(one.vectors, two.vectors)


def test_a_toy_is_learned_and_saved(case, tmp_path):
    source, sources, _ = case
    pairs = list(zip(sources, TARGETS, strict=True))
    recipe = Recipe(
        task={"kind": "classifier"},
        input=source,
        width=16,
        heads=2,
        hidden=16,
        layers=1,
        dropout=0.0,
        epochs=20,
        learning_rate=0.03,
    )
    model = train(pairs, pairs, recipe=recipe, progress="none", device="cpu")
    assert [label for label, _ in model.classify(sources)] == TARGETS
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").classify(sources) == model.classify(sources)
    alone = [model.classify([each])[0] for each in sources]
    assert [label for label, _ in alone] == TARGETS
    for (_, one), (_, other) in zip(alone, model.classify(sources), strict=True):
        assert one == pytest.approx(other, abs=1e-5)


@pytest.mark.parametrize(
    ("source", "wrong", "message"),
    [
        (Words(), 3, "a source must be a text or a list of words, but is 3"),
        (Words(), ["a", 3], "a source must be a text or a list of words"),
        (Texts("bytes"), 3, "a source must be a text, but is 3"),
        (Speech(), 3, "must be the path of a recording or a Sound, but is 3"),
        (Graphs(), 3, "a source must be a Graph, but is 3"),
        (Vectors(), 3, "must be vectors"),
        (Vectors(), torch.zeros(3), r"must be vectors \(item, width\), but is a Tensor of shape \(3,\)"),
    ],
)
def test_what_is_no_source(source, wrong, message):
    right = {"words": "a", "texts": "a", "vectors": torch.ones(2, 3), "graphs": ring(3)}.get(source.kind)
    encoder = source.fit([right])
    with pytest.raises(ArgumentError, match=message):
        source.item(encoder, wrong)


def test_settings_that_do_not_go_together_are_refused_at_once():
    with pytest.raises(ArgumentError, match="`filters` must be from 1 to"):
        Speech(rate=2000, filters=128)
    with pytest.raises(ArgumentError, match="`size` must be"):
        Pictures(height=28)


def test_a_recording_is_read_from_its_file(tmp_path):
    pytest.importorskip("soundfile")
    pytest.importorskip("librosa")
    write_sound(tmp_path / "tone.wav", tone(440, 0.5))
    source = Speech(features="samples", normalise=False)
    encoder = source.fit([])
    read, made = source.item(encoder, tmp_path / "tone.wav"), source.item(encoder, tone(440, 0.5))
    # 16 bits a sample.
    torch.testing.assert_close(read, made, rtol=0, atol=2**-15)
    assert len(source.item(encoder, str(tmp_path / "tone.wav"))) == 50
    assert len(source.item(dataclasses.replace(source, together=3).fit([]), tone(440, 0.5))) == 50
    assert len(dataclasses.replace(source, together=3).item(encoder, tone(440, 0.5))) == 17


def test_an_atom_sees_only_its_bonds():
    pytest.importorskip("rdkit")
    source = Molecules()
    encoder = source.fit([])
    mask = source.batch(encoder, [source.item(encoder, "CCO"), source.item(encoder, "C.C")]).mask
    from regard.attention import weigh

    seen = weigh(torch.zeros(2, 1, 3, 4), torch.zeros(2, 1, 3, 4), mask=mask)[:, 0] > 0
    assert seen[0].tolist() == [[True, True, False], [True, True, True], [False, True, True]]
    assert seen[1].tolist() == [[True, False, False], [False, True, False], [False, False, False]]
    assert dataclasses.replace(source, edges=False).batch(encoder, [source.item(encoder, "CCO")]).mask is None


def test_what_atoms_are_to_each_other():
    pytest.importorskip("rdkit")
    source = Molecules(features="one-hot", edges=False, reach=2)
    assert Molecules().relations == 0
    assert source.relations == 2 + 6
    encoder = source.fit([])
    items = [source.item(encoder, smiles) for smiles in ("C=CCC", "CO")]
    batch = source.batch(encoder, items)
    # Single is the first kind of bond, double the second.
    assert batch.relations[0].tolist() == [[1, 4, 2, 0], [4, 1, 3, 2], [2, 3, 1, 3], [0, 2, 3, 1]]
    assert batch.relations[1].tolist() == [[1, 3, 0, 0], [3, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]


def test_a_molecule_of_too_many_pairs_is_refused():
    pytest.importorskip("rdkit")
    source = Molecules(edges=False, reach=2)
    encoder = source.fit([])
    with pytest.raises(ArgumentError, match=r"of 4,000 atoms at most, .* but has 4,001\. Cut it into parts, or train"):
        source.item(encoder, "C" * 4001)
    assert len(Molecules(edges=False).item(encoder, "C" * 4001)) == 4001


@pytest.mark.slow
@pytest.mark.parametrize("edges", [True, False])
def test_bonds_are_told_apart_by_their_kind(edges):
    pytest.importorskip("rdkit")
    # The same atoms, each with the same neighbours: only the bonds differ.
    pairs = [("CCO", 0.0), ("C=CO", 1.0), ("CC=O", 2.0), ("C=C=O", 3.0)]
    recipe = Recipe(
        task={"kind": "classifier", "pooling": "mean"},
        input={"kind": "molecules", "features": "one-hot", "edges": edges, "reach": 3},
        position="none",
        width=16,
        heads=2,
        hidden=16,
        dropout=0.0,
        attention_dropout=0.0,
        epochs=32,
        patience=32,
        learning_rate=0.03,
    )
    model = train(pairs, pairs, recipe=recipe, progress="none", device="cpu")
    sources = [source for source, _ in pairs]
    assert model.evaluate(pairs).score < 0.3
    blind = train(
        pairs,
        pairs,
        recipe=dataclasses.replace(recipe, input={"kind": "molecules", "features": "one-hot", "edges": edges}),
        progress="none",
        device="cpu",
    )
    assert blind.evaluate(pairs).score > 1.0
    # Whoever stands beside it in a batch.
    alone = [model.classify([each])[0] for each in sources]
    assert model.classify([*sources, "CCCCCCCCCCO"])[:4] == pytest.approx(alone, abs=1e-4)


def test_a_network_without_attention_has_no_use_for_relations():
    pytest.importorskip("rdkit")
    recipe = Recipe(task={"kind": "classifier"}, input={"kind": "molecules", "reach": 3}, network="connected", epochs=1)
    pairs = [("CO", 0.0), ("CC", 1.0)]
    assert train(pairs, pairs, recipe=recipe, progress="none", device="cpu").network.relations is None


def test_a_molecule_too_large_to_draw_is_not_laid_out(monkeypatch):
    pytest.importorskip("rdkit")

    def refuse(smiles):
        raise AssertionError("a layout of thousands of atoms takes minutes")

    kind = Molecules()
    encoder = kind.fit(["CO"])
    assert kind.drawn(encoder, "CO").positions.shape == (2, 2)
    assert len(kind.drawn(encoder, "C" * 300).symbols) == 300
    monkeypatch.setattr("regard.tasks.sources.graphs.molecule_drawing", refuse)
    assert kind.drawn(encoder, "C" * 301) is None


class TestJoinedVectors:
    """Vectors that are joined to items, beside which fixed convolutions stand."""

    def test_an_item_is_its_vectors_and_their_shares(self):
        kind = Vectors(together=3, convolutions=84)
        series = [torch.randn(length, 2, generator=torch.Generator().manual_seed(length)) for length in (7, 9, 1)]
        encoder = kind.fit(series)
        item = kind.item(encoder, series[0])
        standard = encoder.standard.apply(series[0])
        assert torch.equal(item[1, :6], standard[3:6].flatten())
        assert torch.equal(item[2, :6], torch.cat([standard[6], torch.zeros(4)]))
        assert torch.equal(item[:, 6:], encoder.convolutions.apply(standard))
        assert kind.names(encoder, series[0]) == ["1\N{EN DASH}3", "4\N{EN DASH}6", "7"]
        assert kind.item(encoder, torch.zeros(0, 2)).shape == (0, 90)
        # A baseline has the vectors alone.
        assert torch.equal(kind.simple_items(encoder, series[0]), item[:, :6])

    def test_a_page_draws_the_vectors_of_an_item_in_a_row(self):
        kind = Vectors(together=3)
        vectors = torch.arange(8.0).reshape(4, 2)
        drawn = kind.drawn(kind.fit([vectors]), vectors)
        assert drawn.columns == ("1: 1", "1: 2", "2: 1", "2: 2", "3: 1", "3: 2")
        assert drawn.values[0].tolist() == [0, 1, 2, 3, 4, 5]
        assert drawn.values[1, :2].tolist() == [6, 7]
        assert np.isnan(drawn.values[1, 2:]).all()
        drawn.check(2)

    def test_the_encoder_is_saved_with_its_convolutions(self):
        kind = Vectors(together=2, convolutions=84)
        encoder = kind.fit([torch.randn(9, 1)])
        saved = json.loads(json.dumps(encoder.to_json()))
        assert kind.encoder(saved) == encoder
        with pytest.raises(ArgumentError, match="`reader` must have standard, convolutions, but has no convolutions"):
            kind.encoder({"standard": saved["standard"]})

    def test_a_model_learns_patterns_wherever_they_stand_and_says_where(self, tmp_path):
        generator = torch.Generator().manual_seed(3)

        def example(label):
            vectors = 0.1 * torch.randn(40, 1, generator=generator)
            first = int(torch.randint(30, (), generator=generator))
            vectors[first : first + 6, 0] += torch.tensor([1.0, 2, 3, 3, 2, 1]) * (1 if label == "up" else -1)
            return vectors + 5 * torch.randn((), generator=generator), label

        pairs = [example(label) for label in ("up", "down") * 20]
        recipe = dataclasses.replace(
            default_recipe(pairs), width=16, heads=2, hidden=16, epochs=12, input=Vectors(together=4, convolutions=84)
        )
        model = train(pairs[:30], pairs[30:], recipe=recipe, progress="none", device="cpu")
        test = [example(label) for label in ("up", "down") * 10]
        assert model.evaluate(test).score > 0.9
        record = model.see(test[0][0])
        assert record.items[:2] == ("1\N{EN DASH}4", "5\N{EN DASH}8")
        assert len(record.items) == 10
        assert record.layers[0].weights().shape[-2:] == (10, 10)
        assert len(record.outcomes.hidden) == 10
        loaded = load(model.save(tmp_path / "model"))
        sources = [source for source, _ in test[:3]]
        assert [label for label, _ in loaded.classify(sources)] == [label for label, _ in model.classify(sources)]
        # Whoever stands beside it in a batch.
        alone = [model.classify([each])[0][1] for each in (*sources, sources[0][:7])]
        assert [share for _, share in model.classify([*sources, sources[0][:7]])] == pytest.approx(alone, abs=1e-5)


class TestVectorEmbedding:
    def test_nothing_is_left_out_outside_of_training(self):
        embedding = VectorEmbedding(4, 3, item_dropout=0.9, span=3, feature_span=4, feature_dropout=0.9).eval()
        vectors = torch.randn(2, 7, 4)
        assert torch.equal(embedding(vectors), embedding.linear(vectors))

    def test_so_many_numbers_are_left_blank_and_the_others_make_up_for_it(self):
        torch.manual_seed(0)
        embedding = VectorEmbedding(1, 1, feature_dropout=0.75)
        torch.nn.init.ones_(embedding.linear.weight)
        torch.nn.init.zeros_(embedding.linear.bias)
        left = embedding(torch.ones(50, 200, 1))
        assert left.unique().tolist() == [0, 4]
        assert left.mean().item() == pytest.approx(1, abs=0.05)

    def test_about_so_many_are_left_blank_and_neighbours_with_them(self):
        torch.manual_seed(0)
        embedding = VectorEmbedding(1, 1, item_dropout=0.3, span=5)
        torch.nn.init.ones_(embedding.linear.weight)
        torch.nn.init.zeros_(embedding.linear.bias)
        blank = embedding(torch.ones(50, 200, 1)).squeeze(-1) == 0
        assert 0.2 < blank.double().mean() < 0.3
        runs = "".join("#" if each else "." for each in blank[0].tolist()).strip("#").split(".")
        assert all(len(run) in (0, *range(5, 200)) for run in runs)


def test_a_tagger_of_anything_that_has_items():
    vectors = [torch.randn(length, 3, generator=torch.Generator().manual_seed(length)) for length in range(3, 9)]
    labels = [["up" if row[0] > 0 else None if row[1] > 1 else "down" for row in each] for each in vectors]
    pairs = list(zip(vectors, labels, strict=True))
    recipe = Recipe(input=Vectors(), width=16, heads=2, dropout=0.0, epochs=40, patience=40, learning_rate=0.01)
    tagger = train(pairs, pairs, recipe=recipe, progress="none", device="cpu")
    assert tagger.evaluate(pairs).accuracy == 1.0
    assert tagger.evaluate(pairs).examples == sum(label is not None for each in labels for label in each)
    assert [item.text for item in tagger.tag(vectors[:1])[0]] == ["1", "2", "3"]
    assert tagger.evaluate(pairs).roc_auc == 1.0
    turned = [(each, [{"up": "down", "down": "up", None: None}[label] for label in row]) for each, row in pairs]
    assert tagger.evaluate(turned).roc_auc == 0.0
    # Of one label alone, nothing can be ranked.
    assert tagger.evaluate([(each, ["up"] * len(each)) for each in vectors]).roc_auc is None
    with pytest.raises(ArgumentError, match=r"`examples\[0\]` must have a target for each of its 3 items, but has 1"):
        train([(vectors[0], ["up"])], pairs, recipe=recipe, progress="none", device="cpu")
    with pytest.raises(ArgumentError, match=r"`examples\[0\]` must have a target for each of its 3 items, but has 1"):
        tagger.evaluate([(vectors[0], ["up"])])


@pytest.mark.slow
def test_a_number_each(tmp_path):
    vectors = [torch.randn(length, 3, generator=torch.Generator().manual_seed(length)) for length in range(3, 9)]
    pairs = [(each, [10.0 + row[0].item() for row in each]) for each in vectors]
    recipe = Recipe(input=Vectors(), width=16, heads=2, dropout=0.0, epochs=60, patience=60, learning_rate=0.01)
    tagger = train(pairs, pairs, recipe=recipe, progress="none", device="cpu")
    judged = tagger.evaluate(pairs)
    assert judged.measure == "RMSE"
    assert judged.score < 0.5
    assert 0.5 < judged.r2 <= 1
    item = tagger.tag(vectors[:1])[0][0]
    assert (item.text, item.number) == ("1", pytest.approx(pairs[0][1][0], abs=1.5))
    tagger.save(tmp_path / "model")
    assert load(tmp_path / "model").tag(vectors) == tagger.tag(vectors)
    with pytest.raises(ArgumentError, match=r"must be of one kind, but are 1\.0 and 'a'"):
        train([(vectors[0], [1.0, "a", 2.0])], pairs, recipe=recipe, progress="none", device="cpu")


def test_numbers_are_judged_by_source():
    vectors = [torch.zeros(length, 3) for length in (2, 3, 5)]
    pairs = [(each, [float(place)] * len(each)) for place, each in enumerate(vectors)]
    tagger = untrained(Vectors(), vectors, [row for _, row in pairs], task={"kind": "tagger"})
    judged = tagger.evaluate([*pairs[:2], (vectors[2], [1.0, None, None, 2.0, None]), (torch.zeros(0, 3), [])])
    assert (judged.examples, judged.empty) == (7, 1)
    assert "too few sources" in judged.method
    assert "too few items" in tagger.evaluate(pairs[2:]).method
    assert "bootstrap over sources" in tagger.evaluate(pairs * 4).method


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (["a", "a"], r"target of `examples\[0\]` must be a number of float32 or None, but is 'a'"),
        ([float("nan")] * 2, "must be a number of float32 or None, but is nan"),
        ([None, None], "`examples` must hold a target that is known"),
        (1.0, r"target of `examples\[0\]` must be a list, a label or number for each item, but is 1\.0"),
        ("ab", "must be a list, a label or number for each item, but is 'ab'"),
    ],
)
def test_what_numbers_can_not_be_compared_with(targets, message):
    tagger = untrained(Vectors(), [torch.eye(3)], [[1.0, 2.0, 3.0]], task={"kind": "tagger"})
    with pytest.raises(ArgumentError, match=message):
        tagger.evaluate([(torch.zeros(2, 3), targets)])
    with pytest.raises(ArgumentError, match="must hold a target that is known"):
        tagger.evaluate([])


def test_nodes_are_told_by_shares_where_they_are_normalised():
    """Of -1, 0, 3 a quarter and three; a node of nothing stays so. The scale of training is that of shares."""
    graph = Graph(torch.tensor([[-1.0, 0.0, 3.0], [0.0, 0.0, 0.0]]), torch.tensor([[0], [1]]))
    source = Graphs(normalise=True, standardise=False)
    assert source.item(source.fit([graph]), graph).graph.vectors.tolist() == [[-0.25, 0, 0.75], [0, 0, 0]]
    assert Graphs(normalise=True).fit([graph]).standard.means == (-0.125, 0, 0.375)


PEOPLE = {"Ann": {"age": 31, "job": "cook"}, "Bob": {"age": 33, "job": "smith"}}


def test_a_graph_is_read_from_its_folder_as_in_training(tmp_path):
    graph = social_graph(PEOPLE, [("Ann", "Bob")])
    source = Graphs(standardise=False)
    encoder = source.fit([graph])
    assert source.encoder(json.loads(json.dumps(encoder.to_json()))) == encoder
    (tmp_path / "profiles.csv").write_text("name,age,job\nCleo,33,cook\nDan,,nurse\nEve,35,smith\n")
    (tmp_path / "edges.txt").write_text("Cleo Dan\n")
    for given in (tmp_path, str(tmp_path)):
        assert source.names(encoder, given) == ["Cleo", "Dan", "Eve"]
        item = source.item(encoder, given).graph
        # Ages by the mean and spread of Ann and Bob, who are no cooks by the place of "cook" alone.
        assert item.vectors.tolist() == [[1, 1, 0], [0, 0, 0], [3, 0, 1]]
        assert {*zip(*item.edges.tolist(), strict=True)} == {(0, 1), (1, 0), (0, 0), (1, 1), (2, 2)}
    assert (source.why_no_argument(encoder), Words().why_no_argument(None)) == (None, None)


def test_a_model_that_was_saved_with_more_places_reads_what_is_read_now():
    graph = social_graph(PEOPLE, [("Ann", "Bob")])
    source = Graphs(standardise=False)
    saved = source.fit([graph]).to_json()
    del saved["profiles"]["missing"]
    saved["standard"] = {"means": [0.0] * 4, "spreads": [1.0] * 4}
    encoder = source.encoder(saved)
    # A place for whether the age is missing, which it isn't.
    assert source.item(encoder, graph).graph.vectors.tolist() == [[-1, 0, 1, 0], [1, 0, 0, 1]]


def test_numbers_that_mean_something_else_are_refused():
    graph, other = (social_graph(people, []) for people in (PEOPLE, {"Ann": {"age": 1, "job": "cook"}, **PEOPLE}))
    older = social_graph({"Cleo": {"age": 50, "job": "cook"}, "Dan": {"age": 60, "job": "smith"}}, [])
    assert other.vectors.shape[1] == older.vectors.shape[1] == graph.vectors.shape[1]
    source = Graphs()
    with pytest.raises(ArgumentError, match="graphs whose vectors one ProfileEncoder made, but they had several"):
        source.fit([graph, older])
    encoder = source.fit([graph])
    with pytest.raises(ArgumentError, match=r"has those of another, .* with encoder=model\.encoder\.profiles"):
        source.item(encoder, older)
    # Vectors of the user's own making are what the user says they are.
    assert len(source.item(encoder, Graph(graph.vectors, graph.edges))) == 2
    plain = source.fit([Graph(graph.vectors, graph.edges)])
    with pytest.raises(ArgumentError, match="must be a Graph, as training had vectors instead of profiles, but is 'a'"):
        source.item(plain, "a")
    assert "have vectors instead of profiles" in source.why_no_argument(plain)
    saved = {**encoder.to_json(), "standard": {"means": [0.0], "spreads": [1.0]}}
    with pytest.raises(ArgumentError, match="`profiles` must be 1 wide, as `standard` is, but is 3"):
        source.encoder(saved)


def test_atoms_are_told_of_their_molecule_where_descriptors_are_asked_for():
    pytest.importorskip("rdkit")
    smiles = ["CCO", "CCCO", "c1ccccc1"]
    plain, more = Molecules(reach=2), Molecules(reach=2, descriptors=True)
    encoders = plain.fit(smiles), more.fit(smiles)
    widths = [
        source.item(encoder, "CO").graph.vectors.shape[1]
        for source, encoder in zip((plain, more), encoders, strict=True)
    ]
    assert widths[1] - widths[0] == len(DESCRIPTORS)
    assert more.encoder(encoders[1].to_json()) == encoders[1]
    classifier = untrained(more, smiles, ["a", "a", "b"], position="none")
    assert classifier.encode(["CO"]).vectors.shape[:2] == (1, 2)


def test_a_graph_has_an_interval():
    graph = Graph(torch.eye(7), torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]]))
    tagger = untrained(Graphs(), [graph], task={"kind": "tagger"}, position="none")
    scores = tagger.evaluate([(graph, ["a", "b", "a", None, "b", "a", "b"])])
    assert (scores.examples, scores.sources) == (6, 1)
    assert scores.interval[0] < scores.accuracy < scores.interval[1]
    assert "Wilson score interval over items" in scores.method
    with pytest.raises(ArgumentError, match=r"`examples\[0\]` must be a label or None, but is 0\.0"):
        tagger.evaluate([(graph, [0.0] * 7)])


def test_frames_are_scaled_as_those_of_training():
    """By the mean and spread of all: a loud recording stays louder than a quiet one, other than with `normalise`."""
    pytest.importorskip("librosa")
    loud, quiet = tone(300, 0.2), Sound(tone(300, 0.2).samples / 100, 8000)
    source = Speech(normalise=False, standardise=True, together=2)
    encoder = source.fit([loud, quiet])
    both = torch.cat([source.item(encoder, each) for each in (loud, quiet)]).unflatten(1, (2, 40)).flatten(0, 1)
    assert both.mean(0).abs().max() < 1e-4
    assert (both.std(0, correction=0) - 1).abs().max() < 1e-4
    assert source.item(encoder, loud).mean() > 0.5 > source.item(encoder, quiet).mean()


@pytest.mark.parametrize("saved", [3, {}, {"frames": {}}, {"frames": {}, "standard": None, "more": 1}])
def test_what_is_no_reader_of_speech(saved):
    with pytest.raises(ArgumentError, match="must be an object of frames and standard"):
        Speech().encoder(saved)


def embedded(source: Source, encoder, vectors: torch.Tensor) -> torch.Tensor:
    """What the embedding makes of vectors in training before it maps them."""
    return source.embedding(encoder, 3).train().blanked(vectors)


def test_what_pictures_are_scaled_to_is_said_and_so_is_what_takes_very_long():
    pictures = [np.zeros((3, 5)), np.zeros((300, 200, 3))]
    scaled = "Pictures (up to 300 x 200 pixels) are scaled to 64 x 48: 48 patches each."
    assert Pictures(height=64, width=48, patch=8).preparation(pictures) == scaled
    assert Pictures(height=300, width=200, patch=8).preparation(pictures) is None
    assert Pictures(patch=8).preparation(pictures) is None
    slow = Pictures(patch=4).preparation(pictures)
    assert slow is not None
    assert slow.startswith("Pictures (up to 300 x 200 pixels) are not scaled: 3,750 patches each. Training will take")
    assert Words().preparation(["a text"]) is None


def test_training_hears_a_recording_another_way_each_time():
    pytest.importorskip("librosa")
    changes = {"gain_db": 6.0, "noise_snr": 10.0, "filter_db": 6.0, "clip_db": 20.0, "vtlp": 0.2}
    for name, value in changes.items():
        source = Speech(normalise=False, together=2, **{name: value})
        encoder = source.fit([tone(300, 0.11)])
        kept = source.training_item(encoder, tone(300, 0.11))
        torch.manual_seed(1)
        heard = [source.batch(encoder, [kept]).vectors for _ in range(6)]
        torch.manual_seed(1)
        again = [source.batch(encoder, [kept]).vectors for _ in range(6)]
        assert all(map(torch.equal, heard, again)), name
        assert len(kept) == 6
        assert all(each.shape == (1, 6, 80) for each in heard)
        assert len({tuple(each.flatten().tolist()) for each in heard}) > 1, name
        # What isn't trained on is heard as it is.
        item = source.item(encoder, tone(300, 0.11))
        assert torch.equal(source.batch(encoder, [item]).vectors[0], item)


@pytest.mark.parametrize(("probability", "least", "most"), [(0.0, 40, 40), (0.5, 10, 30), (1.0, 0, 0)])
def test_so_many_recordings_stay_without_noise(probability, least, most):
    pytest.importorskip("librosa")
    source = Speech(normalise=False, noise_snr=10.0, noise_probability=probability)
    encoder = source.fit([tone(300, 0.05)])
    kept, plain = source.training_item(encoder, tone(300, 0.05)), source.item(encoder, tone(300, 0.05))
    torch.manual_seed(0)
    heard = source.batch(encoder, [kept] * 40).vectors
    assert least <= sum(torch.equal(each, plain) for each in heard) <= most


def test_speech_without_changes_is_read_once():
    pytest.importorskip("librosa")
    source = Speech(normalise=False, top_db=50)
    encoder = source.fit([tone(300, 0.05)])
    assert torch.equal(source.training_item(encoder, tone(300, 0.05)), source.item(encoder, tone(300, 0.05)))


def test_speech_is_heard_faster_or_slower():
    """A ramp stays a ramp of another steepness, from the same beginning; frames that are one vector don't matter."""
    source = Speech(filters=2, together=2, frame_dropout=0.0, band_dropout=0, stretch=0.2)
    ramp = torch.arange(1.0, 101.0).repeat(64, 1).unsqueeze(-1).expand(64, 100, 2).reshape(64, 50, 4)
    heard = embedded(source, source.fit([]), ramp).reshape(64, 100, 2)
    steps = heard.diff(dim=1)[:, :60]
    assert torch.allclose(steps, steps[:, :1].expand_as(steps), atol=1e-4)
    assert 0.8 <= steps.min() < 0.9
    assert 1.1 < steps.max() <= 1.2
    assert torch.allclose(heard[:, 0], torch.ones(64, 2))
    # What is played faster is over sooner.
    assert (heard[:, -1, 0] == 0).sum() == (steps[:, 0, 0] > 1.0102).sum()
    assert source.embedding(source.fit([]), 3).eval()(ramp).shape == (64, 50, 3)


def test_a_band_is_left_out_of_every_frame():
    source = Speech(filters=7, together=3, frame_dropout=0.0, band_dropout=7)
    frames = embedded(source, source.fit([]), torch.ones(64, 5, 21)).reshape(64, 15, 7)
    assert (frames == frames[:, :1]).all()
    assert 0 < (frames == 0).float().mean() < 1


def test_pictures_are_shifted_in_training_and_their_places_are_not():
    source = Pictures(patch=2, height=4, width=6, waves=1, shift=1)
    encoder = source.fit([])
    picture = np.zeros((4, 6))
    picture[1, 2] = 1
    item = source.item(encoder, picture)
    made = embedded(source, encoder, item.expand(200, *item.shape))
    assert torch.equal(made[:, :, 4:], item[:, 4:].expand(200, 6, 4))
    seen = set()
    for each in made:
        spots = (encoder.to_picture((each[:, :4] + 1) / 2, (2, 3))[..., 0] == 1).nonzero()
        assert len(spots) == 1
        seen.add(tuple(spots[0].tolist()))
    assert seen == {(row, column) for row in (0, 1, 2) for column in (1, 2, 3)}
    with pytest.raises(ArgumentError, match="`shift` must be 0 without `height` and `width`"):
        Pictures(shift=1)


def of_pictures(**changes):
    """A picture's patches of 4, and the module that reads them, without places."""
    kind = Pictures(height=8, width=8, waves=0, **changes)
    encoder = kind.fit([])
    picture = torch.arange(64.0).reshape(8, 8, 1) / 63
    return kind.embedding(encoder, 12), kind.item(encoder, picture)[None]


@pytest.mark.parametrize("changes", [{"zoom": 0.3}, {"turn": 30.0}, {"invert": 0.999999}, {"zoom": 0.2, "shift": 1}])
@pytest.mark.parametrize("stem", [0, 6])
def test_a_picture_is_changed_in_training_alone(changes, stem):
    module, vectors = of_pictures(stem=stem, **changes)
    torch.manual_seed(0)
    assert module(vectors).shape == (1, 4, 12)
    assert not torch.equal(module(vectors), module.eval()(vectors))
    assert torch.equal(module.eval()(vectors), module.eval()(vectors))


def test_what_is_changed_by_nothing_stays_and_what_is_inverted_is_its_negative():
    module, vectors = of_pictures(stem=6, zoom=1e-9)
    pictures = module.pictures(module.split(vectors)[0])
    assert torch.allclose(module.changed(pictures), pictures, atol=1e-5)
    module, _ = of_pictures(invert=0.999999)
    assert torch.equal(module.changed(pictures), -pictures)


def test_turning_by_a_right_angle_and_back_is_the_picture():
    module, vectors = of_pictures(stem=6, turn=90.0)
    pictures = module.pictures(module.split(vectors)[0])
    # The angle is the largest there is; nothing else changes.
    drawn = torch.tensor([1.0, 0.5, 0.5, 0.5, 0.5])[:, None]
    with mock.patch.object(torch, "rand", return_value=drawn):
        turned = module.changed(pictures)
    quarters = [pictures.rot90(count, (2, 3)) for count in (1, 3)]
    assert any(torch.allclose(turned, each, atol=1e-4) for each in quarters)


def test_patches_come_back_where_they_were():
    module, vectors = of_pictures(shift=1)
    with mock.patch.object(module, "changed", lambda pictures: pictures):
        assert torch.equal(module.blanked(vectors), vectors)


@pytest.mark.parametrize("name", ["shift", "zoom", "turn", "invert", "stem"])
def test_what_changes_pictures_needs_a_size(name):
    with pytest.raises(ArgumentError, match=f"`{name}` must be 0 without `height` and `width`"):
        Pictures(**{name: 1 if name in ("shift", "stem", "turn") else 0.5})


def test_a_picture_that_is_normalised_has_mean_0_and_variance_1():
    kind = Pictures(height=8, width=8, waves=0, normalise=True)
    encoder = kind.fit([])
    item = kind.item(encoder, torch.rand(8, 8, 1) / 3)
    assert item.mean().item() == pytest.approx(0, abs=1e-6)
    assert item.std(correction=0).item() == pytest.approx(1, abs=1e-5)
    assert not kind.item(encoder, torch.full((8, 8, 1), 0.5)).any()


@pytest.mark.parametrize("patch", [1, 2, 3, 4, 6, 8, 12])
def test_a_stem_makes_one_vector_of_each_patch(patch):
    assert convolutions(3, 7, patch)(torch.zeros(2, 3, 2 * patch, 3 * patch)).shape == (2, 7, 2, 3)


def test_what_nodes_are_to_each_other():
    path = Graph(torch.eye(3), torch.tensor([[0, 1], [1, 2]])).undirected()
    source = Graphs(standardise=False, edges=False, reach=2)
    assert (Graphs().relations, source.relations) == (0, 4)
    batch = source.batch(source.fit([path]), [source.item(source.fit([path]), path)])
    # 1 is the node itself, 2 a node two edges away, 3 a neighbour; the logarithms of 1 + their numbers are features.
    assert batch.relations[0].tolist() == [[1, 3, 2], [3, 1, 3], [2, 3, 1]]
    assert batch.vectors[0, :, 3:].exp().sub(1).round().tolist() == [[0, 1, 1, 1], [0, 1, 0, 2], [0, 1, 1, 1]]
    kinds = Graph(path.vectors, path.edges, kinds=torch.full((4,), 9))
    assert torch.equal(source.item(source.fit([path]), kinds).relations, batch.relations[0])


def test_many_graphs_keep_little_of_their_pairs():
    nodes = torch.arange(200)
    ring = Graph(torch.ones(200, 1), torch.stack([nodes, nodes.roll(-1)])).undirected()
    source = Graphs(standardise=False, edges=False, reach=3)
    item = source.item(source.fit([ring]), ring)
    assert len(item.packed) < 200 * 200 / 10
    assert torch.equal(item.relations, ring.relations(3).to(torch.uint8))
    # Without a mask, the edges aren't kept once more.
    assert item.graph.edges is ring.edges
    none = Graph(torch.ones(0, 1), torch.zeros(2, 0, dtype=torch.int64))
    assert source.item(source.fit([ring]), none).relations.shape == (0, 0)


def test_a_graph_of_too_many_pairs_is_refused():
    large = Graph(torch.ones(4001, 1), torch.zeros(2, 0, dtype=torch.int64))
    source = Graphs(edges=False, reach=2)
    with pytest.raises(ArgumentError, match=r"`source` must be a graph of 4,000 nodes at most, .* but has 4,001\."):
        source.item(source.fit([large]), large)
    assert len(Graphs().item(Graphs().fit([large]), large)) == 4001


def test_counts_of_a_graph_are_standardised_and_saved():
    source = Graphs(counts=True)
    encoder = source.fit([ring(3), ring(5)])
    assert source.encoder(json.loads(json.dumps(encoder.to_json()))) == encoder
    whole = source.batch(encoder, [source.item(encoder, ring(size)) for size in (3, 5)]).whole
    # Two graphs are one standard deviation below and above the mean, and one a hundred times larger is clipped.
    torch.testing.assert_close(whole[:, 0], torch.tensor([-1.0, 1.0]))
    assert source.item(encoder, ring(400)).whole[0] == 5
    # As earlier versions saved it.
    saved = {name: value for name, value in encoder.to_json().items() if name != "counts"}
    assert source.whole_size(source.encoder(saved)) == 0
    assert source.encoder(saved) == Graphs().fit([ring(3), ring(5)])


@pytest.mark.parametrize("kind", ["graphs", "molecules"])
def test_a_classifier_reads_features_of_the_whole(kind):
    _, sources, _ = case_of(kind)
    source = Graphs(counts=True) if kind == "graphs" else Molecules(fingerprint=32)
    model = untrained(source, sources, TARGETS, task={"kind": "classifier"}, position="none", dropout=0.0)
    network, batch = model.network, model.encode(sources)
    blind = network(batch)
    torch.testing.assert_close(blind, network.output(network.pooling(network.hidden(batch), batch.lengths)))
    network.whole.linear.weight.data.normal_()
    assert (network(batch) - blind).abs().max() > 0.01
    torch.testing.assert_close(network(batch)[1:2], network(model.encode(sources[1:2])), atol=1e-5, rtol=1e-4)
    network(batch).sum().backward()
    # The gradient reaches what the sources have, and nothing else.
    had = batch.whole.abs().sum(0) > 0
    assert torch.equal(network.whole.linear.weight.grad.abs().sum(0) > 0, had)
    note = model.see(sources[0]).outcomes.note
    assert note.startswith("Beside what it attends to, the model reads features of the whole")


@pytest.mark.parametrize("pooling", ["attention", "mean"])
def test_the_order_of_nodes_does_not_matter_to_a_classifier(pooling):
    graph, order = ring(7), torch.randperm(7, generator=torch.Generator().manual_seed(3))
    places = torch.empty_like(order)
    places[order] = torch.arange(7)
    other = Graph(graph.vectors[order], places[graph.edges])
    source = Graphs(edges=False, reach=3, counts=True)
    model = untrained(
        source, [graph, ring(3)], ["a", "b"], task={"kind": "classifier", "pooling": pooling}, position="none"
    )
    model.network.whole.linear.weight.data.normal_()
    model.network.relations.weight.data.normal_()
    torch.testing.assert_close(model.network(model.encode([graph])), model.network(model.encode([other])))


def test_features_of_the_whole_are_refused_where_nothing_reads_them():
    with pytest.raises(ArgumentError, match="must have no `counts` and no `fingerprint` for tagger"):
        untrained(Graphs(counts=True), [ring(3)], [["a", "b", "a"]], task={"kind": "tagger"})
    pytest.importorskip("rdkit")
    pairs = [("CCO", "ethanol"), ("CO", "methanol")]
    with pytest.raises(ArgumentError, match="must have no `counts` and no `fingerprint` for seq2seq"):
        train(
            pairs, pairs, recipe=Recipe(task="seq2seq", input={"kind": "molecules", "edges": False, "fingerprint": 8})
        )
