"""The application behind `regard serve`: the page, and answers to what is typed into it or dropped on it."""

import asyncio
import json
import sys
import traceback
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from regard.cli.server.live_rules import Rules, response_of
from regard.cli.server.one_at_a_time import Busy, Closed, OneAtATime
from regard.errors import RegardError
from regard.extras import require

__all__ = ["Asked", "Limits", "live_app"]

# The rest of a body that is too large is read, so that the client gets to read why; a much larger one isn't.
_READ_ON = 4


class Limits(NamedTuple):
    """How much and how long a request may be.

    Args:
        text, file: the most bytes of a request with a text, and of one with a file.
        arriving: how many seconds it may take to arrive.
        answering: how many seconds its answer may take, with the time until its turn has come.
    """

    text: int = 100_000
    file: int = 20_000_000
    arriving: float = 10.0
    answering: float = 60.0


class Asked(NamedTuple):
    """What is asked.

    Args:
        text: the text that was typed; "" if a file was dropped.
        name, content: the file's name and its bytes; None for a text.
        effects: whether to measure what mattered.
    """

    text: str
    name: str
    content: bytes | None
    effects: bool


Answer = Callable[[Asked, Callable[[], None]], bytes]


class _Refused(Exception):
    def __init__(self, status: int, sentence: str):
        super().__init__(sentence)
        self.status = status


def live_app(
    document: str,
    answer: Answer,
    work: OneAtATime,
    *,
    takes: str,
    hosts: Collection[str],
    limits: Limits = Limits(),  # noqa: B008
) -> Any:
    """The application, as ASGI.

    Args:
        document: the page.
        answer: gives the JSON of an answer. It is called in the thread of `work`, with what is asked and a function
            that ends it where nobody waits for the answer any more.
        work: runs one of them at a time.
        takes: whether a request has a "text" or a "file".
        hosts: what the `Host` of a request may be.
        limits: how much and how long a request may be.

    Raises:
        MissingExtraError: starlette isn't installed.
    """
    applications = require("starlette.applications", extra="serve")
    exceptions = require("starlette.exceptions", extra="serve")
    responses = require("starlette.responses", extra="serve")
    route = require("starlette.routing", extra="serve").Route

    async def page(_: Any) -> Any:
        return responses.HTMLResponse(document)

    async def no_icon(_: Any) -> Any:
        return responses.Response(status_code=204)

    async def see(request: Any) -> Any:
        try:
            asked = await _asked(request, takes, limits)
            found = await _unless_gone(request, work.run(lambda check: answer(asked, check), seconds=limits.answering))
        except _Refused as refused:
            return response_of(refused.status, str(refused))
        except Busy:
            return response_of(429, "The model is busy, and others are waiting. Try again.", retry_after="1")
        except Closed:
            return response_of(503, "The server is ending.")
        except TimeoutError:
            return response_of(
                503,
                f"There was no answer within {limits.answering:g} seconds. Give a shorter input, or don't measure what "
                "mattered.",
            )
        except RegardError as error:
            return response_of(422, str(error))
        except MemoryError:
            return response_of(503, "There isn't enough memory for this. Give a shorter input.")
        except Exception as error:
            traceback.print_exception(error, file=sys.stderr)
            lines = str(error).strip().splitlines()
            return response_of(
                500, f"{type(error).__name__}{': ' + lines[0] if lines else ''}. This is an error in regard."
            )
        return responses.Response(found, media_type="application/json")

    async def wrong(_: Any, error: Any) -> Any:
        return response_of(error.status_code, f"There is nothing here: {error.detail}.", **_lowered(error.headers))

    app = applications.Starlette(
        routes=[route("/", page), route("/favicon.ico", no_icon), route("/see", see, methods=["POST"])],
        exception_handlers={exceptions.HTTPException: wrong},
    )
    return Rules(app, hosts)


def _lowered(headers: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in (headers or {}).items()}


async def _asked(request: Any, takes: str, limits: Limits) -> Asked:
    """What a request asks.

    Raises:
        _Refused: it is too large, too slow, or of another form.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    wanted, most = ("application/json", limits.text) if takes == "text" else ("application/octet-stream", limits.file)
    # A form of another site can't send these types.
    if kind != wanted:
        raise _Refused(415, f"The request must be of the type {wanted}, but is {kind or 'of none'!s:.60}.")
    body = await _body(request, most, limits.arriving)
    if takes == "file":
        if not body:
            raise _Refused(400, "The file is empty.")
        return Asked("", request.query_params.get("name", ""), body, "effects" in request.query_params)
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        given = None
    if (
        not isinstance(given, dict)
        or set(given) != {"text", "effects"}
        or not isinstance(given["text"], str)
        or not isinstance(given["effects"], bool)
    ):
        raise _Refused(400, 'The request must be {"text": "...", "effects": false or true}.')
    if not given["text"].strip():
        raise _Refused(400, "The text is empty. Type one.")
    if any("\ud800" <= character <= "\udfff" for character in given["text"]):
        raise _Refused(400, "The text holds half of a character (a lone surrogate). Type it again.")
    return Asked(given["text"], "", None, given["effects"])


async def _body(request: Any, most: int, seconds: float) -> bytes:
    parts, size = [], 0
    try:
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                size += len(part)
                if size <= most:
                    parts.append(part)
                elif size > _READ_ON * most:
                    break
    except require("starlette.requests", extra="serve").ClientDisconnect:
        raise _Refused(499, "The client has gone.") from None
    except TimeoutError:
        raise _Refused(408, f"The input didn't arrive within {seconds:g} seconds.") from None
    if size > most:
        raise _Refused(413, f"The input must have {most:,} bytes at most, but has more. Give a shorter one.")
    return b"".join(parts)


async def _unless_gone(request: Any, answer: Any) -> bytes:
    """The answer; it is given up when the client has gone."""
    found, gone = asyncio.ensure_future(answer), asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait((found, gone), return_when=asyncio.FIRST_COMPLETED)
        if not found.done():
            raise _Refused(499, "The client has gone.")
        return found.result()
    finally:
        for each in (found, gone):
            each.cancel()


async def _gone(request: Any) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
