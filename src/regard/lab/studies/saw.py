"""Can attention tell the two "saw" of "I saw a saw" apart better than a fully connected network?"""

from regard.lab.study import Claim, Setting, Study
from regard.lab.texts.ambiguity import accuracy_on_words, ambiguous_words
from regard.lab.texts.tagger import DATA, FULL, SMALL, tagger_data, trained_tagger
from regard.tasks.judging.measure import ACCURACY, Measure

__all__ = ["study"]

_OF_ALL = "accuracy of all words"


def run(setting: Setting, seed: int) -> dict[str, float]:
    """Train a tagger with one of the networks, and measure it on the words that have several tags in training."""
    tagger, dev = trained_tagger(setting, seed)
    found = accuracy_on_words(tagger, dev, ambiguous_words(tagger_data(setting)[0]))
    return {"accuracy": found, _OF_ALL: tagger.evaluate(dev).score, "parameters": tagger.parameters}


study = Study(
    "saw",
    "Does attention tell words with several tags apart better than a fully connected network?",
    run,
    {each: {"network": each} for each in ("attention", "connected", "recurrent", "bidirectional")}
    | {"window": {"network": "window", "reach": 2}}
    | {"convolution": {"network": "convolution", "reach": 1, "layers": 2}},
    (
        Claim("attention", "connected", margin=0.005, notes="yes"),
        Claim("window", "connected", margin=0.005, notes="yes", text="Is a window of five words enough to help?"),
        Claim("attention", "window", margin=0.005, text="Is attention better than a window of five words?"),
        Claim("bidirectional", "recurrent", margin=0.005, text="Is an RNN better in both directions than in one?"),
        Claim("attention", "bidirectional", margin=0.005, text="Is attention better than a bidirectional RNN?"),
    ),
    measures=(ACCURACY, Measure(_OF_ALL, share=True), Measure("parameters", falls=True, digits=0)),
    settings=SMALL,
    full=FULL,
    seeds=3,
    data=(DATA,),
    source='001, "I saw a saw"',
    note="Accuracy is that of the words of dev that have more than one tag in training. In the default size "
    "all have one layer but the convolution, whose two layers of width 3 see five words, as the window does.",
    order=90,
)
