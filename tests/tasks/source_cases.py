"""Of every kind of source an example, which is trained, saved, resumed and looked at."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
import torch

from regard.inputs import Graph, Sound
from regard.tasks.sources import Graphs, Molecules, Pictures, Speech, StaticVectors, Texts, Vectors, Words

SECOND = torch.arange(8000) / 8000


def tone(pitch: int, seconds: float) -> Sound:
    return Sound(torch.sin(2 * torch.pi * pitch * SECOND[: int(8000 * seconds)])[None] / 2, 8000)


def ring(nodes: int) -> Graph:
    edges = torch.stack([torch.arange(nodes), (torch.arange(nodes) + 1) % nodes])
    return Graph(torch.linspace(0, 1, 3 * nodes).reshape(nodes, 3), edges, tuple(f"n{node}" for node in range(nodes)))


FOLDER = tempfile.TemporaryDirectory()
GLOVE = Path(FOLDER.name) / "glove.txt"
GLOVE.write_text("good 2 1 0\na 0 1 -1\nbad -2 1 0\none 1 1 1\n", encoding="utf-8")

# For each kind its settings, two sources of each of two classes, and the names of what the first consists of.
CASES = {
    "words": (Words(features={"minimum_count": 1}), ["a good film", "good", "bad", "a bad one"], ["a", "good", "film"]),
    "static": (StaticVectors(str(GLOVE)), ["a good film", "good", "bad", "a bad one"], ["a", "good", "film"]),
    "texts": (Texts("characters", size=64), ["good!", "good", "bad", "bad one"], ["g", "o", "o", "d", "!"]),
    "speech": (
        Speech(normalise=False, together=2, frame_dropout=0.0),
        [tone(300, 0.05), tone(300, 0.11), tone(2000, 0.07), tone(2000, 0.1)],
        ["0.00 s", "0.02 s", "0.04 s"],
    ),
    "pictures": (
        Pictures(patch=2),
        [np.zeros((4, 4)), np.zeros((6, 2)), np.ones((4, 6)), np.ones((3, 3))],
        ["1,1", "1,2", "2,1", "2,2"],
    ),
    "molecules": (Molecules(), ["CCO", "CCCO", "c1ccccc1", "c1ccccc1C"], ["C1", "C2", "O3"]),
    "graphs": (Graphs(), [ring(3), ring(5), ring(7), ring(8)], ["n0", "n1", "n2"]),
    "vectors": (
        Vectors(),
        [torch.zeros(2, 3), np.zeros((4, 3)), torch.ones(3, 3), torch.ones(1, 3)],
        ["1", "2"],
    ),
}
LIBRARIES = {"speech": "librosa", "molecules": "rdkit"}
TARGETS = ["first", "first", "second", "second"]


def case_of(kind: str):
    """The case of a kind; skips a test where the library that the kind needs is missing."""
    if kind in LIBRARIES:
        pytest.importorskip(LIBRARIES[kind])
    return CASES[kind]
