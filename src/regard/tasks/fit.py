"""`regard.train`: from sentences and a recipe to a tagger, by lightning."""

import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from regard.errors import ArgumentError
from regard.extras import require
from regard.inputs import WordEncoder
from regard.tasks.batching import key
from regard.tasks.corpus import Corpus, label_ids
from regard.tasks.examples import Example, as_examples, digest
from regard.tasks.loading import load
from regard.tasks.network import TaggerNetwork
from regard.tasks.progress import Silent, choose_progress
from regard.tasks.recipe import RECIPES, Recipe
from regard.tasks.run import RunFolder
from regard.tasks.store import round_weights
from regard.tasks.surroundings import as_was, explained, interruptible, quiet
from regard.tasks.tagger import Tagger, word_keys
from regard.version import __version__

__all__ = ["train"]


def train(
    recipe: Recipe,
    sentences: Iterable[Any],
    dev: Iterable[Any],
    *,
    auxiliary: Mapping[str, Sequence[Sequence[str]]] | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    progress: str = "auto",
    device: str = "auto",
    threads: int = 1,
    data: Mapping[str, Any] | None = None,
) -> Tagger:
    """Train a tagger, and keep the weights that tag the dev sentences best.

    Args:
        recipe: how.
        sentences: (words, labels) pairs, or `TaggedSentence`s.
        dev: more of them, which aren't trained on: they decide which epoch is best and when to stop.
        auxiliary: for each label set that `recipe.auxiliary` names, the labels of `sentences`.
        out: a new folder for checkpoints, log and model; None: nothing is written. Resumed after a kill, a run ends
            with the weights, bit for bit, of one that was never interrupted.
        resume: go on with the run in `out`; one that is finished is loaded.
        progress: "bar", "lines", "none", or "auto": a bar on a terminal, else lines. On standard error.
        device: "cpu", "gpu", or "auto": a GPU if there is one.
        threads: of the CPU. The nets are small: more threads gain little, and on a busy machine lose much; and the
            weights depend on their number in the last bits. A resumed run has as many as it began with.
        data: where the sentences come from, for the card: name, title, licence, source, files.

    Returns:
        the tagger. Its weights are rounded to float16, as in its saved folder, so that it is what it will be when
        loaded.

    Raises:
        ArgumentError: a recipe, sentences or labels that don't fit, an `out` in use, a resumed run of another recipe.
        MissingExtraError: lightning is not installed.
        RegardError: the loss became NaN, or the disk is full; the last good checkpoint is whole.

    Example:
        >>> pairs = [(["the", "saw"], ["DET", "NOUN"]), (["I", "saw"], ["PRON", "VERB"])]
        >>> recipe = Recipe(features={"minimum_count": 1}, width=16, epochs=20, patience=20)
        >>> tagger = train(recipe, pairs, pairs, progress="none")
        >>> [word.label for word in tagger.tag([["I", "saw"]])[0]]
        ['PRON', 'VERB']
    """
    _check_recipe(recipe)
    _check_data(data)
    examples, judged = as_examples(sentences), as_examples(dev, argument="dev")
    for name, given in (("sentences", examples), ("dev", judged)):
        if not any(words for words, _ in given):
            raise ArgumentError(f"`{name}` must hold at least one word, but holds none.")
    extra = _check_auxiliary(recipe, examples, auxiliary)
    if resume and out is None:
        raise ArgumentError("`resume` needs `out`, the folder of the run to go on with, but `out` is None.")
    show = choose_progress(progress)
    accelerator = _accelerator(device)
    run = RunFolder(out) if out is not None else None
    identity: dict[str, Any] = {}
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise ArgumentError(f"`threads` must be a whole number, 1 or more, but is {threads!r}.")
    if run is not None:
        identity = _identity(recipe, examples, judged, extra, threads)
        begun = run.check(identity, resume=resume)
        threads = begun.get("threads", threads)
        if run.finished():
            show.note(f"The run in {run.folder} is finished; its model is in {run.model}.")
            return load(run.folder)
        if begun.get("versions") != identity["versions"]:
            show.note(f"Note: the run began with {begun.get('versions')}; its end may differ in the last bits.")
    # Sums are cut into as many pieces as there are threads: the same weights to the bit need the same number.
    with as_was(threads), quiet():
        tagger = _train(recipe, examples, judged, extra, run, identity, show, accelerator, threads, data)
    if run is not None:
        with explained(run):
            tagger.save(run.model)
    return tagger


def _train(
    recipe: Recipe,
    examples: list[Example],
    dev: list[Example],
    extra: list[Sequence[Sequence[str]]],
    run: RunFolder | None,
    identity: Mapping[str, Any],
    show: Silent,
    accelerator: str,
    threads: int,
    data: Mapping[str, Any] | None,
) -> Tagger:
    lightning = require("lightning.pytorch", extra="train")
    environments = require("lightning.fabric.plugins.environments", extra="train")
    parts = require("regard.tasks.lightning_parts", extra="train")

    words = [words for words, _ in examples]
    encoder = WordEncoder.fit(words, features=recipe.features)
    label_rows = [[labels for _, labels in examples], *extra]
    label_sets = [_names(rows) for rows in label_rows]
    torch.manual_seed(key(recipe.seed, 0, stream=2))
    network = TaggerNetwork(recipe, encoder, len(label_sets[0]))
    corpus = Corpus(encoder, words, label_ids(label_rows, label_sets))
    judged_labels = label_ids([[labels for _, labels in dev]], label_sets[:1])
    judged = Corpus(encoder, [words for words, _ in dev], judged_labels)
    training = parts.TaggerTraining(network, recipe, corpus, [len(names) for names in label_sets[1:]])

    resumed = run.last if run is not None and run.can_continue() else None
    if resumed is not None:
        training.history = parts.history_of(resumed)
    if parts.is_over(recipe, training.history) is None:
        trainer = lightning.Trainer(
            accelerator=accelerator,
            devices=1,
            max_epochs=recipe.epochs,
            gradient_clip_val=recipe.gradient_clip,
            callbacks=[parts.AfterEpoch(judged, run, show)],
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
    show.note(f"Training is over: {reason}. Best dev score {100 * last['best']:.2f} % in epoch {last['best_epoch']}.")

    weights = parts.best_weights(run) if run is not None else training.best
    network.load_state_dict({name: round_weights(value, name).to(value.dtype) for name, value in weights.items()})
    about = {
        "data": {**(data or {}), "splits": {"train": _counts(examples), "dev": _counts(dev)}},
        "training": {
            "seed": recipe.seed,
            "epochs": last["epoch"],
            "best_epoch": last["best_epoch"],
            "dev_accuracy": last["best"],
            "seconds": last["seconds"],
            "threads": threads,
            "machine": _machine(accelerator),
            "versions": _versions(),
        },
    }
    seen = word_keys({word for sentence in words for word in sentence}, recipe.features.fold).unique()
    name = run.folder.resolve().name if run is not None else "tagger"
    return Tagger(network.cpu(), encoder, label_sets[0], recipe, seen=seen, about=about, name=name)


def _check_auxiliary(
    recipe: Recipe, examples: list[Example], auxiliary: Mapping[str, Sequence[Sequence[str]]] | None
) -> list[Sequence[Sequence[str]]]:
    given = auxiliary or {}
    if set(given) != set(recipe.auxiliary):
        raise ArgumentError(
            f"`auxiliary` must have the labels of {list(recipe.auxiliary)}, which the recipe names, but has those of "
            f"{list(given)}. Pass them, or leave them out of the recipe: dataclasses.replace(recipe, auxiliary={{}})."
        )
    for name, rows in given.items():
        if [len(row) for row in rows] != [len(words) for words, _ in examples]:
            raise ArgumentError(f"`auxiliary[{name!r}]` must have a label for each word of `sentences`, but has not.")
    return [given[name] for name in recipe.auxiliary]


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


def _names(rows: Iterable[Sequence[str]]) -> list[str]:
    return sorted({label for row in rows for label in row})


def _counts(examples: list[Example]) -> dict[str, int]:
    return {"sentences": len(examples), "words": sum(len(words) for words, _ in examples)}


def _identity(
    recipe: Recipe, examples: list[Example], dev: list[Example], extra: list[Sequence[Sequence[str]]], threads: int
) -> dict[str, Any]:
    data = {"sentences": digest(examples), "dev": digest(dev)}
    for name, rows in zip(recipe.auxiliary, extra, strict=True):
        data[name] = digest([(words, tuple(row)) for (words, _), row in zip(examples, rows, strict=True)])
    return {"recipe": recipe.to_json(), "data": data, "threads": threads, "versions": _versions()}


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
