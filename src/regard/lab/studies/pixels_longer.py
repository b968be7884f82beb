"""Does full attention catch up with its approximations on pixels in a longer training?"""

from regard.lab.studies.pixels import run
from regard.lab.study import Claim, Study
from regard.lab.synthetic.long_range import FULL_SIZE, SETTINGS, VARIANTS

__all__ = ["study"]

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
    full={**FULL_SIZE, "examples": 55_000, "epochs": 200},
    data=("mnist",),
    source="001, the picture of the Long Range Arena; Tay et al. 2021, section 2.2.4",
    note="The study pixels with ten times as many updates, for four of its variants.",
    order=320,
)
