"""Objects that are saved as JSON objects of their fields."""

import json
from dataclasses import dataclass
from typing import ClassVar

import pytest

from regard.errors import ArgumentError, UnknownNameError
from regard.inputs.saved import Saved


@dataclass(frozen=True)
class Crop(Saved):
    json_name: ClassVar[str] = "crop"

    size: tuple[int, int] | None
    note: str = ""


@dataclass(frozen=True)
class Picture(Saved):
    json_name: ClassVar[str] = "picture"
    json_defaults: ClassVar[bool] = True

    crop: Crop
    other: Crop | None = None
    names: tuple[str, ...] = ()


@pytest.mark.parametrize(
    ("picture", "text"),
    [
        (
            Picture(Crop((5, 10), "a"), Crop(None), ("b", "c")),
            '{"crop": {"size": [5, 10], "note": "a"}, "other": {"size": null, "note": ""}, "names": ["b", "c"]}',
        ),
        (Picture(Crop(None)), '{"crop": {"size": null, "note": ""}, "other": null, "names": []}'),
    ],
)
def test_objects_go_through_json_in_the_order_of_their_fields(picture, text):
    assert json.dumps(picture.to_json()) == text
    assert Picture.from_json(json.loads(text)) == picture


def test_keys_may_be_missing_only_where_the_class_says_so():
    assert Picture.from_json({"crop": {"size": None, "note": ""}}) == Picture(Crop(None))
    for saved, message in [
        ({}, "`picture` must have crop, other, names, but has no crop. Save it again"),
        ({"crop": {"size": None}}, "`crop` must have size, note, but has no note"),
        ({"crop": None}, "`crop` must be what `to_json` gave, but is None"),
        ({"crop": [5, 10]}, "`crop` must be what `to_json` gave, but is \\[5, 10\\]"),
        ({"crop": {"size": None, "note": ""}, "other": []}, "`crop` must be what `to_json` gave"),
        (None, "`picture` must be what `to_json` gave, but is None"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            Picture.from_json(saved)
    with pytest.raises(UnknownNameError, match=r"`picture` must be one of crop, other, names, .* mean 'crop'"):
        Picture.from_json({"crp": {}})


def test_lists_are_checked_and_other_values_left_to_the_class():
    assert Crop.from_json({"size": (1, 2), "note": [1]}) == Crop((1, 2), [1])  # pyright: ignore[reportArgumentType]
    for size in ("x", 3, {}, [1, "a"]):
        with pytest.raises(ArgumentError, match=r"`size` must be a list of int, but is .* Save it again"):
            Crop.from_json({"size": size, "note": ""})
