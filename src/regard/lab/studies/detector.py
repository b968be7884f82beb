"""Do object queries find several digits better than a convolution?"""

from regard.lab.pictures.detection import detector_scores
from regard.lab.pictures.detection_page import detection_page
from regard.lab.study import Claim, Setting, Study
from regard.tasks.judging.measure import Measure

__all__ = ["study"]


def run(setting: Setting, seed: int) -> dict[str, float]:
    """Train a detector, and measure its average precision."""
    return detector_scores(setting, seed)


study = Study(
    "detector",
    "Do object queries find several digits better than a convolution that predicts at each place?",
    run,
    {name: {"detector": name} for name in ("object queries", "queries alone", "convolution")},
    (
        Claim("object queries", "convolution", margin=0.01),
        Claim("object queries", "queries alone", margin=0.01, text="Do the queries need to attend to each other?"),
        Claim("object queries", "queries alone", "duplicates", text="Does that remove duplicates?"),
    ),
    (Measure("AP", share=True), Measure("AP50", share=True), Measure("duplicates", falls=True, digits=3)),
    settings={"epochs": 36, "learning_rate": 1e-3, "split": "test", "canvases": 2000},
    full={"epochs": 360},
    data=("mnist",),
    source="Carion et al. 2020 (arXiv 2005.12872), DETR: sections 3 and 4.2",
    note="1 to 5 digits of MNIST on 64 x 64 pixels. Both detectors have the same backbone and about as many "
    "parameters; the convolution predicts at each of 8 x 8 cells, and the best of overlapping boxes is kept. AP is "
    "the mean over overlaps of 0.5 to 0.95; duplicates are detections of a canvas, with a probability of at least "
    "50 %, that overlap with a better one. The convolution has none by construction, because overlapping boxes are "
    "suppressed.",
    example=detection_page,
    order=330,
)
