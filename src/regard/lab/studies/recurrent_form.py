"""Is causal linear attention the same as an RNN?"""

import torch

from regard.lab.study import Along, Claim, Setting, Study
from regard.lab.synthetic.linear_attention import attentive_form, recurrent_form
from regard.tasks.judging.measure import Measure

__all__ = ["study"]


def run(setting: Setting, seed: int) -> dict[str, float]:
    """Compute both forms of random vectors, and the largest difference between outputs, or between gradients."""
    random = torch.Generator().manual_seed(seed)
    batch, heads, size, value_size = (int(each) for each in torch.randint(1, 9, (4,), generator=random))
    length, dtype = int(setting["length"]), getattr(torch, setting["dtype"])
    inputs = [
        torch.randn(batch, heads, length, each, generator=random, dtype=torch.float64).to(dtype).requires_grad_()
        for each in (size, size, value_size)
    ]
    outputs = [form(*inputs) for form in (recurrent_form, attentive_form)]
    weights = torch.randn(outputs[0].shape, generator=random, dtype=torch.float64).to(dtype)
    gradients = [torch.autograd.grad((each * weights).sum(), inputs) for each in outputs]
    return {
        "difference": float((outputs[0] - outputs[1]).detach().abs().max()),
        "difference of gradients": max(float((one - other).abs().max()) for one, other in zip(*gradients, strict=True)),
    }


study = Study(
    "recurrent_form",
    "Is causal linear attention the same function as an RNN?",
    run,
    {"float64": {"dtype": "float64"}, "float32": {"dtype": "float32"}},
    (
        Claim("float64", 1e-10),
        Claim("float64", 1e-10, measure="difference of gradients", text="And are its gradients the same?"),
        Claim("float32", 1e-3, text="Is float32 enough for three digits?"),
    ),
    measures=(Measure("difference", falls=True), Measure("difference of gradients", falls=True)),
    along=Along("length", (1, 2, 16, 128, 512), (1, 2, 16, 128, 512, 2048), log=True),
    seeds=10,
    source="000, which replaces RNNs by attention; Katharopoulos et al. 2020 (arXiv 2006.16236), section 3.4",
    note="The weights are phi(q) . phi(k), divided by their sum, with phi(x) = elu(x) + 1, instead of a softmax: the "
    "RNN's state is then a matrix that doesn't grow. Attention with a softmax has no such form.",
    order=140,
)
