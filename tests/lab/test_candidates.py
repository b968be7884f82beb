"""Candidates of a grid: each once, named by what it changes, and nothing that can't be compared."""

import dataclasses

import pytest

from regard.errors import ArgumentError
from regard.lab.candidates import MOST, changed, check_vary, describe_replaced, field_of, grid, parse_vary
from regard.tasks import Recipe

CLASSIFIER = Recipe(task="classifier")


def test_options_are_read():
    found = parse_vary(["score=dot, additive", "layers=1,2", "residual=true,false", "minutes=null,1.5", "weights=1x"])
    assert found == {
        "score": ["dot", "additive"],
        "layers": [1, 2],
        "residual": [True, False],
        "minutes": [None, 1.5],
        "weights": ["1x"],
    }
    assert [type(each) for each in found["residual"]] == [bool, bool]


@pytest.mark.parametrize("text", ["score", "score=", "=dot", "score=dot,", "score=dot,,additive", ""])
def test_malformed_options(text):
    with pytest.raises(ArgumentError, match=r"`--vary` must be FIELD=VALUE,VALUE.*but is "):
        parse_vary([text])


def test_what_is_given_twice():
    with pytest.raises(ArgumentError, match="names score twice"):
        parse_vary(["score=dot", "score=additive"])
    with pytest.raises(ArgumentError, match="each value once"):
        parse_vary(["layers=1,2,1"])
    # The text 1 and the number 1 are typed alike, so only JSON's own forms differ.
    assert parse_vary(["layers=1,1.0"]) == {"layers": [1, 1.0]}


def test_the_grid_is_the_product_and_the_default_is_first():
    found = grid(Recipe(), {"score": ["scaled_dot", "dot"], "layers": [1, 2, 3], "input.word_width": [16]})
    default = {"layers": 2, "score": "scaled_dot", "input.word_width": field_of(Recipe(), "input.word_width")}
    assert next(iter(found.items())) == ("default", {})
    # 2 * 3 * 1 combinations; no one of them is the default, whose word_width is another.
    assert len(found) == 7
    for name, own in found.items():
        assert all(value != default[field] for field, value in own.items())
        assert name in ("default", ", ".join(f"{field}={value}" for field, value in own.items()))
        recipe = changed(Recipe(), own)
        assert (recipe.score, recipe.layers) == (own.get("score", "scaled_dot"), own.get("layers", 2))


def test_rnns_arent_repeated_for_parts_of_attention():
    vary = {
        "network": ["attention", "bidirectional", "connected"],
        "score": ["scaled_dot", "dot", "additive"],
        "position": ["relative", "rotary"],
        "mask": ["none", "causal"],
        "cell": ["gru", "lstm"],
    }
    found = list(grid(Recipe(), vary))
    # 3 * 2 * 2 of attention, which has no cell; two RNNs, one for each cell; one without either.
    assert len(found) == 12 + 2 + 1
    assert {each for each in found if "network" in each} == {
        "network=bidirectional",
        "network=bidirectional, cell=lstm",
        "network=connected",
    }
    assert not any("cell" in each for each in found if "network" not in each)


def test_the_window_of_attention_counts_with_its_mask_alone():
    found = list(grid(Recipe(), {"mask": ["none", "window"], "attention_window": [2, 8]}))
    assert found == ["default", "mask=window, attention_window=2", "mask=window"]


def test_architectures_arent_repeated_for_what_they_do_not_read():
    recipe = Recipe(task="seq2seq")
    vary = {"task.architecture": ["transformer", "attentive", "recurrent"], "score": ["scaled_dot", "additive"]}
    found = list(grid(recipe, {**vary, "cell": ["gru", "lstm"], "position": ["relative", "rotary"]}))
    of = {name: [each for each in found if f"architecture={name}" in each] for name in ("attentive", "recurrent")}
    assert {name: len(each) for name, each in of.items()} == {"attentive": 2, "recurrent": 1}
    # 2 * 2 of the transformer; RNNs of seq2seq have no position, and are GRUs.
    assert len(found) == 4 + 3


WINDOW = Recipe(mask="window", attention_window=3, projections="shared_query_key", residual=False)


def test_what_a_network_cannot_have_is_neutral():
    """A recipe with a mask can be compared with networks without attention, which a recipe itself refuses."""
    vary = {"network": ["attention", "bidirectional", "connected", "graph_attention", "convolution_attention"]}
    found = grid(WINDOW, vary)
    assert list(found) == ["default", *(f"network={each}" for each in vary["network"][1:])]
    recipes = {own.get("network", "attention"): changed(WINDOW, own) for own in found.values()}
    assert recipes["attention"] == WINDOW
    assert {name: (each.mask, each.projections, each.residual) for name, each in recipes.items()} == {
        "attention": ("window", "shared_query_key", False),
        "bidirectional": ("none", "usual", True),
        "connected": ("none", "usual", True),
        "graph_attention": ("window", "shared_query_key", True),
        "convolution_attention": ("window", "shared_query_key", True),
    }
    # Nothing else changes.
    for name, each in recipes.items():
        own = dataclasses.replace(
            WINDOW, network=name, mask=each.mask, projections=each.projections, residual=each.residual
        )
        assert own == each
    said = describe_replaced(WINDOW, found.values())
    assert said == [
        "With network=bidirectional, projections is usual instead of shared_query_key, mask is none instead of window "
        "and residual is true instead of false, because bidirectional has no attention and always has residual "
        "connections.",
        said[0].replace("bidirectional", "connected"),
        "With network=graph_attention, residual is true instead of false, because graph_attention has no residual "
        "connections to leave out.",
        "With network=convolution_attention, residual is true instead of false, because convolution_attention always "
        "has residual connections.",
    ]
    assert describe_replaced(Recipe(), grid(Recipe(), vary).values()) == []


def test_points_that_differ_in_what_a_network_cannot_have_are_one_candidate():
    recipe = Recipe(mask="window")
    vary = {"network": ["attention", "bidirectional"], "mask": ["none", "window"], "residual": [True, False]}
    found = list(grid(recipe, vary))
    assert found == ["default", "mask=none", "mask=none, residual=false", "residual=false", "network=bidirectional"]
    assert len(describe_replaced(recipe, grid(recipe, vary).values())) == 1
    found = list(grid(Recipe(), {"network": ["convolution_attention"], "residual": [True, False], "layers": [2, 3]}))
    assert found == ["default", "network=convolution_attention", "network=convolution_attention, layers=3"]


def test_what_an_architecture_cannot_have_is_neutral():
    recipe = Recipe(task={"kind": "seq2seq", "guide": 0.25, "monotonic": 1.0}, mask="causal")
    vary = {"task.architecture": ["recurrent", "attentive"], "task.guide": [0.25, None], "mask": ["none", "causal"]}
    found = grid(recipe, vary)
    assert list(found) == [
        "default",
        "task.architecture=recurrent",
        "task.architecture=attentive",
        "task.architecture=attentive, task.guide=null",
    ]
    recurrent, attentive = (changed(recipe, own) for own in list(found.values())[1:3])
    assert (recurrent.task.guide, recurrent.task.monotonic, recurrent.mask) == (None, 0, "none")
    assert (attentive.task.guide, attentive.task.monotonic, attentive.mask) == (0.25, 1.0, "none")
    assert [each.partition(",")[0] for each in describe_replaced(recipe, found.values())] == [
        "With task.architecture=recurrent",
        "With task.architecture=attentive",
    ]
    with pytest.raises(ArgumentError, match="architecture must be one of transformer, attentive, recurrent, but is"):
        grid(recipe, {"task.architecture": ["attention"]})


@pytest.mark.parametrize(
    ("vary", "said"),
    [
        ({"scroe": ["dot"]}, "`vary` must name fields of the recipe, but 'scroe' is none. Did you mean score?"),
        ({"task.poolin": ["mean"]}, "but 'task.poolin' is none. Did you mean task.pooling?"),
        ({"pooling": ["mean"]}, "but 'pooling' is none. Did you mean task.pooling?"),
        ({"qqq.zzz": [1]}, "but 'qqq.zzz' is none. It has "),
        ({"score": ["doot"]}, "`vary` can't give score=doot: score must be one of dot, "),
        ({"score": ["doot"]}, "but is 'doot'. Did you mean 'dot'?"),
        ({"heads": [7]}, "`vary` can't give heads=7: width must be a multiple of heads, which is 7, but is 128."),
        ({"layers": [1.5]}, "`vary` can't give layers=1.5: layers must be a whole number, but is 1.5."),
        ({"layers": [True]}, "layers must be a whole number, but is True."),
        ({"layers": []}, "`vary` must name values of layers, but names none."),
        ({"epochs": [1, 2]}, "`vary` must not name epochs, which each round sets"),
        ({"seed": [1, 2]}, "`vary` must not name seed, "),
        ({"task": ["tagger"]}, "`vary` must not name task, "),
        ({"task.kind": ["tagger"]}, "`vary` must not name task.kind, "),
        ({"network": ["bidirectional"], "projections": ["bogus"]}, None),
    ],
)
def test_what_is_no_grid(vary, said):
    if said is None:
        # What a network doesn't read isn't looked at.
        assert list(grid(CLASSIFIER, vary)) == ["default", "network=bidirectional"]
        return
    with pytest.raises(ArgumentError) as caught:
        grid(CLASSIFIER, vary)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("vary", "said"),
    [
        ({"scroe": ["dot"]}, "`vary` must name fields of the recipe, but 'scroe' is none. Did you mean score?"),
        ({"task.poolin": ["mean"]}, "but 'task.poolin' is none. Did you mean task.pooling?"),
        ({"input.word_widht": [8]}, "but 'input.word_widht' is none. Did you mean input.word_width?"),
        ({"score": ["dot", "doot"]}, "`vary` can't give score=doot: score must be one of dot, "),
        ({"task.pooling": ["mean", "men"]}, "`vary` can't give task.pooling=men: pooling must be one of "),
        ({"layers": [1.5]}, "`vary` can't give layers=1.5: layers must be a whole number, but is 1.5."),
        ({"layers": []}, "`vary` must name values of layers, but names none."),
        ({"epochs": [1, 2]}, "`vary` must not name epochs, which each round sets"),
        # Of a network that doesn't read it, too.
        ({"network": ["bidirectional"], "projections": ["bogus"]}, "`vary` can't give projections=bogus: "),
        ({"layers": list(range(1, MOST + 2))}, "up to 1,000 candidates, but gives 1,001."),
    ],
)
def test_a_grid_is_checked_without_a_recipe(vary, said):
    with pytest.raises(ArgumentError) as caught:
        check_vary(vary)
    assert said in str(caught.value)


def test_what_some_recipe_can_have_passes_without_a_recipe():
    check_vary({"task.pooling": ["mean", "max"], "task.architecture": ["recurrent"], "input.word_width": [4]})
    # With 14 heads, which the usual width isn't a multiple of.
    check_vary({"heads": [7], "width": [14]})
    with pytest.raises(ArgumentError, match=r"'task\.architecture' is none"):
        check_vary({"task.architecture": ["recurrent"]}, "classifier")
    check_vary({"task.architecture": ["recurrent"]}, "seq2seq")


def test_too_many_candidates():
    with pytest.raises(ArgumentError, match=r"up to 1,000 candidates, but gives 1,001\."):
        grid(Recipe(), {"layers": list(range(1, MOST + 2))})
    assert len(grid(Recipe(), {"layers": list(range(1, MOST + 1))})) == MOST
