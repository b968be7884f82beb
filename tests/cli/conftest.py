"""A small tagger of random weights on the disk: what it says doesn't matter, only that it says something."""

from pathlib import Path

import pytest
import torch

from regard.inputs import WordEncoder
from regard.tasks import Recipe, Tagger
from regard.tasks.network import SourceNetwork
from regard.tasks.targets import Label

LABELS = ("PRON", "VERB", "DET", "NOUN", "PUNCT")


@pytest.fixture(scope="session")
def model(tmp_path_factory) -> str:
    """The folder of a saved tagger of 2 layers and 4 heads."""
    torch.manual_seed(7)
    recipe = Recipe(width=8, heads=4, hidden=11, layers=2)
    encoder = WordEncoder.fit([["I", "saw", "a", "saw", ".", "常威", "看见", "来福"]], minimum_count=1)
    folder: Path = tmp_path_factory.mktemp("models") / "toy"
    Tagger(SourceNetwork(recipe, encoder, len(LABELS)), encoder, Label(LABELS), recipe, name="toy").save(folder)
    return str(folder)
