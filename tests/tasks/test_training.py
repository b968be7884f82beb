import dataclasses
import errno
import json
import os
import shutil
import signal
import threading
import warnings
from pathlib import Path

import pytest
import torch
from toys import BY_HEART, SAWS, generated, tiny

from regard.datasets import split_by_hash
from regard.errors import ArgumentError, DivergedError, MissingExtraError, ModelError, RegardError, UnknownNameError
from regard.progress import Progress
from regard.tasks import Recipe, load, train
from regard.tasks.training import train as training
from regard.tasks.training.checkpoints import read_state, write_state
from regard.tasks.training.context import ended_by_sigterm
from regard.tasks.training.loop import Loop
from regard.tasks.training.optimizer import share_of_rate
from regard.tasks.training.progress import TrainingProgress
from regard.tasks.training.run import RunFolder


def fit(recipe: Recipe, sentences=SAWS, dev=None, **options):
    return train(
        sentences, sentences if dev is None else dev, recipe=recipe, **{"progress": "none", "device": "cpu"} | options
    )


def weights(tagger) -> dict[str, bytes]:
    return {name: value.numpy().tobytes() for name, value in tagger.network.state_dict().items()}


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_twenty_sentences_are_learned_by_heart():
    sentences = generated(20)
    assert fit(tiny(**BY_HEART), sentences).evaluate(sentences).accuracy == 1.0


@pytest.mark.slow
def test_the_two_saws_need_attention():
    """The same word twice: without attention its scores are equal to the bit, with it they are told apart."""
    tags = {}
    for network in ("attention", "connected"):
        tagger = fit(tiny(**BY_HEART, network=network))
        batch = tagger.encode([SAWS[0][0]])
        scores = tagger.score(batch)[0]
        assert torch.equal(scores[1], scores[3]) is (network == "connected")
        tags[network] = [word.label for word in tagger.tag([SAWS[0][0]])[0]]
    assert tags["attention"] == SAWS[0][1]
    assert tags["connected"][1] == tags["connected"][3]


def test_without_attention_only_the_attention_is_missing():
    with_it, without = fit(tiny(epochs=1)), fit(tiny(epochs=1, network="connected"))
    kept = {name.replace(".encoder", "") for name in weights(with_it) if ".attention" not in name}
    assert kept == {name.replace(".connected.connected", ".connected") for name in weights(without)}


@pytest.mark.parametrize("kept", [{}, {"average": 0.9}, {"optimizer": "muon"}], ids=str)
def test_the_seed_decides(kept):
    recipe = tiny(**kept)
    torch.manual_seed(1)
    first = weights(fit(recipe))
    torch.manual_seed(2)
    assert weights(fit(recipe)) == first
    assert weights(fit(dataclasses.replace(recipe, seed=1))) != first


def test_auxiliary_labels_are_learned_beside_and_not_kept():
    again = {"again": [[label.lower() for label in labels] for _, labels in SAWS]}
    plain, helped = fit(tiny()), fit(tiny(task={"auxiliary": {"again": 0.3}}), auxiliary=again)
    assert set(weights(helped)) == set(weights(plain))
    assert weights(helped) != weights(plain)
    assert helped.labels == plain.labels


def test_the_best_epoch_is_kept_not_the_last(tmp_path):
    # A learning rate that destroys what was learned: the last epochs are bad.
    tagger = fit(tiny(**BY_HEART | {"epochs": 9, "learning_rate": 0.3}), out=tmp_path / "run")
    rows = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    best = max(rows, key=lambda row: (row["score"], -row["dev_loss"]))
    assert tagger.about["training"]["best_epoch"] == best["epoch"]
    assert best["score"] > rows[-1]["score"] or best["epoch"] < rows[-1]["epoch"]
    assert tagger.evaluate(SAWS).accuracy == pytest.approx(best["score"])


def test_of_equal_scores_the_lower_loss_is_best(tmp_path):
    """One dev word: every epoch is right or wrong, and the loss goes on falling."""
    tagger = fit(tiny(**BY_HEART | {"epochs": 12}), dev=[(["cat"], ["NOUN"])], out=tmp_path / "run")
    rows = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    right = [row for row in rows if row["score"] == 1.0]
    assert len(right) > 1
    best = min(right, key=lambda row: row["dev_loss"])
    assert best != right[0]
    assert (rows[-1]["best_epoch"], tagger.about["training"]["best_epoch"]) == (best["epoch"], best["epoch"])


def test_patience_stops(tmp_path):
    fit(tiny(**BY_HEART | {"epochs": 60, "patience": 2}), out=tmp_path / "run")
    rows = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert len(rows) < 60
    # Counted from when the score last rose: as good with a lower loss is no better score.
    assert rows[-1]["epoch"] - next(row["epoch"] for row in rows if row["best"] == rows[-1]["best"]) == 2


def test_the_time_limit_stops():
    assert fit(tiny(epochs=50, minutes=1e-6)).about["training"]["epochs"] == 1


def test_without_out_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fit(tiny(epochs=1))
    assert not list(tmp_path.rglob("*"))


def test_with_out_nothing_is_written_elsewhere_and_nothing_is_a_pickle(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a pickle")

    monkeypatch.setattr(torch, "save", refuse)
    monkeypatch.setattr("pickle.dump", refuse)
    monkeypatch.setattr("pickle.dumps", refuse)
    monkeypatch.chdir(tmp_path)
    fit(tiny(epochs=2), out="deep/run")
    states = {f"checkpoints/{name}/state.{kind}" for name in ("best", "last") for kind in ("json", "safetensors")}
    model = {f"model/{name}" for name in ("README.md", "model.json", "model.safetensors")}
    assert files(tmp_path / "deep" / "run") == states | model | {"run.json", "log.jsonl"}
    assert {path.name for path in tmp_path.iterdir()} == {"deep"}


def test_the_process_is_left_as_it_was(capfd):
    torch.manual_seed(5)
    before = torch.get_rng_state(), torch.get_num_threads(), signal.getsignal(signal.SIGINT), list(warnings.filters)
    fit(tiny(epochs=1))
    after = torch.get_rng_state(), torch.get_num_threads(), signal.getsignal(signal.SIGINT), list(warnings.filters)
    assert torch.equal(before[0], after[0])
    assert before[1:] == after[1:]
    assert capfd.readouterr() == ("", "")


def test_lines_say_how_far_it_is(capfd):
    fit(tiny(epochs=2), progress="auto")
    out, err = capfd.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert lines[0].startswith("epoch 1/2  loss ")
    assert all(word in lines[1] for word in ("epoch 2/2", "dev ", "best ", "elapsed 0:", "left 0:00"))
    assert lines[2].startswith("Training is over: all epochs are done. Best dev accuracy ")
    assert "\x1b" not in err


def told(seconds, best, epochs=40):
    """The epochs that are shown, of epochs that take these seconds each; `best` are those better than all before."""
    shown = Progress()
    lines: list[str] = []
    shown.note = lambda text: lines.append(text)
    progress = TrainingProgress(shown)
    progress.start(epochs, 0)
    for epoch in range(1, epochs + 1):
        first = max((each for each in best if each <= epoch), default=1)
        row = {"loss": 1.0, "score": 0.5, "best": 0.5, "best_epoch": first, "epoch": epoch, "seconds": seconds * epoch}
        progress.epoch(row)
    return [int(line.split("/")[0].removeprefix("epoch")) for line in lines]


def test_few_lines_are_shown_of_epochs_of_milliseconds():
    assert told(0.1, {1, 2, 15}) == [1, 2, 12, 15, 25, 35, 40]
    assert told(5.0, {1}) == [*range(1, 41)]
    assert told(1.0, {1}) == [1, 6, 11, 16, 21, 26, 31, 36, 40]


def test_the_log_has_every_epoch(tmp_path, capfd):
    fit(tiny(epochs=7), out=tmp_path / "run", progress="lines")
    assert len((tmp_path / "run" / "log.jsonl").read_text().splitlines()) == 7
    assert capfd.readouterr().err.splitlines()[-2].startswith("epoch 7/7")


def test_an_out_in_use_is_refused(tmp_path):
    fit(tiny(epochs=1), out=tmp_path / "run")
    before = {name: (tmp_path / "run" / name).read_bytes() for name in files(tmp_path / "run")}
    with pytest.raises(ArgumentError, match=r"`out` must be a new or empty folder, but .* holds a run. Go on with it"):
        fit(tiny(epochs=1), out=tmp_path / "run")
    assert {name: (tmp_path / "run" / name).read_bytes() for name in files(tmp_path / "run")} == before
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    with pytest.raises(ArgumentError, match=r"holds something else. Name another"):
        fit(tiny(epochs=1), out=tmp_path / "other")
    assert files(tmp_path / "other") == {"thesis.txt"}


def test_a_finished_run_says_so(tmp_path, capfd):
    first = fit(tiny(epochs=1), out=tmp_path / "run")
    again = fit(tiny(epochs=1), out=tmp_path / "run", resume=True, progress="lines")
    assert "is finished; its model is in" in capfd.readouterr().err
    assert weights(again) == weights(first)


def test_a_finished_model_that_was_edited_can_be_made_anew(tmp_path):
    first = fit(tiny(epochs=1), out=tmp_path / "run")
    path = tmp_path / "run" / "model" / "model.json"
    path.write_text(path.read_text().replace('"mask":"none"', '"mask":"causal"'))
    with pytest.raises(ModelError, match=r"was edited .* Or delete .*model: `resume` makes it anew"):
        fit(tiny(epochs=1), out=tmp_path / "run", resume=True)
    shutil.rmtree(path.parent)
    assert weights(fit(tiny(epochs=1), out=tmp_path / "run", resume=True)) == weights(first)


class Stopped(Exception):
    pass


def interrupted(recipe: Recipe, out: Path, epoch: int, **options) -> None:
    """Train until this epoch, from 0, has begun."""
    start = Loop.train_epoch

    def stop(self, number):
        if number == epoch:
            raise Stopped
        return start(self, number)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Loop, "train_epoch", stop)
        with pytest.raises(Stopped):
            fit(recipe, out=out, **options)


@pytest.mark.parametrize("kept", [{}, {"average": 0.9}, {"optimizer": "muon"}], ids=str)
def test_a_resumed_run_ends_with_the_same_bits(tmp_path, kept):
    recipe = tiny(epochs=7, **kept)
    fit(recipe, out=tmp_path / "whole")
    interrupted(recipe, tmp_path / "run", 0)
    interrupted(recipe, tmp_path / "run", 2, resume=True)
    torch.manual_seed(3)
    interrupted(recipe, tmp_path / "run", 5, resume=True)
    fit(recipe, out=tmp_path / "run", resume=True)
    for name in ("model/model.safetensors", "checkpoints/last/state.safetensors", "checkpoints/best/state.safetensors"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    rows = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert [row["epoch"] for row in rows] == [1, 2, 3, 4, 5, 6, 7]


def test_a_run_that_lightnings_trainer_began_goes_on(tmp_path):
    """Its checkpoints held more: the loops, callbacks and schedulers of the Trainer."""
    recipe = tiny(epochs=4, average=0.9)
    fit(recipe, out=tmp_path / "whole")
    interrupted(recipe, tmp_path / "run", 2)
    last = tmp_path / "run/checkpoints/last"
    theirs = {"epoch": 1, "pytorch-lightning_version": "2.6.6", "loops": {"fit_loop": {"state_dict": {}}}}
    write_state(last, read_state(last) | theirs | {"callbacks": {}, "lr_schedulers": []})
    fit(recipe, out=tmp_path / "run", resume=True)
    for name in ("model/model.safetensors", "checkpoints/last/state.safetensors", "checkpoints/best/state.safetensors"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name


def test_a_run_that_early_stopping_ended_is_not_trained_further(tmp_path):
    recipe = tiny(**BY_HEART | {"epochs": 60, "patience": 1})
    tagger = fit(recipe, out=tmp_path / "run")
    last = (tmp_path / "run/checkpoints/last/state.safetensors").read_bytes()
    # As if killed after the last checkpoint and before the model was written.
    for path in (tmp_path / "run" / "model").iterdir():
        path.unlink()
    (tmp_path / "run" / "model").rmdir()
    assert weights(fit(recipe, out=tmp_path / "run", resume=True)) == weights(tagger)
    assert (tmp_path / "run/checkpoints/last/state.safetensors").read_bytes() == last


def test_a_resumed_run_uses_the_threads_it_began_with(tmp_path, monkeypatch):
    recipe = tiny(epochs=2)
    interrupted(recipe, tmp_path / "run", 1, threads=3)
    before, used, start = torch.get_num_threads(), [], Loop.train_epoch

    def note(self, epoch):
        used.append(torch.get_num_threads())
        return start(self, epoch)

    monkeypatch.setattr(Loop, "train_epoch", note)
    fit(recipe, out=tmp_path / "run", resume=True)
    assert used == [3]
    assert torch.get_num_threads() == before


def test_another_recipe_or_other_data_can_not_be_resumed(tmp_path):
    interrupted(tiny(epochs=2), tmp_path / "run", 1)
    with pytest.raises(ArgumentError, match=r"recipe `dropout` was 0.2, is 0.3; recipe `seed` was 0, is 4"):
        fit(tiny(epochs=2, dropout=0.3, seed=4), out=tmp_path / "run", resume=True)
    other = dataclasses.replace(tiny(epochs=2), input=dataclasses.replace(tiny().input, word_dropout=0.75))
    with pytest.raises(ArgumentError, match=r"recipe `input` `word_dropout` was [0-9.]+, is 0\.75"):
        fit(other, out=tmp_path / "run", resume=True)
    with pytest.raises(ArgumentError, match="the dev examples are not those it began with"):
        fit(tiny(epochs=2), out=tmp_path / "run", resume=True, dev=SAWS[:2])
    with pytest.raises(ArgumentError, match="the training examples are not those"):
        fit(tiny(epochs=2), [*SAWS, SAWS[0]], SAWS, out=tmp_path / "run", resume=True)


def test_nothing_to_resume(tmp_path):
    with pytest.raises(ArgumentError, match=r"holds none. Leave it out to start one"):
        fit(tiny(), out=tmp_path / "run", resume=True)
    with pytest.raises(ArgumentError, match="`resume` needs `out`"):
        fit(tiny(), resume=True)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_one_sentence_and_the_last_checkpoint_is_whole(tmp_path, monkeypatch):
    recipe = tiny(epochs=4)
    fit(recipe, out=tmp_path / "whole")
    real, calls = os.fsync, []

    def full(handle):
        calls.append(handle)
        if len(calls) > 20:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(handle)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(RegardError, match=r"The disk is full: .* The last good checkpoint is whole; make room"):
            fit(recipe, out=tmp_path / "run")
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith((".part", ".old"))]
    fit(recipe, out=tmp_path / "run", resume=True)
    final = "model/model.safetensors"
    assert (tmp_path / "run" / final).read_bytes() == (tmp_path / "whole" / final).read_bytes()


@pytest.mark.parametrize("epoch", [1, 3])
def test_a_log_that_the_last_checkpoint_is_ahead_of_is_made_whole(tmp_path, monkeypatch, epoch):
    recipe = tiny(epochs=3)
    fit(recipe, out=tmp_path / "whole")
    real = RunFolder.write_log

    def killed(self, rows):
        if len(rows) == epoch:
            raise Stopped
        real(self, rows)

    with monkeypatch.context() as patched:
        patched.setattr(RunFolder, "write_log", killed)
        with pytest.raises(Stopped):
            fit(recipe, out=tmp_path / "run")
    fit(recipe, out=tmp_path / "run", resume=True)
    rows, whole = ((tmp_path / name / "log.jsonl").read_text().splitlines() for name in ("run", "whole"))
    assert [json.loads(row)["epoch"] for row in rows] == [json.loads(row)["epoch"] for row in whole] == [1, 2, 3]
    final = "model/model.safetensors"
    assert (tmp_path / "run" / final).read_bytes() == (tmp_path / "whole" / final).read_bytes()


def test_a_run_in_a_folder_whose_name_is_no_utf8_is_saved_and_resumed(tmp_path):
    out = tmp_path / "o\udcff"
    interrupted(tiny(epochs=2), out, 1)
    assert fit(tiny(epochs=2), out=out, resume=True).name == "o\ufffd"
    assert load(out).name == "o\ufffd"


def test_a_loss_that_is_no_number_stops_with_advice(tmp_path, monkeypatch):
    hidden = "regard.tasks.network.SourceNetwork.hidden"
    monkeypatch.setattr(hidden, lambda self, batch: self.embedding(batch.vectors) * torch.nan)
    with pytest.raises(RegardError, match=r"The loss became nan in epoch 1, batch 1. Try a smaller `learning_rate`"):
        fit(tiny())


def test_weights_that_are_too_large_stop_with_advice():
    with pytest.raises(DivergedError, match=r"The weights became too large for float16. Try a smaller `learning_rate`"):
        fit(dataclasses.replace(tiny(), epochs=1, batch_items=10_000, learning_rate=1e30))


def test_ctrl_c_stops_cleanly(tmp_path):
    recipe = tiny(epochs=5)
    start = Loop.train_epoch

    def press(self, epoch):
        if epoch == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return start(self, epoch)

    before = signal.getsignal(signal.SIGINT)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Loop, "train_epoch", press)
        with pytest.raises(KeyboardInterrupt):
            fit(recipe, out=tmp_path / "run")
    assert signal.getsignal(signal.SIGINT) is before
    fit(recipe, out=tmp_path / "run", resume=True)
    fit(recipe, out=tmp_path / "whole")
    final = "model/model.safetensors"
    assert (tmp_path / "run" / final).read_bytes() == (tmp_path / "whole" / final).read_bytes()


def test_sigterm_ends_at_once_and_not_as_if_all_were_done(tmp_path, monkeypatch):
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(Loop, "update", lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    with pytest.raises(SystemExit) as ended:
        fit(tiny(), out=tmp_path / "run")
    assert ended.value.code == 143
    assert signal.getsignal(signal.SIGTERM) is before
    assert not (tmp_path / "run" / "log.jsonl").exists()


def test_a_handler_of_sigterm_that_is_not_of_python_stays(monkeypatch):
    """As in a program that embeds Python: `getsignal` knows nothing of its handler."""
    monkeypatch.setattr(signal, "getsignal", lambda _: None)
    monkeypatch.setattr(signal, "signal", lambda *_: pytest.fail("the handler was replaced"))
    with ended_by_sigterm():
        pass


def test_training_works_in_a_thread():
    results = []
    thread = threading.Thread(target=lambda: results.append(fit(tiny(epochs=1))))
    thread.start()
    thread.join()
    assert results[0].tag([["I"]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sentences": []}, "`examples` must hold at least one word"),
        ({"sentences": [([], [])]}, "`examples` must hold at least one word"),
        ({"dev": []}, "`dev` must hold at least one word"),
        ({"sentences": [(["a"], [])]}, r"`examples\[0\]` must have a label for each word, but has 1 words, 0 labels"),
        ({"sentences": ["I saw"]}, r"`examples\[0\]` must be a pair"),
        ({"sentences": [("I saw", ["X", "Y"])]}, r"The words of `examples\[0\]` must be a list of strings"),
        ({"sentences": None}, r"`examples` must be a list of \(source, target\) pairs, but is None"),
        ({"sentences": [(["a"], None)]}, r"The labels of `examples\[0\]` must be a list of strings, but are None"),
        ({"progress": None}, "`progress` must be one of auto"),
        ({"data": {"x": object()}}, "`data` must hold plain values, as JSON does"),
        ({"data": {"name": "o\udcff"}}, r"`data` must hold plain values.*: 'o\\udcff' has half of a character"),
        ({"sentences": [(["a"], ["X\ud800"])]}, r"`labels` must be of whole characters, but 'X\\ud800' has half"),
        ({"data": 5}, "`data` must be an object of plain values"),
        ({"threads": 0}, "`threads` must be a whole number from 1 to 1,024"),
        ({"threads": 100_000}, "`threads` must be a whole number from 1 to 1,024, but is 100000"),
        ({"device": "tpu"}, "`device` must be auto, cpu or gpu"),
        ({"auxiliary": {"xpos": []}}, "`auxiliary` must have the labels of"),
    ],
)
def test_what_can_not_be_is_refused_before_training(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        fit(tiny(), **{"sentences": SAWS, **arguments})


def test_without_dev_a_tenth_is_held_out_with_its_auxiliary_labels(capsys):
    sentences = generated(60) + [(["again"], ["X"])] * 5
    xpos = [[f"x{label}" for label in labels] for _, labels in sentences]
    recipe = tiny(epochs=1, task={"kind": "tagger", "auxiliary": {"xpos": 0.5}})
    model = train(sentences, recipe=recipe, auxiliary={"xpos": xpos}, progress="lines", device="cpu")
    wanted = [split_by_hash(str(tuple(words))) for words, _ in sentences]
    counts = {split: counts["sentences"] for split, counts in model.about["data"]["splits"].items()}
    assert counts == {"dev": wanted.count("dev"), "train": len(sentences) - wanted.count("dev")}
    assert f"{counts['dev']} of 65 examples are dev, by a hash of each source." in capsys.readouterr().err
    with pytest.raises(ArgumentError, match=r"few different sources: the split by a hash puts all 2 into train"):
        train([("good", "yes"), ("fine", "no")])


def test_without_a_recipe_there_is_a_default_one(monkeypatch):
    seen = []

    def default(examples, **how):
        seen.append(len(examples))
        return tiny(epochs=1)

    monkeypatch.setattr(training, "default_recipe", default)
    assert train(iter(SAWS), SAWS, progress="none", device="cpu").recipe == tiny(epochs=1)
    assert seen == [len(SAWS)]


@pytest.mark.parametrize(
    "said",
    [
        MemoryError(),
        RuntimeError("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory"),
        OverflowError("int too large to convert to float"),
    ],
    ids=repr,
)
def test_a_network_for_which_there_is_no_memory_is_told_with_the_recipe(monkeypatch, said):
    def large(*_):
        raise said

    monkeypatch.setattr("regard.tasks.tagger.data.source_network", large)
    with pytest.raises(ArgumentError, match=r"`recipe` must .* enough memory, .* `width` 24, .* Choose smaller ones"):
        fit(tiny(epochs=1))


def test_a_recipe_where_examples_belong_is_told():
    with pytest.raises(ArgumentError, match=r"`examples` must be examples, but is a Recipe. .* recipe=recipe"):
        train(tiny(), SAWS)


@pytest.mark.parametrize(
    ("recipe", "step"), [({"width": 12}, "Make one by Recipe.from_json"), ("english-pos", "Take regard.tasks.RECIPES")]
)
def test_a_recipe_must_be_one(recipe, step):
    with pytest.raises(ArgumentError, match=f"`recipe` must be a regard.Recipe, but is .*{step}"):
        train(SAWS, SAWS, recipe=recipe)


def test_what_fails_before_the_first_batch_leaves_the_folder_free(tmp_path, monkeypatch):
    def broken(*_, **__):
        raise MissingExtraError("lightning_fabric", extra="train")

    with monkeypatch.context() as patched:
        patched.setattr("regard.tasks.training.context.require", broken)
        with pytest.raises(MissingExtraError):
            fit(tiny(epochs=1), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    fit(tiny(epochs=1), out=tmp_path / "run")


def test_a_disk_that_is_full_from_the_start(tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(RegardError, match=r"The disk is full: .* no checkpoint yet; .* start the run anew"):
            fit(tiny(epochs=1), out=tmp_path / "run")


def test_an_unknown_progress():
    with pytest.raises(UnknownNameError, match="Did you mean 'lines'"):
        fit(tiny(), progress="line")


def test_empty_sentences_are_no_obstacle():
    assert fit(tiny(epochs=1), [([], []), *SAWS, ([], [])], [([], []), SAWS[0]]).tag([[], ["I"]])[0] == []


def test_the_learning_rate_rises_then_falls():
    for schedule in ("cosine", "linear"):
        recipe = tiny(schedule=schedule, warm_up=0.1)
        rates = [share_of_rate(recipe, done / 100) for done in range(101)]
        assert 0 < rates[0] < 0.02
        assert max(rates) == 1.0
        assert rates[100] == pytest.approx(0, abs=1e-12)
        assert rates[10:] == sorted(rates[10:], reverse=True)
    assert share_of_rate(tiny(warm_up=0.0), 0.0) == 1.0


def test_load_takes_the_folder_of_the_run(tmp_path):
    tagger = fit(tiny(epochs=1), out=tmp_path / "run")
    loaded = load(tmp_path / "run")
    assert weights(loaded) == weights(tagger) == weights(load(tmp_path / "run" / "model"))
    assert loaded.name == tagger.name == "run"


def test_what_a_kill_left_of_the_log_is_dropped(tmp_path):
    interrupted(tiny(epochs=2), tmp_path / "run", 1)
    (tmp_path / "run" / ".log.jsonl.abc.part").write_text("half")
    fit(tiny(epochs=2), out=tmp_path / "run", resume=True)
    assert not list((tmp_path / "run").glob(".*.part"))
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / ".run.json.abc.part").write_text("half")
    fit(tiny(epochs=1), out=tmp_path / "new")
