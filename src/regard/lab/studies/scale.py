"""Why are scores divided by the square root of d?"""

from regard.lab.study import Along, Claim, Setting, Study
from regard.lab.synthetic.lookup import measure_lookup
from regard.tasks.judging.measure import Measure

__all__ = ["study"]

_FAST, _GRADIENT, _SPREAD = "loss at the largest rate", "gradient by scores", "spread of gradients"


def run(setting: Setting, seed: int) -> dict[str, float]:
    """Train a head of size d to look up, at several learning rates."""
    return measure_lookup(setting["score"], setting["d"], seed, steps=setting["steps"], rates=setting["rates"])


study = Study(
    "scale",
    "Must scores be divided by the square root of d?",
    run,
    {"divided": {"score": "scaled_dot"}, "not divided": {"score": "dot"}},
    (
        Claim("divided", "not divided", margin=0.005, notes="yes"),
        Claim("divided", "not divided", at=1024, margin=0.005, notes="yes", text="Must they be at d = 1,024?"),
        Claim("divided", "not divided", measure=_FAST, at=1024, text="Must they be for a large learning rate there?"),
        Claim("divided", "not divided", measure=_SPREAD, at=1024, notes="yes", text="Are gradients steadier then?"),
        Claim("divided", "not divided", measure=_GRADIENT, at=1024, text="Do scores get larger gradients then?"),
    ),
    (
        Measure("loss", falls=True),
        Measure(_FAST, falls=True),
        Measure("best learning rate"),
        Measure("largest weight", share=True, falls=True),
        Measure(_GRADIENT, digits=3),
        Measure(_SPREAD, falls=True, digits=3),
    ),
    settings={"steps": 300, "rates": [0.0003, 0.001, 0.003, 0.01]},
    full={"steps": 3000},
    along=Along("d", (16, 64, 256, 1024), (16, 32, 64, 128, 256, 512, 1024), log=True),
    seeds=10,
    source="002, why scale: large d, large inner products, unsteady gradients",
    note="One head finds, among 16 items, the one that a noisy copy was made of; the best of four learning rates "
    "counts. Weights and gradients are those before training. nn.Linear draws weights of variance 1 / (3 "
    "width), so inner products begin with a standard deviation of the square root of d, divided by 3: 1.3 at d "
    "= 16, 10.7 at d = 1,024.",
    order=50,
)
