"""`regard.train`: from examples and a recipe to a trained model."""

import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.datasets import split_by_source
from regard.errors import ArgumentError, UnknownNameError
from regard.extras import require
from regard.inputs import as_list
from regard.tasks.defaults import default_recipe
from regard.tasks.examples import as_pairs
from regard.tasks.loading import load
from regard.tasks.named_recipes import RECIPES
from regard.tasks.out_of_distribution import thresholds_of
from regard.tasks.recipe import Recipe
from regard.tasks.registry import TASKS
from regard.tasks.store import round_weights
from regard.tasks.training.batching import key
from regard.tasks.training.context import MATMUL, explained_errors, interruptible, restored_settings, silenced_lightning
from regard.tasks.training.objective import Objective, TrainingData
from regard.tasks.training.processes import with_workers
from regard.tasks.training.progress import Silent, choose_progress
from regard.tasks.training.rank import ProcessRank
from regard.tasks.training.run import RunFolder
from regard.version import __version__

__all__ = ["train"]


def train(
    examples: Iterable[Any],
    dev: Iterable[Any] | None = None,
    *,
    recipe: Recipe | None = None,
    auxiliary: Mapping[str, Sequence[Any]] | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    progress: str = "auto",
    device: str = "auto",
    threads: int = 1,
    devices: int = 1,
    matmul: str | None = None,
    data: Mapping[str, Any] | None = None,
) -> Any:
    """Train a model, and keep the weights that score best on dev.

    Args:
        examples: for a tagger (words, labels) pairs, or `TaggedSentence`s; for a classifier (source, target) pairs, or
            `Example`s, whose targets are labels, numbers, or tuples of 1, 0 and None; None as a target is unknown. For
            seq2seq the targets are texts, for synthesis sounds.
        dev: further examples, which aren't trained on; they decide which epoch is best and when to stop. None: about a
            tenth of the examples, by a hash of their sources (`datasets.split_by_source`).
        recipe: how to train. None: `tasks.default_recipe`, which depends on the kind and the number of the examples.
        auxiliary: for each auxiliary target that `recipe.task.auxiliary` of a tagger or a classifier names, the targets
            of `examples`; None where one is unknown.
        out: a new folder for checkpoints, log and model; None: nothing is written. A run that was killed and resumed
            ends with the same weights, bit for bit, as an uninterrupted one.
        resume: continue the run in `out`; the model of a finished run is loaded.
        progress: "bar", "lines", "none", or "auto": a bar on a terminal, else lines. On standard error.
        device: "cpu", "gpu", or "auto": a GPU if there is one.
        threads: number of CPU threads. The networks are small: more threads gain little, and lose much on a busy
            machine. The last bits of the weights depend on the number, so a resumed run keeps its number.
        devices: number of CPU processes on this machine that share each batch, each with `threads` threads. An update
            sees the same examples with the same weights as in one process; dropout and rounding differ, so the result
            is equally good but not identical. The first process evaluates, writes and shows progress. A resumed run
            keeps its number.
        matmul: precision of float32 matrix products, as in `torch.set_float32_matmul_precision`: "highest", "high" or
            "medium". On a GPU the last two are TensorFloat-32. On a CPU "medium" is bfloat16 if the processor has
            instructions for it (AMX), else float32 by oneDNN, which may be faster than the default library. None:
            PyTorch's current setting. A resumed run keeps its precision.
        data: where the examples come from, for the card: name, title, licence, source, files.

    Returns:
        the `Tagger`, `Classifier`, `Seq2SeqModel` or `Synthesizer`. Its weights are rounded to float16, as in its saved
        folder, so that loading it gives the same model.

    Raises:
        ArgumentError: a recipe, examples or labels that don't fit, an `out` in use, a resumed run of another recipe,
            more devices than there are processors, several on a GPU, or a `matmul` that is none.
        MissingExtraError: lightning is not installed.
        RegardError: the loss became NaN, the disk is full, or one of several processes ended; the last good checkpoint
            is whole.

    Example:
        >>> pairs = [(["the", "saw"], ["DET", "NOUN"]), (["I", "saw"], ["PRON", "VERB"])]
        >>> recipe = Recipe(input={"features": {"minimum_count": 1}}, width=16, epochs=20, patience=20)
        >>> tagger = train(pairs, pairs, recipe=recipe, progress="none")
        >>> [word.label for word in tagger.tag([["I", "saw"]])[0]]
        ['PRON', 'VERB']
    """
    _check_recipe(recipe)
    _check_data(data)
    _check_examples(examples)
    show = choose_progress(progress)
    if dev is None:
        examples, dev, auxiliary = _held_out(examples, auxiliary)
        show.note(f"{len(dev):,} of {len(examples) + len(dev):,} examples are dev, by a hash of each source.")
    if recipe is None:
        examples = as_list("examples", examples, "(source, target) pairs")
        recipe = default_recipe(examples)
        show.note(
            f"Training a {recipe.task.kind} of {recipe.input.kind} by a default recipe: {recipe.epochs} epochs at most."
        )
    checked: TrainingData = TASKS[recipe.task.kind].data(recipe, examples, dev, auxiliary)
    if (said := recipe.input.preparation([source for source, _ in checked.examples])) is not None:
        show.note(said)
    if resume and out is None:
        raise ArgumentError("`resume` needs `out`, the folder of the run to go on with, but `out` is None.")
    accelerator = _accelerator(device)
    run = RunFolder(out) if out is not None else None
    identity: dict[str, Any] = {}
    for name, count in (("threads", threads), ("devices", devices)):
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ArgumentError(f"`{name}` must be a whole number, 1 or more, but is {count!r}.")
    if run is not None:
        how = {"threads": threads, "devices": devices, "matmul": matmul}
        identity = {"recipe": recipe.to_json(), "data": checked.digests, **how, "versions": _versions()}
        begun = run.check(identity, resume=resume)
        threads, devices = begun.get("threads", threads), begun.get("devices", 1)
        matmul = begun.get("matmul")
        if run.finished():
            show.note(f"The run in {run.folder} is finished; its model is in {run.model}.")
            return load(run.folder)
        if begun.get("versions") != identity["versions"]:
            show.note(f"Note: the run began with {begun.get('versions')}; its end may differ in the last bits.")
    if matmul is not None and matmul not in MATMUL:
        raise UnknownNameError("matmul", matmul, MATMUL)
    _check_devices(devices, accelerator)
    # Sums are cut into as many pieces as there are threads: the same weights to the bit need the same number.
    with restored_settings(threads, matmul), silenced_lightning():
        model = _train(recipe, checked, run, identity, show, accelerator, threads, devices, matmul, data)
    if run is not None:
        with explained_errors(run):
            model.save(run.model)
    return model


def _train(
    recipe: Recipe,
    checked: TrainingData,
    run: RunFolder | None,
    identity: Mapping[str, Any],
    show: Silent,
    accelerator: str,
    threads: int,
    devices: int,
    matmul: str | None,
    data: Mapping[str, Any] | None,
) -> Any:
    parts = require("regard.tasks.training.lightning_parts", extra="train")

    torch.manual_seed(key(recipe.seed, 0, stream=2))
    objective = checked.objective()
    resumed = run.last if run is not None and run.can_continue() else None
    history, best = parts.history_of(resumed) if resumed is not None else [], {}
    if parts.is_over(recipe, history) is None:
        with with_workers(devices, _work, objective, recipe, run, resumed, threads, matmul) as process:
            history, best = _fit(process, objective, recipe, run, resumed, show, accelerator, identity)
    last = history[-1]
    score = f"{objective.measure.name} {objective.measure.format(last['best'])}"
    reason = parts.is_over(recipe, history)
    show.note(f"Training is over: {reason}. Best dev {score} in epoch {last['best_epoch']}.")

    weights = parts.best_weights(run) if run is not None else best
    final = {name: round_weights(value, name).to(value.dtype) for name, value in weights.items()}
    objective.network.load_state_dict(final)
    about = {
        "data": {**(data or {}), "splits": checked.counts},
        "training": {
            "seed": recipe.seed,
            "epochs": last["epoch"],
            "best_epoch": last["best_epoch"],
            f"dev {objective.measure.name}": last["best"],
            "seconds": last["seconds"],
            "longest": objective.dataset.longest,
            "out_of_distribution": thresholds_of(
                [recipe.input.ood_statistics(objective.dataset.encoder, source) for source, _ in checked.dev]
            ),
            "threads": threads,
            "devices": devices,
            "matmul": matmul,
            "machine": _machine(accelerator),
            "versions": _versions(),
        },
    }
    return checked.model(objective, about, run.folder.resolve().name if run is not None else recipe.task.kind)


def _fit(
    process: ProcessRank,
    objective: Objective,
    recipe: Recipe,
    run: RunFolder | None,
    resumed: Path | None,
    show: Silent,
    accelerator: str,
    identity: Mapping[str, Any],
) -> tuple[list[dict[str, Any]], dict[str, Tensor]]:
    """Train, from the beginning or from a checkpoint; the log, and the best weights of the epochs since."""
    parts = require("regard.tasks.training.lightning_parts", extra="train")
    ranks = require("regard.tasks.training.lightning_ranks", extra="train")
    training = parts.Training(objective, recipe)
    folder = run.folder if run is not None else None
    trainer = ranks.make_trainer(recipe, process, accelerator, [parts.AfterEpoch(run, show)], folder)
    try:
        with interruptible(trainer), explained_errors(run):
            process.join()
            if run is not None and process.rank == 0:
                # Not earlier: what fails before the first batch must leave the folder free for another try.
                run.begin(identity)
            trainer.fit(training, ckpt_path=resumed)
    finally:
        show.stop()
    return training.history, training.best


def _work(
    process: ProcessRank,
    objective: Objective,
    recipe: Recipe,
    run: RunFolder | None,
    resumed: Path | None,
    threads: int,
    matmul: str | None,
) -> None:
    """What the other processes do."""
    with restored_settings(threads, matmul), silenced_lightning():
        _fit(process, objective, recipe, run, resumed, Silent(), "cpu", {})


def _held_out(examples: Iterable[Any], auxiliary: Any) -> tuple[list[Any], list[Any], Any]:
    """The examples to train on, those that are dev, and the auxiliary targets of the former."""
    given = as_list("examples", examples, "(source, target) pairs")
    splits = split_by_source(as_pairs(given), ("train", "dev"))
    kept = [index for index, split in enumerate(splits) if split == "train"]
    dev = [item for item, split in zip(given, splits, strict=True) if split == "dev"]
    if not kept or not dev:
        raise ArgumentError(
            f"`dev` must be given where `examples` have so few different sources: by a hash of these all {len(given)} "
            f"are {'train' if kept else 'dev'}."
        )
    if isinstance(auxiliary, Mapping):
        # Rows of another number don't fit; the error comes later, with the others.
        auxiliary = {
            name: [rows[index] for index in kept] if len(rows) == len(given) else rows
            for name, rows in auxiliary.items()
        }
    return [given[index] for index in kept], dev, auxiliary


def _check_examples(examples: Any) -> None:
    if isinstance(examples, Recipe):
        raise ArgumentError(
            "`examples` must be examples, but is a Recipe. Give the recipe by its name: "
            "regard.train(examples, dev, recipe=recipe)."
        )


def _check_recipe(recipe: Any) -> None:
    if recipe is None or isinstance(recipe, Recipe):
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


def _check_devices(devices: int, accelerator: str) -> None:
    if devices > 1 and accelerator != "cpu":
        raise ArgumentError(f"`devices` must be 1 on a GPU, but is {devices}. Several train by device='cpu'.")
    processors = os.cpu_count() or 1
    if devices > processors:
        raise ArgumentError(
            f"`devices` must be at most the number of this machine's processors, {processors}, but is {devices}."
        )
    if devices > 1 and not (torch.distributed.is_available() and torch.distributed.is_gloo_available()):
        raise ArgumentError(f"`devices` must be 1 with a PyTorch that was built without gloo, but is {devices}.")


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
