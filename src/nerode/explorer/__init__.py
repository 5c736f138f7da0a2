"""A local page: type a language, see it move."""

from nerode.explorer.server import serve

__all__ = ["serve"]
