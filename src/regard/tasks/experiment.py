"""An experiment: a recipe and the splits of its data become a model that is trained, judged and saved."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from regard.errors import ArgumentError, RegardError
from regard.progress import Progress, choose_progress
from regard.tasks.baselines import FittedBaseline, fit_baseline
from regard.tasks.judging.evaluation import Evaluation
from regard.tasks.judging.model_warnings import model_warnings
from regard.tasks.recipe import Recipe
from regard.tasks.splits import Splits
from regard.tasks.training.run import RunFolder
from regard.tasks.training.torchrun import is_first
from regard.tasks.training.train import train

__all__ = ["Experiment", "Trained"]


@dataclass(frozen=True)
class Trained:
    """The result of an experiment.

    Args:
        model: the `Tagger`, `Classifier`, `Seq2SeqModel` or `Synthesizer`.
        evaluations: the evaluation on "dev" and, if it was asked for, on "test".
        splits: what it was trained and judged on.
        log: a row for each epoch; empty without a folder.
        folder: the model's folder; None if it wasn't saved.
        baseline: the simple baseline that was fitted to the same examples; None if it wasn't asked for, or the task has
            none for this kind of source.
        no_baseline: a sentence that says why none was fitted though there is one; "" if nothing failed.
    """

    model: Any
    evaluations: Mapping[str, Evaluation]
    splits: Splits = field(repr=False)
    log: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    folder: Path | None = None
    baseline: FittedBaseline | None = None
    no_baseline: str = ""

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Problems that a score alone doesn't show, the most serious first; found when they are asked for."""
        splits: dict[str, Any] = {"train": self.splits.train, "dev": self.splits.dev, "test": self.splits.test}
        found = model_warnings(self.model, splits, self.evaluations, self.log)
        better = None if self.baseline is None else self.baseline.warning(self.evaluations["dev"])
        return tuple(each for each in (better, *found, self.no_baseline) if each)


@dataclass(frozen=True)
class Experiment:
    """A recipe and the examples that it is tried on.

    Args:
        recipe: how to train.
        splits: the examples.
        out: a new folder for checkpoints, log and model; None: nothing is written.

    Raises:
        ArgumentError: the splits aren't `Splits`.

    Example:
        >>> pairs = [(["the", "saw"], ["DET", "NOUN"]), (["I", "saw"], ["PRON", "VERB"])]
        >>> recipe = Recipe(input={"features": {"minimum_count": 1}}, width=16, epochs=20, patience=20)
        >>> trained = Experiment(recipe, Splits(pairs, pairs)).run(progress="none")
        >>> trained.evaluations["dev"].score, trained.warnings
        (1.0, ('It was trained on 4 items: with fewer than 200, scores vary a lot between seeds.',))
    """

    recipe: Recipe
    splits: Splits
    out: str | Path | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.splits, Splits):
            raise ArgumentError(
                f"`splits` must be Splits, but is a {type(self.splits).__name__}. Make them of examples by "
                "Splits(train, dev), or of files by read_splits(data, task=...)."
            )

    def run(self, *, resume: bool = False, final: bool = False, baseline: bool = True, **how: Any) -> Trained:
        """Train a model, evaluate it, and save it with a card that holds its scores and its warnings.

        Args:
            resume: continue the run in `out`. A finished run is evaluated anew, and keeps its scores on test.
            final: also evaluate on test. The model counts how often that was done.
            baseline: also fit a simple baseline to the same examples (`tasks.baselines`), which takes seconds, evaluate
                it, and warn if it is better.
            how: `search`, `progress`, `device`, `threads`, `devices`, `context_parallel` and `matmul`, as in
                `regard.train`.

        Returns:
            the model with its evaluations. In all of torchrun's processes but the first it has no evaluations, and
            nothing is saved.

        Raises:
            ArgumentError: as `regard.train`; or `final` without examples for test.
            RegardError: training failed.
        """
        if final:
            self.splits.check_test()
        splits = self.splits.with_dev()
        model = train(
            splits.train,
            splits.dev,
            recipe=self.recipe,
            auxiliary=splits.auxiliary,
            out=self.out,
            resume=resume,
            data=splits.about,
            **how,
        )
        if not is_first():
            return Trained(model, {}, splits)
        show = choose_progress(how.get("progress", "auto"))
        if self.out is None:
            trained = self._judged(model, splits, final=final)
            return self._with_baseline(trained, show) if baseline else trained
        run = RunFolder(self.out)
        with run.locked(resume=True):
            trained = self._judged(model, splits, final=final)
            # Saved before the baseline is fitted and the warnings are computed: an error there doesn't lose the model.
            trained = dataclasses.replace(trained, folder=model.save(run.model), log=run.read_log())
            if baseline:
                trained = self._with_baseline(trained, show)
            if trained.warnings or trained.baseline is not None:
                model.about = {**model.about, **({"warnings": [*trained.warnings]} if trained.warnings else {})}
                model.save(run.model)
        return trained

    def _with_baseline(self, trained: Trained, show: Progress) -> Trained:
        """Fit the simple baseline, and tell the model; an error becomes a sentence."""
        model, splits = trained.model, trained.splits
        judged = {"dev": splits.dev, "test": splits.test}
        judged = {name: judged[name] or () for name in trained.evaluations}
        try:
            fitted = fit_baseline(model, splits.train, judged, note=show.note)
        except Exception as error:
            why = str(error) if isinstance(error, RegardError) else f"{type(error).__name__}: {error}"
            return dataclasses.replace(trained, no_baseline=f"No baseline stands beside the score: {why}")
        if fitted is None:
            return trained
        # As with the scores, those on test are kept.
        kept = model.about.get("baseline", {}).get("scores", {})
        own = fitted.to_json()
        model.about = {**model.about, "baseline": {**own, "scores": kept | own["scores"]}}
        return dataclasses.replace(trained, baseline=fitted)

    def _judged(self, model: Any, splits: Splits, *, final: bool) -> Trained:
        """Evaluate the model, and tell it what its card says of the examples and of its scores."""
        evaluations, about = {"dev": model.evaluate(splits.dev)}, model.about
        if final:
            evaluations["test"] = model.evaluate(splits.test)
            about = {**about, "test_reads": about.get("test_reads", 0) + 1}
        # The current names: the run may have begun with the same examples in another file or in other columns.
        about = {**about, "data": {**splits.about, "splits": about["data"]["splits"]}}
        if splits.title:
            about["title"] = f"{model.kind.capitalize()} of {splits.title}"
        # A finished run that is resumed keeps its scores on test.
        about["scores"] = about.get("scores", {}) | {name: _plain(each) for name, each in evaluations.items()}
        if (example := model.task.example(splits.dev)) is not None:
            about["example"] = example
        model.about = about
        # As the user's table calls it.
        model.target = model.target.named(str(splits.about.get("columns", {}).get("number", "")))
        return Trained(model, evaluations, splits)


def _plain(scores: Any) -> dict[str, Any]:
    """An evaluation for model.json, without the long list of confusions and the time, which can't be reproduced."""
    return {name: value for name, value in dataclasses.asdict(scores).items() if name not in ("confusions", "seconds")}
