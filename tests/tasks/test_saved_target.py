"""What model.json holds, and what is refused of it."""

import json
import math

import pytest

from regard.errors import ModelError
from regard.inputs import Bytes, SpeechFrames, Standardise
from regard.tasks.saving.loading import bundled, load
from regard.tasks.seq2seq.target import TextTarget
from regard.tasks.synthesis.target import SpeechTarget
from regard.tasks.targets import Label, MultiLabel, Regression

TARGETS = [
    Label(("a", "b")),
    MultiLabel(("a", "b")),
    Regression(1.0, 2.0),
    TextTarget(Bytes(), 2.5),
    SpeechTarget(SpeechFrames(filters=1), Standardise((0.0,), (1.0,)), together=2, rate=0.5),
]


def among(written, saved):
    """Of what is written, what was saved, in the order of the writing: later versions have more fields."""
    if not isinstance(saved, dict):
        return written
    return {name: among(value, saved[name]) for name, value in written.items() if name in saved}


@pytest.mark.parametrize("name", bundled())
def test_a_bundled_model_would_be_saved_as_it_was(name):
    saved, model = json.loads((bundled()[name] / "model.json").read_bytes()), load(name)
    for key, part in [("recipe", model.recipe), ("answer", model.target), ("reader", model.encoder)]:
        assert json.dumps(among(part.to_json(), saved[key])) == json.dumps(saved[key])


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.kind)
def test_a_broken_target_is_a_model_error(target):
    saved = target.to_json()
    assert next(iter(saved)) == "kind"
    assert type(target).from_json(json.loads(json.dumps(saved))).to_json() == saved
    broken = [None, [], {}, {**saved, "more": 1}, {**saved, "kind": ["label"]}, {**saved, "kind": "other"}]
    broken += [{**saved, name: {"more": 1}} for name in saved]
    broken += [{**saved, name: math.nan} for name in saved]
    for each in broken:
        with pytest.raises(ModelError, match="`answer` must"):
            type(target).from_json(each)
