"""Does full attention catch up with its approximations on pixels in a longer training?"""

from regard.lab.long_range import SETTINGS, VARIANTS, classify_long
from regard.lab.study import Claim, Setting, Study

__all__ = ["study"]


def run(setting: Setting, seed: int) -> dict[str, float]:
    """Train a classifier of written digits by their pixels, row by row, and measure it on test."""
    return classify_long({"source": "pixels", **setting}, seed)


study = Study(
    "pixels_longer",
    "Is full attention better than Linformer on pixels in a longer training?",
    run,
    {name: VARIANTS[name] for name in ("full", "local", "linformer", "nystromformer")},
    (
        Claim("full", "linformer", margin=0.01),
        Claim("full", "nystromformer", margin=0.01, text="Is it better than nystromformer?"),
        Claim("full", "local", margin=0.01, text="Is it better than local?"),
    ),
    settings={**SETTINGS, "examples": 32_000, "epochs": 1},
    full={"examples": 55_000, "epochs": 10},
    data=("mnist",),
    source="001, the picture of the Long Range Arena; Tay et al. 2021, section 2.2.4",
    note="The study pixels with ten times as many digits, and so ten times as many updates, for four of its variants.",
)
