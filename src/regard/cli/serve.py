"""`regard serve`: the live page of a model, with a box to type into or a file to drop."""

import os
import signal
import socket
import sys
from contextlib import suppress
from typing import Annotated, Any

import typer

from regard.cli.startup import import_torch
from regard.errors import ArgumentError

__all__ = ["serve"]

# Nobody else's computer reaches this address.
_ADDRESS = "127.0.0.1"
_FIRST_PORT, _PORTS = 8000, 100
# Longer inputs take longer than anybody waits.
_MOST_ITEMS = 8192
_MOST_WAITING, _MOST_CONNECTIONS = 8, 100
# After that a client that sends or reads nothing is given up.
_HANGING = 15.0


def serve(
    model: Annotated[
        str,
        typer.Argument(
            metavar="[MODEL]", help="A model of regard's, a folder of save_pretrained, or FILE.py:FUNCTION."
        ),
    ] = "english-pos",
    *,
    port: Annotated[
        int | None, typer.Option(metavar="N", min=0, max=65535, help="The port  [default: 8000, or the next free one]")
    ] = None,
    open: Annotated[
        bool | None, typer.Option("--open/--no-open", help="Open the page in a browser  [default: from a terminal]")
    ] = None,
) -> None:
    """Show the live page of a model, which answers what you type into it or drop on it.

    The page is that of regard see --html, with a box above it. It is served to this computer only: to other computers,
    and to pages of other sites, the server doesn't answer. An answer has what the model attended to; a click measures
    what mattered. Ctrl-C ends the server.

    A function in a Python file takes the text that is typed, and returns (model, inputs) or (model, inputs, items).

    \b
    Examples:
      regard serve
      regard serve german-english --port 8080
      regard serve written-digit --no-open
      regard serve my-bert/
      regard serve my_model.py:build
    """
    # Here and not above: these bring torch, for which --help and a mistyped option needn't wait.
    from regard.extras import require

    uvicorn = require("uvicorn", extra="serve")
    require("starlette", extra="serve")
    with _bound(port) as listening:
        import_torch()
        from regard.cli.answering.cases import cases_of
        from regard.cli.output.record_files import is_record
        from regard.cli.server.live_app import live_app
        from regard.cli.server.live_model import LiveModel
        from regard.cli.server.one_at_a_time import OneAtATime

        if is_record(model):
            raise ArgumentError(
                f"`MODEL` must be a model, but {model} is a record. regard see {model} --html shows it."
            )
        cases = cases_of(model, origin="the page", longest=_MOST_ITEMS)
        if cases.takes == "folder":
            raise ArgumentError(f"`MODEL` must read texts or files, but {cases.name} reads folders. Use regard see.")
        live = LiveModel(cases)
        document = live.document()
        number = listening.getsockname()[1]
        work = OneAtATime(_MOST_WAITING)
        app = live_app(
            document,
            live.answer,
            work,
            takes=cases.takes,
            hosts=[f"{host}:{number}" for host in (_ADDRESS, "localhost")],
        )
        listening.listen(128)
        address = f"http://{_ADDRESS}:{number}/"
        typer.echo(f"{cases.name} answers at {address} (Ctrl-C ends it).")
        sys.stdout.flush()
        if sys.stdout.isatty() and _has_browser() if open is None else open:
            _open(address)
        _run(uvicorn, app, listening, work)
        typer.echo("Ended.")
        if not work.join(2.0):
            # What computes can't be stopped, and must not run while Python takes itself apart.
            sys.stdout.flush()
            os._exit(0)


def _bound(port: int | None) -> socket.socket:
    """A socket at the port that was asked for, or at the first that is free.

    Raises:
        ArgumentError: the port is taken or forbidden.
    """
    ports = range(_FIRST_PORT, _FIRST_PORT + _PORTS) if port is None else [port]
    why: Any = None
    for each in ports:
        found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if os.name == "posix":
            # A port is free again as soon as its server has ended. (Elsewhere this would share one that is taken.)
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((_ADDRESS, each))
        except OSError as error:
            why = error
            found.close()
            continue
        return found
    if port is None:
        raise ArgumentError(f"`--port` must be given: {ports[0]} to {ports[-1]} are taken.")
    raise ArgumentError(
        f"`--port` must be free, but {port} isn't ({why.strerror}). Leave it out for the next free one."
    )


def _has_browser() -> bool:
    """Whether there is a browser with a window: one in the terminal would hide what is printed there."""
    return os.name != "posix" or sys.platform == "darwin" or bool({"DISPLAY", "WAYLAND_DISPLAY"} & set(os.environ))


def _open(address: str) -> None:
    """Open a page in the browser, which may take its time to begin."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _run(uvicorn: Any, app: Any, listening: socket.socket, work: Any) -> None:
    """Serve until Ctrl-C or SIGTERM."""
    import asyncio

    from regard.cli.server.patient_connections import patient_connections

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: Any = None) -> None:
            work.close()
            await super().shutdown(sockets)

    config = uvicorn.Config(
        app,
        http=patient_connections(_HANGING),
        loop="asyncio",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=1,
    )
    # When it has ended, uvicorn sends itself the signal once more.
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        with suppress(KeyboardInterrupt):
            asyncio.run(Server(config).serve(sockets=[listening]))
    finally:
        signal.signal(signal.SIGTERM, before)
