"""Do positions help a tagger at the beginning of a sentence?"""

from regard.lab.study import Along, Claim, Setting, Study
from regard.lab.texts.tagger import DATA, FULL, SMALL, trained_tagger, without_warnings

__all__ = ["study"]


def run(setting: Setting, seed: int) -> dict[str, dict[float, float]]:
    """Train a tagger, and measure it at the first words of a sentence, one by one."""
    places = setting.pop("position of the word")
    tagger, dev = trained_tagger(setting, seed)
    with without_warnings():
        tagged = tagger.tag([each.words for each in dev])
    right = [
        [word.label == label for word, label in zip(words, each.labels, strict=True)]
        for words, each in zip(tagged, dev, strict=True)
    ]
    at = {place: [row[place - 1] for row in right if len(row) >= place] for place in places}
    return {"accuracy": {place: sum(each) / len(each) for place, each in at.items()}}


study = Study(
    "place",
    "Do positions help a tagger at the first word of a sentence?",
    run,
    {
        "relative": {"position": "relative"},
        "sinusoidal": {"position": "sinusoidal"},
        "none": {"position": "none"},
    },
    (
        Claim("sinusoidal", "none", at=1, margin=0.003, notes="yes"),
        Claim("sinusoidal", "none", margin=0.003, notes="yes", text="Do they help at all of the first eight words?"),
        Claim("relative", "none", at=1, margin=0.003, text="Do relative positions help at the first word?"),
        Claim("relative", "none", margin=0.003, text="Do relative positions help at all of them?"),
    ),
    settings={**SMALL, "epochs": 15},
    full=FULL,
    along=Along("position of the word", (1, 2, 3, 4, 5, 6, 7, 8), within=True),
    seeds=10,
    data=(DATA,),
    source="001, positional encoding: verbs seldom open a sentence, so a tagger should know where a word stands",
    note="Taggers of English parts of speech with one layer; dev is measured. The study verbs counts the verbs.",
    order=260,
)
