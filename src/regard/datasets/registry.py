"""The data sets that regard knows by name."""

from collections.abc import Mapping
from types import MappingProxyType

from regard.datasets.dataset import Dataset
from regard.datasets.graphs import CORA, KARATE
from regard.datasets.molecules import BBBP, ESOL, LIPOPHILICITY, TOX21
from regard.datasets.pictures import DIGITS, MNIST
from regard.datasets.pronunciations import CMUDICT
from regard.datasets.purchases import PURCHASES
from regard.datasets.sentiment import HOTEL_REVIEWS, SST2, SST2_PHRASES
from regard.datasets.spoken_digits import FSDD, FSDD_STRINGS
from regard.datasets.translations import MULTI30K, TATOEBA
from regard.datasets.treebanks import CHINESE_GSD, ENGLISH_EWT
from regard.datasets.vectors import JAPANESE_VOWELS

__all__ = ["DATASETS"]

_ALL = (
    *(ENGLISH_EWT, CHINESE_GSD),
    *(SST2, SST2_PHRASES, HOTEL_REVIEWS, MULTI30K, TATOEBA, CMUDICT),
    *(FSDD, FSDD_STRINGS, JAPANESE_VOWELS, MNIST, DIGITS),
    *(CORA, KARATE, PURCHASES, TOX21, ESOL, LIPOPHILICITY, BBBP),
)

DATASETS: Mapping[str, Dataset] = MappingProxyType({dataset.name: dataset for dataset in _ALL})
"""All data sets by name."""
