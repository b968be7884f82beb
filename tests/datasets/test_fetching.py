"""Getting files: from a folder, from a server on this machine; and every way in which that fails."""

import contextlib
import errno
import hashlib
import http.server
import os
import threading
from types import MappingProxyType

import pytest
from treebank_files import SAW, sentence

from regard import datasets
from regard.datasets import DatasetFile, fetch, fetching, find, read
from regard.datasets.known.treebanks import treebank
from regard.errors import DataError, MissingExtraError, UnknownNameError

FILES = {"train": SAW * 3001, "dev": SAW + sentence("unseen"), "test": sentence("I", "saw")}


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A server on this machine, and a catalog with a data set of which it has the files."""
    folder = tmp_path / "server"
    folder.mkdir()
    for split, content in FILES.items():
        (folder / f"toy-{split}.conllu").write_text(content, encoding="utf-8", newline="")
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments, **more):
            super().__init__(*arguments, directory=str(folder), **more)

        def do_GET(self):
            asked.append(self.path)
            super().do_GET()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as served:
        thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        served.folder, served.asked = folder, asked
        monkeypatch.setattr(fetching, "DATASETS", MappingProxyType({"toy": toy(served.server_address[1])}))
        for room in (datasets.reading, datasets.sources):
            monkeypatch.setattr(room, "DATASETS", fetching.DATASETS)
        monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.delenv("REGARD_DATA", raising=False)
        yield served
        served.shutdown()
        thread.join()


def toy(port):
    files = {
        split: DatasetFile(
            url=f"http://127.0.0.1:{port}/toy-{split}.conllu",
            sha256=hashlib.sha256(content.encode()).hexdigest(),
            size=len(content.encode()),
        )
        for split, content in FILES.items()
    }
    about = {"title": "A toy", "language": "English", "licence": "none", "source": "here", "citation": "nobody"}
    return treebank(name="toy", label="upos", files=files, **about)


def left_in(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_data_set_is_downloaded_once(server, tmp_path, capfd):
    seen = []
    assert find("toy") is None
    folder = fetch("toy", progress=lambda name, done, size: seen.append((name, done, size)))
    assert folder == tmp_path / "cache" / "toy" == find("toy")
    assert left_in(folder) == ["toy-dev.conllu", "toy-test.conllu", "toy-train.conllu"]
    assert (folder / "toy-train.conllu").read_text("utf-8") == FILES["train"]
    # The bar only grows, and ends full.
    train = [(done, size) for name, done, size in seen if name == "toy-train.conllu"]
    assert train == sorted(train)
    assert len(train) > 2
    assert train[-1][0] == train[-1][1] == len(FILES["train"])
    assert len(server.asked) == 3
    assert fetch("toy") == folder
    assert len(server.asked) == 3
    assert len(read("toy", "train")) == 3001
    # Nothing is logged on the way.
    assert capfd.readouterr() == ("", "")


def test_what_changed_in_the_cache_is_fetched_anew(server):
    folder = fetch("toy")
    (folder / "toy-dev.conllu").write_text("x" * len(FILES["dev"]), encoding="utf-8")
    assert fetch("toy") == folder
    assert (folder / "toy-dev.conllu").read_text("utf-8") == FILES["dev"]
    assert len(server.asked) == 4


def test_a_wrong_checksum_is_refused_and_nothing_is_kept(server, tmp_path):
    (server.folder / "toy-train.conllu").write_text("an error page", encoding="utf-8")
    with pytest.raises(DataError, match=r"toy-train.conllu sent is not the file .* SHA-256 is wrong. Nothing was kept"):
        fetch("toy")
    assert left_in(tmp_path / "cache") == []


def test_a_download_that_is_longer_than_the_file_is_stopped(server, monkeypatch, tmp_path):
    sent = []

    def endless(self):
        self.send_response(200)
        self.end_headers()
        # The client closes the connection.
        with contextlib.suppress(OSError):
            while len(sent) < 2000:
                self.wfile.write(b"x" * 100_000)
                sent.append(100_000)

    monkeypatch.setattr(server.RequestHandlerClass, "do_GET", endless)
    size = f"{len(FILES['train']):,}"
    with pytest.raises(DataError, match=rf"toy-train.conllu sends more than the {size} bytes .* Nothing was kept"):
        fetch("toy")
    assert left_in(tmp_path / "cache") == []
    # What the system's buffers hold, and not all of it.
    assert sum(sent) < 100_000_000


def test_a_missing_file_is_named_with_the_answer(server, tmp_path):
    (server.folder / "toy-dev.conllu").unlink()
    with pytest.raises(
        DataError, match=r"the server answered 404 for http://127.0.0.1:\d+/toy-dev.conllu.*REGARD_DATA"
    ):
        fetch("toy")
    # What was whole is kept, so that the next try has less to do.
    assert left_in(tmp_path / "cache") == ["toy-train.conllu"]


def test_no_network_is_one_sentence_with_a_way_out(server, monkeypatch, tmp_path):
    monkeypatch.setattr(fetching, "DATASETS", MappingProxyType({"toy": toy(1)}))  # nothing listens there
    with pytest.raises(DataError, match=r"can't be reached. Is there a network\? Or put the files into a folder toy"):
        fetch("toy")
    assert left_in(tmp_path / "cache") == []


def test_a_server_that_stops_in_the_middle(server, monkeypatch, tmp_path):
    def half(self):
        self.send_response(200)
        self.send_header("Content-Length", "100000")
        self.end_headers()
        self.wfile.write(b"1\tsaw")

    monkeypatch.setattr(server.RequestHandlerClass, "do_GET", half)
    with pytest.raises(DataError, match=r"the connection broke in the middle of http://.*/toy-train.conllu. Try again"):
        fetch("toy")
    assert left_in(tmp_path / "cache") == []


def test_a_full_disk_says_how_much_is_needed(server, monkeypatch, tmp_path):
    import pooch

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pooch, "retrieve", full)
    with pytest.raises(
        OSError, match=r"the disk is full: toy needs 0 MB.*REGARD_CACHE.*Nothing half-written"
    ) as caught:
        fetch("toy")
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(tmp_path / "cache" / "toy")


def test_the_disk_really_filling_up_leaves_nothing(server, monkeypatch, tmp_path):
    """The error comes from the write itself, in the middle of a file."""

    def full(requests, url, output, *_):
        output.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(fetching, "_receive", full)
    with pytest.raises(OSError, match="the disk is full"):
        fetch("toy")
    assert left_in(tmp_path / "cache") == []


def test_a_kill_in_the_middle_leaves_the_place_as_it_was(server, tmp_path):
    def stop(name, done, size):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch("toy", progress=stop)
    assert left_in(tmp_path / "cache") == []


def test_a_folder_of_the_users_own_comes_first(server, monkeypatch, tmp_path):
    given = tmp_path / "own" / "toy"
    given.mkdir(parents=True)
    monkeypatch.setenv("REGARD_DATA", str(tmp_path / "own"))
    (given / "toy-train.conllu").write_text(FILES["train"], encoding="utf-8")
    # Not whole: the cache has to do.
    assert fetch("toy") == tmp_path / "cache" / "toy"
    for split, content in FILES.items():
        (given / f"toy-{split}.conllu").write_text(content, encoding="utf-8")
    assert fetch("toy") == given == find("toy")
    assert len(server.asked) == 3
    # Whole but other: said, not passed over.
    (given / "toy-dev.conllu").write_text("x" * len(FILES["dev"]), encoding="utf-8")
    with pytest.raises(DataError, match=r"toy-dev.conllu: its SHA-256 is not .* read it by its path"):
        fetch("toy")


def test_a_variable_that_names_nothing_is_said(server, monkeypatch, tmp_path):
    monkeypatch.setenv("REGARD_DATA", str(tmp_path / "nowhere"))
    for function in (fetch, find):
        with pytest.raises(DataError, match=r"variable `REGARD_DATA` must name a folder, but '.*nowhere' is none"):
            function("toy")


def test_an_unknown_name_suggests_the_nearest(server):
    with pytest.raises(UnknownNameError, match=r"`data` must be one of toy, but is 'toi'. Did you mean 'toy'"):
        fetch("toi")


def test_without_the_library_what_is_there_still_works(server, monkeypatch):
    folder = fetch("toy")
    monkeypatch.setitem(__import__("sys").modules, "pooch", None)
    assert fetch("toy") == folder
    (folder / "toy-dev.conllu").unlink()
    with pytest.raises(MissingExtraError, match=r"`pooch` is not installed.*pip install '\.\[data\]'"):
        fetch("toy")
    monkeypatch.delenv("REGARD_CACHE")
    assert find("toy") is None


def test_pooch_logs_again_afterwards(server):
    import pooch

    before = pooch.get_logger().level
    fetch("toy")
    assert pooch.get_logger().level == before


def test_what_killed_downloads_left_is_dropped_when_it_is_old(server, tmp_path):
    folder = tmp_path / "cache" / "toy"
    folder.mkdir(parents=True)
    for name in ("tmpabcd1234", "tmpyoung_12", "tmp-of-mine.txt"):
        (folder / name).write_text("half")
    for name in ("tmpabcd1234", "tmp-of-mine.txt"):
        os.utime(folder / name, (0, 0))
    fetch("toy")
    assert {name for name in left_in(folder) if name.startswith("tmp")} == {"tmpyoung_12", "tmp-of-mine.txt"}
