"""The files of an exported model, and whether they may be written; nothing slow is imported for it."""

from pathlib import Path

from regard.errors import ArgumentError

__all__ = ["checked_files", "description_name"]


def description_name(file: str) -> str:
    """The name of the description of an ONNX file.

    Example:
        >>> description_name("tagger.onnx")
        'tagger.json'
    """
    return file.removesuffix(".onnx") + ".json"


def checked_files(path: str | Path, *, force: bool, argument: str = "path") -> tuple[Path, Path, Path, Path]:
    """The files of the network, of its description, of its encoder and of its card.

    Args:
        path: the file of the network.
        force: whether files that are there may be overwritten.
        argument: what errors call it.

    Raises:
        ArgumentError: another ending, or one of the files is there.

    Example:
        >>> [file.name for file in checked_files("tagger.onnx", force=False)]
        ['tagger.onnx', 'tagger.json', 'tagger.py', 'tagger.md']
    """
    path = Path(path)
    if path.suffix != ".onnx":
        raise ArgumentError(f"`{argument}` must be a file that ends in .onnx, but is {str(path)!r:.60}.")
    files = path, path.with_name(description_name(path.name)), path.with_suffix(".py"), path.with_suffix(".md")
    for file in files:
        if file.is_dir() or (file.exists() and not file.is_file()):
            raise ArgumentError(f"`{argument}` must be a file to write, but {file} is a folder or no regular file.")
        if file.exists() and not force:
            raise ArgumentError(
                f"`{argument}` must be a new file, but {file} is there already. Give another name, or overwrite it by "
                "`force`."
            )
    return files
