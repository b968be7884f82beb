"""Does self-attention make a generator of digits better?"""

from regard.lab.pictures.gan_training import train_generator
from regard.lab.pictures.generated_digits import digit_quality, digits_page
from regard.lab.study import Claim, Setting, Study
from regard.lab.training import real_digits
from regard.page import Page
from regard.tasks.judging.measure import Measure

__all__ = ["study"]


def run(setting: Setting, seed: int) -> dict[str, float]:
    """Train a generator on MNIST, and compare its digits with real ones."""
    split = setting.pop("split")
    return digit_quality(train_generator(*real_digits("train"), seed, **setting), *real_digits(split), seed)


def example(setting: Setting, seed: int, progress: str) -> Page:
    """Train a generator, and show its digits and what it attends to."""
    del setting["split"]
    return digits_page(train_generator(*real_digits("train"), seed, **setting, progress=progress), seed)


study = Study(
    "generator",
    "Does self-attention make a generator of digits better?",
    run,
    {"attention": {"block": "attention"}, "residual block": {"block": "residual"}, "neither": {"block": "none"}},
    (
        Claim("attention", "neither", margin=0.1),
        Claim("attention", "residual block", margin=0.1, text="Is it better than a residual block as large?"),
        Claim("attention", "neither", "right digit", margin=0.005, text="Does it draw the right digit more often?"),
        Claim("attention", "neither", "coverage", margin=0.005, text="Does it cover more of the real digits?"),
    ),
    (Measure("Fréchet distance", falls=True, digits=2), Measure("right digit", True), Measure("coverage", True)),
    settings={"width": 32, "steps": 900, "batch": 64, "rates": [1e-3, 2e-3], "average": 0.99, "split": "test"},
    full={"width": 64, "steps": 50_000, "rates": [1e-4, 4e-4], "average": 0.9999},
    data=("mnist",),
    source="Zhang et al. 2019 (arXiv 1805.08318), section 5.2, table 1",
    note="Small class-conditional GANs on MNIST, with spectral normalisation and the hinge loss. The blocks are at "
    "14 x 14 in both networks. Fréchet distance and coverage are between what the classifier written-digit pools of "
    "10,000 generated digits and of the test digits; for real digits to train on, they are 0.29 and 94.5 %.",
    example=example,
    order=190,
)
