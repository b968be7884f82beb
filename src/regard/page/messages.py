"""The sentences and names that pages and terminals say, in English and Chinese, from one file.

`web/messages.json` holds them for Python and for the page's script (`web/words.js`). In a message `{name}` is the place
of a value, `{name:,}` that of a count whose thousands are set apart, and `{name:weight}` that of a text which the page
colours as weights are. A message in the singular and in the plural has two texts, between which `count` decides.
"""

import json
import re
from functools import cache
from importlib import resources
from typing import Any

__all__ = ["messages", "say"]

_PLACE = re.compile(r"\{(\w+)(?::([a-z,]+))?\}")


@cache
def messages() -> dict[str, Any]:
    """What the file holds: the messages, and the names of items, inputs, tags, assays and patterns."""
    return json.loads((resources.files("regard.page") / "web" / "messages.json").read_text(encoding="utf-8"))


def say(message: str, language: str = "en", **values: str | int) -> str:
    """A message as text.

    Args:
        message: its name.
        language: "en" or "zh".
        values: what stands in its places; others are left out.

    Example:
        >>> say("others", count=1, weight="2%"), say("others", count=1000, weight="2%")
        ('1 other has 2%.', '1,000 others have 2% at most.')
        >>> say("others", "zh", count=2, weight="2%")
        '其余 2 项的权重最多 2%。'
    """
    found = messages()["messages"][message][language]
    if isinstance(found, dict):
        found = found["one" if values["count"] == 1 else "other"]

    def filled(place: re.Match[str]) -> str:
        value = values[place[1]]
        return f"{value:,}" if place[2] == "," else str(value)

    return _PLACE.sub(filled, found)
