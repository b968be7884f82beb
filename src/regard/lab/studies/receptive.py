"""Does a learned receptive field beat the fixed one of a convolution?"""

from regard.lab.study import Claim, Setting, Study
from regard.lab.synthetic.converted_convolution import trained_from_a_convolution
from regard.tasks.judging.measure import ACCURACY, Measure

__all__ = ["study"]


def run(setting: Setting, seed: int) -> dict[str, float]:
    """Train convolutions, then the same or the attention that is made of them."""
    return trained_from_a_convolution(**setting, seed=seed)


study = Study(
    "receptive",
    "Does a learned receptive field beat the fixed one of a convolution?",
    run,
    {"convolution": {"network": "convolution"}, "attention": {"network": "attention"}},
    (
        Claim("attention", "convolution", margin=0.003),
        Claim("attention", "convolution", measure="training loss", text="Does it fit the training pictures better?"),
    ),
    (ACCURACY, Measure("training loss", falls=True), Measure("loss", falls=True), Measure("pixels moved", digits=2)),
    settings={"epochs": 25, "more": 25, "alpha": 2.0},
    full={"epochs": 60, "more": 60},
    seeds=10,
    source="001, self-attention and CNN: the receptive field is learned",
    note="Two layers of convolution are trained on scikit-learn's digits of 8 x 8 pixels; then they, or the attention "
    "that is made of them (alpha 2, so that a head sees its neighbours), are trained further.",
    order=180,
)
