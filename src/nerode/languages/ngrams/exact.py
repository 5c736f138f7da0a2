"""Probabilities as text, without rounding."""

from __future__ import annotations

import re
from fractions import Fraction

from nerode.core import InputError

# The bounds on digits keep a hostile "1e999999999" from filling the memory.
_FRACTION = re.compile(r"([0-9]{1,4000})/([0-9]{1,4000})")
_DECIMAL = re.compile(r"([0-9]{1,4000}(\.[0-9]{0,4000})?|\.[0-9]{1,4000})([eE][+-]?[0-9]{1,3})?")


def parse_probability(text: str) -> Fraction:
    """Returns the exact value of "1/3", "0.25", "1" or "5e-3".

    Raises:
        InputError: if the text has another form, or the value is outside 0 … 1.
    """
    fraction = _FRACTION.fullmatch(text)
    if fraction and int(fraction[2]) != 0:
        value = Fraction(int(fraction[1]), int(fraction[2]))
    elif _DECIMAL.fullmatch(text):
        value = Fraction(text)
    else:
        shown = text if len(text) <= 40 else text[:37] + "…"
        raise InputError(f"{shown!r} is not a probability; write a fraction (1/3) or a decimal (0.25)")
    if value > 1:
        raise InputError(f"the probability {text[:40]} is above 1")
    return value
