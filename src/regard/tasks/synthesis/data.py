"""Training data of speech synthesis, sources with the target sounds, and what is learned from them."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, pad

from regard.modules import DurationPlan, FrameSeq2Seq, Memory
from regard.tasks.examples import Pair
from regard.tasks.network import encoder_decoder
from regard.tasks.recipe import Recipe
from regard.tasks.synthesis.dataset import SpeechBatch, SpeechDataset, as_spoken, frames_of
from regard.tasks.synthesis.evaluation import frame_errors
from regard.tasks.synthesis.model import Synthesizer
from regard.tasks.synthesis.target import FRAME_ERROR, SpeechTarget
from regard.tasks.training.batching import Batches, shuffled_batches
from regard.tasks.training.objective import DevScore, Loss, Objective, Term
from regard.tasks.training.pairs_data import PairsData, filled

__all__ = ["SynthesisData", "SynthesisObjective"]


class SynthesisObjective(Objective):
    """A speech synthesis network and its loss.

    The loss is the mean absolute error of the bands of real frames, in standard deviations of training, plus the
    cross-entropy of the prediction that a step is the last. With a duration plan, the errors of the plan's frames and
    durations are added instead. In the first epoch the plan is spread evenly over the recording; then it is aligned to
    it. The error is absolute, not squared: if a pause may either end or continue, the mean of both is wrong. By
    scheduled sampling, a growing fraction of the previous steps that the decoder receives are its own predictions, from
    a first pass with the true ones.

    Source: Mihaylova and Martins 2019, "Scheduled sampling for transformers" (arXiv 1906.07651), section 3.

    Args:
        network: the network to train.
        recipe: the recipe.
        dataset: the training examples.
        dev: the dev examples.
    """

    network: FrameSeq2Seq

    def __init__(self, network: FrameSeq2Seq, recipe: Recipe, dataset: SpeechDataset, dev: SpeechDataset):
        super().__init__(network, FRAME_ERROR)
        self.recipe, self.dataset, self.dev = recipe, dataset, dev
        self.own, self.even = 0.0, False

    def batches(self, epoch: int) -> Batches:
        # Depends on the epoch alone, so that a resumed run continues with the same fraction.
        self.own = self.recipe.task.own * epoch / max(1, self.recipe.epochs - 1)
        # Alignment to untrained frames would never use all parts.
        self.even = epoch == 0
        members = shuffled_batches(self.dataset.lengths, self.recipe.batch_items, seed=self.recipe.seed, epoch=epoch)
        return Batches(self.dataset.batch, members)

    def loss(self, batch: SpeechBatch) -> Loss:
        together = self.dataset.speech.together
        memory = self.network.encode(batch.sources.vectors, batch.sources.lengths)
        plan = _duration_plan_of(batch, memory, together, even=self.training and self.even)
        previous = _shifted(batch.steps)
        if self.training and self.own:
            with torch.no_grad():
                own = _shifted(self.network(memory, previous, plan)[0])
            chosen = torch.rand(previous.shape[:2], device=previous.device) < self.own
            previous = torch.where(chosen.unsqueeze(2), own, previous)
        said, last = self.network(memory, previous, plan)
        real = batch.real(together)
        terms = [_distance(said.unflatten(2, (together, -1)).flatten(1, 2), batch, together)]
        if memory.duration_plan is None or plan is None:
            places, ends = torch.arange(last.shape[1], device=last.device), batch.ends(together).unsqueeze(1)
            ending = binary_cross_entropy_with_logits(last, (places == ends).to(last.dtype), reduction="none")
            steps = places <= ends
            terms.append(Term(ending[steps].mean(), int(steps.sum())))
        else:
            terms.append(_distance(plan.at(0, real.shape[1])[1], batch, together))
            # The relative error of a duration, in which one frame more or less counts little.
            shares = (memory.duration_plan.durations.log1p() - plan.durations.log1p()).abs()
            counted = torch.arange(shares.shape[1], device=shares.device) < plan.counts.unsqueeze(1)
            terms.append(Term(shares[counted].mean(), int(counted.sum())))
        return Loss(tuple(terms))

    def evaluate(self) -> DevScore:
        # Generation runs step by step, so larger batches are faster.
        sums = frame_errors(self.network, self.dev, self.recipe.task, 20 * self.recipe.batch_items).sum(0)
        error = float(sums[0] / sums[1])
        return DevScore(error, error)


def _shifted(steps: Tensor) -> Tensor:
    """The previous step of each step; zeros before the first."""
    return pad(steps[:, :-1], (0, 0, 1, 0))


def _duration_plan_of(batch: SpeechBatch, memory: Memory, together: int, *, even: bool = False) -> DurationPlan | None:
    """The duration plan that aligns the sounds of a batch to its sources, for a model with a guide."""
    if memory.duration_plan is None:
        return None
    return (
        memory.duration_plan.even(batch.counts)
        if even
        else memory.duration_plan.aligned(batch.frames(together), batch.counts)
    )


def _distance(said: Tensor, batch: SpeechBatch, together: int) -> Term:
    """The mean absolute error of the bands of real frames."""
    real = batch.real(together)
    return Term((said - batch.frames(together)).abs().mean(2)[real].mean(), int(real.sum()))


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
