"""What a way to share a call must say and do: a subclass for each, in a file of its own."""

from abc import ABC, abstractmethod
from typing import ClassVar

from torch import Tensor

from regard.distributed.call import Call

__all__ = ["Exchange"]

# For an estimate of which takes longer, not of how long: multiply-adds and bytes a second of one process.
_SPEED, _BANDWIDTH = 2e10, 1e9


class Exchange(ABC):
    """A way to share a call among ranks."""

    name: ClassVar[str]

    @abstractmethod
    def refuse(self, call: Call) -> str | None:
        """Why it can't share a call, or None."""

    def too_many_keys(self, call: Call) -> str | None:
        """Why it holds too many keys to be chosen where another can share the call, or None."""
        return None

    def heads_multiple(self, call: Call) -> int:
        """Of what the heads of the keys in a call must be a multiple."""
        return 1

    @abstractmethod
    def attend(self, call: Call, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """The output for this rank's queries, (batch, head, own query, value)."""

    @abstractmethod
    def received(self, call: Call) -> list[int]:
        """Bytes that each rank receives in a forward pass."""

    @abstractmethod
    def keys(self, call: Call) -> list[int]:
        """How many keys each rank holds at once at most, its own included, counted in keys of all heads."""

    def work(self, call: Call) -> float:
        """How many times as long as in one process a pair takes, about."""
        return 1.0

    def pairs(self, call: Call) -> list[int]:
        """How many pairs of query and key each rank computes, of one head and the average item."""
        return call.pairs

    def seconds(self, call: Call) -> float:
        """About how long the slowest rank takes."""
        a_pair = call.batch * call.heads * (call.feature + call.value_size) * self.work(call)
        return max(
            pairs * a_pair / _SPEED + received / _BANDWIDTH
            for pairs, received in zip(self.pairs(call), self.received(call), strict=True)
        )
