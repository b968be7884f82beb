"""`regard serve` as a process: signals, clients that hang, connections that end."""

import asyncio
import http.client
import signal
import socket
import threading
import time
from contextlib import suppress

import pytest
from serving import asked, running

from regard.cli.serve import _bound
from regard.cli.server.patient_connections import patient_connections

uvicorn = pytest.importorskip("uvicorn", reason="regard serve: install the extra serve")

SENTENCE = "I saw a saw ."


def ends_at_once(process, port, ending):
    """Check that a server ends by a signal, while the model runs, with a client that hangs."""
    hanging, got = socket.create_connection(("127.0.0.1", port)), []
    slow = threading.Thread(target=lambda: got.append(asked(port, "a " * 2000, effects=True)))
    slow.start()
    time.sleep(1)
    begun = time.monotonic()
    process.send_signal(ending)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (0, "Ended.\n", "")
    assert time.monotonic() - begun < 10
    slow.join(10)
    assert got == [(503, {"error": "The server is ending."})]
    hanging.close()
    with pytest.raises(OSError, match="refused"):
        asked(port, SENTENCE)


@pytest.mark.slow
def test_it_ends_at_once_and_without_an_error():
    with running() as (process, port):
        assert asked(port, SENTENCE)[0] == 200
        ends_at_once(process, port, signal.SIGTERM)


@pytest.mark.slow
def test_clients_that_hang_hold_up_nobody_nor_the_end_by_ctrl_c():
    with running() as (process, port):
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
        for half in silent[10:]:
            half.sendall(b"POST /see HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le")
        assert asked(port, SENTENCE)[0] == 200
        for each in silent:
            each.close()
        # A body that was announced and doesn't come.
        late = socket.create_connection(("127.0.0.1", port))
        head = f"POST /see HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
        late.sendall(f"{head}content-length: 100\r\n\r\n{{".encode())
        assert asked(port, SENTENCE)[0] == 200
        # 10 MB of text get their sentence, as does another host.
        status, said = asked(port, "x" * 10_000_000)
        assert status == 413
        assert said["error"].startswith("The input must have 100,000 bytes at most")
        ends_at_once(process, port, signal.SIGINT)
        late.close()


@pytest.mark.slow
def test_a_connection_without_a_request_ends():
    async def app(scope, receive, send):
        if scope["path"] == "/slow":
            await asyncio.sleep(0.8)
        body = b"x" * (50_000_000 if scope["path"] == "/large" else 1)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    listening = _bound(0)
    listening.listen()
    port = listening.getsockname()[1]
    config = uvicorn.Config(
        app, http=patient_connections(0.4), ws="none", lifespan="off", log_config=None, log_level="critical"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
    thread.start()
    try:

        def ended(start: bytes) -> tuple[float, int]:
            """How long a connection lasts that sends this and no more, and how much it got."""
            begun, got = time.monotonic(), 0
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.sendall(start)
                client.settimeout(10)
                if b"large" in start:
                    time.sleep(1.5)
                with suppress(ConnectionResetError):
                    while part := client.recv(2**20):
                        got += len(part)
            return time.monotonic() - begun, got

        whole = "GET {} HTTP/1.1\r\nHost: x\r\n\r\n"
        assert 0.3 < ended(b"")[0] < 2
        assert 0.3 < ended(b"GET / HTT")[0] < 2
        lasted, got = ended((whole.format("/") + "GET / HTT").encode())
        assert 0.3 < lasted < 2
        assert got > 1
        assert ended(whole.format("/large").encode())[1] < 50_000_000
        # One that waits for its answer isn't hanging.
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/slow")
        assert connection.getresponse().read() == b"x"
        connection.close()
    finally:
        server.should_exit = True
        thread.join(10)
