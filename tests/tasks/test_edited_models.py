"""A model's folder is data, not trust: numbers that were edited are one sentence, and little memory."""

import json
import random
import resource
import shutil
from contextlib import suppress

import pytest
from jaxtyping import TypeCheckError

from regard import load
from regard.errors import ModelError, RegardError
from regard.tasks.saving.loading import bundled
from sampling import examples

HUGE = (10**9, 10**12, 2**31, 10**6, 10**4, 1e300, 0.5, 3, 0, -1)
MEGABYTES = 200


def numbers(values, path=()):
    """Where numbers stand in what JSON holds; of a long list only at its beginning."""
    if isinstance(values, dict | list):
        for key, value in values.items() if isinstance(values, dict) else enumerate(values[:50]):
            yield from numbers(value, (*path, key))
    elif isinstance(values, int | float) and not isinstance(values, bool):
        yield path


def edit(folder, draw):
    """One number of the description, or a byte or three of the header of the weights."""
    path = folder / "model.json"
    description = json.loads(path.read_text(encoding="utf-8"))
    if draw.random() < 0.7:
        parts = {key: description[key] for key in ("recipe", "answer", "reader", "parameters")}
        *above, last = draw.choice([*numbers(parts["recipe"], ("recipe",))] * 2 + [*numbers(parts)])
        place = description
        for key in above:
            place = place[key]
        place[last] = draw.choice(HUGE)
    else:
        content = bytearray((folder / "model.safetensors").read_bytes())
        for _ in range(draw.choice((1, 1, 3))):
            content[draw.randrange(8 + int.from_bytes(content[:8], "little") % 10_000)] = draw.choice((57, 48, 255, 34))
        (folder / "model.safetensors").write_bytes(content)
        if draw.random() < 0.7:
            del description["sha256"]
    path.write_text(json.dumps(description), encoding="utf-8")


@pytest.mark.parametrize("seed", range(10))
def test_what_was_edited_is_one_sentence_and_little_memory(seed, tmp_path):
    draw = random.Random(seed)
    for _ in range(examples(50)):
        name = draw.choice([*bundled()])
        shutil.rmtree(tmp_path / name, ignore_errors=True)
        shutil.copytree(bundled()[name], tmp_path / name)
        edit(tmp_path / name, draw)
        before, said = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, ""
        # The suite's own check of types, which users don't run, comes before the code's.
        with suppress(TypeCheckError):
            try:
                load(tmp_path / name, edited=True)
            except RegardError as error:
                said = str(error)
        assert len(said.splitlines()) <= 1
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEGABYTES * 1024


OTHERS = (None, True, 0, 1, -1, 2.5, 1e300, 10**30, "", "x", "\ud800", [], {}, [1], ["a"], {"a": 1}, [[]])


def places(values, path=()):
    """Where anything stands in what JSON holds; of a list only at its beginning."""
    if path:
        yield path
    for key in values if isinstance(values, dict) else range(min(len(values), 3)) if isinstance(values, list) else ():
        yield from places(values[key], (*path, key))


def test_whatever_is_edited_is_told_and_if_it_is_trusted_there_is_an_answer_or_a_sentence(tmp_path):
    draw, changed = random.Random(1), 0
    shutil.copytree(bundled()["solubility"], tmp_path / "model")
    path = tmp_path / "model" / "model.json"
    saved = path.read_text(encoding="utf-8")
    for _ in range(examples(150)):
        description = json.loads(saved)
        *above, last = draw.choice([*places(description)])
        place = description
        for key in above:
            place = place[key]
        place[last] = draw.choice(OTHERS)
        path.write_text(json.dumps(description), encoding="utf-8")
        if json.dumps(description) == json.dumps(json.loads(saved)):
            continue
        changed += 1
        with pytest.raises(ModelError) as caught:
            load(tmp_path / "model")
        assert len(str(caught.value).splitlines()) == 1
        with suppress(TypeCheckError, ModelError):
            load(tmp_path / "model", edited=True)
    assert changed


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("layers", 1000, "its recipe describes a larger network than model.safetensors holds"),
        ("width", 2 * 10**9, "its recipe describes a larger network than model.safetensors holds"),
        ("hidden", 10**9, "its recipe describes a larger network than model.safetensors holds"),
        ("layers", 3, "has no tensor"),
    ],
)
def test_a_recipe_of_a_larger_net_is_refused(tmp_path, field, value, said):
    shutil.copytree(bundled()["english-pos"], tmp_path / "model")
    path = tmp_path / "model" / "model.json"
    description = json.loads(path.read_text(encoding="utf-8"))
    description["recipe"][field] = value
    path.write_text(json.dumps(description), encoding="utf-8")
    with pytest.raises(ModelError, match=said):
        load(tmp_path / "model", edited=True)
