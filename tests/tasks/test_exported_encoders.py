"""The Python file beside an exported model gives the inputs that regard gives, and needs nothing of regard."""

import ast
import json
import sys

import numpy as np
import pytest
import torch
from exported_cases import untrained

from regard import load
from regard.inputs import Sound
from regard.tasks import inputs_of
from regard.tasks.exporting.encoder_file import encoder_source
from regard.tasks.sources import Pictures, Speech, Texts, Vectors, Words

pytestmark = pytest.mark.filterwarnings("ignore::regard.errors.UnreliablePrediction")

TEXTS = [
    "I can't believe it: McDonald's costs $3.14!!",
    "a",
    "房间很干净，服务也好。ＡＢＣ 123",
    "x" * 90 + " U.S. café naïve “quoted” — e-mail: a.b@c.org \U0001f600 \udcff",
    "don't DON'T Don’t 2024-01-02 well-known -",
]
RANDOM = np.random.default_rng(5)
SERIES = [RANDOM.normal(3, 2, (length, 3)) for length in (1, 7, 12, 40)]
# The thresholds of convolutions are outputs for series of training, where rounding decides which is larger.
OTHER_SERIES = [RANDOM.normal(3, 2, (length, 3)) for length in (9, 30)]
# Noise: the log power of a pure tone is the rounding error in most bands.
SOUNDS = [RANDOM.uniform(-0.5, 0.5, count) for count in (1, 79, 80, 81, 1234, 8000)]
WORDS = {"minimum_count": 1, "affix_ids": 97, "ngram_ids": 89, "shape_ids": 31}

SOURCES = {
    "words": (Words(features=WORDS), TEXTS),
    "words of characters": (Words(features=WORDS, cut="characters"), TEXTS),
    "words at blanks": (Words(features={**WORDS, "case": "both", "fold": "ascii"}, cut="blanks"), TEXTS),
    "exact words": (Words(features={**WORDS, "case": "exact", "longest_ngram": 0, "length_buckets": 5}), TEXTS),
    "Chinese words": (
        Words(features={**WORDS, "fold": "width", "first_characters": 2, "last_characters": 2, "flags": False}),
        TEXTS,
    ),
    "words and n-grams": (Words(features=WORDS, linear=True, linear_rows=211), TEXTS),
    "words and characters": (
        Words(features=WORDS, linear=True, linear_ngrams="characters", linear_rows=211),
        TEXTS,
    ),
    "words and affixes": (Words(features=WORDS, linear=True, linear_ngrams="affixes", linear_rows=211), TEXTS),
    "characters": (Texts("characters", size=40), TEXTS),
    "pieces that are words": (Texts("words", size=40), TEXTS),
    "bytes": (Texts("bytes"), TEXTS),
    "subwords": (Texts("subwords", size=300), TEXTS),
    "pictures": (Pictures(patch=2), [RANDOM.random((4, 4)), RANDOM.random((3, 7)), RANDOM.random((1, 1))]),
    "pictures of one size": (
        Pictures(patch=4, height=6, width=9, channels="rgb", normalise=True, waves=0),
        [RANDOM.random((6, 9, 3)), RANDOM.integers(256, size=(6, 9, 3), dtype=np.uint8), np.zeros((6, 9, 3))],
    ),
    "series": (Vectors(), SERIES),
    "joined series": (Vectors(together=5, linear=True), SERIES),
    "convolved series": (Vectors(together=4, convolutions=200, linear=True), SERIES),
    "filter banks": (Speech(together=3), SOUNDS),
    "standardised filter banks": (
        Speech(normalise=False, standardise=True, top_db=50, linear=True, rate=16000, filters=64),
        SOUNDS,
    ),
    "samples": (Speech(features="samples"), SOUNDS),
}


def as_regard_reads(settings, sources):
    """Sources as regard takes them: a sound is its samples with their rate."""
    return (
        [Sound(torch.tensor(each)[None], settings.rate) for each in sources] if settings.kind == "speech" else sources
    )


def encoded(model, sources):
    """What the file beside the model makes of the sources, given what JSON keeps of the encoder."""
    source = model.recipe.input
    scope = {}
    exec(compile(encoder_source(source.encoder_file(model.encoder)), "model.py", "exec"), scope)
    description = json.loads(json.dumps({"source": source.to_json(), "encoder": model.encoder.to_json()}))
    return scope["encode"](description, sources)


@pytest.mark.parametrize("name", SOURCES)
def test_file_encodes_as_regard_does(name):
    settings, sources = SOURCES[name]
    for library in {"speech": ["librosa"], "texts": ["tokenizers"]}.get(settings.kind, []):
        pytest.importorskip(library)
    per_item = getattr(settings, "linear_ngrams", "") == "affixes"
    given = as_regard_reads(settings, sources)
    trained_on = OTHER_SERIES if settings.kind == "vectors" else given
    model = untrained(trained_on, task="tagger" if per_item else "classifier", input=settings)
    for some in (slice(None), slice(1), slice(1, 3)):
        wanted, found = inputs_of(model, given[some]), encoded(model, sources[some])
        assert wanted.keys() == found.keys()
        for tensor, array in wanted.items():
            assert (array.dtype, array.shape) == (found[tensor].dtype, found[tensor].shape), tensor
            np.testing.assert_allclose(found[tensor], array, atol=3e-4, rtol=1e-4, err_msg=tensor)


@pytest.mark.parametrize("name", ["english-pos", "english-sentiment", "chinese-pos", "chinese-sentiment"])
def test_file_encodes_for_the_bundled_models(name):
    model = load(name)
    texts = [model._itemised([text])[0] for text in TEXTS]
    for tensor, array in inputs_of(model, texts).items():
        np.testing.assert_array_equal(encoded(model, texts)[tensor], array)


@pytest.mark.parametrize("module", ["words", "pieces", "pictures", "vectors", "speech"])
def test_file_imports_only_numpy_and_the_standard_library(module):
    text = encoder_source(module)
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {each.name.split(".")[0] for each in node.names}
        if isinstance(node, ast.ImportFrom):
            names.add(str(node.module).split(".")[0])
    # The library of subwords is imported where there are subwords.
    assert names - set(sys.stdlib_module_names) - {"tokenizers"} == {"numpy"}
    assert "tokenizers" not in [line.split()[1] for line in text.splitlines() if line.startswith(("import", "from"))]
    assert ast.get_docstring(ast.parse(text)).startswith("Encodes sources for the ONNX file of the same name.")


def test_wrong_size_of_a_picture_is_told():
    settings, sources = SOURCES["pictures of one size"]
    model = untrained(sources, task="classifier", input=settings)
    with pytest.raises(ValueError, match=r"must be 6 x 9 with 3 channels, but is \(4, 4, 3\): scale it first"):
        encoded(model, [np.zeros((4, 4, 3))])
