"""The compiler: from a language to a network with exact weights. Open `pipeline` first, then `table`."""

from nerode.compiler.construction import Construction, NgramOptions, Options
from nerode.compiler.pipeline import compile_language
from nerode.compiler.table import CONSTRUCTIONS

__all__ = ["CONSTRUCTIONS", "Construction", "NgramOptions", "Options", "compile_language"]
