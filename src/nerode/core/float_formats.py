"""The binary floating-point formats that verdicts, networks and certificates speak of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FloatFormat:
    """A binary floating-point format.

    Attributes:
        bits: bits of the significand, the leading one included.
        smallest: exponent of the smallest normal number.
        largest: exponent of the largest power of two.
    """

    bits: int
    smallest: int
    largest: int


DTYPES: Mapping[str, FloatFormat] = {
    "float64": FloatFormat(bits=53, smallest=-1022, largest=1023),
    "float32": FloatFormat(bits=24, smallest=-126, largest=127),
    "bfloat16": FloatFormat(bits=8, smallest=-126, largest=127),
    "float16": FloatFormat(bits=11, smallest=-14, largest=15),
}
"""The formats by the name that torch and safetensors use, the widest first."""
