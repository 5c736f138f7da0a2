"""Classes of regular languages: one test each, with words that show a "no"; `table` lists them."""

from nerode.algebra.classes.attention import ComponentTable, fixed_pair, iterated_potentials, split_letter
from nerode.algebra.classes.table import CLASSES
from nerode.algebra.components import OUTSIDE, Rows

__all__ = [
    "CLASSES",
    "OUTSIDE",
    "ComponentTable",
    "Rows",
    "fixed_pair",
    "iterated_potentials",
    "split_letter",
]
