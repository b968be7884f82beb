"""Does guided attention learn faster what runs from left to right?"""

from dataclasses import replace

from regard.lab.study import Along, Claim, Setting, Study
from regard.lab.training import first_examples, train_and_measure
from regard.tasks import RECIPES
from regard.tasks.examples import spread
from regard.tasks.judging.measure import Measure

__all__ = ["study"]


def run(setting: Setting, seed: int) -> dict[str, float]:
    """Learn to pronounce from so many words, by equally many updates for any number of them."""
    recipe, count, shown = RECIPES["letters-to-phonemes"], setting.pop("words"), setting.pop("shown")
    task = {"guide": setting.pop("guide"), "judged": setting.pop("judged"), "measure": "word error rate"}
    setting["task"] = replace(recipe.task, monotonic=0.0, beams=1, **task)
    # The dictionary is in alphabetical order.
    words, dev = (first_examples("cmudict", split, None, "unstressed") for split in ("train", "dev"))
    words = (spread(words, count) * (shown // count + 1))[:shown]
    found = train_and_measure(recipe, words, spread(dev, task["judged"]), seed, setting)
    return {"phoneme error": found["word error rate"]}


study = Study(
    "guided",
    "Does attention that is guided from left to right learn pronunciation from fewer words?",
    run,
    {"guided": {"guide": 0.3}, "free": {"guide": None}},
    (
        Claim("guided", "free", at=300, margin=0.005),
        Claim("guided", "free", at=3000, margin=0.005, text="Is guided attention still better from 3,000 words?"),
    ),
    (Measure("phoneme error", share=True, falls=True),),
    settings={"shown": 3000, "judged": 500, "epochs": 6, "width": 64, "batch_items": 800, "average": 0.0},
    full={"shown": 100_000, "judged": 1500, "epochs": 8, "width": 208, "batch_items": 2000, "average": 0.99},
    along=Along("words", (300, 1000, 3000), (300, 1000, 3000, 10_000, 100_000), log=True),
    data=("cmudict",),
    source='004, "Guided Attention": limits the direction of attention, such as from left to right',
    note="Recurrent networks with attention from phonemes to letters. Guided, each phoneme attends to letters at most "
    "0.3 of the word from its expected place. All see equally many words; few ones are seen more often.",
    order=210,
)
