"""Who may ask the server of a live page: the page itself. Every answer is for it alone.

A page of another site can make a browser send requests to this machine (cross-site request forgery), and can give its
own name the address 127.0.0.1 (DNS rebinding). So the `Host` must be this server's, and the `Origin`, which browsers
send along and scripts can't change, too.

Source: RFC 6454, The Web Origin Concept; W3C, Fetch Metadata Request Headers.
"""

from collections.abc import Collection
from typing import Any

__all__ = ["Rules", "response_of"]

# No other page shows this one in a frame, gets its address, or reads its answers; and nothing is kept on the disk.
_HEADERS = (
    (b"content-security-policy", b"frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
)


class Rules:
    """An ASGI application that refuses requests for other hosts or from other origins, before another one.

    Args:
        app: the application behind it.
        hosts: what the `Host` of a request may be, such as "127.0.0.1:8000".
    """

    def __init__(self, app: Any, hosts: Collection[str]):
        self._app, self._hosts = app, frozenset(hosts)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *_HEADERS]}
            await send(message)

        why = self._why_not(scope["method"], [(name.lower(), value) for name, value in scope["headers"]])
        await (self._app if why is None else response_of(403, why))(scope, receive, with_headers)

    def _why_not(self, method: str, headers: list[tuple[bytes, bytes]]) -> str | None:
        def values(name: bytes) -> list[str]:
            return [value.decode("latin-1").lower() for other, value in headers if other == name]

        hosts = values(b"host")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return f"This server answers at {min(self._hosts)} only."
        origins = {f"http://{host}" for host in self._hosts}
        # Other sites may link to the page, but not ask.
        asks = method not in ("GET", "HEAD")
        sites = {each for each in values(b"sec-fetch-site") if asks and each != "same-origin"}
        if sites or not set(values(b"origin")) <= origins:
            return "This server answers its own page only."
        return None


def response_of(status: int, sentence: str, **headers: str) -> Any:
    """A response that says why there is no answer."""
    from regard.extras import require

    return require("starlette.responses", extra="serve").JSONResponse(
        {"error": sentence}, status, {name.replace("_", "-"): value for name, value in headers.items()}
    )
