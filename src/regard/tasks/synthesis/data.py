"""Training data of speech synthesis: sources with the target sounds."""

from collections.abc import Iterable
from typing import Any

from regard.tasks.examples import Pair
from regard.tasks.network import encoder_decoder
from regard.tasks.synthesis.dataset import SpeechDataset, as_spoken, frames_of
from regard.tasks.synthesis.model import Synthesizer
from regard.tasks.synthesis.objective import SynthesisObjective
from regard.tasks.synthesis.target import SpeechTarget
from regard.tasks.training.pairs_data import PairsData, filled

__all__ = ["SynthesisData"]


class SynthesisData(PairsData):
    """Checked examples for speech synthesis: sources with their sounds.

    Args:
        recipe: the recipe.
        examples: (source, sound) pairs, or `Example`s; a sound is a `Sound` or the path of a recording.
        dev: the dev examples.
        auxiliary: as in `PairsData`.

    Raises:
        ArgumentError: as in `PairsData`, or a target that isn't a sound.
    """

    def checked(self, examples: Iterable[Any], argument: str) -> list[Pair]:
        return as_spoken(examples, argument=argument)

    def objective(self) -> SynthesisObjective:
        source, task = self.recipe.input, self.recipe.task
        encoder = source.fit([each for each, _ in self.examples])
        items, dev_items = ([source.item(encoder, each) for each, _ in pairs] for pairs in (self.examples, self.dev))
        spoken = frames_of(task.frames(), self.examples)
        speech = SpeechTarget.fit(task, spoken, source_items=sum(map(len, items)))
        dev_spoken = frames_of(task.frames(), self.dev, argument="dev")
        dataset = filled(SpeechDataset(source, encoder, speech, items, spoken), "examples")
        dev = filled(SpeechDataset(source, encoder, speech, dev_items, dev_spoken), "dev")
        return SynthesisObjective(encoder_decoder(self.recipe, encoder, speech), self.recipe, dataset, dev)

    def model(self, objective: SynthesisObjective, about: dict[str, Any], name: str) -> Synthesizer:
        dataset = objective.dataset
        return Synthesizer(
            objective.network.cpu(), dataset.encoder, dataset.speech, self.recipe, about=about, name=name
        )
