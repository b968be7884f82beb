"""A server of `regard serve` in a process of its own, for the tests."""

import http.client
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["asked", "running"]


@contextmanager
def running(*words: str) -> Iterator[tuple[Any, int]]:
    """A server: the process, and its port."""
    process = subprocess.Popen(
        [sys.executable, "-m", "regard", "serve", "--no-open", "--port", "0", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline()
        found = re.fullmatch(r"\S+ answers at http://127\.0\.0\.1:(\d+)/ \(Ctrl-C ends it\)\.\n", line)
        yield process, int(found[1])
    finally:
        process.kill()
        process.communicate()


def asked(port: int, text: str, *, effects: bool = False) -> tuple[int, Any]:
    """What a server answers: the status, and the JSON."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        body = json.dumps({"text": text, "effects": effects})
        connection.request("POST", "/see", body, {"content-type": "application/json"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()
