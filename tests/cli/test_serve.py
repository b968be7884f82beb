"""`regard serve`: the page that asks, what the server answers, and whom and what it refuses."""

import asyncio
import base64
import gzip
import hashlib
import io
import json
import re
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from rich.cells import cell_len

from regard.cli.answering.cases import Cases, cases_of
from regard.cli.main import main
from regard.cli.serve import _bound
from regard.cli.server.live_app import Asked, Limits, live_app
from regard.cli.server.live_model import LiveModel
from regard.cli.server.one_at_a_time import OneAtATime
from regard.errors import ArgumentError
from regard.page.modules import integrity, joined

pytest.importorskip("starlette", reason="regard serve: install the extra serve")
TestClient = pytest.importorskip("starlette.testclient").TestClient

HOST = "127.0.0.1:8000"
HOSTS = (HOST, "localhost:8000")
SENTENCE = "I saw a saw ."
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def live() -> LiveModel:
    return LiveModel(cases_of("english-pos", origin="the page", longest=8192))


@pytest.fixture(scope="module")
def digit() -> LiveModel:
    return LiveModel(cases_of("written-digit"))


@pytest.fixture
def serving():
    """Make a client of an application; what it started ends with the test."""
    started: list[OneAtATime] = []

    def make(answer, *, takes="text", document="the page", most_waiting=2, limits=None):
        started.append(OneAtATime(most_waiting))
        app = live_app(document, answer, started[-1], takes=takes, hosts=HOSTS, limits=limits or Limits())
        return TestClient(app, base_url=f"http://{HOST}")

    yield make
    for each in started:
        each.close()
        assert each.join(10)


@pytest.fixture
def client(serving, live):
    return serving(live.answer, document=live.document())


def body(text=SENTENCE, effects=False):
    return json.dumps({"text": text, "effects": effects})


def echo(asked: Asked, check) -> bytes:
    return json.dumps(asked.text or asked.name).encode()


def unpacked(answer):
    """The function that reads an array of the answer."""
    numbers = gzip.decompress(base64.b64decode(answer["packed"]))
    kinds = {"f32": np.float32, "f16": np.float16, "i32": np.int32, "u16": np.uint16, "u8": np.uint8}

    def array(where):
        count = int(np.prod(where["shape"]))
        return np.frombuffer(numbers, kinds[where["kind"]], count, where["at"]).reshape(where["shape"])

    return array


class TestThePage:
    def test_it_shows_the_example_and_may_ask_its_server_only(self, client):
        response = client.get("/")
        assert response.status_code == 200
        text = response.text
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1].replace("&#x27;", "'")
        script = re.search(r'<script type="module">(.*?)</script>', text, re.DOTALL)[1]
        rules = dict(each.split(" ", 1) for each in policy.split("; "))
        assert rules["default-src"] == "'none'"
        assert rules["connect-src"] == "'self'"
        assert rules["script-src"] == f"'{integrity(script)}'"
        assert hashlib.sha256(script.encode()).digest() == base64.b64decode(integrity(script).removeprefix("sha256-"))
        values = json.loads(re.search(r'id="values">(.*?)</script>', text)[1])
        assert values["records"][0]["items"] == SENTENCE.split()
        assert values["records"][0]["outcomes"]["hidden"] is not None
        assert values["asks"] == {"takes": "text", "noun": "text", "text": SENTENCE, "model": "english-pos"}
        # Without a script there is the story of the example.
        assert "NOUN" in text[: text.index("<script")]

    def test_no_other_page_frames_it_and_nothing_is_kept(self, client):
        headers = client.get("/").headers
        assert headers["content-security-policy"] == "frame-ancestors 'none'"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers

    def test_a_page_on_its_own_has_no_code_that_connects(self):
        assert "fetch(" in joined("live.js")
        for word in ("fetch(", "XMLHttpRequest", "WebSocket", "EventSource", "sendBeacon", "import("):
            assert word not in joined("offline.js")
            assert word not in joined("worker.js")

    def test_other_addresses_are_nothing(self, client):
        for method, path, status in (("GET", "/x", 404), ("GET", "/see", 405), ("OPTIONS", "/see", 405)):
            response = client.request(method, path)
            assert response.status_code == status
            assert set(response.json()) == {"error"}
        assert client.get("/favicon.ico").status_code == 204


class TestAnswers:
    def test_a_text(self, client, live, monkeypatch):
        monkeypatch.setattr("regard.cli.server.live_model._QUICK", 0.0)
        response = client.post("/see", content=body("You can fish ."), headers=JSON)
        assert response.status_code == 200
        answer = response.json()
        assert set(answer) == {"values", "packed", "notes"}
        assert answer["notes"] == []
        (record,) = answer["values"]["records"]
        assert record["items"] == ["You", "can", "fish", "."]
        assert record["outcomes"]["hidden"] is None
        array = unpacked(answer)
        known = live._cases.case("You can fish .")
        from regard.inspection import see

        for layer, same in zip(record["layers"], see(known, effects=False).layers, strict=True):
            np.testing.assert_allclose(array(layer["table"]), same.weights().numpy(), atol=1e-6)

    def test_effects_are_measured_when_they_are_asked_for(self, client):
        answer = client.post("/see", content=body(effects=True), headers=JSON).json()
        outcomes = answer["values"]["records"][0]["outcomes"]
        hidden = outcomes["hidden"]
        array = unpacked(answer)
        assert outcomes["labels"][array(hidden["label"])[2, 3]] == "VERB"
        assert array(hidden["change"])[2, 3] == pytest.approx(-0.763, abs=1e-2)
        assert outcomes["removed"] is not None

    def test_effects_are_measured_unasked_where_that_is_quick(self, client, monkeypatch):
        monkeypatch.setattr("regard.cli.server.live_model._QUICK", float("inf"))
        outcomes = client.post("/see", content=body(), headers=JSON).json()["values"]["records"][0]["outcomes"]
        assert outcomes["hidden"] is not None
        assert outcomes["removed"] is not None

    def test_warnings_come_along(self, client):
        (note,) = client.post("/see", content=body("Привет мир"), headers=JSON).json()["notes"]
        assert "english-pos" in note

    def test_a_name_of_a_file_is_a_text_like_others(self, client, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("here").write_text("secret")
        answer = client.post("/see", content=body("here"), headers=JSON).json()
        assert answer["notes"] == []
        assert answer["values"]["records"][0]["items"] == ["here"]

    @pytest.mark.parametrize(
        "text",
        [
            "</script><script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            "\"'`&<!--",
            "a\x00b\x1b[31m\x07 c",
            "\u202eabc\u2066 \ufeff",
            "$x$ {0} %s \\",
            "a" * 3000,
            "ﷺ 👩‍👩‍👧 עברית",
        ],
    )
    def test_hostile_texts_are_texts(self, client, text):
        response = client.post("/see", content=body(text), headers=JSON)
        assert response.headers["content-type"] == "application/json"
        (record,) = response.json()["values"]["records"]
        assert "".join(record["items"]).replace("\\", "")[:1] != ""
        assert not any(character < " " for item in record["items"] for character in item)
        assert "\u202e" not in "".join(record["items"])

    def test_errors_of_the_model_are_sentences(self, client):
        response = client.post("/see", content=body("\u200b\u200b"), headers=JSON)
        assert response.status_code == 422
        assert response.json() == {"error": "there is no word in it, only invisible characters. Write a sentence."}
        response = client.post("/see", content=body("a " * 9000), headers=JSON)
        assert response.status_code == 422
        assert "8,192" in response.json()["error"]


class TestFiles:
    @staticmethod
    def picture() -> bytes:
        images = pytest.importorskip("PIL.Image")
        held = io.BytesIO()
        image = images.new("L", (28, 28))
        image.paste(255, (12, 4, 16, 24))
        image.save(held, "PNG")
        return held.getvalue()

    def post(self, client, content, name="one.png", more=""):
        kind = {"content-type": "application/octet-stream"}
        return client.post(f"/see?name={name}{more}", content=content, headers=kind)

    def test_a_page_without_an_example(self, serving, digit):
        text = serving(digit.answer, takes="file", document=digit.document()).get("/").text
        values = json.loads(re.search(r'id="values">(.*?)</script>', text)[1])
        assert values["records"] == []
        assert values["asks"] == {"takes": "file", "noun": "picture", "text": "", "model": "written-digit"}

    def test_a_picture(self, serving, digit, tmp_path, monkeypatch):
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        client = serving(digit.answer, takes="file")
        for name in ("one.png", "../../one.png", "a/b\\c.png", "one", "%00.png", "x.p%0ang"):
            response = self.post(client, self.picture(), name)
            assert response.status_code == 200, response.json()
            (record,) = response.json()["values"]["records"]
            assert len(record["items"]) == record["grid"][0] * record["grid"][1]
        assert list(tmp_path.iterdir()) == []
        record = self.post(client, self.picture(), more="&effects=1").json()["values"]["records"][0]
        assert record["outcomes"]["hidden"] is not None

    def test_other_files_are_told_by_their_own_name(self, serving, digit, tmp_path, monkeypatch):
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        client = serving(digit.answer, takes="file")
        response = self.post(client, b"no picture", "notes.png")
        assert response.status_code == 422
        assert "notes.png" in response.json()["error"]
        assert str(tmp_path) not in response.json()["error"]
        assert self.post(client, b"").status_code == 400

    def test_larger_ones_are_refused(self, serving):
        client = serving(echo, takes="file", limits=Limits(file=1000))
        assert self.post(client, b"a" * 1000).status_code == 200
        assert self.post(client, b"a" * 1001).status_code == 413


class TestRules:
    @pytest.mark.parametrize(
        "host",
        [
            "evil.example",
            "evil.example:8000",
            "127.0.0.1",
            "127.0.0.1:8001",
            "127.0.0.1:8000.evil.example",
            "[::1]:8000",
            "",
        ],
    )
    def test_other_hosts_are_refused(self, client, host):
        for response in (
            client.get("/", headers={"host": host}),
            client.post("/see", content=body(), headers=JSON | {"host": host}),
        ):
            assert response.status_code == 403
            assert response.json() == {"error": f"This server answers at {HOST} only."}
            assert response.headers["x-content-type-options"] == "nosniff"

    @pytest.mark.parametrize("host", HOSTS)
    def test_its_own_names(self, client, host):
        headers = JSON | {"host": host, "origin": f"http://{host}", "sec-fetch-site": "same-origin"}
        assert client.post("/see", content=body(), headers=headers).status_code == 200

    @pytest.mark.parametrize(
        "origin", ["http://evil.example", "null", "", "http://127.0.0.1:9000", "https://127.0.0.1:8000", "file://"]
    )
    def test_other_origins_are_refused(self, client, origin):
        response = client.post("/see", content=body(), headers=JSON | {"origin": origin})
        assert response.status_code == 403
        assert response.json() == {"error": "This server answers its own page only."}
        assert client.get("/", headers={"origin": origin}).status_code == 403
        assert client.options("/see", headers={"origin": origin}).status_code == 403

    @pytest.mark.parametrize("site", ["cross-site", "same-site", "none"])
    def test_requests_from_other_sites_are_refused_but_links_lead_here(self, client, site):
        assert client.post("/see", content=body(), headers=JSON | {"sec-fetch-site": site}).status_code == 403
        assert client.get("/", headers={"sec-fetch-site": site}).status_code == 200

    @pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
    def test_what_a_form_of_another_site_can_send_is_refused(self, client, kind):
        response = client.post("/see", content=body(), headers={"content-type": kind})
        assert response.status_code == 415
        assert "application/json" in response.json()["error"]

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"{",
            b"\xff\xfe",
            b"[" * 90_000,
            b"[]",
            b"null",
            b'{"text": "a"}',
            b'{"text": 1, "effects": false}',
            b'{"text": "a", "effects": 1}',
            b'{"text": "a", "effects": false, "model": "/etc/passwd"}',
            b'{"text": " \\n\\t", "effects": false}',
            b'{"text": "\\ud800", "effects": false}',
        ],
        ids=repr,
    )
    def test_other_requests_are_refused(self, client, content):
        response = client.post("/see", content=content, headers=JSON)
        assert response.status_code == 400
        assert re.fullmatch(r"The [^\n]*\.", response.json()["error"])

    def test_long_texts_are_refused(self, client):
        for size, status in ((100_000, 400), (100_001, 413), (350_000, 413), (10_000_000, 413)):
            response = client.post("/see", content=b"x" * size, headers=JSON)
            assert response.status_code == status
        assert response.json() == {
            "error": "The input must have 100,000 bytes at most, but has more. Give a shorter one."
        }

    def test_a_length_that_is_not_stated_is_counted(self, client):
        response = client.post("/see", content=(b"x" * 1000 for _ in range(101)), headers=JSON)
        assert response.status_code == 413


class TestTime:
    def test_an_answer_that_takes_too_long_is_given_up(self, serving):
        ended = threading.Event()

        def slow(asked, check):
            try:
                while asked.text == "slow":
                    time.sleep(0.01)
                    check()
            except BaseException:
                ended.set()
                raise
            return b"{}"

        client = serving(slow, limits=Limits(answering=0.3))
        response = client.post("/see", content=body("slow"), headers=JSON)
        assert response.status_code == 503
        assert "within 0.3 seconds" in response.json()["error"]
        assert ended.wait(5)
        assert client.post("/see", content=body("quick"), headers=JSON).status_code == 200

    def test_work_that_is_not_wanted_any_more_ends_between_effects(self, live):
        calls = []

        def check():
            calls.append(1)
            if len(calls) == 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            live.answer(Asked("a " * 40, "", None, True), check)
        assert len(calls) == 2

    def test_one_at_a_time_and_not_too_many_wait(self, serving):
        running, together, release = [0], [], threading.Event()

        def answer(asked, check):
            running[0] += 1
            together.append(running[0])
            release.wait(10)
            running[0] -= 1
            return b"{}"

        client = serving(answer, most_waiting=2)
        found = []

        def ask():
            found.append(client.post("/see", content=body(), headers=JSON))

        threads = [threading.Thread(target=ask) for _ in range(5)]
        for thread in threads:
            thread.start()
        until = time.monotonic() + 10
        while len(found) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        release.set()
        for thread in threads:
            thread.join(10)
        assert sorted(each.status_code for each in found) == [200, 200, 200, 429, 429]
        refused = next(each for each in found if each.status_code == 429)
        assert refused.headers["retry-after"] == "1"
        assert "busy" in refused.json()["error"]
        assert together == [1, 1, 1]

    def asgi(self, app, receive, headers=JSON):
        """What an application answers to a client that sends as `receive` does."""
        sent = []

        async def send(message):
            sent.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": "/see",
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in {"host": HOST, **headers}.items()],
        }

        async def run():
            await asyncio.wait_for(app(scope, receive, send), 10)

        asyncio.run(run())
        return sent[0]["status"]

    def test_an_input_that_does_not_arrive_is_given_up(self, serving):
        app = serving(echo, limits=Limits(arriving=0.2)).app

        async def receive():
            await asyncio.sleep(0.05)
            return {"type": "http.request", "body": b"x", "more_body": True}

        assert self.asgi(app, receive) == 408

    def test_a_client_that_goes_before_its_request_has_arrived_is_no_error(self, serving, capsys):
        async def receive():
            return {"type": "http.disconnect"}

        assert self.asgi(serving(echo).app, receive) == 499
        assert capsys.readouterr().err == ""

    def test_work_ends_when_its_client_goes(self, serving):
        ended, messages = threading.Event(), [{"type": "http.request", "body": body().encode()}]

        def endless(asked, check):
            try:
                while True:
                    time.sleep(0.01)
                    check()
            finally:
                ended.set()

        app = serving(endless).app

        async def receive():
            if messages:
                return messages.pop()
            await asyncio.sleep(0.1)
            return {"type": "http.disconnect"}

        assert self.asgi(app, receive) == 499
        assert ended.wait(5)


class TestFailures:
    @pytest.mark.parametrize(
        ("error", "status", "says"),
        [
            (ArgumentError("the source has none."), 422, "the source has none."),
            (MemoryError(), 503, "memory"),
            (KeyError("x"), 500, "KeyError: 'x'. This is an error in regard"),
            (SystemExit(3), 500, "SystemExit: 3"),
        ],
    )
    def test_each_has_its_sentence(self, serving, capsys, error, status, says):
        def fail(asked, check):
            raise error

        client = serving(fail)
        response = client.post("/see", content=body(), headers=JSON)
        assert response.status_code == status
        assert says in response.json()["error"]
        assert response.json()["error"].count("\n") == 0
        assert ("Traceback" in capsys.readouterr().err) == (status == 500)
        # It goes on.
        assert client.post("/see", content=body(), headers=JSON).status_code == status

    def test_a_model_without_attention(self, serving):
        def case(text):
            import torch

            from regard.inspection import Case

            layer = torch.nn.Linear(3, 3)
            return Case("plain", layer, torch.ones(1, 1, 3), layer, lambda out: out, "vectors", ("a",), (("a", 0),))

        client = serving(LiveModel(Cases("plain", "text", "text", case)).answer)
        response = client.post("/see", content=body(), headers=JSON)
        assert response.status_code == 422
        assert "must attend to its items, but plain doesn't" in response.json()["error"]


class TestTheCommand:
    @pytest.fixture
    def serve(self, tmp_path, capsys, monkeypatch):
        monkeypatch.chdir(tmp_path)

        def run(*words):
            code = main(["serve", "--no-open", *map(str, words)])
            return code, capsys.readouterr().err

        return run

    @pytest.mark.parametrize("module", ["starlette", "uvicorn"])
    def test_the_extra_is_named(self, serve, monkeypatch, module):
        monkeypatch.setitem(sys.modules, module, None)
        code, err = serve()
        assert code == 1
        assert f"`{module}` is not installed" in err
        assert "pip install '.[serve]'" in err

    def test_ports(self, serve):
        with _bound(0) as taken:
            port = taken.getsockname()[1]
            assert taken.getsockname()[0] == "127.0.0.1"
            taken.listen()
            code, err = serve("--port", port)
            assert code == 2
            assert err.startswith(f"regard: `--port` must be free, but {port} isn't (")
        assert serve("--port", 70000)[0] == 2
        with _bound(None) as first:
            first.listen()
            with _bound(None) as second:
                assert 8000 <= first.getsockname()[1] < second.getsockname()[1] < 8100

    def test_models_that_have_no_live_page(self, serve, tmp_path):
        code, err = serve("no-such-model")
        assert (code, err.count("\n")) == (2, 1)
        code, err = serve("synthesis")
        assert code == 2
        assert "makes sounds" in err
        assert (
            main(["see", "english-pos", SENTENCE, "--no-effects", "--save", "seen.safetensors", "--format", "json"])
            == 0
        )
        code, err = serve("seen.safetensors")
        assert code == 2
        assert "`MODEL` must be a model, but seen.safetensors is a record" in err

    def test_help_is_narrow(self, capsys):
        assert main(["serve", "--help"]) == 0
        assert max(map(cell_len, capsys.readouterr().out.splitlines())) <= 80
