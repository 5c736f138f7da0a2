"""The server: a page, its files, answers that worker processes compute; and its start on this machine.

Only the page of this server, on this machine, with the secret of its address, may ask (`Guard`).
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import secrets
import socket
import threading
import webbrowser
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nerode.core import InputError, missing_extra
from nerode.explorer.standalone import MODULES, STYLES, read_static, style
from nerode.explorer.workers import Limits, RequestRefused, Workers
from nerode.languages.bestiary import BESTIARY

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


_REMEMBERED = 64
_LARGEST_REMEMBERED = 2_000_000
_FORGETFUL = ("page", "folder")
"""Jobs whose answers are too large to keep."""

_POLL = 0.2
"""Seconds between two looks whether the page still waits for an answer."""


class Explorer:
    """Answers requests of the page.

    Args:
        limits: of each request.
        language: what the page begins with.
    """

    def __init__(self, *, limits: Limits, language: str = "") -> None:
        self.limits = limits
        self.language = language
        self.workers = Workers(limits)
        self._known: OrderedDict[str, bytes] = OrderedDict()

    async def begin(self, request: Request) -> Response:
        """Returns what the page needs to begin with."""
        names = [{"name": row.name, "convention": row.convention} for row in BESTIARY.values()]
        return JSONResponse({"languages": names, "first": self.language})

    async def answer(self, request: Request) -> Response:
        """Returns what a job finds."""
        job = request.path_params["job"]
        payload = await _payload(request)
        if payload is None:
            return _problem(400, "input", "a request is one JSON object")
        key = json.dumps([job, payload], sort_keys=True)
        known = self._known.get(key)
        if known is None:
            try:
                known = await _while_connected(request, self.workers.run(job, payload))
            except RequestRefused as refusal:
                return _problem(refusal.status, refusal.kind, str(refusal))
            if known is None:
                return Response(status_code=499)
            self._remember(job, key, known)
        if job in ("folder", "page") and known.startswith(b'{"file"'):
            kind = "application/zip" if job == "folder" else "text/html; charset=utf-8"
            # To be kept, not to be shown: the page in the file has a policy of its own.
            headers = {"content-disposition": "attachment"}
            return Response(base64.b64decode(json.loads(known)["file"]), media_type=kind, headers=headers)
        return Response(known, media_type="application/json")

    def _remember(self, job: str, key: str, answer: bytes) -> None:
        if job in _FORGETFUL or len(answer) + len(key) > _LARGEST_REMEMBERED:
            return
        if answer.startswith(b'{"error"'):
            # What took too long on a busy machine may be quick a moment later.
            return
        self._known[key] = answer
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)


def make_app(access: Access, explorer: Explorer) -> Starlette:
    """Returns the application.

    Args:
        access: who may ask.
        explorer: who answers.
    """
    token = access.token
    pages = {"": ("index.html", "text/html")}
    pages |= {f"static/{name}": (name, "text/javascript") for name in MODULES}
    pages |= {f"static/{name}": (name, "text/css") for name in STYLES}
    pages["static/icon.svg"] = ("icon.svg", "image/svg+xml")
    routes = [
        Route(f"/{token}/api/begin", explorer.begin, methods=["GET"]),
        Route(f"/{token}/api/{{job}}", _known_job(explorer), methods=["POST"]),
        *(Route(f"/{token}/{path}", _file(name, kind)) for path, (name, kind) in pages.items()),
    ]

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        warming = asyncio.create_task(explorer.workers.warm())
        try:
            yield
        finally:
            warming.cancel()

    limits = explorer.limits
    guard = Middleware(Guard, access=access, most_bytes=limits.body, body_seconds=limits.body_seconds)
    return Starlette(routes=routes, middleware=[guard], lifespan=lifespan)


JOB_NAMES = frozenset(("language", "network", "proof", "folder", "word", "trace", "page"))
"""The keys of `jobs.JOBS`, which is not imported here: the server itself computes nothing."""


def _known_job(explorer: Explorer) -> Any:
    async def handle(request: Request) -> Response:
        if request.path_params["job"] not in JOB_NAMES:
            return _problem(404, "input", "there is no such job")
        return await explorer.answer(request)

    return handle


def _file(name: str, kind: str) -> Any:
    async def handle(request: Request) -> Response:
        text = style(name) if kind == "text/css" else read_static(name)
        return PlainTextResponse(text, media_type=kind)

    return handle


async def _payload(request: Request) -> dict[str, Any] | None:
    """The object that was sent, None if it is no JSON object."""
    if request.headers.get("content-type", "").split(";")[0] != "application/json":
        return None
    try:
        found = json.loads(await request.body())
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


async def _while_connected(request: Request, work: Coroutine[Any, Any, bytes]) -> bytes | None:
    """Returns the answer, None if the page has gone away or has asked for something newer meanwhile."""
    task = asyncio.create_task(work)
    try:
        while not task.done():
            await asyncio.wait([task], timeout=_POLL)
            if not task.done() and await request.is_disconnected():
                return None
        return await task
    finally:
        # Whatever it ends with is looked at, or asyncio would complain about it in the terminal.
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, RequestRefused):
            await task


def _problem(status: int, kind: str, message: str) -> Response:
    return JSONResponse({"error": {"kind": kind, "message": message}}, status)


try:
    import uvicorn
except ModuleNotFoundError as error:
    raise missing_extra(error) or error from None

_BACKLOG = 128
"""Connections that may wait to be taken up."""


def open_socket(port: int) -> socket.socket:
    """Returns a socket that listens on this machine only.

    Args:
        port: 0 for any that is free.

    Raises:
        InputError: if the port is taken or not allowed.
    """
    listener = socket.socket()
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        # From here on a request waits for the server instead of being refused.
        listener.listen(_BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        reason = error.strerror if isinstance(error, OSError) else "ports go up to 65535"
        raise InputError(f"cannot listen on port {port}: {reason}; choose another, or 0 for any") from None
    return listener


def serve(
    *,
    port: int = 0,
    language: str = "",
    browser: bool = False,
    limits: Limits | None = None,
    tell: Callable[[str], None] = print,
) -> None:
    """Serves the page until it is interrupted.

    Args:
        port: 0 for any that is free.
        language: what the page begins with.
        browser: whether to open a browser.
        limits: of each request.
        tell: is given the address once the socket listens.
    """
    with open_socket(port) as listener:
        access = Access(listener.getsockname()[1])
        explorer = Explorer(limits=limits or Limits(), language=language)
        config = uvicorn.Config(
            make_app(access, explorer),
            log_level="warning",
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=1,
            ws="none",
        )
        # The end of an interrupted server is its ordinary end.
        with contextlib.suppress(KeyboardInterrupt):
            tell(access.address)
            if browser:
                threading.Timer(0.5, webbrowser.open, [access.address]).start()
            uvicorn.Server(config).run(sockets=[listener])
