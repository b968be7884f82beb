"""From sources with sounds and a recipe to what learns to speak; and from that to a speaker."""

from collections.abc import Iterable
from typing import Any

from regard.tasks.examples import Pair
from regard.tasks.pairs_job import PairsJob, filled
from regard.tasks.speaker import Speaker
from regard.tasks.speaking_network import speaking_network
from regard.tasks.speech import Speech
from regard.tasks.speech_corpus import SpeechCorpus, as_spoken, frames_of
from regard.tasks.speech_learner import SpeechLearner

__all__ = ["SpeakerJob"]


class SpeakerJob(PairsJob):
    """Sources, and the sound that is to be heard for each.

    Args:
        recipe: how.
        examples: (source, sound) pairs, or `Example`s; a sound is a `Sound` or the path of a recording.
        dev: more of them.
        auxiliary: as in `PairsJob`.

    Raises:
        ArgumentError: what `PairsJob` refuses, or a target that is no sound.
    """

    def checked(self, examples: Iterable[Any], argument: str) -> list[Pair]:
        return as_spoken(examples, argument=argument)

    def learner(self) -> SpeechLearner:
        source, task = self.recipe.input, self.recipe.task
        reader = source.fit([each for each, _ in self.examples])
        items, dev_items = ([source.item(reader, each) for each, _ in pairs] for pairs in (self.examples, self.dev))
        spoken = frames_of(task.frames(), self.examples)
        speech = Speech.fit(task, spoken, source_items=sum(map(len, items)))
        dev_spoken = frames_of(task.frames(), self.dev, argument="dev")
        corpus = filled(SpeechCorpus(source, reader, speech, items, spoken), "examples")
        dev = filled(SpeechCorpus(source, reader, speech, dev_items, dev_spoken), "dev")
        return SpeechLearner(speaking_network(self.recipe, reader, speech), self.recipe, corpus, dev)

    def model(self, learner: SpeechLearner, about: dict[str, Any], name: str) -> Speaker:
        corpus = learner.corpus
        return Speaker(learner.network.cpu(), corpus.reader, corpus.speech, self.recipe, about=about, name=name)
