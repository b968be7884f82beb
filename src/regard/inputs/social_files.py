"""The files of a social graph in a folder of a user's own, found by their names."""

from pathlib import Path

from regard.errors import DataError

__all__ = ["is_social_folder", "social_files"]


def is_social_folder(folder: str | Path) -> bool:
    """Whether a folder holds a file of profiles and one of edges, by their names."""
    folder = Path(folder)
    return folder.is_dir() and all(_named(folder, name) for name in ("profiles", "edges"))


def social_files(folder: str | Path) -> tuple[Path, Path]:
    """The table of profiles and the list of edges: `profiles` and `edges`, each .csv, .tsv or .txt.

    Raises:
        DataError: there is no such folder, or not one file of each name; names the folder.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Path(folder, "profiles.csv").touch()
        ...     Path(folder, "edges.txt").touch()
        ...     [path.name for path in social_files(folder)]
        ['profiles.csv', 'edges.txt']
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(
            "it must be a folder with profiles.csv and edges.csv, but there is no such folder.", path=folder
        )
    for name in ("profiles", "edges"):
        if len(found := _named(folder, name)) != 1:
            files = " and ".join(path.name for path in found) or "none"
            raise DataError(
                f"it must hold one of {name}.csv, {name}.tsv and {name}.txt, but holds {files}.", path=folder
            )
    return _named(folder, "profiles")[0], _named(folder, "edges")[0]


def _named(folder: Path, name: str) -> list[Path]:
    return [path for suffix in (".csv", ".tsv", ".txt") if (path := folder / f"{name}{suffix}").is_file()]
