"""The bestiary: every named language, what it is there to break, and where it comes from.

Rows are named exactly; families have name patterns on top (`dyck-K-m`, `A4xZ5` …). What is known about the
rows from elsewhere stands in `tests/languages/bestiary/facts.py`. A bug that a language brings to light
becomes a row.
"""

from nerode.languages.bestiary.machines import PATTERNS
from nerode.languages.bestiary.row import Row
from nerode.languages.bestiary.table import BESTIARY, find_language, lookup_language, suite

__all__ = ["BESTIARY", "PATTERNS", "Row", "find_language", "lookup_language", "suite"]
