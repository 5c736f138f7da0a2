"""The compiler: from a language to a network with exact weights. Open `pipeline` first, then `table`."""

from nerode.compiler.construction import Construction, NgramOptions, Options
from nerode.compiler.pipeline import Program, compile_language, compile_program, language_facts
from nerode.compiler.table import CONSTRUCTIONS

__all__ = [
    "CONSTRUCTIONS",
    "Construction",
    "NgramOptions",
    "Options",
    "Program",
    "compile_language",
    "compile_program",
    "language_facts",
]
