"""Access control: only the page of this server, on this machine, with the secret of its address, may ask."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

HEADERS = {
    "content-security-policy": POLICY,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""What every answer carries. The address holds a secret, so it is told to nobody."""


class TooLarge(Exception):
    """A body that is longer than allowed."""


class TooSlow(Exception):
    """A body that takes longer than allowed."""


@dataclass(frozen=True, slots=True)
class Access:
    """The host and the secret that a request has to name.

    Attributes:
        port: of the server.
        token: the first part of every path.
    """

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://127.0.0.1:{self.port}/{self.token}/"

    @property
    def hosts(self) -> frozenset[str]:
        """The names under which the server may be called."""
        return frozenset(f"{name}:{self.port}" for name in ("127.0.0.1", "localhost"))

    def refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Returns why a request is refused, None if it is not."""
        headers = Headers(scope=scope)
        if headers.get("host", "") not in self.hosts:
            return 421, "this server answers to its own name only"
        origin = headers.get("origin")
        if origin is not None and origin not in {f"http://{host}" for host in self.hosts}:
            return 403, "requests from other pages are refused"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return 403, "requests from other pages are refused"
        given = str(scope["path"]).removeprefix("/").partition("/")[0]
        if not secrets.compare_digest(given.encode(), self.token.encode()):
            return 404, "there is nothing here; open the address that `nerode explore` printed"
        return None


class Guard:
    """Refuses what may not ask, bounds what may, and marks every answer."""

    def __init__(self, app: ASGIApp, *, access: Access, most_bytes: int, body_seconds: float) -> None:
        self.app = app
        self.access = access
        self.most_bytes = most_bytes
        self.body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, or refuses it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        marked = _mark(send)
        refusal = self.access.refusal(scope)
        length = Headers(scope=scope).get("content-length", "0")
        if refusal is None and (not length.isdigit() or int(length) > self.most_bytes):
            refusal = (413, f"a request may have {self.most_bytes:,} bytes")
        if refusal is not None:
            await _refuse_request(scope, *refusal)(scope, receive, marked)
            return
        started = False

        async def watch(message: Message) -> None:
            nonlocal started
            started = True
            await marked(message)

        try:
            await self.app(scope, _bounded(receive, self.most_bytes, self.body_seconds), watch)
        except ClientDisconnect:
            # Nobody is there any more to be told anything.
            return
        except TooLarge:
            if started:
                raise
            await _refuse(413, f"a request may have {self.most_bytes:,} bytes")(scope, receive, marked)
        except TooSlow:
            if started:
                raise
            message = f"a request has {self.body_seconds:g} seconds to arrive; send it again at once"
            await _refuse(408, message)(scope, receive, marked)


def _bounded(receive: Receive, most_bytes: int, seconds: float) -> Receive:
    """Counts what comes, whatever was announced, and how long it takes."""
    size = 0
    arrived = False
    end = asyncio.get_running_loop().time() + seconds

    async def counted() -> Message:
        nonlocal size, arrived
        if arrived:
            return await receive()
        try:
            async with asyncio.timeout_at(end):
                message = await receive()
        except TimeoutError:
            raise TooSlow from None
        size += len(message.get("body", b""))
        arrived = not message.get("more_body", False)
        if size > most_bytes:
            raise TooLarge
        return message

    return counted


def _mark(send: Send) -> Send:
    async def marked(message: Message) -> None:
        if message["type"] == "http.response.start":
            names = {name for name, _ in message["headers"]}
            added = [(k.encode(), v.encode()) for k, v in HEADERS.items() if k.encode() not in names]
            message = {**message, "headers": [*message["headers"], *added]}
        await send(message)

    return marked


_LOST = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>nerode explore</title></head>
<body><h1>nerode explore</h1>
<p>The explorer is running, but this address is not complete.</p>
<p>Every page of it has a secret in its address, so that no other page in your browser can use it. Go to the
terminal in which you started <code>nerode explore</code> and open the whole address that it printed. It
looks like <code>http://127.0.0.1:PORT/SECRET/</code>.</p>
<p>If that terminal is gone, stop the explorer and start it again.</p></body></html>
"""


def _refuse_request(scope: Scope, status: int, message: str) -> Response:
    """A refusal; somebody who opened an address without its secret is told how to go on."""
    wants_page = "text/html" in Headers(scope=scope).get("accept", "")
    if status == 404 and scope["method"] == "GET" and wants_page:
        return HTMLResponse(_LOST, status)
    return _refuse(status, message)


def _refuse(status: int, message: str) -> JSONResponse:
    # What is left of a request that was not read to its end must not be taken for the next one.
    close = {"connection": "close"} if status in (408, 413) else None
    return JSONResponse({"error": {"kind": "refused", "message": message}}, status, headers=close)
