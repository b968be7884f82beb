"""The data sets that regard knows by name."""

from collections.abc import Mapping
from types import MappingProxyType

from regard.datasets.dataset import Dataset
from regard.datasets.formats.vectors import JAPANESE_VOWELS
from regard.datasets.known.graphs import CORA, KARATE
from regard.datasets.known.molecules import BBBP, ESOL, LIPOPHILICITY, TOX21
from regard.datasets.known.pictures import DIGITS, MNIST
from regard.datasets.known.pronunciations import CMUDICT
from regard.datasets.known.purchases import PURCHASES
from regard.datasets.known.sentiment import HOTEL_REVIEWS, SST2, SST2_PHRASES
from regard.datasets.known.spoken_digits import FSDD, FSDD_STRINGS
from regard.datasets.known.translations import MULTI30K, TATOEBA
from regard.datasets.known.treebanks import CHINESE_GSD, ENGLISH_EWT

__all__ = ["DATASETS"]

_ALL = (
    *(ENGLISH_EWT, CHINESE_GSD),
    *(SST2, SST2_PHRASES, HOTEL_REVIEWS, MULTI30K, TATOEBA, CMUDICT),
    *(FSDD, FSDD_STRINGS, JAPANESE_VOWELS, MNIST, DIGITS),
    *(CORA, KARATE, PURCHASES, TOX21, ESOL, LIPOPHILICITY, BBBP),
)

DATASETS: Mapping[str, Dataset] = MappingProxyType({dataset.name: dataset for dataset in _ALL})
"""All data sets by name."""
