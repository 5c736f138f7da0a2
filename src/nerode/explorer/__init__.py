"""The local page of `nerode explore`: a server, worker processes with limits, and the page in `static/`."""

from nerode.explorer.app import serve

__all__ = ["serve"]
