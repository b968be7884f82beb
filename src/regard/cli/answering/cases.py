"""Models of any kind, loaded once, and what each makes of an input: the case that `regard.inspection.see` runs."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from regard.cli.answering.reading import sources_of
from regard.cli.answering.sentences import split_warning, words_of
from regard.cli.arguments.trusted import load
from regard.errors import ArgumentError
from regard.inspection import Case, Record
from regard.inspection.cases.hugging_face_folder import is_pretrained
from regard.inspection.cases.own_model import is_own_model, own_case
from regard.page.numbers import plural

__all__ = ["Cases", "cases_of", "check_attends"]


class Cases(NamedTuple):
    """A model that is ready for inputs.

    Args:
        name: its name.
        takes: whether an input is a "text", or the name of a "file" or "folder".
        noun: what an input is, such as "picture".
        case: the model with one input.
        example: an input that suits the model; None: none is known.
    """

    name: str
    takes: Literal["text", "file", "folder"]
    noun: str
    case: Callable[[str], Case]
    example: str | None = None


def cases_of(model: str, *, origin: str = "", longest: int | None = None) -> Cases:
    """Load a model of regard's, a folder of `save_pretrained`, or a function of a Python file.

    Args:
        model: its name or folder, or "FILE.py:FUNCTION".
        origin: where inputs come from; "": from the command line.
        longest: the largest number of items of an input of a model of regard's; None for no limit.

    Raises:
        RegardError: the model can't be loaded.
    """
    if is_own_model(model):
        # The file runs again for each input, so what was edited is there.
        return Cases(model, "text", "text", lambda text: own_case(model, text))
    if is_pretrained(model):
        from regard.inspection.hugging_face import pretrained

        found = pretrained(model)
        return Cases(found.name, "text" if found.noun == "text" else "file", found.noun, found.case)
    return _own(model, origin, longest)


def _own(name: str, origin: str, longest: int | None) -> Cases:
    model = load(name)
    source = model.recipe.input
    is_tagger = model.task.command(source.kind) == "tag"

    def case(text: str) -> Case:
        if is_tagger:
            words = words_of(model, text)
            found = model.case(words, longest=longest)
            split = split_warning(text, words)
            return replace(found, warnings=(split, *found.warnings)) if split else found
        found = sources_of(model, text, origin)
        if len(found) > 1:
            raise ArgumentError(
                f"`INPUT` must be one source, but {text} holds {len(found)}. Put each in a file of its own."
            )
        return model.case(found[0][1], longest=longest)

    return Cases(model.name, source.argument, source.source_noun, case, _example(model))


def _example(model: Any) -> str | None:
    example = model.about.get("example") if model.recipe.input.argument == "text" else None
    if isinstance(example, list):
        return " ".join(map(str, example))
    return example if isinstance(example, str) else None


def check_attends(record: Record) -> None:
    """Refuse a record without attention.

    Raises:
        ArgumentError: the model attends to none of its items.
    """
    if not record.layers and record.pooling is None:
        why = "" if record.seen is None else record.seen.nothing
        told = f"`MODEL` must attend to its {plural(record.noun)}, but {record.model} doesn't. {why}".strip()
        raise ArgumentError(
            f"{told} To see its prediction alone, use regard predict; to train a model that attends, use regard train "
            "with --no-search or with a recipe."
        )
