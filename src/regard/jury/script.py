"""The smallest failing call as a Python program: it needs PyTorch and the function, and nothing of regard."""

import importlib
import inspect
import math
import textwrap
from collections.abc import Callable
from pathlib import Path
from string import Template
from typing import Any

import torch
from torch import Tensor

from regard.jury.candidates import Candidate
from regard.jury.cases import Case, Inputs
from regard.jury.law import Finding, Law
from regard.jury.subject import Subject

__all__ = ["written_script"]

_MOST_WRITTEN = 200  # numbers; if there are more, the program draws them by their seed

# The program's texts, whose $names `written_script` fills in.

_HEAD = '''"""$docstring
"""

import torch

$function

# The call.
$inputs
options = {$options}


def call(query, key, value, **options):
    output = $called
    output = output[0] if isinstance(output, tuple | list) else output
    return $returned


def definition(query, key, value, bias=None, kept=None):
    """Attention row by row in float64, computed without what the row doesn't see."""
    rows, share = [], query.shape[1] // key.shape[1]
    bias = None if bias is None else bias.expand(allowed.shape)
    for b, h, i in torch.cartesian_prod(*map(torch.arange, query.shape[:3])).view(-1, 3).tolist():
        seen = allowed[b, h, i].nonzero().flatten()
        scores = (key[b, h // share, seen] * query[b, h, i]).sum(-1) * $scale
        if bias is not None:
            scores = scores + bias[b, h, i, seen]
        weights = scores.softmax(0)
        if kept is not None:
            weights = weights * kept[b, h, i, seen]
        rows.append((weights[:, None] * value[b, h // share, seen]).sum(0))
    return torch.stack(rows).view(*query.shape[:3], value.shape[3])


def exact(tensor):
    return tensor.detach().cpu().double().contiguous().requires_grad_()


'''

# Behind the head comes a tail, which calls the function, computes what is right, and prints both.

_LEAVES = """own = {name: tensor.detach().requires_grad_() for name, tensor in tensors.items()}
right = {name: exact(tensor) for name, tensor in tensors.items()}
"""

_SHOWN = 'print("$what, at $where:")\nprint("  wrong", got$at.item())\nprint("  right", wanted$at.item())\n'

_CALLED_ON_OWN = 'call(own["query"], own["key"], own["value"], **{**options$bias})'

# By the `script` of a law, or what its finding is about: an output, or a gradient.
_TAILS = {
    "output": """with torch.no_grad():
    got = call(query, key, value, **options)
    wanted = definition(**{name: exact(tensor) for name, tensor in tensors.items()})
"""
    + _SHOWN,
    "gradient": _LEAVES
    + """got = torch.autograd.grad($called_on_own, own["$wrt"], upward, materialize_grads=True)[0]
wanted = torch.autograd.grad(definition(**right), right["$wrt"], exact(upward))[0]
"""
    + _SHOWN,
    "one gradient": """own = dict(tensors)
own["$wrt"] = own["$wrt"].detach().clone().requires_grad_()
right = {name: exact(tensor) for name, tensor in tensors.items()}
got = torch.autograd.grad($called_on_own, own["$wrt"], upward, materialize_grads=True)[0]
wanted = torch.autograd.grad(definition(**right), right["$wrt"], exact(upward))[0]
"""
    + _SHOWN,
    "second order": _LEAVES
    + '''generator = torch.Generator("cpu").manual_seed($seed + 1)
directions = {name: torch.randn(tensor.shape, generator=generator).to(tensor) for name, tensor in tensors.items()}


def twice(output, leaves, upward):
    """The gradient of sum (gradient . direction)."""
    upward = upward.detach().clone().requires_grad_()
    first = torch.autograd.grad(output, list(leaves.values()), upward, create_graph=True, materialize_grads=True)
    along = sum((grad * directions[name].to(grad)).sum() for name, grad in zip(leaves, first, strict=True))
    wanted = {**leaves, "what comes from above": upward}["$wrt"]
    return torch.autograd.grad(along, wanted, materialize_grads=True)[0]


got = twice($called_on_own, own, upward)
wanted = twice(definition(**right), right, exact(upward))
'''
    + _SHOWN,
    "forward mode": """from torch.autograd import forward_ad

generator = torch.Generator("cpu").manual_seed($seed + 1)
directions = {name: torch.randn(tensor.shape, generator=generator).to(tensor) for name, tensor in tensors.items()}


def along(function, leaves):
    with forward_ad.dual_level():
        dual = {
            name: forward_ad.make_dual(leaf.detach().clone(), directions[name].to(leaf))
            for name, leaf in leaves.items()
        }
        return forward_ad.unpack_dual(function(dual)).tangent


got = along(lambda own: $called_on_own, tensors)
wanted = along(lambda right: definition(**right), {name: exact(tensor) for name, tensor in tensors.items()})
print("the derivative in forward mode:")
print("  wrong", None if got is None else got$at.item())
print("  right", wanted$at.item())
""",
    "repeated": """def everything():
    own = {name: tensor.detach().requires_grad_() for name, tensor in tensors.items()}
    output = $called_on_own
    grads = torch.autograd.grad(output, list(own.values()), upward, materialize_grads=True)
    named = zip(own, grads, strict=True)
    return {"output": output.detach(), **{f"gradient of {name}": grad for name, grad in named}}


first = everything()["$what"]
for _ in range(20):
    again = everything()["$what"]
    if not torch.equal(first, again):
        at = (first.double() - again.double()).abs().argmax()
        print("$what, of the same call twice:")
        print("  wrong", again.flatten()[at].item())
        print("  right", first.flatten()[at].item())
        break
""",
    "unchanged": """given = [*tensors.items(), ("mask", mask)]
given = {name: tensor for name, tensor in given if tensor is not None}
before = {name: tensor.clone() for name, tensor in given.items()}
with torch.no_grad():
    call(query, key, value, **options)
for name, tensor in before.items():
    now = given[name]
    if not torch.equal(tensor, now):
        at = (tensor.double() - now.double()).abs().argmax()
        print(f"{name}, after the call and before:")
        print("  wrong", now.flatten()[at].item())
        print("  right", tensor.flatten()[at].item())
""",
    "dropout": """# The values are unit vectors, so that outputs are weights: dropped, or scaled up.
weights = definition(**{name: exact(tensor) for name, tensor in tensors.items()}).detach() / (1 - $dropout)
kept, count = 0, 0
for seed in range(16):
    torch.manual_seed(seed)
    with torch.no_grad():
        got = call(query, key, value, **options$seeded).cpu().double()
    kept, count = kept + int((got != 0).sum()), count + got.numel()
    apart = torch.where(got == 0, 0.0, (got - weights).abs())
at = apart.argmax()
print("a weight that is kept, scaled up by 1 / (1 - $dropout):")
print("  wrong", got.flatten()[at].item())
print("  right", weights.flatten()[at].item())
print("the share of weights that is kept:")
print("  wrong", kept / count)
print("  right", 1 - $dropout)
""",
    "dropout gradients": """# The values are unit vectors, so that the output shows what was dropped.
own = {name: tensor.detach().requires_grad_() for name, tensor in tensors.items()}
right = {name: exact(tensor) for name, tensor in tensors.items()}
torch.manual_seed(3)
output = call(own["query"], own["key"], own["value"], **options$seeded_3)
kept = (output.detach().cpu() != 0).double() / (1 - $dropout)
got = torch.autograd.grad(output, own["$wrt"], upward, materialize_grads=True)[0]
wanted = torch.autograd.grad(definition(**right, kept=kept), right["$wrt"], exact(upward))[0]
"""
    + _SHOWN,
    "seeds": """def drawn(seed):
    torch.manual_seed(seed)
    with torch.no_grad():
        return call(query, key, value, **options$seeded).cpu()


print("the same seed twice gives the same:")
print("  wrong" if not torch.equal(drawn(1), drawn(1)) else "  right", torch.equal(drawn(1), drawn(1)))
print("another seed gives the same:")
print("  wrong" if torch.equal(drawn(1), drawn(2)) else "  right", torch.equal(drawn(1), drawn(2)))
torch.manual_seed(7)
with torch.no_grad():
    two = [call(query, key, value, **options) for _ in range(2)]
print("the next call gives the same:")
print("  wrong" if torch.equal(*two) else "  right", torch.equal(*two))
""",
}


def written_script(subject: Subject, law: Law, case: Case, finding: Finding, candidate: Candidate) -> str:
    """A program that shows the wrong number beside the right one.

    Args:
        subject: the function with its claims.
        law: the law that the function breaks.
        case: the smallest call found that breaks it.
        finding: what is wrong in the result of this call.
        candidate: the function's name, and how a script gets the function.
    """
    inputs, claims = subject.make(case), subject.claims
    swap = ".transpose(1, 2)" if claims.layout == "length first" else ""
    head = Template(_HEAD).substitute(
        docstring=_docstring(
            f'{candidate.name} breaks the law "{law.name}": {law.says}',
            "",
            law.matters,
            _failure_text(finding),
            f"Seen with PyTorch {torch.__version__}, on {subject.device}: {case}.",
        ),
        function=_function(candidate),
        inputs=_inputs(inputs, claims.alignment, subject.device),
        options=_options(subject, inputs),
        called=f"attention(query{swap}, key{swap}, value{swap}, **options)",
        returned=f"output{swap}",
        scale=case.scale if case.scale is not None else repr(1 / math.sqrt(max(case.feature, 1))),
    )
    bias = f', "{claims.bias}": own["bias"]' if case.bias else ""
    tail = Template(_TAILS[_tail(law, finding)]).substitute(
        called_on_own=Template(_CALLED_ON_OWN).substitute(bias=bias),
        what=finding.what,
        wrt=finding.what.split(" of ", 1)[-1] if " of " in finding.what else "query",
        where=finding.where,
        at=f"[{', '.join(map(str, finding.where))}]" if finding.where else ".flatten()[0]",
        seed=case.seed,
        dropout=case.dropout,
        seeded=f", {claims.seed}=seed" if claims.seed else "",
        seeded_3=f", {claims.seed}=3" if claims.seed else "",
    )
    return f"{head}{tail}"


def _tail(law: Law, finding: Finding) -> str:
    """The name of the tail: a law whose script compares the output and the gradients has one for each of the two."""
    if law.script == "compared":
        return "gradient" if finding.what.startswith("gradient of ") else "output"
    if law.script == "dropout gradients" and finding.what == "output":
        return "dropout"
    return law.script


def _docstring(*sentences: str) -> str:
    """The sentences as lines of the program's docstring, short enough for three quotes before the first."""
    return "\n".join(textwrap.fill(sentence, 97) for sentence in sentences)


def _failure_text(finding: Finding) -> str:
    measured = f"{finding.what} at {finding.where} is {finding.got:g}, and must be {finding.right:g}"
    sentence = f"{measured}; rounding explains {finding.bound:.2g}." if finding.where else f"{finding.what}."
    note = f" {finding.note[0].upper()}{finding.note[1:]}." if finding.note else ""
    return f"{sentence[0].upper()}{sentence[1:]}{note}"


def _function(candidate: Candidate) -> str:
    """Lines that define `attention`."""
    if candidate.source:
        return f"# The function.\n{candidate.source}"
    function: Callable[..., Any] = candidate.function
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    if module and module != "__main__" and "<" not in name and "." not in name:
        try:
            imported = getattr(importlib.import_module(module), name, None)
        except ImportError:
            imported = None
        if imported is function:
            return f"from {module} import {name} as attention\n"
    try:
        file, code = inspect.getsourcefile(function), inspect.getsource(function)
    except (TypeError, OSError):
        return "# Put the function here.\nattention = ...\n"
    if file and Path(file).is_file() and "<" not in name:
        return (
            "import importlib.util\n\n"
            f'spec = importlib.util.spec_from_file_location("judged", {str(Path(file).resolve())!r})\n'
            "judged = importlib.util.module_from_spec(spec)\n"
            "spec.loader.exec_module(judged)\n"
            f"attention = judged.{name}\n"
        )
    local_name = getattr(function, "__name__", "...")
    return (
        "# The function, which was made inside of another: add what it needs.\n"
        f"{textwrap.dedent(code)}\n\nattention = {local_name}\n"
    )


def _options(subject: Subject, inputs: Inputs) -> str:
    """The options of the call, as the inside of a dict."""
    entries = []
    for name, value in subject.options(inputs).items():
        if isinstance(value, Tensor):
            value = "bias" if value is inputs.bias else "~mask" if subject.claims.hides else "mask"
            entries.append(f'"{name}": {value}')
        else:
            entries.append(f'"{name}": {value!r}')
    return ", ".join(entries)


def _inputs(inputs: Inputs, alignment: str, device: str) -> str:
    """Lines that make the tensors: with each number written out where there are few, else drawn by the seed."""
    case = inputs.case
    named = {"query": inputs.query, "key": inputs.key, "value": inputs.value, "upward": inputs.upward}
    named |= {} if inputs.bias is None else {"bias": inputs.bias}
    to_device = "" if device == "cpu" else f".to({device!r})"
    if sum(tensor.numel() for tensor in named.values()) <= _MOST_WRITTEN:
        lines = [f"{name} = {_literal(tensor)}" for name, tensor in named.items()]
    else:
        lines = _drawn(case)
    for name in named:
        layout = case.upward_layout if name == "upward" else case.layout
        if layout != "contiguous" or to_device:
            lines.append(f"{name} = {_laid_out(name, layout)}{to_device}")
    shape = (case.batch, case.heads, case.queries, case.keys)
    if inputs.mask is None:
        lines += ["mask = None", f"allowed = torch.ones{shape}.bool()"]
    else:
        lines += [f"mask = {_mask(inputs.mask, case)}{to_device}", "allowed = mask.cpu().clone()"]
    if case.causal:
        diagonal = case.keys - case.queries if alignment == "end" else 0
        lines.append(f"allowed &= torch.ones{shape[2:]}.bool().tril({diagonal})")
    tensors = ", ".join(f'"{name}": {name}' for name in named if name != "upward")
    return "\n".join([*lines, f"tensors = {{{tensors}}}"])


def _literal(tensor: Tensor) -> str:
    """The tensor as an expression with all its numbers."""
    text = repr(tensor.detach().cpu().double().tolist()).replace("nan", 'float("nan")').replace("inf", 'float("inf")')
    literal = f"torch.tensor({text}, dtype={tensor.dtype})"
    return literal if tensor.numel() else f"torch.zeros({tuple(tensor.shape)}, dtype={tensor.dtype})"


def _drawn(case: Case) -> list[str]:
    """Lines that draw the numbers as `Case.make` does."""
    b, h, g, m, n = case.batch, case.heads, case.key_heads, case.queries, case.keys
    scaling = "" if case.magnitude == 1 else f" * {case.magnitude}"
    shapes = {
        "query": ((b, h, m, case.feature), scaling),
        "key": ((b, g, n, case.feature), scaling),
        "value": ((b, g, n, case.value), ""),
        "upward": ((b, h, m, case.value), ""),
    }
    lines = [f'generator = torch.Generator("cpu").manual_seed({case.seed})']
    lines += [f"{name} = torch.randn({shape}, generator=generator){factor}" for name, (shape, factor) in shapes.items()]
    if case.mask == "some":
        lines.append(f"drawn = torch.rand({(b, h, m, n)}, generator=generator)")
    if case.bias:
        lines.append(f"bias = torch.randn({(1 if case.bias == 'table' else b, h, m, n)}, generator=generator)")
    if case.same:
        lines.append("query, value, upward = torch.zeros_like(query), value.abs() + 0.5, upward.abs() + 0.5")
    if case.dropout:
        lines.append(f"value = torch.eye({n}, {case.value}).expand({b}, {g}, {n}, {case.value})")
    if case.poison:
        lines.append(f'{case.place.split()[1]}[:, :, -1] = float("{case.poison}")')
    names = ["query", "key", "value", "upward", *(["bias"] if case.bias else [])]
    rounded = ", ".join(f"{name}.to(torch.{case.dtype})" for name in names)
    return [*lines, f"{', '.join(names)} = {rounded}"]


def _laid_out(name: str, layout: str) -> str:
    """The tensor of this name as an expression that gives it the layout in memory."""
    return {
        "contiguous": name,
        "transposed": f"{name}.transpose(1, 2).contiguous().transpose(1, 2)",
        "sliced": f"torch.stack([torch.zeros_like({name}), {name}], -1).flatten(-2)[..., 1::2]",
        "expanded": f"{name}[:1].expand_as({name})",
        "one": f"{name}.new_full((), 0.5).expand_as({name})",
    }[layout]


def _mask(mask: Tensor, case: Case) -> str:
    """The mask as an expression: written out where it is small, else drawn or computed as `Case.make` does."""
    shape = (case.batch, case.heads, case.queries, case.keys)
    if not mask.numel():
        return f"torch.ones({shape}).bool()"
    if mask.numel() <= _MOST_WRITTEN:
        return f"torch.tensor({mask.cpu().int().tolist()}).bool()"
    m, n = case.queries, case.keys
    if case.mask == "some":
        return f"(drawn < 0.5) | (torch.arange({n}) == 0)"
    if case.mask == "edge":
        distance = f"(torch.arange({n}) - torch.arange({m})[:, None])"
        allowed = f"(({distance} >= -2) & ({distance} <= 1))"
    elif case.mask == "rows":
        allowed = f"((torch.arange({m}) < {m // 2}) | ((torch.arange({m}) - {m // 2}) % 2 == 1))[:, None]"
    elif case.mask == "item":
        allowed = f"(torch.arange({case.batch}) < {case.batch - 1})[:, None, None, None]"
    else:  # "end"
        allowed = f"(torch.arange({n}) < {int(mask[0, 0, 0].sum())})"
    return f"{allowed}.expand({shape}).clone()"
