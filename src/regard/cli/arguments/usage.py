"""Usage errors, each reported in one sentence.

Typer's own messages name no next step, and change between versions. Unrecognised messages are passed on.
"""

import re
import shlex
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from regard.errors import nearest

__all__ = ["as_typed", "is_usage_error", "usage_sentence"]

_WANTED = {
    "valid integer": "a whole number",
    "valid number": "a number",
    "valid boolean": "true or false",
    "greater than or equal to": "{} or more",
    "less than or equal to": "{} or less",
}


def is_usage_error(error: Exception) -> bool:
    """Whether an exception is typer's for an invalid command line."""
    # The class depends on the version: typer vendors click since 0.2x. Both classes have this method.
    return hasattr(error, "format_message")


def usage_sentence(error: Any, words: Sequence[str]) -> str:
    """The sentence for an error: what is wrong, the nearest name if there is one, and the help to read.

    Args:
        error: the exception.
        words: the command line.
    """
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "regard"
    return f"{_message(error, path, words)} See {path} --help."


def _message(error: Any, path: str, words: Sequence[str]) -> str:
    message, parameter = str(error.message), getattr(error, "param", None)
    option = getattr(error, "option_name", None) or ""
    if command := re.match(r"No such command '(.*?)'\.", message):
        near = re.search(r"Did you mean '(.*?)'", message)
        return f"there is no command {command[1]}.{f' Did you mean {near[1]}?' if near else ''}"
    if extra := re.match(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)$", message, re.DOTALL):
        return _too_many(path, extra[1], words)
    if message.startswith("No such option"):
        return f"there is no option {option}.{_instead(error, path, option)}"
    if option and message.endswith("requires an argument."):
        return f"`{option}` needs a value."
    if parameter is None:
        return message if message.endswith(("?", ".")) else f"{message}."
    name = _name(parameter)
    if type(error).__name__ == "MissingParameter":
        told = (getattr(parameter, "help", None) or "").split("  [")[0].rstrip(".")
        return f"{name} is missing{f': {told[0].lower()}{told[1:]}' if told else ''}."
    return _wrong(name, message.removeprefix("Value error, "), _value(parameter, words))


def _too_many(path: str, extra: str, words: Sequence[str]) -> str:
    if path != "regard tag":
        return f"{path} got too many arguments: {extra}."
    # After an option, a word may be its value.
    sentence = " ".join(takewhile(lambda word: not word.startswith("-"), words[1:])) or "..."
    return f"a sentence is one argument. Put it in quotes: regard tag {shlex.quote(sentence)}."


def _instead(error: Any, path: str, option: str) -> str:
    if path == "regard tag" and (not option.startswith("--") or " " in option):
        return " Before a text that begins with a hyphen write --."
    near = nearest(option, getattr(error, "possibilities", None) or (), cutoff=0.6)
    return f" Did you mean {near}?" if near else ""


def _wrong(name: str, message: str, value: str | None) -> str:
    given = "" if value is None else f", but is {value}"
    if unlisted := re.match(r"'(.*)' is not one of (.*?)\.?$", message):
        names = re.findall(r"'([^']*)'", unlisted[2])
        near = nearest(unlisted[1], names)
        hint = f" Did you mean {near}?" if near else ""
        return f"{name} must be one of {', '.join(names)}, but is {unlisted[1]}.{hint}"
    for part, wanted in _WANTED.items():
        if part in message:
            bound = re.search(rf"{part} (\S+)", message)
            return f"{name} must be {wanted.format(bound[1] if bound else '')}{given}."
    return f"{name}: {message.rstrip('.')}."


def _name(parameter: Any) -> str:
    if getattr(parameter, "param_type_name", "") == "option":
        return f"`{max(parameter.opts, key=len)}`"
    return f"`{(parameter.metavar or parameter.name.upper()).strip('[].')}`"


def _value(parameter: Any, words: Sequence[str]) -> str | None:
    """The value of an option on the command line: of several, the last counts."""
    for place, word in reversed(list(enumerate(words))):
        for option in (each for each in parameter.opts if each.startswith("-")):
            if word == option and place + 1 < len(words):
                return words[place + 1]
            if word.startswith(f"{option}="):
                return word.removeprefix(f"{option}=")
    return None


def as_typed(sentence: str, command: Any, words: Sequence[str]) -> str:
    """Replace the names of Python arguments in an error message by the options of the command: `seed` by `--seed`.

    Args:
        sentence: the error message.
        command: typer's command of the whole program.
        words: the command line; it says which command was run.
    """
    for word in words:
        command = getattr(command, "commands", {}).get(word, command)
    typed = {parameter.name: _name(parameter) for parameter in getattr(command, "params", ())}

    def renamed(found: re.Match[str]) -> str:
        return typed.get(found[1], found[0])

    # What is an option of most commands, such as `--data`, is an argument of some.
    # "`resume` (--resume)" would name the option twice.
    return re.sub(r"`(?:--)?(\w+)`(?: \(--\w+\))?", renamed, sentence).replace("` must be None", "` must be left out")
