"""From a language to a network with exact weights."""

from nerode.compiler.construction import Construction, NgramOptions, Options
from nerode.compiler.constructions.table import CONSTRUCTIONS
from nerode.compiler.pipeline import compile_language

__all__ = ["CONSTRUCTIONS", "Construction", "NgramOptions", "Options", "compile_language"]
