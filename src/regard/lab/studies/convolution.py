"""Is convolution a special case of attention?"""

from regard.lab.study import Claim, Setting, Study
from regard.lab.synthetic.converted_convolution import largest_difference
from regard.tasks.judging.measure import Measure

__all__ = ["study"]


def run(setting: Setting, seed: int) -> dict[str, float]:
    """Convert convolutions of random shapes to attention, and compare their outputs."""
    return {"relative difference": largest_difference(seed, setting["shapes"])}


study = Study(
    "convolution",
    "Is convolution a special case of attention?",
    run,
    {"attention": {}},
    (Claim("attention", 1e-5, notes="yes"),),
    (Measure("relative difference", falls=True),),
    settings={"shapes": 10},
    full={"shapes": 1000},
    seeds=10,
    source="001, self-attention and CNN; Cordonnier et al. 2020 (arXiv 1911.03584), theorem 1",
    note="The exact construction: a head for each pixel of the kernel, whose scores fall with the squared distance "
    "from it; its output matrix is the kernel. 100 random shapes of channels, kernels, paddings and pictures, in "
    "float32; the largest difference is relative to the largest output. A difference below 1e-5 is rounding.",
    order=170,
)
