"""The messages are in both languages, with the same places, and the page fills them as Python does."""

import re

import pytest

from regard.page.messages import messages, say
from regard.page.modules import joined

PLACE = re.compile(r"\{(\w+)(?::[a-z,]+)?\}")


def texts(message):
    return list(message.values()) if isinstance(message, dict) else [message]


@pytest.mark.parametrize("name", messages()["messages"])
def test_a_message_is_in_both_languages(name):
    message = messages()["messages"][name]
    assert set(message) == {"en", "zh"}
    if isinstance(message["en"], list):
        assert [each[0] for each in message["en"]] == [each[0] for each in message["zh"]]
        return
    assert all(texts(message["en"]) + texts(message["zh"]))
    # Each place has a value that both programs give, and nothing else is in braces.
    for text in (*texts(message["en"]), *texts(message["zh"])):
        assert not set("{}") & set(PLACE.sub("", text))


def test_the_page_fills_messages_as_python_does(script):
    cases = []
    for name, message in messages()["messages"].items():
        if isinstance(message["en"], list):
            continue
        every = [text for language in ("en", "zh") for text in texts(message[language])]
        places = sorted({place for text in every for place in PLACE.findall(text)})
        for count in (1, 12345):
            values = {place: f"<{place}> $& {{it}}" for place in places}
            # Counts are those whose thousands are set apart.
            values |= {place: count for place in places if any(f"{{{place}:,}}" in text for text in every)}
            cases += [[language, name, values | {"count": count}] for language in ("en", "zh")]
    found = script(joined("words.js"), "x.map((each) => messageText(messageParts(...each)))", cases)
    assert found == [say(name, language, **values) for language, name, values in cases]
