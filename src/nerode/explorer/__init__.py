"""A local page: type a language, see it move."""

from nerode.explorer.app import serve

__all__ = ["serve"]
