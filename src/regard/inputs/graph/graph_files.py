"""The files of a user's own graph: a folder with profiles and edges, found by their names."""

from pathlib import Path

from regard.errors import DataError

__all__ = ["graph_files", "is_graph_folder"]


def is_graph_folder(folder: str | Path) -> bool:
    """Whether a folder has a file of profiles and a file of edges, by their names."""
    folder = Path(folder)
    return folder.is_dir() and all(_named(folder, name) for name in ("profiles", "edges"))


def graph_files(folder: str | Path) -> tuple[Path, Path]:
    """The files `profiles` and `edges` of a folder, each .csv, .tsv or .txt.

    Raises:
        DataError: the folder doesn't exist, or doesn't have one file of each name; the error names the folder.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Path(folder, "profiles.csv").touch()
        ...     Path(folder, "edges.txt").touch()
        ...     [path.name for path in graph_files(folder)]
        ['profiles.csv', 'edges.txt']
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(
            "it must be a folder with profiles.csv and edges.csv, but there is no such folder.", path=folder
        )
    for name in ("profiles", "edges"):
        if len(paths := _named(folder, name)) != 1:
            files = " and ".join(path.name for path in paths) or "none"
            raise DataError(
                f"it must hold one of {name}.csv, {name}.tsv and {name}.txt, but holds {files}.", path=folder
            )
    return _named(folder, "profiles")[0], _named(folder, "edges")[0]


def _named(folder: Path, name: str) -> list[Path]:
    return [path for suffix in (".csv", ".tsv", ".txt") if (path := folder / f"{name}{suffix}").is_file()]
