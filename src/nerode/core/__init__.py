"""The foundation of all stages: errors, budgets, exact numbers, files, references, registries, streams.

Open `errors` first: everything that nerode raises on purpose.
"""

from nerode.core.budget import Budget
from nerode.core.config import from_mapping, to_mapping
from nerode.core.display import Displays, Shown, register_displays
from nerode.core.doors import lazy_door
from nerode.core.errors import (
    BudgetExceeded,
    FormatError,
    InputError,
    NerodeError,
    NotCompilable,
    PatternError,
    UnknownName,
)
from nerode.core.exact import (
    Cyclotomic,
    Exact,
    cosine,
    exact_sum,
    imaginary_part,
    inverse,
    is_rational,
    read_exact,
    real_part,
    root_of_unity,
    simplify,
    sine,
    square_root,
    to_complex,
    to_float,
    write_exact,
)
from nerode.core.files import decode_text, excerpt, read_bytes, read_text, write_atomically
from nerode.core.float_formats import DTYPES, FloatFormat
from nerode.core.json_files import Json, parse_json, read_json, read_json_lines
from nerode.core.refs import Reference, Work, work
from nerode.core.registry import Registry
from nerode.core.rng import stream
from nerode.core.roots_of_unity import cosine_bounds
from nerode.core.workers import Emit, LostJob, WorkerPool

__all__ = [
    "DTYPES",
    "Budget",
    "BudgetExceeded",
    "Cyclotomic",
    "Displays",
    "Emit",
    "Exact",
    "FloatFormat",
    "FormatError",
    "InputError",
    "Json",
    "LostJob",
    "NerodeError",
    "NotCompilable",
    "PatternError",
    "Reference",
    "Registry",
    "Shown",
    "UnknownName",
    "Work",
    "WorkerPool",
    "cosine",
    "cosine_bounds",
    "decode_text",
    "exact_sum",
    "excerpt",
    "from_mapping",
    "imaginary_part",
    "inverse",
    "is_rational",
    "lazy_door",
    "parse_json",
    "read_bytes",
    "read_exact",
    "read_json",
    "read_json_lines",
    "read_text",
    "real_part",
    "register_displays",
    "root_of_unity",
    "simplify",
    "sine",
    "square_root",
    "stream",
    "to_complex",
    "to_float",
    "to_mapping",
    "work",
    "write_atomically",
    "write_exact",
]
