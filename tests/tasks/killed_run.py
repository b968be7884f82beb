"""Train in a child that is killed at random moments, resume until it is finished.

Run: DEVICES SENTENCES EPOCHS, then FOLDER SEED KILLS SECONDS for each run.
"""

import dataclasses
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import torch
from toys import generated, tiny

from regard.extras import require
from regard.tasks import train

RECIPE = tiny(average=0.9, members=2, task={"auxiliary": {"again": 0.3}})


def run(folder: Path, resume: bool, devices: int, sentences: int, epochs: int) -> None:
    recipe, pairs = dataclasses.replace(RECIPE, epochs=epochs), generated(sentences)
    again = {"again": [labels for _, labels in pairs]}
    options = {"out": folder, "resume": resume, "devices": devices}
    train(pairs, generated(7), recipe=recipe, auxiliary=again, progress="none", device="cpu", **options)


def main(folder: Path, seed: int, kills: int, seconds: float, *options: int) -> None:
    draw = random.Random(seed)
    done = resumed = 0
    while True:
        if folder.exists() and not (folder / "run.json").exists():
            shutil.rmtree(folder)
        begun = ended(folder)
        resumed += begun > 0
        child = os.fork()
        if child == 0:
            try:
                run(folder, folder.exists(), *options)
            except BaseException as error:
                print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
                os._exit(1)
            os._exit(0)
        if done < kills:
            # Every other child lives until it ends an epoch, however slow it is: the next has something to go on from.
            while done % 2 == 0 and ended(folder) == begun and lives(child):
                time.sleep(0.005)
            time.sleep(draw.uniform(0.02, seconds))
            os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        if os.WIFEXITED(status):
            print(f"kills={done} resumed={resumed} status={os.WEXITSTATUS(status)}", flush=True)
            if status:
                sys.exit(1)
            return
        done += 1


def ended(folder: Path) -> int:
    """How many epochs the run has finished."""
    log = folder / "log.jsonl"
    return len(log.read_text().splitlines()) if log.exists() else 0


def lives(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


if __name__ == "__main__":
    torch.set_num_threads(1)
    # Paid once here, not in every child, so that the children spend their time training.
    for module in ("lightning_fabric", "regard.tasks.training.loop", "regard.attention.engines.jit.compiled_parts"):
        require(module, extra="train")
    devices, sentences, epochs, *runs = sys.argv[1:]
    for folder, seed, kills, seconds in zip(*[iter(runs)] * 4, strict=True):
        main(Path(folder), int(seed), int(kills), float(seconds), int(devices), int(sentences), int(epochs))
