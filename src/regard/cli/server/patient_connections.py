"""Connections of uvicorn that end when the client hangs: when it sends no whole head, or doesn't read its answer."""

import asyncio
from typing import Any

from regard.extras import require

__all__ = ["patient_connections"]


def patient_connections(seconds: float) -> Any:
    """The class of uvicorn's HTTP connections, with a limit to how long a client may hang.

    uvicorn itself waits for ever for the head of a first request, and for a client to read.

    Args:
        seconds: how long the head of a request may take, and reading an answer.
    """
    h11_impl = require("uvicorn.protocols.http.h11_impl", extra="serve")

    class Connection(h11_impl.H11Protocol):
        _limit: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._begin()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            # From here on the application has limits of its own.
            if self.cycle is not None and not self.cycle.response_complete:
                self._end()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self.cycle.response_complete:
                self._begin()

        def connection_lost(self, exc: Exception | None) -> None:
            self._end()
            super().connection_lost(exc)

        def _begin(self) -> None:
            self._end()
            self._limit = self.loop.call_later(seconds, self.transport.abort)

        def _end(self) -> None:
            if self._limit is not None:
                self._limit.cancel()
                self._limit = None

    return Connection
