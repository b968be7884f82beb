"""Profiles: a new person is encoded as those that were learned from."""

import json
import time

import numpy as np
import pytest
import torch

from regard.errors import ArgumentError, DataError, UnknownNameError
from regard.inputs.graph.profile_encoder import ProfileEncoder
from regard.inputs.graph.profile_tables import read_profiles

PEOPLE = [
    {"sex": "f", "age": 20.0, "job": "cook", "buys": "yes"},
    {"sex": "m", "age": 40.0, "job": "smith", "buys": "no"},
    {"sex": "f", "age": None, "job": None, "buys": "no"},
]


def written(folder, text):
    path = folder / "people.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_worked_by_hand():
    encoder = ProfileEncoder.fit(PEOPLE, leave_out=["buys"])
    assert encoder.columns == ("age", "age is missing", "sex: f", "sex: m", "job: cook", "job: smith")
    assert encoder.width == 6
    assert encoder.encode(PEOPLE).tolist() == [[-1, 0, 1, 0, 1, 0], [1, 0, 0, 1, 0, 1], [0, 1, 1, 0, 0, 0]]


def test_large_numbers_keep_their_last_digit():
    # 2 ** 24 + 1 has no float32.
    encoder = ProfileEncoder.fit([{"id": 16777217}, {"id": 16777219}])
    assert encoder.standardise.means == (16777218.0,)
    assert encoder.encode([{"id": 16777219}]).tolist() == [[1]]


def test_a_new_person_is_encoded_alike():
    encoder = ProfileEncoder.fit(PEOPLE, leave_out=["buys"])
    new = [{"sex": "?", "age": 30, "job": "nurse"}, {"age": 60}, {}]
    assert encoder.encode(new).tolist() == [[0, 0, 0, 0, 0, 0], [3, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0]]
    # Alone or in company, and whoever else was there.
    assert encoder.encode(PEOPLE[1:2])[0].equal(encoder.encode(PEOPLE)[1])
    assert encoder.encode([]).shape == (0, 6)


def test_the_order_of_people_does_not_matter():
    forwards, backwards = ProfileEncoder.fit(PEOPLE), ProfileEncoder.fit(PEOPLE[::-1])
    assert forwards == backwards


def test_odd_columns():
    encoder = ProfileEncoder.fit([{"age": 5, "none": None}, {"age": 5, "yes": True}])
    assert encoder.columns == ("age", "yes", "yes is missing")
    assert encoder.encode([{"age": 7, "yes": False}]).tolist() == [[0, 0, 0]]
    assert ProfileEncoder.fit([]).width == 0


def test_a_number_has_a_place_for_being_missing_where_training_missed_one():
    encoder = ProfileEncoder.fit([{"age": 20, "height": 1}, {"age": 40, "height": None}, {"age": 30, "height": 3}])
    assert encoder.columns == ("age", "height", "height is missing")
    # What is missing only now is the mean, and nothing says so.
    assert encoder.encode([{"height": 2}, {"age": 30, "height": None}]).tolist() == [[0, 0, 0], [0, 0, 1]]
    # A bag of words is as wide as it has words.
    assert ProfileEncoder.fit([{"cat": 0, "dog": 1}, {"cat": 2, "dog": 0}]).columns == ("cat", "dog")


def test_encoders_that_were_saved_with_a_place_for_every_number_are_read():
    encoder = ProfileEncoder.fit([{"age": 20, "job": "cook"}, {"age": 40, "job": "smith"}])
    saved = encoder.to_json()
    del saved["missing"]
    old = ProfileEncoder.from_json(saved)
    assert old.columns == ("age", "age is missing", "job: cook", "job: smith")
    assert old.encode([{"age": 60, "job": "cook"}, {"job": "smith"}]).tolist() == [[3, 0, 1, 0], [0, 1, 0, 1]]
    vectors = encoder.encode([{"age": 60, "job": "cook"}])
    assert old.translated(vectors, of=encoder).tolist() == [[3, 0, 1, 0]]
    assert encoder.translated(old.encode([{"age": 60, "job": "cook"}]), of=old).equal(vectors)
    assert old.translated(vectors, of=ProfileEncoder.fit([{"age": 21, "job": "cook"}])) is None


def test_columns_are_encoded_as_profiles():
    columns = {"age": np.array([20.0, 40.0, np.nan]), "job": ["cook", "smith", None]}
    people = [{"age": 20, "job": "cook"}, {"age": 40, "job": "smith"}, {}]
    assert ProfileEncoder.fit_columns(columns) == ProfileEncoder.fit(people)
    encoder = ProfileEncoder.fit(people)
    assert encoder.encode_columns(columns, 3).equal(encoder.encode(people))
    with pytest.raises(ArgumentError, match="'age' is inf"):
        encoder.encode_columns({"age": np.array([np.inf])}, 1)
    # An array of one number has no hash.
    assert ProfileEncoder.fit([{"age": np.array(20)}, {"age": torch.tensor(40)}]).standardise.means == (30.0,)


def test_a_bag_of_thousands_of_words_takes_time_in_proportion(tmp_path):
    """Each of 3,000 columns was looked for in a list of them, for each person: minutes."""
    names = [f"word {number}" for number in range(3000)]
    rows = [
        f"p{row}," + ",".join("1" if (row + place) % 97 == 0 else "0" for place in range(3000)) for row in range(300)
    ]
    path = written(tmp_path, "name," + ",".join(names) + "\n" + "\n".join(rows) + "\n")
    begun = time.process_time()
    people = read_profiles(path)
    encoder = ProfileEncoder.fit([*people.values()])
    assert encoder.encode([*people.values()]).shape == (300, 3000)
    assert time.process_time() - begun < 5


def test_json_brings_the_same_encoder_back():
    encoder = ProfileEncoder.fit(PEOPLE, leave_out=["buys"])
    assert ProfileEncoder.from_json(json.loads(json.dumps(encoder.to_json()))) == encoder
    saved = encoder.to_json()
    for change, message in [
        ({"number": []}, "Did you mean 'numbers'"),
        ({"numbers": []}, "`standardise` must be 0 wide"),
        ({"numbers": "a"}, "`numbers` must be a list of str"),
        ({"words": {"sex": [1]}}, "`sex` must be a list of str"),
        ({"words": 3}, "`words` must be lists"),
        ({"left_out": ["sex"]}, "'sex' is twice"),
        ({"missing": ["sex"]}, "`missing` must name columns of `numbers`, but names 'sex'"),
        ({"missing": ["age", "age"]}, "`missing` must name a column once"),
        ({"standardise": {}}, "has no means"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            ProfileEncoder.from_json({**saved, **change})


def test_arguments_are_checked():
    encoder = ProfileEncoder.fit(PEOPLE, leave_out=["buys"])
    for call, message in [
        (lambda: encoder.encode([{"agee": 3.0}]), "Did you mean 'age'"),
        (lambda: encoder.encode([{"age": "30"}]), "must have a number for 'age'"),
        (lambda: encoder.encode([{"sex": 3}]), "must have a word for 'sex', but has 3"),
        (lambda: encoder.encode([{"age": float("nan")}]), "What isn't known is None"),
        (lambda: encoder.encode([{"age": 10**400}]), "'age' is 1000"),
        (lambda: encoder.encode([{"age": [3]}]), "numbers and words"),
        (lambda: ProfileEncoder.fit(PEOPLE, leave_out=["buy"]), "Did you mean 'buys'"),
        (lambda: ProfileEncoder.fit([{"age": 3}, {"age": "old"}]), "must have a number for 'age'.*'old'"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            call()


def test_a_table_is_read(tmp_path):
    path = written(tmp_path, "age,zip,name,sex\n31,007,Ann,f\n\n,008,Bob,\n")
    assert read_profiles(path, name="name", words=["zip"]) == {
        "Ann": {"age": 31.0, "zip": "007", "sex": "f"},
        "Bob": {"age": None, "zip": "008", "sex": None},
    }
    assert read_profiles(written(tmp_path, "name\tage\nÅsa B\t3\n")) == {"Åsa B": {"age": 3.0}}
    assert read_profiles(written(tmp_path, "name,age\n")) == {}
    vectors = ProfileEncoder.fit(list(read_profiles(written(tmp_path, "n,a\nx,1\ny,3\n")).values()))
    assert vectors.encode([{"a": 3}]).equal(torch.tensor([[1.0]]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,age\nAnn,31\nBob,thirty\n", "line 3: the column 'age' has numbers, but here 'thirty'"),
        ("name,age\nAnn,31\n\nBob,nan\n", "line 4: the column 'age' has numbers, but here 'nan'"),
        ("name,age\nAnn,31\nAnn,32\n", "line 3: the name 'Ann' occurs twice"),
        ("name,age\n,31\n", "line 2: the column 'name' is empty"),
        ("name,age\nAnn\n", "line 2: a line must have 2 columns"),
    ],
)
def test_a_broken_table_names_its_line(tmp_path, text, message):
    with pytest.raises(DataError, match=f"people.csv, {message}"):
        read_profiles(written(tmp_path, text))


def test_columns_that_are_not_there(tmp_path):
    path = written(tmp_path, "name,age\nAnn,3\n")
    with pytest.raises(UnknownNameError, match="`name` must be one of name, age"):
        read_profiles(path, name="nam")
    with pytest.raises(UnknownNameError, match="`words` must be one of"):
        read_profiles(path, words=["zip"])
