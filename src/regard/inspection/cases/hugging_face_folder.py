"""The folder of a model that Hugging Face's `save_pretrained` wrote."""

from pathlib import Path

__all__ = ["is_pretrained"]


def is_pretrained(folder: str | Path) -> bool:
    """Whether a folder holds a model of Hugging Face's, and none of regard's."""
    path = Path(folder)
    return (path / "config.json").is_file() and not (path / "model.json").exists()
