"""Evaluate speech recognisers at other volumes, in noise, over a telephone, and with unseen speakers.

    python benchmarks/speech.py ROW... [--unseen]

A row is spoken-digit, spoken-frames or spoken-strings. Without --unseen, the bundled model, or else that of runs/ROW-0,
is evaluated on the recordings of test, unchanged and changed. With --unseen, the row's recipe is trained six times,
each time without one of the speakers, and evaluated on all recordings of that speaker. Every measurement is a line of
results/speech.jsonl; recorded ones are not repeated.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from training import RUNS

import regard
from regard.datasets import make_digit_strings, read
from regard.files import write_text
from regard.inputs import Sound, read_sound
from regard.lab.measurement import processor
from regard.tasks import NAMED_RECIPES, Recipe, bundled
from regard.version import __version__

LINES = Path(__file__).parent / "results" / "speech.jsonl"
ROWS = ("spoken-digit", "spoken-frames", "spoken-strings")
STRINGS = {"train": (2000, 1), "dev": (200, 2), "all": (200, 3)}  # how many, and the seed


def louder(factor: float) -> Callable[[Sound], Sound]:
    """A recording at another volume; nothing is clipped."""
    return lambda sound: Sound(sound.samples * factor, sound.rate)


def clipped(sound: Sound) -> Sound:
    """A recording at twenty times its volume, clipped at full scale."""
    return Sound((sound.samples * 20).clamp(-1, 1), sound.rate)


def noisy(sound: Sound) -> Sound:
    """White noise at 20 dB below the power of the samples that aren't silent."""
    drawn = torch.randn(sound.samples.shape, generator=torch.Generator().manual_seed(0))
    power = sound.samples[sound.samples != 0].square().mean() / 100
    return Sound(sound.samples + drawn * power.sqrt(), sound.rate)


def telephone(sound: Sound) -> Sound:
    """The band from 300 to 3,400 Hz alone."""
    count = sound.samples.shape[1]
    hertz = torch.fft.rfftfreq(count, 1 / sound.rate)
    band = torch.fft.rfft(sound.samples) * ((hertz >= 300) & (hertz <= 3400))
    return Sound(torch.fft.irfft(band, n=count), sound.rate)


CONDITIONS: dict[str, Callable[[Sound], Sound]] = {
    "as recorded": louder(1),
    "volume x 0.02": louder(0.02),
    "x 0.2": louder(0.2),
    "x 5": louder(5),
    "x 20": louder(20),
    "x 20, clipped": clipped,
    "white noise, 20 dB": noisy,
    "telephone band": telephone,
}


def lines() -> list[dict[str, Any]]:
    """The recorded measurements."""
    return [json.loads(line) for line in LINES.read_text(encoding="utf-8").splitlines()] if LINES.exists() else []


def right(model: Any, examples: list[tuple[Any, Any]]) -> float:
    """The fraction of digits, or frames, that is right."""
    scores = model.evaluate(examples)
    return 1 - scores.score if model.measure.falls else scores.score


def in_conditions(row: str) -> None:
    """Evaluate the model of a row on test, unchanged and changed."""
    name = row if row in bundled() else RUNS / f"{row}-0" / "model"
    model = regard.load(name)
    named = NAMED_RECIPES[row]
    if written(row, None, model.recipe):
        return
    examples = [(_sound(each.source), each.target) for each in read(named.data, "test", named.label)]
    found = {
        said: right(model, [(change(sound), target) for sound, target in examples])
        for said, change in CONDITIONS.items()
    }
    write(row, model.recipe, {"right": found})


def without(row: str, speaker: str) -> None:
    """Train by the recipe of a row without a speaker, and evaluate on all recordings of that speaker."""
    recipe = NAMED_RECIPES[row].recipe
    if written(row, speaker, recipe):
        return
    digits = {split: read("fsdd", split, "digit") for split in ("train", "dev", "test")}
    everything = [each for split in digits.values() for each in split]
    known = {
        split: _examples(row, [each for each in digits[split] if each.group != speaker], split)
        for split in ("train", "dev")
    }
    unseen = _examples(row, [each for each in everything if each.group == speaker], "all")
    out = RUNS / f"{row}-without-{speaker}"
    resume = (out / "run.json").exists()
    model = regard.train(known["train"], known["dev"], recipe=recipe, out=out, resume=resume, progress="lines")
    found = {"dev": right(model, known["dev"]), "unseen": right(model, unseen)}
    write(row, recipe, {"speaker": speaker, **found, "seconds": model.about["training"]["seconds"]})


def written(row: str, speaker: str | None, recipe: Recipe) -> bool:
    """Whether the file has a row's measurement, by this recipe and without this speaker, or with all of them."""
    return any(
        (line["row"], line.get("speaker")) == (row, speaker) and Recipe.from_json(line["recipe"]) == recipe
        for line in lines()
    )


def write(row: str, recipe: Recipe, found: dict[str, Any]) -> None:
    """Add a measurement to the file, and print it."""
    print(row, json.dumps(found))
    versions = {"regard": __version__, "torch": torch.__version__}
    line = {"row": row, **found, "recipe": recipe.to_json(), "machine": processor(), "versions": versions}
    write_text(LINES, "".join(json.dumps(each) + "\n" for each in [*lines(), line]))


def _examples(row: str, recordings: list[Any], split: str) -> list[tuple[Any, Any]]:
    if row == "spoken-digit":
        return [(_sound(each.source), each.target) for each in recordings]
    count, seed = STRINGS[split]
    strings = make_digit_strings(recordings, count, seed=seed, label=NAMED_RECIPES[row].label)
    return [(each.source, each.target) for each in strings]


def _sound(source: Any) -> Sound:
    return source if isinstance(source, Sound) else read_sound(source)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rows", nargs="+", metavar="ROW", choices=ROWS, help=", ".join(ROWS))
    parser.add_argument("--unseen", action="store_true", help="train without each of the speakers in turn")
    parser.add_argument("--speakers", nargs="+", metavar="NAME", help="with --unseen: only these  [default: all six]")
    given = parser.parse_args()
    torch.set_num_threads(1)
    RUNS.mkdir(exist_ok=True)
    for row in given.rows:
        if not given.unseen:
            in_conditions(row)
            continue
        speakers = sorted({each.group for each in read("fsdd", "dev", "digit") if each.group is not None})
        for speaker in given.speakers or speakers:
            without(row, speaker)


if __name__ == "__main__":
    main()
