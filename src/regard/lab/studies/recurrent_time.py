"""Is an RNN slower than attention, and up to which length?"""

import torch

from regard.lab.durations import median_durations
from regard.lab.study import Along, Claim, Setting, Study
from regard.modules import build_network
from regard.tasks.judging.measure import Measure

__all__ = ["study"]


def run(setting: Setting, seed: int) -> dict[str, dict[float, float]]:
    """Time the forward and the backward pass of a network of one layer, on one sequence of each length."""
    torch.manual_seed(seed)
    lengths, width, rounds = [int(each) for each in setting.pop("length")], setting.pop("width"), setting.pop("rounds")
    network = build_network(setting.pop("network"), width, 1, hidden=2 * width, **setting)
    inputs = {each: torch.randn(1, each, width, device="cpu").requires_grad_() for each in lengths}

    def step(vectors: torch.Tensor) -> None:
        network(vectors, torch.tensor([vectors.shape[1]], device="cpu")).square().mean().backward()

    return {"ms": median_durations({at: lambda own=own: step(own) for at, own in inputs.items()}, rounds)}


study = Study(
    "recurrent_time",
    "Is attention faster than an RNN?",
    run,
    {"attention": {"network": "attention", "heads": 4}, "recurrent": {"network": "recurrent"}}
    | {"bidirectional": {"network": "bidirectional"}},
    (
        Claim("attention", "recurrent", at=256, notes="yes"),
        Claim("attention", "recurrent", at=4096, text="Is it faster at 4,096 items, too?"),
        Claim("attention", "bidirectional", at=256, notes="yes", text="And faster than an RNN in both directions?"),
        Claim("attention", "bidirectional", at=4096, text="And that at 4,096 items?"),
    ),
    measures=(Measure("ms", falls=True, digits=2),),
    settings={"width": 64, "rounds": 7},
    full={"width": 256, "rounds": 21},
    along=Along("length", (64, 128, 256, 512, 1024, 2048, 4096), (64, 256, 1024, 4096, 16384), within=True, log=True),
    seeds=10,
    alone=True,
    source="000, an RNN is hard to parallelise; 001, Self-attention v.s. RNN",
    note="One layer, one sequence, forward and backward, on one core: attention has no more cores to gain "
    "from. The bidirectional RNN has half of the width for each direction.",
    order=130,
)
