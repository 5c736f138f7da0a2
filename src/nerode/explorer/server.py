"""Starting the page on this machine."""

from __future__ import annotations

import contextlib
import socket
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path

from nerode.core import InputError

try:
    import uvicorn

    from nerode.explorer.app import Explorer, make_app
    from nerode.explorer.guard import Access
except ImportError as error:
    raise InputError(
        f"the page needs {error.name}, which is not installed; install `nerode[explore]`"
    ) from None

from nerode.explorer.workers import Limits

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
    runs: Path | None = None,
    browser: bool = False,
    limits: Limits | None = None,
    tell: Callable[[str], None] = print,
) -> None:
    """Serves the page until it is interrupted.

    Args:
        port: 0 for any that is free.
        language: what the page begins with.
        runs: a folder of runs.
        browser: whether to open a browser.
        limits: of each request.
        tell: is given the address once the socket listens.
    """
    with open_socket(port) as listener:
        access = Access(listener.getsockname()[1])
        explorer = Explorer(
            limits=limits or Limits(), runs="" if runs is None else str(runs.resolve()), language=language
        )
        config = uvicorn.Config(
            make_app(access, explorer),
            log_level="warning",
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=1,
            ws="none",
        )
        tell(access.address)
        if browser:
            threading.Timer(0.5, webbrowser.open, [access.address]).start()
        # The end of an interrupted server is its ordinary end.
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listener])
