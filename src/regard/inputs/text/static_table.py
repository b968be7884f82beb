"""Tables of static vectors: a vector for each word or piece of text, from a text file or a folder of model2vec."""

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
from jaxtyping import Float, Int64
from torch import Tensor

from regard.errors import ArgumentError, DataError
from regard.files import read_regular, similar_paths
from regard.inputs.text.splitters import Splitter, TokenizerSplitter, WordSplitter, read_tokenizer
from regard.inputs.text.word_vectors import WordVectors

__all__ = ["StaticTable", "existing", "table_digests", "table_width"]

_MOST_BYTES = 1 << 33  # of a file of vectors
_MOST_TEXT = 1 << 28  # of a tokenizer, or a README.md
_WEIGHTS, _TOKENIZER, _README = "model.safetensors", "tokenizer.json", "README.md"
_INNER = "0_StaticEmbedding"
_NAMES = ("embeddings", "embedding.weight")
_LICENCE = re.compile(r"^licen[sc]e:\s*[\"']?([^\"'\n]+?)[\"']?\s*$", re.MULTILINE)


@dataclass(frozen=True, eq=False)
class StaticTable:
    """A vector for each piece that a splitter knows; a piece has the same vector wherever it stands.

    Args:
        splitter: splits texts into pieces with ids. Ids 0 (padding) and 1 (unknown) have no vector.
        vectors: (row, width) the vectors; row 0 is that of id 2, unless `rows` says otherwise.
        rows: the row of each id from 2 on, if several share one; None: each has its own.
        weights: what the vector of each id from 2 on is multiplied by; None: 1.
        origin: where it comes from, for the card: "name", "licence" if one is stated, and "files", the SHA-256 of each.

    Source: Tulkens and van Dongen 2024, Model2Vec (github.com/MinishLab/model2vec), for the format of folders.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        ...     _ = file.write("saw 2 1\\na 0 1\\n")
        ...     file.flush()
        ...     table = StaticTable.read(file.name)
        >>> table.splitter.ids(["I", "saw"], "I saw"), table.vectors.tolist()
        ([[1], [2]], [[2.0, 1.0], [0.0, 1.0]])
    """

    splitter: Splitter
    vectors: Float[Tensor, "row width"]
    rows: Int64[Tensor, " id"] | None = None
    weights: Float[Tensor, " id"] | None = None
    origin: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str | Path, *, keep: Collection[str] | None = None, first: int = 0) -> "StaticTable":
        """Read a text file in the format of GloVe or word2vec, or a folder in that of model2vec.

        Args:
            path: the file or the folder.
            keep, first: of a text file: the words to keep, and how many of its first words to keep besides; by default
                all. A word of `keep` with capitals is also kept in lower case.

        Raises:
            ArgumentError: there is no such file or folder.
            DataError: a broken line, or a folder that isn't in this format.
            MissingExtraError: the library `tokenizers` is not installed, for a folder.
        """
        path = existing(path)
        if path.is_dir():
            return _read_folder(path)
        wanted = None if keep is None else {*keep, *(word.lower() for word in keep)}
        found = WordVectors.read(path, keep=wanted, first=first)
        return cls(WordSplitter(found.words), found.vectors, origin=_origin(path, table_digests(path), None))

    @property
    def width(self) -> int:
        """The size of a vector."""
        return self.vectors.shape[1]


def existing(path: str | Path) -> Path:
    """The path of a file or folder of static vectors, after checking that it is there.

    Raises:
        ArgumentError: it isn't.

    Example:
        >>> existing("glove")
        Traceback (most recent call last):
            ...
        regard.errors.ArgumentError: `vectors` must be a text file of GloVe or word2vec or a folder of model2vec, but \
there is no 'glove'. Give its path.
    """
    if not str(path):
        raise ArgumentError(
            "`vectors` must be the path of a text file of GloVe or word2vec or of a folder of model2vec, but none is "
            "given. Give one by --vectors (in Python, default_recipe(..., vectors=PATH))."
        )
    if "\0" in str(path) or not Path(path).exists():
        near = [] if "\0" in str(path) else similar_paths(path)
        step = f"Did you mean {near[0]!r}?" if near else "Give its path."
        raise ArgumentError(
            "`vectors` must be a text file of GloVe or word2vec or a folder of model2vec, but there is no "
            f"{str(path)!r:.80}. {step}"
        )
    return Path(path)


def table_digests(path: str | Path) -> dict[str, str]:
    """The SHA-256 of each file that a table is read from, by its name."""
    path = existing(path)
    files = [path] if path.is_file() else [_place(path) / name for name in (_WEIGHTS, _TOKENIZER)]
    found = {}
    for file in files:
        with file.open("rb") as opened:
            found[file.name] = hashlib.file_digest(opened, "sha256").hexdigest()
    return found


def table_width(path: str | Path) -> int:
    """The size of the vectors of a file or folder, without reading all of them.

    Raises:
        ArgumentError, DataError: as in `StaticTable.read`.
    """
    path = existing(path)
    if path.is_file():
        return WordVectors.width_of(path)
    place = _place(path)
    try:
        with safetensors.safe_open(place / _WEIGHTS, framework="pt") as opened:
            shapes = [opened.get_slice(name).get_shape() for name in _NAMES if name in opened.keys()]  # noqa: SIM118
    except (safetensors.SafetensorError, OSError) as error:
        raise DataError(
            f"it can't be read, it is cut short or damaged ({error}). Copy it again.", path=place
        ) from error
    if not shapes or len(shapes[0]) != 2:
        raise _not_static(place, "something else")
    return shapes[0][1]


def _not_static(place: Path, held: str) -> DataError:
    return DataError(
        f"it must hold the vectors as {_NAMES[0]} (row, width), as model2vec saves them, but holds {held}. Name a "
        "folder of static vectors; those of a Transformer aren't static.",
        path=place / _WEIGHTS,
    )


def _place(folder: Path) -> Path:
    """The folder that holds the table and its tokenizer.

    Raises:
        DataError: one of them is missing.
    """
    inner = folder / _INNER
    place = inner if (inner / _WEIGHTS).is_file() else folder
    for name in (_WEIGHTS, _TOKENIZER):
        if not (place / name).is_file():
            raise DataError(
                f"a folder of static vectors must hold {_WEIGHTS} and {_TOKENIZER}, as model2vec saves them, but it "
                f"has no {name}. Name another folder, or a text file.",
                path=folder,
            )
    return place


def _read_folder(folder: Path) -> StaticTable:
    place = _place(folder)
    try:
        tensors = safetensors.torch.load(read_regular(place / _WEIGHTS, _MOST_BYTES))
        written = read_regular(place / _TOKENIZER, _MOST_TEXT).decode("utf-8")
    except (safetensors.SafetensorError, ValueError) as error:
        raise DataError(
            f"it can't be read, it is cut short or damaged ({error}). Copy it again.", path=place
        ) from error
    except OSError as error:
        raise DataError(f"it can't be read: {error.strerror}.", path=error.filename or place) from error
    try:
        splitter = TokenizerSplitter(read_tokenizer(written))
    except ArgumentError as error:
        raise DataError(f"it isn't a tokenizer of the library tokenizers: {error}", path=place / _TOKENIZER) from error
    vectors = next((tensors[name] for name in _NAMES if name in tensors), None)
    mapping, weights = tensors.get("mapping"), tensors.get("weights")
    if vectors is None or vectors.dim() != 2 or not vectors.numel():
        held = ", ".join(sorted(tensors)) or "nothing"
        raise _not_static(place, held)
    ids = splitter.size - 2
    _check(place, "mapping", mapping, ids, len(vectors))
    _check(place, "weights", weights, ids, None)
    if mapping is None and len(vectors) < ids:
        raise DataError(
            f"it must have a vector for each of the {ids:,} ids of {_TOKENIZER}, but has {len(vectors):,}.",
            path=place / _WEIGHTS,
        )
    vectors = vectors.float() if mapping is not None else vectors[:ids].float()
    if not vectors.isfinite().all():
        raise DataError("its vectors must be finite, but one is not.", path=place / _WEIGHTS)
    return StaticTable(
        splitter,
        vectors,
        None if mapping is None else mapping[:ids].long(),
        None if weights is None else weights[:ids].float(),
        _origin(folder, table_digests(folder), _licence(folder)),
    )


def _check(place: Path, name: str, values: Tensor | None, ids: int, rows: int | None) -> None:
    """Check what a folder says of each id: numbers, or numbers of rows."""
    if values is None:
        return
    fits = values.dim() == 1 and len(values) >= ids
    if fits and rows is not None:
        fits = not values.is_floating_point() and int(values.min()) >= 0 and int(values.max()) < rows
    elif fits:
        fits = values.is_floating_point() and bool(values.isfinite().all())
    if not fits:
        wanted = "a number" if rows is None else f"a row below {rows:,}"
        raise DataError(
            f"`{name}` must have {wanted} for each of the {ids:,} ids of {_TOKENIZER}.", path=place / _WEIGHTS
        )


def _licence(folder: Path) -> str | None:
    """The licence that the head of a folder's README.md states."""
    readme = folder / _README
    if not readme.is_file():
        return None
    head = readme.read_text(encoding="utf-8", errors="replace").split("\n---", 1)[0]
    found = _LICENCE.search(head) if head.startswith("---") else None
    return found[1] if found else None


def _origin(path: Path, files: Mapping[str, str], licence: str | None) -> dict[str, Any]:
    return {"name": path.resolve().name, **({} if licence is None else {"licence": licence}), "files": dict(files)}
