"""Do approximations of attention classify pictures pixel by pixel as well as full attention?"""

from regard.lab.study import Setting, Study
from regard.lab.synthetic.long_range import FULL_SIZE, SETTINGS, VARIANTS, claims, classify_long

__all__ = ["study"]


def run(setting: Setting, seed: int) -> dict[str, float]:
    """Train a classifier of written digits by their pixels, row by row, and measure it on test."""
    return classify_long({"source": "pixels", **setting}, seed)


study = Study(
    "pixels",
    "Does full attention classify pictures pixel by pixel better than linear attention?",
    run,
    VARIANTS,
    claims(margin=0.01),
    settings={**SETTINGS, "examples": 3200, "epochs": 1},
    full={**FULL_SIZE, "examples": 55_000},
    data=("mnist",),
    source="001, the picture of the Long Range Arena; Tay et al. 2021, section 2.2.4",
    note="A digit is a sequence of 784 pixels. The network isn't told that the pixel above is near: a pixel's position "
    "is its number in the sequence.",
    order=310,
)
