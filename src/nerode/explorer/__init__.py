"""The local page of `nerode explore`: a server, worker processes with limits, and the page in `static/`."""

from typing import TYPE_CHECKING

from nerode.core import attach

if TYPE_CHECKING:
    from nerode.explorer.app import serve as serve
    from nerode.explorer.course import LANGUAGES as LANGUAGES, write_course as write_course

__getattr__, __dir__, __all__ = attach(
    __name__, {"nerode.explorer.app": "serve", "nerode.explorer.course": "LANGUAGES write_course"}
)
