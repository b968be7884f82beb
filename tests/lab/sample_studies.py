"""Studies whose runs take no time, for tests; in a module, so that other processes can import them."""

import os
import time
from pathlib import Path

from regard.errors import DivergedError
from regard.lab import Along, Claim, Study
from regard.page import Page, Picture, Pictures, Prose
from regard.progress import progress_over
from regard.tasks.judging.measure import ACCURACY, Measure


def coin(setting, seed):
    """A quality that is a plain function of the setting."""
    return {"accuracy": setting["bias"] + 0.01 * seed}


def slow(setting, seed):
    """Takes a while, and writes down that it ran."""
    with Path(os.environ["RAN"]).open("a") as file:
        file.write(f"{setting['bias']} {seed} {os.getpid()}\n")
    time.sleep(setting.get("seconds", 0.5))
    return {"accuracy": setting["bias"]}


def fail(setting, seed):
    """Fails for one variant."""
    if setting["bias"] == 1:
        raise ValueError("a bias of 1")
    return {"accuracy": 0.5}


def line(setting, seed):
    """Falls or rises along a quantity."""
    return {"accuracy": {at: 0.5 + setting["slope"] * (at - 2) for at in setting["n"]}}


def point(setting, seed):
    """The same, a value at a time."""
    return {"error": 1.0 - setting["slope"] * setting["n"]}


COINS = Study(
    "coins",
    "Is b better?",
    coin,
    {"a": {"bias": 0.5}, "b": {"bias": 0.75}},
    (Claim("b", "a", notes="no"), Claim("a", 0.505, text="Is a above chance?")),
)
SLOW = Study("slow", "?", slow, {"a": {"bias": 0.5}, "b": {"bias": 0.25}}, (Claim("a", "b"),), seeds=4)
FAILING = Study("failing", "?", fail, {"a": {"bias": 0}, "b": {"bias": 1}}, (Claim("a", "b"),))
LINES = Study(
    "lines",
    "Does rising win?",
    line,
    {"rising": {"slope": 0.1}, "falling": {"slope": -0.1}},
    (Claim("rising", "falling", at=3), Claim("rising", "falling", at=1, text="At the start?")),
    along=Along("n", (1, 2, 3), within=True),
)


def drawn_line(setting, seed, progress):
    """Shows a setting as pixels, as bright as its slope, after a training of two steps."""
    with progress_over(range(2), 2, progress) as steps:
        assert list(steps) == [0, 1]
    picture = Picture(((0.0, setting["slope"]), (1.0, 0.0)), f"n = {setting['n']}, seed {seed}")
    return Page("A line", (Prose(f"Its slope is {setting['slope']}."), Pictures("Pixels", (picture,))))


DRAWN = Study(
    "drawn",
    "Does rising win?",
    line,
    {"rising": {"slope": 0.5}, "falling": {"slope": -0.5}},
    (Claim("rising", "falling", at=3),),
    full={"slope": 5.0},
    along=Along("n", (1, 2, 3), full=(1, 9), within=True),
    example=drawn_line,
)
POINTS = Study(
    "points",
    "Has steep less error?",
    point,
    {"steep": {"slope": 0.2}, "flat": {"slope": 0.1}},
    (Claim("steep", "flat"),),
    (Measure("error", falls=True), ACCURACY),
    along=Along("n", (1, 2)),
)


def diverge(setting, seed):
    """Diverges for one variant and one seed; the others take a while."""
    if (setting["bias"], seed) == (1, 1):
        raise DivergedError("the loss became nan in epoch 1, batch 2", "Try a smaller `learning_rate` than 0.5.")
    time.sleep(setting.get("seconds", 0.0))
    return {"accuracy": 0.5 + 0.1 * setting["bias"]}


DIVERGING = Study("diverging", "?", diverge, {"b": {"bias": 1}, "a": {"bias": 0, "seconds": 0.5}}, (Claim("a", "b"),))
