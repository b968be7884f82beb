"""What the parts are and which engine takes them, in Markdown: from their docstrings, and by asking the engines."""

import inspect
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import torch
from part_pictures import PICTURES, mask_example

from regard import attention
from regard.attention.engines import ENGINES
from regard.attention.positions import RelativeValues
from regard.attention.request import Request
from regard.modules import APPROXIMATIONS
from regard.modules.make_part import make_part

__all__ = ["approximations", "combinations", "engines", "engines_of", "input_positions", "page", "parts"]

KINDS: dict[str, Mapping[str, Any]] = {
    "score": attention.SCORES,
    "weights": attention.WEIGHTS,
    "mask": attention.MASKS,
    "position": attention.POSITIONS,
    "position on the inputs": attention.INPUT_POSITIONS,
}
COMBINED = ("score", "weights", "mask", "position")
# What else belongs on a part's page.
BESIDE = {"relative": [RelativeValues], "guided": [attention.GuidedBias]}
OWN = "*a function of yours*"


def parts() -> str:
    """Every part by kind, with a link to its page and the first line of its documentation."""
    lines = ["| kind | part | what it computes |", "| --- | --- | --- |"]
    for kind, known in KINDS.items():
        lines += [
            f"| {kind} | [`{name}`](parts/{name}.md) | {_summary(kind, name, part)} |" for name, part in known.items()
        ]
    return "\n".join(lines) + "\n"


def page(name: str) -> str:
    """What a part's docstrings say, and its picture."""
    kind, made = next((kind, known[name]) for kind, known in KINDS.items() if name in known)
    lines = [_spoken(kind, name, made), ""]
    for shown in (name, *(extra for extra in (f"{name}_bias",) if extra in PICTURES)):
        title = re.search(r"<title>(.*?)</title>", PICTURES[shown]())
        lines += [f"![{title[1] if title else shown}](../../pictures/parts/{shown}.svg)", ""]
    for each in _classes(name, made):
        lines += [*_described(each), ""]
    return "\n".join(lines).rstrip() + "\n"


def input_positions() -> str:
    """What the schemes on the inputs are, by their own word and by counting."""
    width = 64
    lines = [
        "| scheme | any length | learned from data | parameters at width 64 | at width 128 |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, make in attention.INPUT_POSITIONS.items():
        modules = [make(size) for size in (width, 2 * width)]
        counts = (f"{sum(p.numel() for p in module.parameters()):,}" for module in modules)
        first: Any = modules[0]
        words = ("yes" if answer else "no" for answer in (first.inductive, first.data_driven))
        lines.append(f"| [`{name}`](../reference/parts/{name}.md) | {' | '.join([*words, *counts])} |")
    return "\n".join(lines) + "\n"


def approximations() -> str:
    """Every approximation of attention with its class, the first line of its documentation, and its size."""
    lines = ["| name | class | what it computes | size (default) | causal |", "| --- | --- | --- | --- | --- |"]
    for name, made in APPROXIMATIONS.items():
        argument = made.size_argument
        size = f"`{argument}` ({inspect.signature(made).parameters[argument].default})" if argument else ""
        causal = "yes" if made.causal else "no"
        lines.append(f"| `{name}` | `{made.__name__}` | {_first_line(made)} | {size} | {causal} |")
    return "\n".join(lines) + "\n"


def engines() -> str:
    """Every engine with the first line of its documentation."""
    lines = [f"| `{name}` | {_first_line(module).rstrip('.')} |" for name, module in ENGINES.items()]
    return "\n".join(["| engine | what it is |", "| --- | --- |", *lines]) + "\n"


def combinations() -> str:
    """Which engine takes which part: in all combinations with the other parts, in some, or in none."""
    asked = _asked()
    whole = len(asked)
    lines = [f"| | part | {' | '.join(f'`{engine}`' for engine in ENGINES)} |", "| --- " * (2 + len(ENGINES)) + "|"]
    for place, kind in enumerate(COMBINED):
        for name in _choices()[kind]:
            mine = [answers for combination, answers in asked.items() if combination[place] == name]
            cells = (_share(sum(answers[engine] is None for answers in mine), len(mine)) for engine in ENGINES)
            lines.append(f"| {kind} | {_name(name)} | {' | '.join(cells)} |")
    counts = (f"{sum(a[engine] is None for a in asked.values()):,}" for engine in ENGINES)
    lines += [f"| | all {whole:,} combinations | {' | '.join(counts)} |", ""]
    for engine in ENGINES:
        taken = {combination for combination, answers in asked.items() if answers[engine] is None}
        lines.append(f"- `{engine}` takes {_taken(taken, set(asked))}.")
        for reason, count in _reasons(engine, asked).items():
            lines.append(f'  - it refuses {count:,} of the rest: "{reason}"')
    return "\n".join(lines) + "\n"


def engines_of(name: str) -> str:
    """Which engine takes one part, and with what."""
    kind = next(kind for kind, known in KINDS.items() if name in known)
    place = COMBINED.index(kind)
    asked = {combination: answers for combination, answers in _asked().items() if combination[place] == name}
    lines = ["| engine | takes it |", "| --- | --- |"]
    for engine in ENGINES:
        taken = {combination for combination, answers in asked.items() if answers[engine] is None}
        said = _taken(taken, set(asked), but=place)
        if not taken:
            said = f"no: {next(iter(_reasons(engine, asked, plain=place)))}"
        lines.append(f"| `{engine}` | {said} |")
    return "\n".join(lines) + "\n"


class _Docstring(NamedTuple):
    text: list[str]
    arguments: list[str]
    source: str


def _described(part: type) -> Iterator[str]:
    said = _read(part)
    yield f"### `{_written(part)}`"
    yield ""
    yield "\n\n".join(said.text)
    if said.arguments:
        yield ""
        yield from said.arguments
    if said.source:
        yield ""
        yield f"Source: {said.source}"


def _read(part: Any) -> _Docstring:
    """A docstring's paragraphs, its arguments as a list, and its source. The example is on the page already."""
    text, arguments, source = [], [], ""
    for paragraph in inspect.cleandoc(part.__doc__ or "").split("\n\n"):
        first, *rest = paragraph.splitlines()
        if first in ("Args:", "Attributes:"):
            arguments += _list("\n".join(rest))
        elif first.startswith("Source:"):
            source = " ".join([first.removeprefix("Source:"), *rest])
        elif first not in ("Raises:", "Example:") and not first.startswith(" "):
            text.append(_safe(" ".join([first, *rest])))
    return _Docstring(text, arguments, _safe(re.sub(r"\s+", " ", source).strip()))


def _list(arguments: str) -> Iterator[str]:
    entries = re.split(r"\n(?=    \w)", arguments)
    for entry in entries:
        names, _, meaning = re.sub(r"\s+", " ", entry).strip().partition(": ")
        named = ", ".join(f"`{name}`" for name in names.split(", "))
        yield f"- {named}: {_safe(meaning)}"


def _safe(words: str) -> str:
    """Text of a docstring as Markdown: what Markdown would take for its own is escaped, outside of `code`."""
    pieces = re.split(r"(`[^`]*`)", words)
    return "".join(piece if piece.startswith("`") else re.sub(r"([*<])", r"\\\1", piece) for piece in pieces)


def _written(part: type) -> str:
    """How the part is made: its name and its arguments with their defaults."""
    shown = []
    for name, argument in inspect.signature(part).parameters.items():
        if argument.kind is argument.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        shown.append(name if argument.default is argument.empty else f"{name}={argument.default!r}")
    return f"{part.__name__}({', '.join(shown)})"


def _spoken(kind: str, name: str, made: Any) -> str:
    """How the part is named in a call."""
    if kind == "position on the inputs":
        return f'A position scheme on the inputs: `Encoder(..., position="{name}")`, or the module applied to vectors.'
    noun = {"score": "A score", "weights": "A normaliser", "mask": "A mask", "position": "A position scheme"}[kind]
    call = f'`attend(..., {kind}="{name}")`'
    try:
        made()
    except (TypeError, ValueError):
        call = f"`attend(..., {kind}={made.__name__}(...))`"
        if kind != "mask":
            call += f'; by name in `MultiHeadAttention(..., {kind}="{name}")`, which makes one of its own'
    return f"{noun}: {call}."


def _classes(name: str, made: Any) -> list[Any]:
    """The class of the dict, the part it makes if it is a module, and its form with trained parameters."""
    found = [made]
    if isinstance(made, type) and issubclass(made, torch.nn.Module) and hasattr(made, "part"):
        sizes = {"head_size": 4, "heads": 2}
        wanted = [key for key, value in inspect.signature(made).parameters.items() if value.default is value.empty]
        found.append(type(made(**{key: sizes[key] for key in wanted}).part()))
    learned = getattr(attention, f"Learned{made.__name__}", None)
    return found + ([learned] if learned else []) + BESIDE.get(name, [])


def _summary(kind: str, name: str, made: Any) -> str:
    """The first line of the docstring that says what is computed, in a cell of a table."""
    classes = _classes(name, made)
    # A score's module says that it is trained; its part has the formula.
    said = classes[1] if kind == "score" and issubclass(made, torch.nn.Module) else made
    return _first_line(said)


def _first_line(part: Any) -> str:
    return _read(part).text[0].replace("|", "\\|")


# What is asked of the engines: small requests, in which all other things are equal.

_LENGTH, _SIZE, _HEADS = 160, 8, 2

Combination = tuple[str, str, str, str]


class _OwnPosition(attention.Position):
    def scores(self, scores, query, key, at):
        return scores - 0.1 * at.offset.abs()


@cache
def _choices() -> dict[str, dict[str, Any]]:
    """The parts by kind and name, each made."""
    own: dict[str, Any] = {
        "score": lambda query, key: query @ key.mT,
        "weights": lambda scores, allowed: torch.softmax(scores, -1),
        "mask": lambda batch, head, query, key: key <= query,
        "position": _OwnPosition(),
    }
    made: dict[str, dict[str, Any]] = {}
    for kind in COMBINED:
        made[kind] = {"none": None} if kind in ("mask", "position") else {}
        for name in KINDS[kind]:
            made[kind][name] = (
                mask_example(name, _LENGTH)
                if kind == "mask"
                else make_part(kind, name, KINDS[kind], head_size=_SIZE, heads=_HEADS)
            )
        made[kind][OWN] = own[kind]
    return made


@cache
def _asked() -> dict[Combination, dict[str, str | None]]:
    """Every combination of score, weights, mask and position -> engine -> why it refuses, or None."""
    three = [torch.zeros(1, _HEADS, _LENGTH, _SIZE) for _ in range(3)]
    answers = {}
    for combination in itertools.product(*_choices().values()):
        made = {kind: _choices()[kind][name] for kind, name in zip(COMBINED, combination, strict=True)}
        request = Request.of(*three, **made, dropout=0.0, seed=0)
        answers[combination] = {
            # Of an engine for a GPU, what it would say there.
            engine: getattr(module, "lacks", module.refuse)(request)
            for engine, module in ENGINES.items()
        }
    return answers


def _reasons(
    engine: str, asked: Mapping[Combination, Mapping[str, str | None]], plain: int | None = None
) -> dict[str, int]:
    """Why an engine refuses, and how often, most often first; with `plain`, where all but that part is the default."""
    if plain is not None:
        default = ("scaled_dot", "softmax", "none", "none")
        asked = {c: a for c, a in asked.items() if all(c[i] == default[i] for i in range(4) if i != plain)}
    # A reason that names the mask is one reason.
    said = (re.sub(r"such as \w+", "such as this", answers[engine] or "") for answers in asked.values())
    return dict(Counter(reason for reason in said if reason).most_common())


def _taken(taken: set[Combination], asked: set[Combination], but: int | None = None) -> str:
    """Which of the combinations are taken, by the names in them where that says it all."""
    if taken == asked:
        return "every combination"
    if not taken:
        return "none"
    # Parts with which it takes everything; then what it takes of the rest.
    said, rest = [], set(taken)
    for place, kind in enumerate(COMBINED):
        always = [
            name
            for name in _choices()[kind]
            if place != but and all(combination in taken for combination in asked if combination[place] == name)
        ]
        if always:
            said.append(f"{kind} {_or([_name(name) for name in always])}")
            rest = {combination for combination in rest if combination[place] not in always}
    whole = [f"every combination with {' or '.join(said)}"] if said else []
    if not rest:
        return whole[0]
    if not _is_product(rest):
        return f"{len(taken):,} of {len(asked):,} combinations"
    said = []
    for place, kind in enumerate(COMBINED):
        names = [name for name in _choices()[kind] if any(combination[place] == name for combination in rest)]
        if place != but and len(names) < len(_choices()[kind]):
            said.append(f"{kind} {_or([_name(name) for name in names])}")
    return "; and ".join([*whole, "; ".join(said) + (", each with each" if len(said) > 1 else "")])


def _is_product(taken: set[Combination]) -> bool:
    sizes = [len({combination[place] for combination in taken}) for place in range(len(COMBINED))]
    return len(taken) == sizes[0] * sizes[1] * sizes[2] * sizes[3]


def _share(count: int, whole: int) -> str:
    return "all" if count == whole else "-" if not count else f"{count} of {whole}"


def _name(name: str) -> str:
    return name if name in (OWN, "none") else f"`{name}`"


def _or(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
