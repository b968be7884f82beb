"""How a net learns to speak: each step from the source and the true steps before it."""

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, pad

from regard.modules import FrameSeq2Seq
from regard.tasks.batching import Batches, batches_by_length, shuffled_batches
from regard.tasks.learner import Learner, Loss, Term, Verdict
from regard.tasks.recipe import Recipe
from regard.tasks.speech import DECIBELS, FRAME_ERROR
from regard.tasks.speech_corpus import SpeechCorpus, SpeechLesson

__all__ = ["SpeechLearner", "frame_errors"]


class SpeechLearner(Learner):
    """A net that learns to speak.

    The loss is the mean distance of the bands of real frames, in spreads of training, plus the cross-entropy of each
    step's being the last. Distances, not their squares: where two things may come next, the pause's end or more of
    the pause, their mean is neither. More and more of the steps that the net hears are its own, from a first pass
    in which it heard the true ones.

    Source: Mihaylova and Martins 2019, "Scheduled sampling for transformers" (arXiv 1906.07651), section 3.

    Args:
        network: the net to train.
        recipe: how.
        corpus: the training examples.
        dev: those it is judged by.
    """

    network: FrameSeq2Seq

    def __init__(self, network: FrameSeq2Seq, recipe: Recipe, corpus: SpeechCorpus, dev: SpeechCorpus):
        super().__init__(network, FRAME_ERROR)
        self.recipe, self.corpus, self.dev = recipe, corpus, dev
        self.own = 0.0

    def batches(self, epoch: int) -> Batches:
        # Of the epoch alone, so that a resumed run goes on with the same share.
        self.own = self.recipe.task.own * epoch / max(1, self.recipe.epochs - 1)
        members = shuffled_batches(self.corpus.lengths, self.recipe.batch_items, seed=self.recipe.seed, epoch=epoch)
        return Batches(self.corpus.lesson, members)

    def loss(self, batch: SpeechLesson) -> Loss:
        together = self.corpus.speech.together
        memory = self.network.encode(batch.batch.vectors, batch.batch.lengths)
        heard = _behind(batch.steps)
        if self.training and self.own:
            with torch.no_grad():
                own = _behind(self.network(memory, heard)[0])
            chosen = torch.rand(heard.shape[:2], device=heard.device) < self.own
            heard = torch.where(chosen.unsqueeze(2), own, heard)
        said, last = self.network(memory, heard)
        real = batch.real(together)
        distance = (said - batch.steps).abs().unflatten(2, (together, -1)).mean(3).flatten(1)
        ends = batch.ends(together).unsqueeze(1)
        places = torch.arange(last.shape[1], device=last.device)
        ending = binary_cross_entropy_with_logits(last, (places == ends).to(last.dtype), reduction="none")
        steps = places <= ends
        return Loss((Term(distance[real].mean(), int(real.sum())), Term(ending[steps].mean(), int(steps.sum()))))

    def judge(self) -> Verdict:
        sums = frame_errors(self.network, self.dev, 2 * self.recipe.batch_items).sum(0)
        error = float(sums[0] / sums[1])
        return Verdict(error, error)


def frame_errors(network: FrameSeq2Seq, corpus: SpeechCorpus, batch_items: int) -> Tensor:
    """For each example the errors of its frames in dB, each frame made of the true ones before it, and their number.

    Args:
        network: in evaluation mode; asked without gradients.
        corpus: the examples.
        batch_items: about how many items go through the net at a time.

    Returns:
        (example, 2): the sum of the errors of its frames, and how many these are.
    """
    speech = corpus.speech
    device = next(network.parameters()).device
    spreads = torch.tensor(speech.standard.spreads, dtype=torch.float64) * DECIBELS
    found = torch.zeros(len(corpus.lengths), 2, dtype=torch.float64)
    for members in batches_by_length(corpus.lengths, batch_items):
        lesson = corpus.lesson(members)
        given = lesson.to(device)
        said, _ = network(network.encode(given.batch.vectors, given.batch.lengths), _behind(given.steps))
        distance = (said.cpu().double() - lesson.steps).abs().unflatten(2, (speech.together, -1))
        errors = (distance * spreads).mean(3).flatten(1)
        found[members, 0] = errors.where(lesson.real(speech.together), 0.0).sum(1)
        found[members, 1] = lesson.counts.double()
    return found


def _behind(steps: Tensor) -> Tensor:
    """What is heard before each step: the one before it, and zeros before the first."""
    return pad(steps[:, :-1], (0, 0, 1, 0))
