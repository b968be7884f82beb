"""The titles of models and records that are named by their paths: the last part, or as many as tell them apart."""

from pathlib import Path

from regard.inspection.cases.own_model import is_own_model

__all__ = ["path_titles"]


def path_titles(first: str, second: str) -> tuple[str, str]:
    """Two names, of which a path is only its last part, or the fewest last parts that tell it from the other.

    Args:
        first, second: the path of a file or folder, "FILE.py:FUNCTION", or the name of a model, which stays as it is.

    Example:
        >>> path_titles("runs/small/toy.py:build", "runs/large/toy.py:build")
        ('small/toy.py:build', 'large/toy.py:build')
        >>> path_titles("english-pos", "/home/me/toy.py:build")
        ('english-pos', 'toy.py:build')
    """
    parts = [Path(each).parts if _is_path(each) else (each,) for each in (first, second)]
    for count in range(1, max(map(len, parts)) + 1):
        one, other = (str(Path(*each[-count:])) if len(each) > 1 else "".join(each) for each in parts)
        if one != other:
            return one, other
    return first, second


def _is_path(name: str) -> bool:
    return bool(name) and (is_own_model(name) or Path(name).exists())
