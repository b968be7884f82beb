"""A score_mod as a position scheme of `attend`: it changes the scores of a tile by the indices of its pairs."""

from dataclasses import dataclass

from torch import Tensor

from regard.attention import Index, Position
from regard.flex.mods import Mod

__all__ = ["ScoreMod"]


@dataclass(frozen=True, repr=False)
class ScoreMod(Position):
    """The scores after a user's `score_mod`.

    Args:
        mod: the function, frozen.
        trained: the tensors that it captures and that may need a gradient.
    """

    mod: Mod
    trained: tuple[Tensor, ...]

    def __post_init__(self) -> None:
        # Engines know a user's part by its module, and must treat this one as such: it computes with a user's function.
        object.__setattr__(self, "__module__", "score_mod")

    def scores(self, scores: Tensor, query: Tensor, key: Tensor, at: Index) -> Tensor:
        return self.mod(self.trained, scores, at)

    def __repr__(self) -> str:
        count = len(self.trained)
        gradients = f", with gradients of {count} tensor{'s' * (count > 1)}" if count else ""
        return f"score_mod {self.mod}{gradients}"
