"""`regard.train`: from examples and a recipe to a model, by lightning."""

import json
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from regard.errors import ArgumentError
from regard.extras import require
from regard.tasks.batching import key
from regard.tasks.classifying import ClassifierJob
from regard.tasks.learner import Job
from regard.tasks.loading import load
from regard.tasks.named_recipes import RECIPES
from regard.tasks.progress import Silent, choose_progress
from regard.tasks.recipe import Recipe
from regard.tasks.run import RunFolder
from regard.tasks.speaking import SpeakerJob
from regard.tasks.store import round_weights
from regard.tasks.surroundings import as_was, explained, interruptible, quiet
from regard.tasks.tagging import TaggerJob
from regard.tasks.writing import WriterJob
from regard.version import __version__

__all__ = ["JOBS", "train"]

JOBS: dict[str, Callable[..., Job]] = {
    "tagger": TaggerJob,
    "classifier": ClassifierJob,
    "seq2seq": WriterJob,
    "synthesis": SpeakerJob,
}
"""What checks the data of each kind of task, and makes of them what learns."""


def train(
    recipe: Recipe,
    examples: Iterable[Any],
    dev: Iterable[Any],
    *,
    auxiliary: Mapping[str, Sequence[Sequence[str]]] | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    progress: str = "auto",
    device: str = "auto",
    threads: int = 1,
    data: Mapping[str, Any] | None = None,
) -> Any:
    """Train a model, and keep the weights that do best on the dev examples.

    Args:
        recipe: how.
        examples: for a tagger (words, labels) pairs, or `TaggedSentence`s; for a classifier (source, target) pairs, or
            `Example`s, whose targets are labels, numbers, or tuples of 1, 0 and None; for seq2seq the same with texts,
            for synthesis with sounds.
        dev: more of them, which aren't trained on: they decide which epoch is best and when to stop.
        auxiliary: for each label set that a tagger's `recipe.task.auxiliary` names, the labels of `examples`.
        out: a new folder for checkpoints, log and model; None: nothing is written. Resumed after a kill, a run ends
            with the weights, bit for bit, of one that was never interrupted.
        resume: go on with the run in `out`; one that is finished is loaded.
        progress: "bar", "lines", "none", or "auto": a bar on a terminal, else lines. On standard error.
        device: "cpu", "gpu", or "auto": a GPU if there is one.
        threads: of the CPU. The nets are small: more threads gain little, and on a busy machine lose much; and the
            weights depend on their number in the last bits. A resumed run has as many as it began with.
        data: where the sentences come from, for the card: name, title, licence, source, files.

    Returns:
        the `Tagger`, `Classifier`, `Writer` or `Speaker`. Its weights are rounded to float16, as in its saved folder,
        so that it is what it will be when loaded.

    Raises:
        ArgumentError: a recipe, examples or labels that don't fit, an `out` in use, a resumed run of another recipe.
        MissingExtraError: lightning is not installed.
        RegardError: the loss became NaN, or the disk is full; the last good checkpoint is whole.

    Example:
        >>> pairs = [(["the", "saw"], ["DET", "NOUN"]), (["I", "saw"], ["PRON", "VERB"])]
        >>> recipe = Recipe(input={"features": {"minimum_count": 1}}, width=16, epochs=20, patience=20)
        >>> tagger = train(recipe, pairs, pairs, progress="none")
        >>> [word.label for word in tagger.tag([["I", "saw"]])[0]]
        ['PRON', 'VERB']
    """
    _check_recipe(recipe)
    _check_data(data)
    job = JOBS[recipe.task.kind](recipe, examples, dev, auxiliary)
    if resume and out is None:
        raise ArgumentError("`resume` needs `out`, the folder of the run to go on with, but `out` is None.")
    show = choose_progress(progress)
    accelerator = _accelerator(device)
    run = RunFolder(out) if out is not None else None
    identity: dict[str, Any] = {}
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise ArgumentError(f"`threads` must be a whole number, 1 or more, but is {threads!r}.")
    if run is not None:
        identity = {"recipe": recipe.to_json(), "data": job.digests, "threads": threads, "versions": _versions()}
        begun = run.check(identity, resume=resume)
        threads = begun.get("threads", threads)
        if run.finished():
            show.note(f"The run in {run.folder} is finished; its model is in {run.model}.")
            return load(run.folder)
        if begun.get("versions") != identity["versions"]:
            show.note(f"Note: the run began with {begun.get('versions')}; its end may differ in the last bits.")
    # Sums are cut into as many pieces as there are threads: the same weights to the bit need the same number.
    with as_was(threads), quiet():
        model = _train(recipe, job, run, identity, show, accelerator, threads, data)
    if run is not None:
        with explained(run):
            model.save(run.model)
    return model


def _train(
    recipe: Recipe,
    job: Job,
    run: RunFolder | None,
    identity: Mapping[str, Any],
    show: Silent,
    accelerator: str,
    threads: int,
    data: Mapping[str, Any] | None,
) -> Any:
    lightning = require("lightning.pytorch", extra="train")
    environments = require("lightning.fabric.plugins.environments", extra="train")
    parts = require("regard.tasks.lightning_parts", extra="train")

    torch.manual_seed(key(recipe.seed, 0, stream=2))
    learner = job.learner()
    training = parts.Training(learner, recipe)

    resumed = run.last if run is not None and run.can_continue() else None
    if resumed is not None:
        training.history = parts.history_of(resumed)
    if parts.is_over(recipe, training.history) is None:
        trainer = lightning.Trainer(
            accelerator=accelerator,
            devices=1,
            max_epochs=recipe.epochs,
            gradient_clip_val=recipe.gradient_clip,
            callbacks=[parts.AfterEpoch(run, show)],
            # Lightning's own environment: else it would read a cluster's variables and take its signals over.
            plugins=[parts.StateFolders(), environments.LightningEnvironment()],
            default_root_dir=run.folder if run is not None else None,
            reload_dataloaders_every_n_epochs=1,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,
        )
        try:
            with interruptible(trainer), explained(run):
                if run is not None:
                    # Not earlier: what fails before the first batch must leave the folder free for another try.
                    run.begin(identity)
                trainer.fit(training, ckpt_path=resumed)
        finally:
            show.stop()
    reason = parts.is_over(recipe, training.history)
    last = training.history[-1]
    best = f"{learner.measure.name} {learner.measure.said(last['best'])}"
    show.note(f"Training is over: {reason}. Best dev {best} in epoch {last['best_epoch']}.")

    weights = parts.best_weights(run) if run is not None else training.best
    final = {name: round_weights(value, name).to(value.dtype) for name, value in weights.items()}
    learner.network.load_state_dict(final)
    about = {
        "data": {**(data or {}), "splits": job.counts},
        "training": {
            "seed": recipe.seed,
            "epochs": last["epoch"],
            "best_epoch": last["best_epoch"],
            f"dev {learner.measure.name}": last["best"],
            "seconds": last["seconds"],
            "threads": threads,
            "machine": _machine(accelerator),
            "versions": _versions(),
        },
    }
    return job.model(learner, about, run.folder.resolve().name if run is not None else recipe.task.kind)


def _check_recipe(recipe: Any) -> None:
    if isinstance(recipe, Recipe):
        return
    step = ""
    if isinstance(recipe, str) and recipe in RECIPES:
        step = f" Take regard.tasks.RECIPES[{recipe!r}]."
    elif isinstance(recipe, Mapping):
        step = " Make one by Recipe.from_json."
    raise ArgumentError(f"`recipe` must be a regard.Recipe, but is {recipe!r:.60}.{step}")


def _check_data(data: Any) -> None:
    if not isinstance(data or {}, Mapping):
        raise ArgumentError(f"`data` must be an object of plain values, for the card, but is {data!r:.60}.")
    try:
        json.dumps(dict(data or {}))
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"`data` must hold plain values, as JSON does, but: {error}.") from error


def _versions() -> dict[str, str]:
    return {"regard": __version__, "torch": torch.__version__, "python": platform.python_version()}


def _machine(accelerator: str) -> str:
    device = torch.cuda.get_device_name() if accelerator == "cuda" else "CPU"
    return f"{platform.system()} {platform.machine()}, {device}"


def _accelerator(device: str) -> str:
    if device not in ("auto", "cpu", "gpu"):
        raise ArgumentError(f"`device` must be auto, cpu or gpu, but is {device!r}.")
    if device == "gpu" and not torch.cuda.is_available():
        raise ArgumentError("`device` must be cpu or auto where there is no GPU, but is 'gpu': PyTorch finds none.")
    return "cuda" if device != "cpu" and torch.cuda.is_available() else "cpu"
