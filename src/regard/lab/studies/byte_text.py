"""Do approximations of attention classify text by its bytes as well as full attention?"""

from regard.lab.study import Setting, Study
from regard.lab.synthetic.long_range import FULL_SIZE, SETTINGS, VARIANTS, claims, classify_long

__all__ = ["study"]


def run(setting: Setting, seed: int) -> dict[str, float]:
    """Train a classifier of the sentiment of hotel reviews by their bytes, and measure it on test."""
    return classify_long({"source": "bytes", **setting}, seed)


study = Study(
    "byte_text",
    "Does full attention classify text by its bytes better than linear attention?",
    run,
    VARIANTS,
    claims(margin=0.01),
    settings={**SETTINGS, "batch_items": 4 * 1024, "examples": 4000, "epochs": 1},
    full=FULL_SIZE,
    data=("chinese-hotel-reviews",),
    source="001, the picture of the Long Range Arena; Tay et al. 2021, section 2.2.2",
    note="A review is a sequence of up to 1,024 bytes of UTF-8, 335 on average; each Chinese character has three. Of "
    "the reviews in test, 69 % are positive.",
    order=300,
)
