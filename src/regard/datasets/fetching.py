"""Fetching data sets: from a folder that has the files, or by download, with checksums."""

import errno
import gzip
import hashlib
import logging
import os
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from regard.datasets.dataset import Dataset, DatasetFile
from regard.datasets.known.registry import DATASETS
from regard.errors import DataError, MissingExtraError, UnknownNameError
from regard.extras import require

__all__ = ["Progress", "fetch", "find", "is_complete", "sha256_of"]

Progress = Callable[[str, int, int], None]
"""A function that is called during a download with the file's name, the bytes received, and the total bytes."""

_SECONDS = 30  # the timeout without data from the server
_OLD = 3600  # seconds after which a partial download counts as abandoned
_CHUNK = 1 << 16  # bytes between two reports of the progress


def find(name: str) -> Path | None:
    """The local folder that has all files of a data set; None if there is none. The network isn't used.

    The folder `REGARD_DATA/NAME` is searched first, then the user's cache (`REGARD_CACHE`, or the operating system's
    cache folder). Only names and sizes are checked; `fetch` verifies the checksums. For a data set that comes with a
    library, it is the library's folder.

    Raises:
        UnknownNameError: there is no data set of that name.
        DataError: the environment variable `REGARD_DATA` names a folder that doesn't exist.
    """
    dataset = _known(name)
    if dataset.library:
        with suppress(MissingExtraError):
            return _library(dataset)
        return None
    folders = [_given(dataset)]
    with suppress(MissingExtraError):  # without the library for downloads, nothing was downloaded
        folders.append(_cache(dataset))
    for folder in folders:
        if folder is not None and all(is_complete(folder / file.filename, file) for file in dataset.files.values()):
            return folder
    return None


def fetch(name: str, *, progress: Progress | None = None) -> Path:
    """The folder with a data set's files, which are downloaded if necessary; all checksums are verified.

    A download is written to a temporary file, which is moved to its path when it is complete and verified, so that a
    kill leaves no partial file.

    Args:
        name: a name in `DATASETS`.
        progress: called with the progress of a download; None for silence.

    Raises:
        UnknownNameError: there is no data set of that name.
        DataError: `REGARD_DATA` names no folder, the network or the server doesn't respond, or a checksum is wrong.
        MissingExtraError: a download is necessary, and the library `pooch` is not installed.
        OSError: the disk is full, or the folder can't be written.
    """
    dataset = _known(name)
    if dataset.library:
        return _library(dataset)
    given = _given(dataset)
    # A folder of the user's own with all files is used, or refused if a checksum is wrong; it is never ignored.
    if given is not None and all((given / file.filename).exists() for file in dataset.files.values()):
        for file in dataset.files.values():
            _compare(given / file.filename, file)
        return given
    folder = _cache(dataset)
    for parent in {(folder / file.filename).parent for file in dataset.files.values()}:
        _sweep(parent)
    for file in dataset.files.values():
        _download(dataset, file, folder, progress)
    return folder


def _download(dataset: Dataset, file: DatasetFile, folder: Path, progress: Progress | None) -> None:
    path = folder / file.filename
    # A file that exists can be used without the library for downloads.
    if is_complete(path, file) and sha256_of(path, file) == file.sha256:
        return
    by_hand = f"put the files into a folder {folder.name}, and let REGARD_DATA name the folder above it."
    if file.url is None:
        raise DataError(f"{dataset.name} has to be got by hand: {dataset.by_hand} Then {by_hand}")
    by_hand = f"Or {by_hand}"
    pooch = require("pooch", extra="data")
    requests = require("requests", extra="data")

    def receive(url: str, output: str, _: Any) -> None:
        if not _receive(requests, url, Path(output), file, progress):
            raise DataError(
                f"{url} sends more than the {file.size:,} bytes of the file that regard knows. Nothing was kept. The "
                f"file may have changed at its source. {by_hand}"
            )

    try:
        with _quiet(pooch):
            pooch.retrieve(
                file.url, known_hash=f"sha256:{file.sha256}", fname=path.name, path=path.parent, downloader=receive
            )
    except requests.exceptions.HTTPError as error:
        status = error.response.status_code if error.response is not None else "an error"
        raise DataError(f"the server answered {status} for {file.url}. Try again later. {by_hand}") from error
    except (requests.exceptions.ConnectionError, requests.exceptions.Timeout) as error:
        raise DataError(f"{file.url} can't be reached. Is there a network? {by_hand}") from error
    except requests.exceptions.ChunkedEncodingError as error:
        raise DataError(f"the connection broke in the middle of {file.url}. Try again. {by_hand}") from error
    except requests.exceptions.RequestException as error:
        kind = type(error).__name__
        raise DataError(f"{file.url} can't be downloaded ({kind}). Try again. {by_hand}") from error
    except ValueError as error:
        raise DataError(
            f"what {file.url} sent is not the file that regard knows: its SHA-256 is wrong. Nothing was kept. "
            f"Try again; if it stays so, the file has changed at its source. {by_hand}"
        ) from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise OSError(
                error.errno,
                f"the disk is full: {dataset.name} needs {dataset.size / 1e6:.0f} MB. Make room, or let REGARD_CACHE "
                "name a folder on another disk. Nothing half-written was kept",
                str(folder),
            ) from error
        raise


def _receive(requests: Any, url: str, output: Path, file: DatasetFile, progress: Progress | None) -> bool:
    """Write what a server sends to a file; False as soon as it is longer than the file of the data set can be."""
    # What is compressed in another way may be a little longer than its content.
    most = file.size + file.size // 100 + 1000 if file.unpacked else file.size
    done = 0
    with requests.get(url, stream=True, timeout=_SECONDS) as response, output.open("wb") as written:
        response.raise_for_status()
        for piece in response.iter_content(_CHUNK):
            done += len(piece)
            if done > most:
                return False
            written.write(piece)
            if progress is not None:
                progress(file.filename, min(done, file.size), file.size)
    return True


def _sweep(folder: Path) -> None:
    """Delete partial downloads of processes that were killed; a recent one may belong to a running process."""
    for partial in folder.glob("tmp????????"):
        with suppress(OSError):  # another process may delete it first
            if partial.is_file() and time.time() - partial.stat().st_mtime > _OLD:
                partial.unlink()


def _known(name: str) -> Dataset:
    if name not in DATASETS:
        raise UnknownNameError("data", name, DATASETS)
    return DATASETS[name]


def _given(dataset: Dataset) -> Path | None:
    """The data set's folder in the user's folder of data sets."""
    named = os.environ.get("REGARD_DATA")
    if not named:
        return None
    if not Path(named).is_dir():
        raise DataError(
            f"the environment variable `REGARD_DATA` must name a folder, but {named!r} is none. "
            "Set it right, or unset it."
        )
    return Path(named) / (dataset.folder or dataset.name)


def _cache(dataset: Dataset) -> Path:
    """The data set's folder in the cache."""
    named = os.environ.get("REGARD_CACHE")
    above = Path(named) if named else Path(require("pooch", extra="data").os_cache("regard"))
    return above / (dataset.folder or dataset.name)


def _library(dataset: Dataset) -> Path:
    """The folder of the library that contains a data set."""
    return Path(require(dataset.library, extra=dataset.extra).__file__).parent


def _compare(path: Path, file: DatasetFile) -> None:
    if sha256_of(path, file) != file.sha256:
        raise DataError(
            "its SHA-256 is not that of the file that regard knows by this name. Get it anew, or read it by its path.",
            path=path,
        )


@contextmanager
def _quiet(pooch: Any) -> Iterator[None]:
    """Suppress pooch's log messages on stderr; the caller reports downloads itself."""
    logger = pooch.get_logger()
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


_PIECE = 1 << 20


def is_complete(path: Path, file: DatasetFile) -> bool:
    """Whether the file or folder exists and has the right size; compressed content isn't checked."""
    if file.count:
        members = _members(path)
        return len(members) == file.count and sum(member.stat().st_size for member in members) == file.size
    return path.is_file() and (file.unpacked or path.stat().st_size == file.size)


def sha256_of(path: Path, file: DatasetFile) -> str:
    """The checksum of a file, of its decompressed content, or of a folder; "" if it can't be decompressed.

    The checksum of a folder is the SHA-256 of the output of the command sha256sum for its files, sorted by name: a line
    with the checksum, two spaces and the name of each. Hidden files are ignored.
    """
    if file.count:
        lines = (f"{_digest(member)}  {member.name}\n" for member in _members(path))
        return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()
    if not file.unpacked:
        return _digest(path)
    running, size = hashlib.sha256(), 0
    try:
        with gzip.open(path) as unpacked:
            # Not beyond the expected size: a small file can be made to decompress for hours.
            while size <= file.size and (piece := unpacked.read(_PIECE)):
                running.update(piece)
                size += len(piece)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        return ""
    return running.hexdigest()


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _members(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
