"""What watching costs: the time and the memory of a pass, watched and not.

    python benchmarks/watching.py            # 8,192 items, 12 layers of 12 heads; minutes
    python benchmarks/watching.py --quick    # 1,024 items

Each case runs in a process of its own, so that its peak memory is its own; plain and watched passes alternate there.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
import warnings

import torch
from torch import nn
from torch.nn import functional

import regard

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
            for name, times in found.items():
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
    return {name: statistics.median(times) for name, times in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="1,024 items and 3 layers")
    parser.add_argument("--case", choices=["long", "weights"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case == "long":
        print(json.dumps(long_case(*((1024, 3, 3) if options.quick else (8192, 12, 2)))))
        return
    if options.case == "weights":
        print(json.dumps(weights_case(512, 3 if options.quick else 7)))
        return
    for case in ("long", "weights"):
        command = [sys.executable, __file__, "--case", case, *(["--quick"] if options.quick else [])]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
        print(f"{case}: torch {torch.__version__}, {torch.get_num_threads()} threads")
        for name, value in found.items():
            print(f"  {name:<18}{value:>14.4g}")
        peer = "output_attentions" if case == "weights" else "plain"
        print(f"  watched / {peer}: {found['watched'] / found[peer]:.2f}")


if __name__ == "__main__":
    main()
