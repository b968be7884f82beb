"""`regard.train`: from examples and a recipe to a trained model."""

import platform
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.errors import ArgumentError, DivergedError, ModelError, is_out_of_memory
from regard.inputs import as_list
from regard.progress import choose_progress
from regard.tasks.defaults import default_recipe
from regard.tasks.judging.out_of_distribution import thresholds_of
from regard.tasks.recipe import Recipe
from regard.tasks.registry import TASKS
from regard.tasks.saving.folders import folder_name
from regard.tasks.saving.loading import load
from regard.tasks.saving.store import encode_json, round_weights
from regard.tasks.splits import Splits
from regard.tasks.training.batching import key
from regard.tasks.training.checks import check_count, check_data, check_examples, check_length, check_recipe
from regard.tasks.training.choices import Choices, Trial
from regard.tasks.training.compute import Compute, choose_accelerator
from regard.tasks.training.context import explained_errors, quiet_fabric
from regard.tasks.training.fitted_head import describe_head
from regard.tasks.training.objective import Objective, TrainingData
from regard.tasks.training.processes import with_workers
from regard.tasks.training.progress import TrainingProgress
from regard.tasks.training.rank import ProcessRank
from regard.tasks.training.run import RunFolder
from regard.tasks.training.sharing import check_sharing
from regard.tasks.training.state import is_over, read_best, read_last
from regard.tasks.training.torchrun import check_agreement, is_first, joined, launched
from regard.version import __version__

__all__ = ["train"]


def train(
    examples: Iterable[Any],
    dev: Iterable[Any] | None = None,
    *,
    recipe: Recipe | None = None,
    base: str | Path | None = None,
    tune: str | None = None,
    vectors: str | Path | None = None,
    search: bool | None = None,
    auxiliary: Mapping[str, Sequence[Any]] | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    progress: str = "auto",
    device: str = "auto",
    threads: int = 1,
    devices: int | None = None,
    context_parallel: int = 1,
    matmul: str | None = None,
    data: Mapping[str, Any] | None = None,
) -> Any:
    """Train a model, and keep the weights of its best epoch: by dev, or by cross-validation, as the recipe says.

    Args:
        examples: for a tagger (words, labels) pairs, or `TaggedSentence`s; for a classifier (source, target) pairs, or
            `Example`s, whose targets are labels, numbers, or tuples of 1, 0 and None; None as a target is unknown. For
            seq2seq the targets are texts, for synthesis sounds.
        dev: further examples, which aren't trained on; they decide which epoch is best and when to stop. None: about a
            tenth of the examples, by a hash of their sources (`datasets.split_by_source`).
        recipe: how to train. None: `tasks.default_recipe`, which depends on the kind and the number of the examples.
        base: the local folder of a pretrained model, as `save_pretrained` writes it, to fine-tune by
            `tasks.default_recipe`, where `recipe` is None.
        tune: what of the base is trained, "all", "layers", "adapters" or "head", likewise. None: what suits the number
            of examples.
        vectors: static vectors to read texts by, likewise: a text file of GloVe or word2vec, or a folder of model2vec.
        search: whether to compare the recipe's network with `Task.candidates` first, on parts of the training examples,
            and to train the best. None: only if `recipe` is None. Not under torchrun.
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
            keeps its number. If torchrun starts the processes, on one machine or several, they share each batch in the
            same way: call `train` with the same arguments in each, and leave `devices` out. Only the first uses `out`.
            None: `context_parallel`.
        context_parallel: number of these processes that share each sequence of a batch, for sequences whose layers of
            attention don't fit into the memory of one: each computes a slice (`regard.distributed`). It divides the
            number of processes, and a resumed run keeps it.
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
            more devices than there are processors, several on a GPU, an unknown `matmul`, or processes of
            torchrun with different arguments.
        MissingExtraError: lightning-fabric is not installed.
        RegardError: the loss became NaN, the disk is full, or one of several processes ended; the last good checkpoint
            is intact.

    Example:
        >>> pairs = [(["the", "saw"], ["DET", "NOUN"]), (["I", "saw"], ["PRON", "VERB"])]
        >>> recipe = Recipe(input={"features": {"minimum_count": 1}}, width=16, epochs=20, patience=20)
        >>> tagger = train(pairs, pairs, recipe=recipe, progress="none")
        >>> [word.label for word in tagger.tag([["I", "saw"]])[0]]
        ['PRON', 'VERB']
    """
    check_recipe(recipe)
    begins = {"base": base, "vectors": vectors, "tune": tune}
    given = next((name for name, value in begins.items() if value is not None), None)
    if recipe is not None and given is not None:
        raise ArgumentError(f"`{given}` must be left out beside `recipe`, whose `input` has it.")
    check_data(data)
    check_examples(examples)
    launch = launched()
    show = TrainingProgress(choose_progress(progress) if is_first() else None)
    if dev is None:
        held = Splits(as_list("examples", examples, "(source, target) pairs"), auxiliary=auxiliary).with_dev()
        examples, dev, auxiliary = held.train, held.dev or (), held.auxiliary
        is_are = "is" if len(dev) == 1 else "are"
        show.note(f"{len(dev):,} of {len(examples) + len(dev):,} examples {is_are} dev, by a hash of each source.")
    searches = recipe is None if search is None else search
    if recipe is None:
        examples = as_list("examples", examples, "(source, target) pairs")
        recipe = default_recipe(examples, base=base, tune=tune, vectors=vectors)
        show.note(
            f"Training a {recipe.task.kind} of {recipe.input.kind} by a default recipe: {recipe.epochs} epochs at most."
        )
    checked: TrainingData = TASKS[recipe.task.kind].data(recipe, examples, dev, auxiliary)
    if (said := describe_head(recipe, checked.examples)) is not None:
        show.note(said)
    if (said := recipe.input.preparation([source for source, _ in checked.examples])) is not None:
        show.note(said)
    if resume and out is None:
        raise ArgumentError("`resume` needs `out`, the folder of the run to go on with, but `out` is None.")
    # A library that can't start as many threads ends the process.
    check_count("threads", threads, most=1024)
    check_count("context_parallel", context_parallel)
    if devices is None:
        devices = context_parallel if launch is None else 1
    check_count("devices", devices)
    compute = Compute(choose_accelerator(device), threads, devices, matmul, context_parallel)
    if launch is not None:
        compute = launch.compute(compute, device)
    with joined(launch) as process:
        request = _Request(recipe, checked, dict(data or {}), process, show)
        if launch is not None:
            check_agreement(process, request.identity(compute))
        run = RunFolder(out) if out is not None and process.is_first else None
        with nullcontext("") if run is None else run.locked(resume=resume) as killed:
            if killed:
                show.note(f"Note: {killed} trained here before, and was killed.")
            choices = Choices(checked, show, _trial(request, compute))
            if launch is None:
                begun = run.recipe() if run is not None and resume else None
                request = request.chosen(*choices.make(recipe, begun, searches=searches))
            else:
                choices.leave(recipe, searches=searches)
            start = process.broadcast(_start(request, compute, run, resume=resume))
            if start.model is not None:
                return start.model
            start.compute.check(here=process.devices == 1)
            return process.broadcast(_train(request, start, run))


@dataclass(frozen=True)
class _Request:
    """A checked request to train.

    Args:
        recipe: how to train.
        checked: the training data.
        data: the origin of the examples, for the card.
        process: the rank of this process among torchrun's.
        show: shows the progress.
        search: how the network was chosen; None: it wasn't.
    """

    recipe: Recipe
    checked: TrainingData
    data: dict[str, Any]
    process: ProcessRank
    show: TrainingProgress
    search: Mapping[str, Any] | None = None

    def chosen(self, recipe: Recipe, search: Mapping[str, Any] | None) -> "_Request":
        """The request with a recipe that the examples have chosen."""
        if recipe == self.recipe:
            return replace(self, search=search)
        beside = getattr(self.checked, "auxiliary", None)
        checked = TASKS[recipe.task.kind].data(recipe, self.checked.examples, self.checked.dev, beside)
        return replace(self, recipe=recipe, checked=checked, search=search)

    def identity(self, compute: Compute) -> dict[str, Any]:
        """Everything that determines the result, and how its network was chosen."""
        how = {name: getattr(compute, name) for name in ("threads", "devices", "matmul", "context_parallel")}
        found = {} if self.search is None else {"search": self.search}
        return {"recipe": self.recipe.to_json(), "data": self.checked.digests, **how, "versions": _versions(), **found}


@dataclass(frozen=True)
class _Start:
    """The state of a run before training, which all of torchrun's processes share.

    Args:
        compute: the hardware settings that the run began with.
        checkpoint: the state to resume from; None: start from the beginning.
        model: the model, if the run is finished.
        search: how the network was chosen, as the run began.
    """

    compute: Compute
    checkpoint: dict[str, Any] | None = None
    model: Any = None
    search: Mapping[str, Any] | None = None


def _start(request: _Request, compute: Compute, run: RunFolder | None, *, resume: bool) -> _Start:
    """Check the folder of the run, and read the checkpoint or the model in it."""
    if run is None:
        return _Start(compute, search=request.search)
    identity = request.identity(compute)
    saved = run.check(identity, resume=resume)
    devices = saved.get("devices", 1)
    if request.process.devices > 1 and request.process.devices != devices:
        raise ArgumentError(
            f"`resume` must go on with as many processes as {run.folder} began with, {devices}, but torchrun started "
            f"{request.process.devices}."
        )
    compute = replace(
        compute,
        threads=saved.get("threads", compute.threads),
        devices=devices,
        matmul=saved.get("matmul"),
        context_parallel=saved.get("context_parallel", 1),
    )
    if run.finished():
        request.show.note(f"The run in {run.folder} is finished; its model is in {run.model}.")
        return _Start(compute, model=_finished(run))
    if saved.get("versions") != identity["versions"]:
        request.show.note(f"Note: the run began with {saved.get('versions')}; its end may differ in the last bits.")
    search = saved.get("search")
    if not run.can_continue():
        return _Start(compute, search=search)
    checkpoint = read_last(run.last)
    # A kill or a full disk between the last checkpoint and the log left out the last epoch.
    run.write_log(checkpoint["regard"]["history"])
    return _Start(compute, checkpoint, search=search)


def _finished(run: RunFolder) -> Any:
    """The model of a finished run."""
    try:
        return load(run.folder)
    except ModelError as error:
        if not run.can_continue():
            raise
        raise ModelError(f"{error} Or delete {run.model}: `resume` makes it anew from the checkpoint.") from error


def _train(request: _Request, start: _Start, run: RunFolder | None) -> Any:
    """Train a network, and make a model of its best weights; None in all processes but the first."""
    with start.compute.in_use(), quiet_fabric():
        torch.manual_seed(key(request.recipe.seed, 0, stream=2))
        objective = _objective(request)
        check_sharing(objective, start.compute.context_parallel)
        # Before hours of training, since a model that can't be saved would be lost.
        encode_json({"recipe": request.recipe.to_json(), "reader": objective.dataset.encoder.to_json()})
        for name, dataset in (("examples", objective.dataset), ("dev", objective.dev)):
            check_length(request.recipe, dataset.longest, name)
        history, best = _fit(request, start, run, objective)
        if not request.process.is_first:
            return None
        last = history[-1]
        score = f"{objective.measure.name} {objective.measure.format(last['best'])}"
        reason = is_over(request.recipe, history)
        where = "Its dev" if request.recipe.keep_epoch is not None else "Best dev"
        request.show.note(f"Training is over: {reason}. {where} {score} in epoch {last['best_epoch']}.")
        objective.network.load_state_dict(best if run is None else read_best(run.best))
        objective.finish()
        weights = objective.network.state_dict()
        try:
            final = {name: round_weights(value, name).to(value.dtype) for name, value in weights.items()}
        except ArgumentError as error:
            # They became so large that no loss on a batch showed it before training was over.
            raise DivergedError(
                "the weights became too large for float16",
                f"Try a smaller `learning_rate` than {request.recipe.learning_rate}.",
            ) from error
        objective.network.load_state_dict(final)
        name = request.recipe.task.kind if run is None else folder_name(run.folder)
        model = request.checked.model(objective, _about(request, start, objective, last), name)
    if run is not None:
        with explained_errors(run):
            model.save(run.model)
    return model


def _objective(request: _Request) -> Objective:
    """The objective, with the initial weights."""
    try:
        return request.checked.objective()
    except (RuntimeError, MemoryError, OverflowError) as error:
        if not is_out_of_memory(error) and not isinstance(error, OverflowError):
            raise
        recipe = request.recipe
        raise ArgumentError(
            "`recipe` must describe a network for which there is enough memory, but there isn't for one with "
            f"`width` {recipe.width:,}, `hidden` {recipe.hidden:,}, `layers` {recipe.layers:,} and `reach` "
            f"{recipe.reach:,}. Choose smaller ones."
        ) from error


def _trial(request: _Request, compute: Compute) -> Trial:
    """Trains on some of the examples with one process, in silence."""
    compute = replace(compute, devices=1, context_parallel=1)
    compute.check(here=True)

    def log_of(recipe: Recipe, train: Sequence[Any], judged: Sequence[Any]) -> list[dict[str, Any]]:
        part = TASKS[recipe.task.kind].data(recipe, train, judged, None)
        own = replace(request, checked=part, recipe=recipe, process=ProcessRank(), show=TrainingProgress())
        with compute.in_use(), quiet_fabric():
            torch.manual_seed(key(recipe.seed, 0, stream=2))
            return _fit(own, _Start(compute), None, _objective(own))[0]

    return log_of


def _fit(
    request: _Request, start: _Start, run: RunFolder | None, objective: Objective
) -> tuple[list[dict[str, Any]], dict[str, Tensor]]:
    """Train, unless all epochs are done. Return the log, and the best weights of the epochs trained in this call."""
    # Fabric takes seconds to import.
    from regard.tasks.training.loop import Plan, fit, work

    history = [] if start.checkpoint is None else start.checkpoint["regard"]["history"]
    if is_over(request.recipe, history) is not None:
        return history, {}
    plan = Plan(objective, request.recipe, start.compute, start.checkpoint)
    alone = request.process.devices == 1
    group = with_workers(start.compute.devices, work, plan) if alone else nullcontext(request.process)
    with group as process:
        return fit(process, plan, run, request.show)


def _about(request: _Request, start: _Start, objective: Objective, last: Mapping[str, Any]) -> dict[str, Any]:
    """What the model card says about the training."""
    recipe, compute = request.recipe, start.compute
    statistics = [recipe.input.ood_statistics(objective.dataset.encoder, source) for source, _ in request.checked.dev]
    return {
        "data": {**request.data, "splits": request.checked.counts},
        "training": {
            "seed": recipe.seed,
            "epochs": last["epoch"],
            "best_epoch": last["best_epoch"],
            f"dev {objective.measure.name}": last["best"],
            "seconds": last["seconds"],
            "longest": objective.dataset.longest,
            "out_of_distribution": thresholds_of(statistics),
            "threads": compute.threads,
            "devices": compute.devices,
            "matmul": compute.matmul,
            **({} if compute.context_parallel == 1 else {"context_parallel": compute.context_parallel}),
            "machine": compute.machine,
            "versions": _versions(),
            **({} if start.search is None else {"search": start.search}),
        },
    }


def _versions() -> dict[str, str]:
    return {"regard": __version__, "torch": torch.__version__, "python": platform.python_version()}
