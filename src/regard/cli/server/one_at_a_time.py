"""Work that runs one piece at a time, in a thread of its own, while an event loop goes on."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

__all__ = ["Busy", "Cancelled", "Closed", "OneAtATime"]

T = TypeVar("T")


class Busy(Exception):
    """Too many pieces of work are waiting."""


class Closed(Exception):
    """No work is done any more."""


class Cancelled(Exception):
    """Nobody waits for this piece of work any more."""


class _Job(NamedTuple):
    work: Callable[[Callable[[], None]], Any]
    loop: asyncio.AbstractEventLoop
    done: "asyncio.Future[Any]"
    cancelled: threading.Event

    def check(self) -> None:
        if self.cancelled.is_set():
            raise Cancelled

    def run(self) -> None:
        try:
            self.check()
            self._tell(self.done.set_result, self.work(self.check))
        except Cancelled:
            pass
        except Exception as error:
            self._tell(self.done.set_exception, error)
        except BaseException as error:
            # Code of a user's own may end the program; here it ends this piece of work.
            self._tell(self.done.set_exception, RuntimeError(f"{type(error).__name__}: {error}"))

    def give_up(self, why: Exception) -> None:
        self._tell(self.done.set_exception, why)
        self.cancelled.set()

    def _tell(self, tell: Callable[[Any], None], what: Any) -> None:
        if not self.cancelled.is_set():
            self.loop.call_soon_threadsafe(lambda: None if self.done.done() else tell(what))


class OneAtATime:
    """A thread that runs one piece of work after the other.

    Args:
        most_waiting: how many may wait beside the one that runs.

    Example:
        >>> queue = OneAtATime(most_waiting=2)
        >>> asyncio.run(queue.run(lambda check: 6 * 7, seconds=10))
        42
        >>> queue.close()
        >>> queue.join(seconds=10)
        True
    """

    def __init__(self, most_waiting: int):
        self._most = most_waiting
        self._waiting: list[_Job] = []
        self._running: _Job | None = None
        self._changed, self._closed = threading.Condition(), False
        # A thread that computes can't be stopped from outside; it must not keep the process alive.
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    async def run(self, work: Callable[[Callable[[], None]], T], *, seconds: float) -> T:
        """Run a piece of work when its turn has come, and wait for its result.

        Work whose result nobody waits for any more isn't started, and ends where it calls its argument.

        Args:
            work: called in the thread with a function, which raises `Cancelled` if the work may end.
            seconds: how long to wait for the turn and the result.

        Raises:
            Busy: as many as may wait are waiting.
            Closed: it was closed, before or meanwhile.
            TimeoutError: the result took longer.
        """
        loop = asyncio.get_running_loop()
        job = _Job(work, loop, loop.create_future(), threading.Event())
        with self._changed:
            self._waiting = [each for each in self._waiting if not each.cancelled.is_set()]
            if self._closed:
                raise Closed
            if len(self._waiting) >= self._most + (self._running is None):
                raise Busy
            self._waiting.append(job)
            self._changed.notify()
        try:
            async with asyncio.timeout(seconds):
                return await job.done
        finally:
            job.cancelled.set()

    def close(self) -> None:
        """Give up what waits and what runs; who waits for it gets `Closed`."""
        with self._changed:
            self._closed = True
            for job in (*self._waiting, *([self._running] if self._running else [])):
                job.give_up(Closed())
            self._changed.notify()

    def join(self, seconds: float) -> bool:
        """Wait until what runs has ended; whether it did so in this time."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._running = None
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if self._closed:
                    return
                self._running = self._waiting.pop(0)
            self._running.run()
