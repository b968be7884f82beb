"""`regard serve` under load: times of answers, memory, clients that hang or ask for too much, and how it ends.

    python benchmarks/serving.py

One server of `english-pos`, in a process of its own; the clients are threads of this one. It ends with status 1 if an
answer wasn't what it must be.
"""

import http.client
import json
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from measuring import conditions, save

REQUESTS, TOGETHER, HANGING = 1000, 50, 20
WORDS = "I saw a saw . You can fish or hide the old boat before it rains again in the dark harbour"
# How many answers the server lets wait: the other clients are told to come again.
MOST_ANSWERED = 9
# More than this after a thousand answers would be a leak.
MOST_GROWTH = 60.0


@contextmanager
def server() -> Iterator[tuple[Any, int]]:
    """A server that has started: the process, and its port."""
    command = [sys.executable, "-m", "regard", "serve", "english-pos", "--no-open", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        found = re.search(r":(\d+)/", line)
        if found is None:
            raise SystemExit(f"The server didn't start: {line}{process.stderr.read()}")
        yield process, int(found[1])
    finally:
        process.kill()
        process.communicate()


def asked(port: int, body: bytes, **headers: str) -> tuple[int, Any, float]:
    """The status, the JSON and the seconds of one answer."""
    begun = time.perf_counter()
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        sent = {"content-type": "application/json", **{name.replace("_", "-"): each for name, each in headers.items()}}
        connection.request("POST", "/see", body, sent)
        response = connection.getresponse()
        said = json.loads(response.read())
        return response.status, said, time.perf_counter() - begun


def body(text: str, effects: bool = False) -> bytes:
    return json.dumps({"text": text, "effects": effects}).encode()


def sentences(count: int) -> list[str]:
    """Sentences of 3 to 20 words, of which no two need be alike."""
    draw = random.Random(0)
    return [" ".join(draw.choices(WORDS.split(), k=draw.randint(3, 20))) for _ in range(count)]


def memory(process: Any) -> float:
    """What the process holds, in MB (VmRSS)."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    return int(re.search(r"VmRSS:\s*(\d+)", status)[1]) * 1024 / 1e6


def one_after_the_other(port: int, texts: Sequence[str], effects: bool) -> tuple[Counter[int], list[float]]:
    found = [asked(port, body(text, effects)) for text in texts]
    return Counter(status for status, _, _ in found), [seconds for *_, seconds in found]


def all_at_once(port: int, texts: Sequence[str]) -> Counter[int]:
    found: list[int] = []
    threads = [threading.Thread(target=lambda each=each: found.append(asked(port, body(each))[0])) for each in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Counter(found)


def hanging(port: int) -> list[socket.socket]:
    """Clients of which half send nothing, and half a part of the head."""
    clients = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(HANGING)]
    for each in clients[::2]:
        each.sendall(b"POST /see HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le")
    return clients


def sends_slowly(port: int) -> float:
    """The seconds until the server ends a connection whose head comes byte by byte."""
    begun = time.perf_counter()
    with socket.create_connection(("127.0.0.1", port), timeout=1) as client:
        for byte in b"POST /see HTTP/1.1\r\nX-Slow: " + b"a" * 10_000:
            try:
                client.sendall(bytes([byte]))
                time.sleep(0.2)
                if time.perf_counter() - begun > 60:
                    break
            except OSError:
                break
    return time.perf_counter() - begun


def of(counts: Counter[int]) -> str:
    return ", ".join(f"{count} x {status}" for status, count in sorted(counts.items()))


def spread(seconds: Sequence[float]) -> str:
    cuts = statistics.quantiles(seconds, n=100)
    return (
        f"median {cuts[49] * 1e3:.0f} ms, 95th percentile {cuts[94] * 1e3:.0f} ms, longest {max(seconds) * 1e3:.0f} ms"
    )


def main() -> int:
    rows: list[tuple[str, str]] = []
    wrong: list[str] = []

    def report(what: str, said: str, right: bool) -> None:
        print(what, said, "" if right else "WRONG", sep="\t", flush=True)
        rows.append((what, said))
        if not right:
            wrong.append(what)

    with server() as (process, port):
        here, texts = f"127.0.0.1:{port}", sentences(REQUESTS)
        # What is loaded or allocated once isn't growth.
        one_after_the_other(port, texts[:50], effects=False)
        one_after_the_other(port, texts[:5], effects=True)
        before = memory(process)
        counts, seconds = one_after_the_other(port, texts, effects=False)
        report(
            f"{REQUESTS:,} sentences of 3 to 20 words", f"{of(counts)}; {spread(seconds)}", counts == {200: REQUESTS}
        )
        counts, seconds = one_after_the_other(port, texts[:100], effects=True)
        report("100 of them with what mattered", f"{of(counts)}; {spread(seconds)}", counts == {200: 100})
        after = memory(process)
        report("memory of the server", f"{before:.0f} MB before, {after:.0f} MB after", after - before < MOST_GROWTH)

        counts = all_at_once(port, texts[:TOGETHER])
        right = set(counts) <= {200, 429} and counts.total() == TOGETHER and counts[200] >= MOST_ANSWERED
        report(f"{TOGETHER} clients at once", of(counts), right)

        status, said, _ = asked(port, body("x"), Origin="http://evil.example")
        report("another site's `Origin`", f"{status}: {said['error']}", status == 403)
        status, said, _ = asked(port, body("x"), Host="evil.example")
        report("another `Host`", f"{status}: {said['error']}", status == 403)
        status, _, _ = asked(port, body("x"), Host=here, Origin=f"http://{here}")
        report("its own", f"{status}", status == 200)
        status, said, _ = asked(port, body("x" * 10_000_000))
        report("a text of 10 MB", f"{status}: {said['error']}", status == 413)

        clients = hanging(port)
        status, _, seconds_beside = asked(port, body("I saw a saw ."))
        report(f"beside {HANGING} clients that hang", f"{status} after {seconds_beside * 1e3:.0f} ms", status == 200)
        lasted = sends_slowly(port)
        report("a head that comes byte by byte", f"ended after {lasted:.0f} s", lasted < 30)
        for each in clients:
            each.close()
        end = memory(process)
        report("memory at the end", f"{end:.0f} MB", end - before < MOST_GROWTH)

        clients = hanging(port)
        begun = time.perf_counter()
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=30)
        took = time.perf_counter() - begun
        clean = (process.returncode, out, error) == (0, "Ended.\n", "")
        report(f"Ctrl-C beside {HANGING} clients that hang", f"status {process.returncode} after {took:.1f} s", clean)
        for each in clients:
            each.close()
    save("serving", ["asked", "got"], rows, conditions("regard", "starlette", "uvicorn"))
    return bool(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
