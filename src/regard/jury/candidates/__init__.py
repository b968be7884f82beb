"""Attention functions by name: PyTorch's, Hugging Face's, and the engines of regard.

Each is a function that stands alone, so that a script can show its source.
"""

from collections.abc import Callable

from regard.errors import UnknownNameError
from regard.jury.candidates.candidate import Candidate
from regard.jury.candidates.engines import ENGINES
from regard.jury.candidates.flex import FLEX
from regard.jury.candidates.huggingface import HUGGING_FACE
from regard.jury.candidates.multihead import MULTIHEAD
from regard.jury.candidates.sdpa import SDPA

__all__ = ["CANDIDATES", "Candidate", "candidate"]

CANDIDATES: dict[str, Callable[[], Candidate]] = {**SDPA, **FLEX, **MULTIHEAD, **HUGGING_FACE, **ENGINES}


def candidate(name: str) -> Candidate:
    """An attention function by its name.

    Raises:
        UnknownNameError: there is none of this name.
        MissingExtraError: it needs a library that isn't installed.

    Example:
        >>> candidate("sdpa-math").claims.mask
        'attn_mask'
    """
    if name not in CANDIDATES:
        raise UnknownNameError("function", name, CANDIDATES, see="regard jury --list")
    return CANDIDATES[name]()
