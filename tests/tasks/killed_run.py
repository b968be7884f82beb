"""Train in a child that is killed at random moments, resume until it is finished.

Run: DEVICES SENTENCES, then FOLDER SEED KILLS SECONDS for each run.
"""

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

RECIPE = tiny(epochs=12, average=0.9, members=2, task={"auxiliary": {"again": 0.3}})


def run(folder: Path, resume: bool, devices: int, sentences: int) -> None:
    pairs = generated(sentences)
    again = {"again": [labels for _, labels in pairs]}
    options = {"out": folder, "resume": resume, "devices": devices}
    train(pairs, generated(7), recipe=RECIPE, auxiliary=again, progress="none", device="cpu", **options)


def main(folder: Path, seed: int, kills: int, seconds: float, devices: int, sentences: int) -> None:
    draw = random.Random(seed)
    done = 0
    while True:
        if folder.exists() and not (folder / "run.json").exists():
            shutil.rmtree(folder)
        child = os.fork()
        if child == 0:
            try:
                run(folder, folder.exists(), devices, sentences)
            except BaseException as error:
                print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
                os._exit(1)
            os._exit(0)
        if done < kills:
            time.sleep(draw.uniform(0.02, seconds))
            os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        if os.WIFEXITED(status):
            print(f"kills={done} status={os.WEXITSTATUS(status)}", flush=True)
            if status:
                sys.exit(1)
            return
        done += 1


if __name__ == "__main__":
    torch.set_num_threads(1)
    # Paid once here, not in every child, so that the children spend their time training.
    for module in ("lightning_fabric", "regard.tasks.training.fit", "regard.attention.engines.jit.compiled_parts"):
        require(module, extra="train")
    devices, sentences, *runs = sys.argv[1:]
    for folder, seed, kills, seconds in zip(*[iter(runs)] * 4, strict=True):
        main(Path(folder), int(seed), int(kills), float(seconds), int(devices), int(sentences))
