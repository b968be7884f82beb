"""From sources with sounds and a recipe to what learns to speak; and from that to a speaker."""

from collections.abc import Iterable
from typing import Any

from regard.errors import ArgumentError
from regard.tasks.examples import digest_pairs
from regard.tasks.recipe import Recipe
from regard.tasks.speaker import Speaker
from regard.tasks.speaking_network import speaking_network
from regard.tasks.speech import Speech
from regard.tasks.speech_corpus import SpeechCorpus, as_spoken, frames_of
from regard.tasks.speech_learner import SpeechLearner

__all__ = ["SpeakerJob"]


class SpeakerJob:
    """Sources, and the sound that is to be heard for each.

    Args:
        recipe: how.
        examples: (source, sound) pairs, or `Example`s; a sound is a `Sound` or the path of a recording.
        dev: more of them.
        auxiliary: None: a speaker learns nothing beside.

    Raises:
        ArgumentError: an example that is none, a target that is no sound, or auxiliary labels.
    """

    def __init__(self, recipe: Recipe, examples: Iterable[Any], dev: Iterable[Any], auxiliary: Any):
        if auxiliary:
            raise ArgumentError(f"`auxiliary` must be None for synthesis, but has {list(auxiliary)}.")
        self.recipe = recipe
        self.examples, self.dev = as_spoken(examples), as_spoken(dev, argument="dev")

    @property
    def digests(self) -> dict[str, str]:
        return {"examples": digest_pairs(self.examples), "dev": digest_pairs(self.dev)}

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        return {"train": {"examples": len(self.examples)}, "dev": {"examples": len(self.dev)}}

    def learner(self) -> SpeechLearner:
        source, task = self.recipe.input, self.recipe.task
        reader = source.fit([each for each, _ in self.examples])
        items, dev_items = ([source.item(reader, each) for each, _ in pairs] for pairs in (self.examples, self.dev))
        spoken = frames_of(task.frames(), self.examples)
        speech = Speech.fit(task, spoken, source_items=sum(map(len, items)))
        corpus = SpeechCorpus(source, reader, speech, items, spoken)
        dev = SpeechCorpus(source, reader, speech, dev_items, frames_of(task.frames(), self.dev, argument="dev"))
        for name, made in (("examples", corpus), ("dev", dev)):
            if not made.lengths:
                raise ArgumentError(f"`{name}` must hold at least one source that isn't empty, but holds none.")
        return SpeechLearner(speaking_network(self.recipe, reader, speech), self.recipe, corpus, dev)

    def model(self, learner: SpeechLearner, about: dict[str, Any], name: str) -> Speaker:
        corpus = learner.corpus
        return Speaker(learner.network.cpu(), corpus.reader, corpus.speech, self.recipe, about=about, name=name)
