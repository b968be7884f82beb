"""Must queries, keys and values have three matrices?"""

from regard.lab.study import Claim, Setting, Study
from regard.lab.texts.tagger import DATA, EPOCHS, FULL, SMALL, tagger_accuracy

__all__ = ["study"]


def run(setting: Setting, seed: int) -> dict[str, float]:
    """Train a tagger whose queries, keys and values have so many matrices."""
    return tagger_accuracy(setting, seed)


study = Study(
    "projections",
    "Are three matrices, for Q, K and V, better than one for Q alone?",
    run,
    {
        "three": {"projections": "separate"},
        "Q = K": {"projections": "shared_query_key"},
        "Q = K = V": {"projections": "shared_query_key_value"},
        "Q only": {"projections": "query_only"},
    },
    (
        Claim("three", "Q only", at=15, margin=0.003),
        Claim("three", "Q = K", at=15, margin=0.003, text="Are they better than two, one for Q and K?"),
        Claim("three", "Q = K = V", at=15, margin=0.003, notes="yes", text="Are they better than one for all three?"),
        Claim("three", "Q = K = V", at=5, margin=0.003, text="Are they after a third of the training?"),
    ),
    settings=SMALL,
    full=FULL,
    along=EPOCHS,
    seeds=5,
    data=(DATA,),
    source="002, must it be three matrices: they learn better, but the best for a task may be Q alone",
    note="Taggers of English parts of speech with one layer and relative positions. Fewer matrices are fewer "
    "parameters: 64 x 64 numbers and a bias for each.",
    order=30,
)
