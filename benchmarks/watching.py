"""What watching costs: the time and the memory of a pass, watched and not.

    python benchmarks/watching.py            # 8,192 items, 12 layers of 12 heads; minutes
    python benchmarks/watching.py --quick    # 1,024 items

Each case runs in a process of its own, so that its peak memory is its own; plain and watched passes alternate there.
The commands `regard tag` and `regard tag --map` are compared as wholes, with one sentence and with a file of 200
sentences of dev of English EWT, in pairs that alternate in which comes first. `regard tag` shows the largest weights
too, so it stands beside `--top 0`, which shows none.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

import regard
from regard import datasets

WIDTH, HEADS = 768, 12


class Layer(nn.Module):
    """A layer of a transformer as most models of today write it."""

    def __init__(self):
        super().__init__()
        self.inputs, self.output = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, x):
        query, key, value = (
            each.unflatten(2, (HEADS, -1)).transpose(1, 2) for each in self.inputs(self.first(x)).chunk(3, -1)
        )
        x = x + self.output(functional.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2))
        return x + self.narrow(functional.gelu(self.wide(self.second(x))))


def long_case(items: int, layers: int, passes: int) -> dict[str, float]:
    """Seconds of a plain and of a watched pass (medians), and the peak of memory that watching adds, in bytes."""
    torch.manual_seed(0)
    model, x = nn.Sequential(*(Layer() for _ in range(layers))).eval(), torch.randn(1, items, WIDTH)
    plain, watched, memory = [], [], 0
    with torch.inference_mode():
        # The first use of both loads code, whose memory isn't counted.
        with regard.watch(model):
            model(x[:, :16])
        for _ in range(passes):
            begin = time.perf_counter()
            model(x)
            plain.append(time.perf_counter() - begin)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            begin = time.perf_counter()
            with regard.watch(model) as seen:
                model(x)
            watched.append(time.perf_counter() - begin)
            after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            worst = max(error for error in seen.verify().values() if error is not None)
            if len(watched) == 1:
                memory = 1024 * (after - before)
            del seen
    return {
        "plain": statistics.median(plain),
        "watched": statistics.median(watched),
        "memory": memory,
        "difference": worst,
    }


def weights_case(items: int, passes: int) -> dict[str, float]:
    """Seconds of a pass of BERT: plain, watched, and with `output_attentions=True`, which takes the slow path."""
    import transformers

    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    config = transformers.BertConfig(vocab_size=1000, max_position_embeddings=items)
    fast, slow = transformers.BertModel(config).eval(), transformers.BertModel(config).eval()
    fast.set_attn_implementation("sdpa")
    slow.set_attn_implementation("eager")
    ids = torch.randint(3, 1000, (1, items))
    found = {"plain": [], "watched": [], "output_attentions": []}
    with torch.inference_mode():
        for turn in range(passes + 1):
            # Each comes first as often as the others.
            names = [*found][turn % 3 :] + [*found][: turn % 3]
            for name, times in ((each, found[each]) for each in names):
                begin = time.perf_counter()
                if name == "plain":
                    fast(ids)
                elif name == "watched":
                    with regard.watch(fast):
                        fast(ids)
                else:
                    slow(ids, output_attentions=True)
                if turn:  # the first pass of each warms up
                    times.append(time.perf_counter() - begin)
    return {name: statistics.median(times) for name, times in found.items()} | {
        "ratio": ratio(found["watched"], found["output_attentions"])
    }


def command_case(pairs: int) -> dict[str, float]:
    """Seconds of `regard tag` with and without a map, for one sentence and for a file, and the ratios of each pair."""
    sentences = [" ".join(each.words) for each in datasets.read("ud-english-ewt", "dev")][:200]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sentences.txt"
        path.write_text("\n".join(sentences), encoding="utf-8")
        for what, given in (("one", ["I saw a saw ."]), ("file", ["-f", str(path)])):
            asked = {"plain": [], "map": ["--map"], "top 0": ["--top", "0"]}
            taken = {name: [] for name in asked}
            for turn in range(pairs + 1):
                for name in [*asked] if turn % 2 else [*reversed(asked)]:
                    command = [sys.executable, "-m", "regard", "tag", *given, *asked[name]]
                    begin = time.perf_counter()
                    subprocess.run(command, check=True, capture_output=True)
                    if turn:  # the first run of each warms up
                        taken[name].append(time.perf_counter() - begin)
            found |= {f"{what}, {name}": statistics.median(times) for name, times in taken.items()}
            found[f"{what}, map / plain"] = ratio(taken["map"], taken["plain"])
            found[f"{what}, plain / top 0"] = ratio(taken["plain"], taken["top 0"])
    return found


def ratio(times: Sequence[float], others: Sequence[float]) -> float:
    """The median of the ratios of each round, which a busy moment of the machine changes less than that of medians."""
    return statistics.median(one / other for one, other in zip(times, others, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="1,024 items and 3 layers")
    parser.add_argument("--case", choices=["long", "weights", "command"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case == "long":
        print(json.dumps(long_case(*((1024, 3, 3) if options.quick else (8192, 12, 2)))))
        return
    if options.case == "weights":
        print(json.dumps(weights_case(512, 3 if options.quick else 7)))
        return
    if options.case == "command":
        print(json.dumps(command_case(3 if options.quick else 7)))
        return
    for case in ("long", "weights", "command"):
        command = [sys.executable, __file__, "--case", case, *(["--quick"] if options.quick else [])]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
        print(f"{case}: torch {torch.__version__}, {torch.get_num_threads()} threads")
        for name, value in found.items():
            print(f"  {name:<18}{value:>14.4g}")
        if case == "long":
            print(f"  watched / plain: {found['watched'] / found['plain']:.2f}")
        elif case == "weights":
            print(f"  watched / output_attentions: {found['ratio']:.2f}")
        else:
            print(
                f"  map / plain: {found['one, map / plain']:.2f} for one sentence, "
                f"{found['file, map / plain']:.2f} for 200"
            )


if __name__ == "__main__":
    main()
