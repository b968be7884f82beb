"""Tables, a recipe and a grid that `regard compare` trains in seconds, and files in its way."""

import csv
import json

from cli.small_recipe import RECIPE

ROWS = [("good not bad", "yes"), ("bad not good", "no"), ("good and bad", "yes"), ("bad and good", "no")]


def write_all(folder):
    """Write data/ with a table for each split, recipe.json, and what can't be used."""
    (folder / "data").mkdir()
    for split in ("train", "dev", "test"):
        with (folder / "data" / f"{split}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("text", "label"), *ROWS])
    (folder / "recipe.json").write_text(json.dumps({**RECIPE, "epochs": 1, "layers": 1}), encoding="utf-8")
    (folder / "wrong.json").write_text(json.dumps({"widht": 3}), encoding="utf-8")
    rows = "".join(f"good {each},yes\nbad {each},no\n" for each in range(9))
    (folder / "broken.csv").write_text(f"text,label\ngood,yes\nbad\n{rows}", encoding="utf-8")
    (folder / "file").write_text("mine", encoding="utf-8")
    (folder / "held").mkdir()
    (folder / "held" / "novel.txt").write_text("mine", encoding="utf-8")


def listing(folder):
    """All files of a folder with their content."""
    return {each: each.read_bytes() for each in sorted(folder.rglob("*")) if each.is_file()}
