"""`regard check`: whether the layers of a record gave what the record gives."""

import json
import math
import warnings
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from regard.cli.arguments.options import ColourOption, Format, FormatOption, PlainOption, WidthOption
from regard.cli.output.record_files import read_calls
from regard.cli.startup import import_torch
from regard.errors import DataError, RecordWarning

if TYPE_CHECKING:
    from regard.inspection import SeenLayer

__all__ = ["check"]

_MOST_NAMED = 3  # layers that the verdict names


class _Found(NamedTuple):
    """What the check of a layer gave: the difference, or why there is none."""

    number: int
    layer: "SeenLayer"
    difference: float | None
    instead: str

    @property
    def right(self) -> bool | None:
        """Whether the difference is within the tolerance; None if there is nothing to compare."""
        # Not `>`: a difference may be NaN.
        return None if self.difference is None else self.difference <= self.layer.tolerance

    @property
    def name(self) -> str:
        return f"layer {self.number} ({self.layer.name or 'the model itself'})"


def check(
    record: Annotated[str, typer.Argument(metavar="RECORD", help="A file that Seen.save or regard see --save wrote.")],
    format: FormatOption = Format.text,
    plain: PlainOption = False,
    width: WidthOption = None,
    color: ColourOption = None,
) -> None:
    """Check a record of attention against what the layers gave.

    A record holds the queries, keys and values of each layer of a watched model, how its scores become weights, and
    some of the outputs that it gave. These outputs are computed again from the rest. If rounding explains the largest
    difference, the weights that the record gives are those that the layer used. The exit code is 1 if a layer differs
    by more. Items and predictions of the record take no part in it: if they can't be read, a warning says so.

    \b
    Examples:
      regard check seen.safetensors
      regard check seen.safetensors --format json
      regard check seen.safetensors --plain
    """
    import_torch()
    from regard.cli.output.console import output_console
    from regard.page import Page, Prose, Table, show

    console = output_console(width=width, colour=color)
    seen, damage = read_calls(record)
    found = [_checked(number, layer) for number, layer in enumerate(seen, start=1)]
    wrong = [each for each in found if each.right is False]
    verdict = _verdict(found)
    warning = (
        f"What {record} says its layers are about can't be read ({damage}), and wasn't checked." if damage else None
    )
    if warning:
        warnings.warn(warning, RecordWarning, stacklevel=1)
    if format is Format.json:
        right = False if wrong else True if any(each.right for each in found) else None
        layers = [_as_json(each) for each in found]
        told = {"record": record, "right": right, "verdict": verdict, "warning": warning, "layers": layers}
        typer.echo(json.dumps(told, ensure_ascii=False, indent=2))
    else:
        rows = tuple(_row(each) for each in found)
        columns = "layer", "name", "function", "shape", "rule", "difference", "tolerance", "verdict"
        aligned: Any = ("right", *["left"] * 4, "right", "right", "left")
        blocks = [Table(columns, rows, aligned), *(Prose(note) for note in _notes(found))]
        # What is wrong is said as an error.
        show(Page(record, (*blocks, *([] if wrong else [Prose(verdict)]))), console, plain=plain)
    if wrong:
        raise DataError(verdict, path=record)


def _checked(number: int, layer: "SeenLayer") -> _Found:
    if layer.dropout:
        return _Found(number, layer, None, f"dropout {layer.dropout:g}")
    if layer.removed:
        return _Found(number, layer, None, "heads changed")
    if not layer.outputs.numel():
        return _Found(number, layer, None, "no outputs")
    return _Found(number, layer, layer.verify(), "")


def _row(found: _Found) -> tuple[str, ...]:
    layer = found.layer
    given = ("", "", found.instead)
    if found.difference is not None:
        given = f"{found.difference:.2g}", f"{layer.tolerance:.2g}", "right" if found.right else "differs"
    return str(found.number), layer.name, layer.function, layer.shape_text, layer.rule_text, *given


def _notes(found: list[_Found]) -> list[str]:
    """Why some layers have no difference, and what the layers' notes say."""
    reasons = {
        "dropout": "Dropout: the layer set weights to 0 at random, so its outputs can't be computed again.",
        "heads": "Heads changed: the layer went on with other outputs than its weights give.",
        "no": "No outputs: the record was made without rows to compare.",
    }
    given = {each.instead.split()[0] for each in found if each.instead}
    said = [sentence for reason, sentence in reasons.items() if reason in given]
    layers: dict[str, list[str]] = {}
    for each in found:
        for note in each.layer.notes:
            layers.setdefault(note, []).append(str(each.number))
    return said + [f"Layer{'s' * (len(at) > 1)} {', '.join(at)}: {note}" for note, at in layers.items()]


def _verdict(found: list[_Found]) -> str:
    compared = [each for each in found if each.right is not None]
    wrong = [each for each in compared if not each.right]
    if wrong:
        named = "; ".join(
            f"{each.name} differs by {each.difference:.2g}, and its tolerance is {each.layer.tolerance:.2g}"
            for each in wrong[:_MOST_NAMED]
        )
        more = f"; and {len(wrong) - _MOST_NAMED:,} more layers differ" if len(wrong) > _MOST_NAMED else ""
        return f"what a layer gave must be what its record gives, but {named}{more}."
    if not compared:
        return "Nothing could be compared."
    left = len(found) - len(compared)
    all_of = "The layer gives" if len(compared) == 1 else f"The {len(compared):,} layers give"
    others = f" {left:,} more could not be compared." if left else ""
    return f"{all_of} what the record gives, within rounding.{others}"


def _as_json(found: _Found) -> dict[str, Any]:
    layer = found.layer
    batch, heads, queries, feature = layer.query.shape
    finite = found.difference is not None and math.isfinite(found.difference)
    return {
        "layer": found.number,
        "name": layer.name,
        "function": layer.function,
        "batch": batch,
        "heads": heads,
        "key_heads": layer.key.shape[1],
        "queries": queries,
        "keys": layer.key.shape[2],
        "feature": feature,
        "rule": layer.rule_text,
        "difference": found.difference if finite else None,
        "tolerance": layer.tolerance,
        "right": found.right,
        "not_compared": found.instead or None,
        "notes": layer.notes,
    }
