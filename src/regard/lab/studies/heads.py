"""Are several heads better than one, and do they specialise?"""

from regard.lab.study import Claim, Setting, Study
from regard.lab.texts.specialisation import head_damage, specialisation, specialisation_by_chance
from regard.lab.texts.tagger import DATA, EPOCHS, FULL, SMALL, trained_tagger
from regard.tasks.judging.measure import ACCURACY, Measure

__all__ = ["study"]

_BEYOND = "specialisation beyond chance"


def run(setting: Setting, seed: int) -> dict[str, float]:
    """Train a tagger with so many heads, and remove each in turn."""
    tagger, dev = trained_tagger(setting, seed)
    found = {"accuracy": tagger.evaluate(dev).score}
    if tagger.recipe.heads > 1:
        damage, labels = head_damage(tagger, dev)
        by_chance = specialisation_by_chance(damage, labels, seed)
        found |= {"specialisation": specialisation(damage, labels), "specialisation by chance": by_chance}
        found["specialisation beyond chance"] = found["specialisation"] - by_chance
    return found


study = Study(
    "heads",
    "Are several heads better than one?",
    run,
    {"1 head": {"heads": 1}, "2 heads": {"heads": 2}, "4 heads": {"heads": 4}, "8 heads": {"heads": 8}},
    (
        Claim("4 heads", "1 head", at=15, margin=0.003, notes="yes"),
        Claim("2 heads", "1 head", at=15, margin=0.003, notes="yes", text="Are two heads better than one?"),
        Claim("8 heads", "4 heads", at=15, margin=0.003, text="Are eight heads better than four?"),
        Claim("4 heads", 0.0, measure=_BEYOND, at=15, margin=0.05, notes="yes", text="Do four heads specialise?"),
    ),
    (ACCURACY, Measure("specialisation", share=True), Measure(_BEYOND, share=True)),
    settings=SMALL,
    full=FULL,
    along=EPOCHS,
    seeds=5,
    data=(DATA,),
    source="001, multi-head self-attention: one kind of relevance for each head; 002, multi-head self-attention",
    note="Taggers of equal width, whose heads are the narrower the more there are; one layer. Specialisation: the "
    "share of the damage of a head's removal that falls on other parts of speech than that of the other heads' "
    "does.",
    order=60,
)
