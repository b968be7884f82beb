"""The data sets that regard knows by name: those of examples, and with the treebanks all of them."""

from collections.abc import Mapping
from types import MappingProxyType

from regard.datasets.catalog import CATALOG, Dataset
from regard.datasets.cmudict import CMUDICT
from regard.datasets.example_set import ExampleSet
from regard.datasets.graphs import CORA, KARATE
from regard.datasets.molecules import BBBP, ESOL, LIPOPHILICITY, TOX21
from regard.datasets.pictures import DIGITS, MNIST
from regard.datasets.purchases import PURCHASES
from regard.datasets.sentiment import HOTEL_REVIEWS, SST2, SST2_PHRASES
from regard.datasets.spoken_digits import FSDD, FSDD_STRINGS
from regard.datasets.translations import MULTI30K, TATOEBA
from regard.datasets.vectors import JAPANESE_VOWELS

__all__ = ["DATASETS", "EXAMPLE_SETS"]

_SETS = (SST2, SST2_PHRASES, HOTEL_REVIEWS, MULTI30K, TATOEBA, CMUDICT)
_SETS += (FSDD, FSDD_STRINGS, JAPANESE_VOWELS, MNIST, DIGITS)
_SETS += (CORA, KARATE, PURCHASES, TOX21, ESOL, LIPOPHILICITY, BBBP)

EXAMPLE_SETS: Mapping[str, ExampleSet] = MappingProxyType({each.name: each for each in _SETS})
"""The data sets of examples by name."""

DATASETS: Mapping[str, Dataset] = MappingProxyType({**CATALOG, **EXAMPLE_SETS})
"""All data sets by name, those whose words have labels and those of examples."""
