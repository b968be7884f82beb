"""A recipe of a classifier of texts that trains in a second."""

RECIPE = {
    "task": {"kind": "classifier"},
    "input": {"features": {"minimum_count": 1}, "word_dropout": 0.0},
    "width": 12,
    "heads": 2,
    "hidden": 12,
    "dropout": 0.0,
    "epochs": 4,
}
