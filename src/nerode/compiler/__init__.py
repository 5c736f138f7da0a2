"""From a language to a network with exact weights."""

from nerode.compiler.construction import Options
from nerode.compiler.pipeline import compile_language

__all__ = ["Options", "compile_language"]
