"""Is the recurrent form of linear attention faster than the same function as attention?"""

import torch

from regard.lab.durations import median_durations
from regard.lab.study import Along, Claim, Setting, Study
from regard.lab.synthetic.linear_attention import attentive_form, recurrent_form
from regard.tasks.judging.measure import Measure

__all__ = ["study"]

_FORMS = {"recurrent": recurrent_form, "attentive": attentive_form}


def run(setting: Setting, seed: int) -> dict[str, dict[float, float]]:
    """Time one of the forms on one sequence of each length, without gradients."""
    random, form = torch.Generator().manual_seed(seed), _FORMS[setting["form"]]
    inputs = {
        int(each): torch.randn(3, 1, setting["heads"], int(each), setting["size"], generator=random)
        for each in setting["length"]
    }
    return {"ms": median_durations({at: lambda own=own: form(*own) for at, own in inputs.items()}, setting["rounds"])}


study = Study(
    "recurrent_form_time",
    "Is linear attention faster as an RNN than as attention?",
    run,
    {"recurrent form": {"form": "recurrent"}, "attention": {"form": "attentive"}},
    (
        Claim("recurrent form", "attention", at=4096),
        Claim("recurrent form", "attention", at=64, text="Is it faster at 64 items, too?"),
    ),
    measures=(Measure("ms", falls=True, digits=2),),
    settings={"heads": 4, "size": 16, "rounds": 5},
    full={"size": 64, "rounds": 15},
    along=Along("length", (64, 128, 256, 512, 1024, 2048, 4096), (64, 256, 1024, 4096, 16384), within=True, log=True),
    seeds=10,
    alone=True,
    source="000, an RNN is hard to parallelise; Katharopoulos et al. 2020 (arXiv 2006.16236), section 3.4",
    note="The recurrence is a loop in Python, one item at a time, and attention is computed in tiles, as for any "
    "score of one's own. A loop in C would be faster; where the lines cross depends on it.",
    order=150,
)
