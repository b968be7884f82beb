"""The hardware settings of a run: device, processes, threads, and the precision of matrix products."""

import contextlib
import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from regard.errors import ArgumentError, UnknownNameError

__all__ = ["MATMUL", "Compute", "choose_accelerator"]

MATMUL = ("highest", "high", "medium")
"""The precisions of float32 matrix products, as in `torch.set_float32_matmul_precision`."""


@dataclass(frozen=True)
class Compute:
    """The hardware settings of a run.

    Args:
        accelerator: "cpu" or "cuda".
        threads: the number of threads of each process.
        devices: the number of processes that share each batch.
        matmul: one of `MATMUL`; None: PyTorch's current setting.
        context_parallel: the number of processes that share each sequence of a batch.
    """

    accelerator: str
    threads: int = 1
    devices: int = 1
    matmul: str | None = None
    context_parallel: int = 1

    @property
    def machine(self) -> str:
        """This machine, for the card."""
        device = torch.cuda.get_device_name() if self.accelerator == "cuda" else "CPU"
        return f"{platform.system()} {platform.machine()}, {device}"

    def check(self, *, here: bool) -> None:
        """Check that this machine supports these settings.

        Args:
            here: whether all processes are on this machine.

        Raises:
            ArgumentError: more processes than processors, several on a GPU, sequences that processes can't share, or an
                unknown `matmul`.
        """
        if self.matmul is not None and self.matmul not in MATMUL:
            raise UnknownNameError("matmul", self.matmul, MATMUL)
        if self.devices % self.context_parallel:
            raise ArgumentError(
                f"`context_parallel` must divide the number of processes, {self.devices}, but is "
                f"{self.context_parallel}. Leave `devices` out, or take a multiple."
            )
        if self.devices == 1:
            return
        if self.accelerator != "cpu":
            raise ArgumentError(f"`devices` must be 1 on a GPU, but is {self.devices}. Use device='cpu' for several.")
        processors = os.cpu_count() or 1
        if here and self.devices > processors:
            raise ArgumentError(
                f"`devices` must be at most the number of this machine's processors, {processors}, but is "
                f"{self.devices}."
            )
        if not (torch.distributed.is_available() and torch.distributed.is_gloo_available()):
            raise ArgumentError(
                f"`devices` must be 1 with a PyTorch that was built without gloo, but is {self.devices}."
            )

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Apply these threads and this precision inside the block; restore both, and the random state, afterwards."""
        # The order of summation depends on the number of threads; the same bits need the same number.
        before = torch.get_num_threads()
        with torch.random.fork_rng(), _matmul_precision(self.matmul):
            torch.set_num_threads(self.threads)
            try:
                yield
            finally:
                torch.set_num_threads(before)


def choose_accelerator(device: str) -> str:
    """The accelerator for this `device`: "cpu" or "cuda".

    Raises:
        ArgumentError: there is no such device.
    """
    if device not in ("auto", "cpu", "gpu"):
        raise ArgumentError(f"`device` must be auto, cpu or gpu, but is {device!r:.60}.")
    if device == "gpu" and not torch.cuda.is_available():
        raise ArgumentError("`device` must be cpu or auto where there is no GPU, but is 'gpu': PyTorch finds none.")
    return "cuda" if device != "cpu" and torch.cuda.is_available() else "cpu"


@contextlib.contextmanager
def _matmul_precision(matmul: str | None) -> Iterator[None]:
    """Multiply float32 matrices with this precision; None: keep PyTorch's setting."""
    if matmul is None:
        yield
        return
    try:
        before = torch.get_float32_matmul_precision()
    except RuntimeError as error:
        raise ArgumentError(
            f"`matmul` must be None if `torch.backends` sets the precision of matrix products, but is {matmul!r}."
        ) from error
    # A backend without a setting of its own follows the global one, and must do so again afterwards.
    backends: Any = (torch.backends.cuda, torch.backends.mkldnn)
    own = [backend.matmul.fp32_precision for backend in backends]
    torch.set_float32_matmul_precision(matmul)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
        for backend, precision in zip(backends, own, strict=True):
            backend.matmul.fp32_precision = precision
