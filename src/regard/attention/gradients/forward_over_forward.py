"""Forward mode over forward mode, which functions of autograd don't have."""

from regard.attention.pytorch_internals import in_nested_forward_mode
from regard.errors import RefusedError

__all__ = ["no_forward_over_forward", "refuse_forward_over_forward"]


def no_forward_over_forward() -> RefusedError:
    """The error to raise."""
    return RefusedError(
        "attend has no forward mode over forward mode (jvp of jvp, jacfwd of jacfwd). Use forward over reverse "
        "(hessian, jvp of grad, jacfwd of jacrev) or reverse over forward."
    )


def refuse_forward_over_forward() -> None:
    """Refuse it in the `jvp` of an autograd function, in which PyTorch would lose the outer tangent without a word.

    Raises:
        RefusedError: a torch.func.jvp is inside of another.
    """
    if in_nested_forward_mode():
        raise no_forward_over_forward()
